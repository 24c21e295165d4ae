//! A job as nodes, each of which can be proved by itself.
//!
//! Whoever proves a chain or a tree in one go, and whoever stores every proof and goes on after a restart,
//! does it through [`Work`]. What a node says is known before it is proved: the bases are computed natively,
//! and all digests follow. So a node needs nothing but the proofs of its children.

mod chain;
mod file;
mod tree;

use std::sync::Arc;

use arbor_circuits::config::{Digest, F};
use serde::Serialize;

use crate::cache::Cache;
use crate::error::ProverError;
use crate::observer::Observer;
use crate::proof::FinalProof;
use crate::step::Proved;
use crate::tree::{LeafSpec, NodeId, ProofSpec, ProofStatement};

use self::chain::ChainWork;
use self::tree::TreeWork;

/// A chain or a tree with its plan.
pub struct Work {
    spec: ProofSpec,
    results: Vec<Option<u32>>,
    nodes: Vec<WorkNode>,
    form: Form,
}

/// The circuits, by form.
enum Form {
    Chain(Box<ChainWork>),
    Tree(Box<TreeWork>),
}

/// One proof of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkNode {
    /// Its place: layer i of a chain is `i/0`, the base being `0/0`.
    pub id: NodeId,
    /// What it is.
    pub kind: WorkKind,
    /// Positions of the nodes that it verifies, in order, without those that only pad.
    pub children: Vec<usize>,
    /// Slots that pad.
    pub padding: usize,
    /// Of a finished proof: which one, counted from 0 among the finished ones.
    pub finished: Option<usize>,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// A base computation.
    Base,
    /// A layer over one proof.
    Layer,
    /// A layer over several.
    Merge,
    /// A proof that was there before.
    Finished,
}

impl WorkKind {
    /// The name that reports and stores use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Layer => "layer",
            Self::Merge => "merge",
            Self::Finished => "finished",
        }
    }
}

impl Work {
    /// Plans a proof. Takes the circuits that the plan depends on from `cache` or prepares them: of a tree
    /// all, of a chain the base, whose layers are prepared when the first of them is proved.
    ///
    /// `finished` has, for every leaf that is a finished proof, what its bases come to.
    ///
    /// Errors: refused parameters, a circuit that cannot be built, [`ProverError::LeafProofs`] if
    /// `finished` does not fit, or the observer's wish to stop.
    pub fn plan(
        spec: &ProofSpec,
        finished: &[Vec<Option<u32>>],
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<Self, ProverError> {
        spec.validate()?;
        let results = results(spec, finished)?;
        let publics = spec.public_values(&results);
        let (spec, nodes, form) = match spec {
            ProofSpec::Chain(chain) => {
                let work = ChainWork::plan(chain, publics, cache, observer)?;
                (spec.clone(), work.nodes(), Form::Chain(Box::new(work)))
            }
            ProofSpec::Tree(tree) => {
                let work = TreeWork::plan(tree, &publics, cache, observer)?;
                let spec = ProofSpec::Tree(work.prepared().canonical(tree));
                (spec, work.nodes(), Form::Tree(Box::new(work)))
            }
        };
        Ok(Self { spec, results, nodes, form })
    }

    /// What is proved.
    #[must_use]
    pub const fn spec(&self) -> &ProofSpec {
        &self.spec
    }

    /// All nodes, children before parents, the root last.
    #[must_use]
    pub fn nodes(&self) -> &[WorkNode] {
        &self.nodes
    }

    /// Position of a node.
    #[must_use]
    pub fn position(&self, id: NodeId) -> Option<usize> {
        self.nodes.iter().position(|node| node.id == id)
    }

    /// Position of the root.
    #[must_use]
    pub fn root(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Positions in the order in which proving keeps the fewest proofs: every subtree is finished before
    /// the next begins.
    #[must_use]
    pub fn depth_first(&self) -> Vec<usize> {
        match &self.form {
            Form::Chain(_) => (0..self.nodes.len()).collect(),
            Form::Tree(tree) => tree.prepared().plan().depth_first(),
        }
    }

    /// What the proof will say.
    #[must_use]
    pub fn statement(&self) -> ProofStatement {
        ProofStatement::new(&self.spec, &mut self.results.iter().copied())
    }

    /// What every base comes to, in order.
    #[must_use]
    pub fn results(&self) -> &[Option<u32>] {
        &self.results
    }

    /// Positions by level, leaves first.
    #[must_use]
    pub fn levels(&self) -> Vec<Vec<usize>> {
        match &self.form {
            Form::Chain(_) => (0..self.nodes.len()).map(|node| vec![node]).collect(),
            Form::Tree(tree) => tree.prepared().plan().levels(),
        }
    }

    /// Digests of the verifying keys, in the order of a proof file. Prepares the layers of a chain if they
    /// are not.
    ///
    /// Errors: a circuit that cannot be built, or the observer's wish to stop.
    pub fn keys(
        &self,
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<Vec<Digest>, ProverError> {
        match &self.form {
            Form::Chain(chain) => Ok(chain.whole(cache, observer)?.keys().to_vec()),
            Form::Tree(tree) => Ok(tree.prepared().keys()),
        }
    }

    /// Proves one node and verifies the proof. `children` are the proofs of the node's
    /// [`WorkNode::children`], in that order.
    ///
    /// Errors: children that do not fit, a node that is a finished proof, the observer's wish to stop, or an
    /// error of ours.
    pub fn prove(
        &self,
        node: usize,
        children: &[Arc<FinalProof>],
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<Proved, ProverError> {
        match &self.form {
            Form::Chain(chain) => chain.prove(node, children, cache, observer),
            Form::Tree(tree) => tree.prove(node, children, observer),
        }
    }

    /// Verifies a node's proof natively, against what the plan says of it.
    ///
    /// Errors: [`ProverError::SelfCheck`] if the proof is not valid, or a circuit that cannot be built.
    pub fn verify(
        &self,
        node: usize,
        proof: &FinalProof,
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<(), ProverError> {
        match &self.form {
            Form::Chain(chain) => chain.verify(node, proof, cache, observer),
            Form::Tree(tree) => tree.verify(node, proof),
        }
    }

    /// Decodes the stored proof of a node, as [`FinalProof::to_bytes`] encodes it.
    ///
    /// Errors: [`ProverError::Decode`].
    pub fn decode(&self, node: usize, bytes: &[u8]) -> Result<FinalProof, ProverError> {
        let uni = match &self.form {
            Form::Chain(chain) => chain.is_uni(node),
            Form::Tree(tree) => tree.is_uni(node),
        };
        FinalProof::from_bytes(bytes, uni)
            .map_err(|reason| ProverError::Decode { layer: node, reason })
    }
}

/// What every base comes to, in order.
fn results(
    spec: &ProofSpec,
    finished: &[Vec<Option<u32>>],
) -> Result<Vec<Option<u32>>, ProverError> {
    let tree = match spec {
        ProofSpec::Chain(chain) => return Ok(vec![chain.base.program.result()]),
        ProofSpec::Tree(tree) => tree,
    };
    let mut given = finished.iter();
    let mut results = Vec::new();
    for (leaf, spec) in tree.leaves.iter().enumerate() {
        match spec {
            LeafSpec::Base(base) => results.push(base.program.result()),
            LeafSpec::Proof(proof) => {
                let given = given.next().ok_or(ProverError::LeafProofs { leaf })?;
                if given.len() != proof.num_leaves() {
                    return Err(ProverError::LeafProofs { leaf });
                }
                results.extend(given);
            }
        }
    }
    Ok(results)
}

/// Public values of a proof, by instance.
fn base_public_values(values: &[F]) -> Vec<Vec<F>> {
    vec![values.to_vec()]
}
