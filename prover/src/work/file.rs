//! Proof files of a whole job and of its nodes.

use std::sync::Arc;

use super::{Form, Work};
use crate::cache::Cache;
use crate::error::ProverError;
use crate::format;
use crate::observer::Observer;
use crate::params::ChainSpec;
use crate::proof::FinalProof;
use crate::tree::{LeafSpec, ProofSpec, TreeSpec};

impl Work {
    /// The proof file, from the proof of the root.
    ///
    /// Errors: a circuit that cannot be built, or the encoder's.
    pub fn file(
        &self,
        root: &FinalProof,
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<Vec<u8>, ProverError> {
        format::encode(&self.spec, &self.statement(), &self.keys(cache, observer)?, root)
    }

    /// The proof file of one node alone: `None` if the node is not what a chain or a tree of its own would
    /// have come to. That is so for the layers that only bring a leaf to the common shape, and for nodes
    /// that are padded differently by themselves.
    ///
    /// Errors: a circuit that cannot be built, or the encoder's.
    pub fn node_file(
        &self,
        node: usize,
        proof: &FinalProof,
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<Option<Vec<u8>>, ProverError> {
        if node == self.root() {
            return self.file(proof, cache, observer).map(Some);
        }
        let Some((spec, results)) = self.alone(node) else {
            return Ok(None);
        };
        if spec.validate().is_err() {
            return Ok(None);
        }
        let finished = self.finished_results(node);
        let alone = Self::plan(&spec, &finished, cache, observer)?;
        debug_assert_eq!(alone.results, results);
        if !self.same_root(node, &alone) {
            return Ok(None);
        }
        alone.file(proof, cache, observer).map(Some)
    }

    /// What the node would be by itself, and what its bases come to.
    fn alone(&self, node: usize) -> Option<(ProofSpec, Vec<Option<u32>>)> {
        match &self.spec {
            ProofSpec::Chain(chain) => {
                let last_fri = *chain.fri_of(node.max(1));
                let spec = ChainSpec { layers: node, last_fri, ..chain.clone() };
                Some((ProofSpec::Chain(spec), self.results.clone()))
            }
            ProofSpec::Tree(tree) => {
                let results = self.results_by_leaf(tree);
                match tree.leaves.get(node) {
                    Some(LeafSpec::Base(base)) => {
                        let fri = base.fri;
                        let spec = ChainSpec {
                            base: base.clone(),
                            layers: 0,
                            layer_fri: fri,
                            last_fri: fri,
                        };
                        Some((ProofSpec::Chain(spec), results[node].clone()))
                    }
                    Some(LeafSpec::Proof(proof)) => {
                        Some(((**proof).clone(), results[node].clone()))
                    }
                    None => {
                        let leaves = self.leaves_below(node);
                        let spec = TreeSpec {
                            leaves: leaves.iter().map(|&leaf| tree.leaves[leaf].clone()).collect(),
                            last_fri: tree.layer_fri,
                            ..tree.clone()
                        };
                        let results = leaves.iter().flat_map(|&leaf| results[leaf].clone());
                        Some((ProofSpec::Tree(spec), results.collect()))
                    }
                }
            }
        }
    }

    /// Results of the finished proofs that a node by itself would have among its leaves.
    fn finished_results(&self, node: usize) -> Vec<Vec<Option<u32>>> {
        let ProofSpec::Tree(tree) = &self.spec else {
            return Vec::new();
        };
        if node < tree.leaves.len() {
            return self.finished_inside(node, tree);
        }
        let results = self.results_by_leaf(tree);
        let leaves = self.leaves_below(node).into_iter();
        let finished = leaves.filter(|&leaf| matches!(tree.leaves[leaf], LeafSpec::Proof(_)));
        finished.map(|leaf| results[leaf].clone()).collect()
    }

    /// As [`Self::finished_results`] of a leaf that is itself a tree over finished proofs.
    fn finished_inside(&self, node: usize, tree: &TreeSpec) -> Vec<Vec<Option<u32>>> {
        let LeafSpec::Proof(proof) = &tree.leaves[node] else {
            return Vec::new();
        };
        let ProofSpec::Tree(inner) = proof.as_ref() else {
            return Vec::new();
        };
        let mut results = self.results_by_leaf(tree)[node].clone().into_iter();
        let mut finished = Vec::new();
        for leaf in &inner.leaves {
            let own: Vec<Option<u32>> = match leaf {
                LeafSpec::Base(_) => results.by_ref().take(1).collect(),
                LeafSpec::Proof(proof) => results.by_ref().take(proof.num_leaves()).collect(),
            };
            if matches!(leaf, LeafSpec::Proof(_)) {
                finished.push(own);
            }
        }
        finished
    }

    fn results_by_leaf(&self, tree: &TreeSpec) -> Vec<Vec<Option<u32>>> {
        let mut results = self.results.iter().copied();
        let leaves = tree.leaves.iter();
        leaves
            .map(|leaf| match leaf {
                LeafSpec::Base(_) => results.by_ref().take(1).collect(),
                LeafSpec::Proof(proof) => results.by_ref().take(proof.num_leaves()).collect(),
            })
            .collect()
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
