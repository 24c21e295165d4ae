//! Proof files of a whole job and of its nodes.

use std::sync::Arc;

use super::{Form, Work};
use crate::cache::Cache;
use crate::error::ProverError;
use crate::format::{self, Header};
use crate::observer::Observer;
use crate::params::ChainSpec;
use crate::tree::{LeafSpec, ProofSpec, TreeSpec};

impl Work {
    /// The proof file, from the encoded proof of the root.
    ///
    /// Errors: a circuit that cannot be built, or the encoder's.
    pub fn file(
        &self,
        root: &[u8],
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<Vec<u8>, ProverError> {
        let keys = self.keys(cache, observer)?;
        format::assemble(&Header::new(&self.spec, &self.statement(), &keys), root)
    }

    /// The proof file of one node alone, from its encoded proof: `None` if the node is not what a chain or a tree of its own would
    /// have come to. That is so for the layers that only bring a leaf to the common shape, and for nodes
    /// that are padded differently by themselves.
    ///
    /// Errors: a circuit that cannot be built, or the encoder's.
    pub fn node_file(
        &self,
        node: usize,
        proof: &[u8],
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<Option<Vec<u8>>, ProverError> {
        if node == self.root() {
            return self.file(proof, cache, observer).map(Some);
        }
        let (spec, finished) = self.alone(node);
        if spec.validate().is_err() {
            return Ok(None);
        }
        let alone = Self::plan(&spec, &finished, cache, observer)?;
        if !self.same_root(node, &alone) {
            return Ok(None);
        }
        alone.file(proof, cache, observer).map(Some)
    }

    /// What the node would be by itself, and what the bases of the finished proofs in it come to.
    fn alone(&self, node: usize) -> (ProofSpec, Vec<Vec<Option<u32>>>) {
        let tree = match &self.spec {
            ProofSpec::Tree(tree) => tree,
            ProofSpec::Chain(chain) => {
                let last_fri = *chain.fri_of(node.max(1));
                let spec = ChainSpec { layers: node, last_fri, ..chain.clone() };
                return (ProofSpec::Chain(spec), Vec::new());
            }
        };
        let results = results_by_leaf(tree, &self.results);
        match tree.leaves.get(node) {
            Some(LeafSpec::Base(base)) => {
                let (layer_fri, last_fri) = (base.fri, base.fri);
                let spec = ChainSpec { base: base.clone(), layers: 0, layer_fri, last_fri };
                (ProofSpec::Chain(spec), Vec::new())
            }
            Some(LeafSpec::Proof(proof)) => {
                let inside = match proof.as_ref() {
                    ProofSpec::Chain(_) => Vec::new(),
                    ProofSpec::Tree(inner) => {
                        finished_only(inner, results_by_leaf(inner, &results[node]))
                    }
                };
                ((**proof).clone(), inside)
            }
            None => {
                let below = self.leaves_below(node);
                let spec = TreeSpec {
                    leaves: below.iter().map(|&leaf| tree.leaves[leaf].clone()).collect(),
                    last_fri: tree.layer_fri,
                    ..tree.clone()
                };
                let results = below.iter().map(|&leaf| results[leaf].clone()).collect();
                let finished = finished_only(&spec, results);
                (ProofSpec::Tree(spec), finished)
            }
        }
    }

    /// Leaves below a node, in order.
    fn leaves_below(&self, node: usize) -> Vec<usize> {
        let children = &self.nodes[node].children;
        if children.is_empty() {
            return vec![node];
        }
        children.iter().flat_map(|&child| self.leaves_below(child)).collect()
    }

    /// Whether the root of `alone` has the key and says the same as the node here.
    fn same_root(&self, node: usize, alone: &Self) -> bool {
        match (&self.form, &alone.form) {
            (Form::Tree(here), Form::Tree(there)) => {
                let root = alone.root();
                here.prepared().key(node) == there.prepared().key(root)
                    && here.digest(node) == there.digest(root)
            }
            // A chain that is cut off has the same circuits; a leaf is what it is.
            _ => true,
        }
    }
}

/// What the bases below each leaf come to, from the results of all bases in order.
fn results_by_leaf(tree: &TreeSpec, results: &[Option<u32>]) -> Vec<Vec<Option<u32>>> {
    let mut results = results.iter().copied();
    let leaves = tree.leaves.iter();
    leaves
        .map(|leaf| match leaf {
            LeafSpec::Base(_) => results.by_ref().take(1).collect(),
            LeafSpec::Proof(proof) => results.by_ref().take(proof.num_leaves()).collect(),
        })
        .collect()
}

/// Those of the leaves that are finished proofs.
fn finished_only(tree: &TreeSpec, results: Vec<Vec<Option<u32>>>) -> Vec<Vec<Option<u32>>> {
    let leaves = tree.leaves.iter().zip(results);
    leaves.filter(|(leaf, _)| matches!(leaf, LeafSpec::Proof(_))).map(|(_, own)| own).collect()
}
