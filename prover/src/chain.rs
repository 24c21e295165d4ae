//! A chain: a base proof and layers, each of which verifies the proof below it.
//!
//! Circuits are looked up by what they are compiled from. Layer 1 wraps the base, layer 2 wraps
//! layer 1; from there on shapes stop changing, so one circuit serves all further layers. A last layer
//! with FRI parameters of its own takes one more.

mod prepare;
mod run;

use std::path::Path;

use arbor_circuits::config::{Digest, F};

use crate::error::ProverError;
use crate::format;
use crate::params::ChainSpec;
use crate::proof::FinalProof;
use crate::report::LayerReport;
use crate::statement::Statement;
use crate::tree::{ProofSpec, ProofStatement};

pub(crate) use prepare::{FIRST_PADDED_LAYER, min_log_height, prepare_base};
pub use prepare::{PreparedChain, prepare};
pub use run::prove;

/// The end of a chain, and how it was reached.
pub struct ChainProof {
    /// What the chain was made from.
    pub spec: ChainSpec,
    /// What it says.
    pub statement: Statement,
    /// Digests of the verifying keys, the base first.
    pub keys: Vec<Digest>,
    /// The last proof.
    pub proof: FinalProof,
    /// One report for each proof, the base first.
    pub reports: Vec<LayerReport>,
}

impl ChainProof {
    /// The proof file.
    ///
    /// Errors: the encoder's, which has none for these types.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ProverError> {
        let spec = ProofSpec::Chain(self.spec.clone());
        let statement = ProofStatement::Chain(self.statement.clone());
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

/// Public values of a layer's proof, by instance: the arithmetic table, which comes first, has the
/// node digest, and the hash table has none.
#[must_use]
pub fn layer_public_values(digest: &Digest) -> Vec<Vec<F>> {
    vec![digest.to_vec(), Vec::new()]
}
