//! A tree: layers that merge two to eight proofs into one.
//!
//! Leaves are base computations or finished proofs. Where they all have one shape they are merged as
//! they are; else each is first brought to one common shape by layers over it alone. What is done in
//! which order is a [`TreePlan`], pure data.

mod plan;
mod prepare;
mod run;
mod spec;
mod statement;

use std::path::Path;

use crate::error::ProverError;
use crate::format;
use crate::proof::FinalProof;
use crate::report::LayerReport;

pub use plan::{Input, Node, NodeId, NodeKind, TreePlan};
pub(crate) use prepare::MOST_WRAPS;
pub use prepare::{PreparedProof, PreparedTree, prepare};
pub use run::{LeafProof, RunOptions, prove};
pub use spec::{FindJob, LeafSpec, MAX_ARITY, MAX_LEAVES, ProofSpec, TreeSpec};
pub use statement::{LeafStatement, PaddingSlot, ProofStatement, TreeStatement};

/// The root of a tree, and how it was reached.
pub struct TreeProof {
    /// What the tree was made from.
    pub spec: TreeSpec,
    /// What it says.
    pub statement: TreeStatement,
    /// Digests of the verifying keys of its distinct circuits, in the order of their first use.
    pub keys: Vec<arbor_circuits::config::Digest>,
    /// The proof of the root.
    pub proof: FinalProof,
    /// One report for each proof, in the order of proving.
    pub reports: Vec<LayerReport>,
    /// Whether nodes of a level were proved at the same time.
    pub concurrent: bool,
}

impl TreeProof {
    /// The proof file.
    ///
    /// Errors: the encoder's, which has none for these types.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ProverError> {
        let spec = ProofSpec::Tree(self.spec.clone());
        let statement = ProofStatement::Tree(self.statement.clone());
        format::encode(&spec, &statement, &self.keys, &self.proof)
    }

    /// Writes the proof file and gives its length: whole or not at all.
    ///
    /// Errors: [`ProverError::Write`]; nothing is left behind then.
    pub fn write(&self, path: &Path) -> Result<u64, ProverError> {
        let bytes = self.to_bytes()?;
        format::write_file(path, &bytes)?;
        Ok(bytes.len() as u64)
    }
}
