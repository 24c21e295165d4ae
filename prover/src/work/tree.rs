//! The nodes of a tree.

use std::sync::Arc;

use arbor_circuits::child::ChildInput;
use arbor_circuits::config::{Digest, F};

use super::{WorkKind, WorkNode, base_public_values};
use crate::cache::Cache;
use crate::chain::layer_public_values;
use crate::error::ProverError;
use crate::observer::Observer;
use crate::params::{BaseSpec, Program};
use crate::proof::FinalProof;
use crate::report::LayerKind;
use crate::step::{Place, Proved, prove_base, prove_layer};
use crate::tree::{LeafSpec, NodeKind, PreparedTree, TreeSpec, prepare};

/// A tree whose circuits are prepared.
pub(super) struct TreeWork {
    spec: TreeSpec,
    prepared: PreparedTree,
    digests: Vec<Digest>,
    /// Public values of the proof of each leaf, by instance.
    leaves: Vec<Vec<Vec<F>>>,
}

impl TreeWork {
    pub(super) fn plan(
        spec: &TreeSpec,
        publics: &[Vec<F>],
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<Self, ProverError> {
        let prepared = prepare(spec, cache, observer)?;
        let digests = prepared.statement_digests(&mut publics.iter().cloned());
        let leaves = leaf_public_values(spec, &prepared, &digests, publics);
        Ok(Self { spec: spec.clone(), prepared, digests, leaves })
    }

    pub(super) const fn prepared(&self) -> &PreparedTree {
        &self.prepared
    }

    pub(super) fn digest(&self, node: usize) -> &Digest {
        &self.digests[node]
    }

    pub(super) fn nodes(&self) -> Vec<WorkNode> {
        let mut finished = 0..;
        let plan = self.prepared.plan();
        let nodes = plan.nodes.iter().enumerate();
        nodes
            .map(|(position, node)| {
                let present = node.inputs.iter().filter(|input| input.present);
                let children: Vec<usize> = present.map(|input| input.node).collect();
                let kind = self.kind(position, node.kind);
                WorkNode {
                    id: node.id,
                    kind,
                    padding: node.inputs.len() - children.len(),
                    children,
                    finished: if kind == WorkKind::Finished { finished.next() } else { None },
                }
            })
            .collect()
    }

    fn kind(&self, position: usize, kind: NodeKind) -> WorkKind {
        match kind {
            NodeKind::Wrap => WorkKind::Layer,
            NodeKind::Merge => WorkKind::Merge,
            NodeKind::Leaf => match self.spec.leaves[position] {
                LeafSpec::Base(_) => WorkKind::Base,
                LeafSpec::Proof(_) => WorkKind::Finished,
            },
        }
    }

    pub(super) fn is_uni(&self, node: usize) -> bool {
        match self.spec.leaves.get(node) {
            Some(LeafSpec::Base(BaseSpec { program, .. })) => {
                matches!(program, Program::Keccak { .. })
            }
            Some(LeafSpec::Proof(proof)) => proof.is_uni(),
            None => false,
        }
    }

    pub(super) fn prove(
        &self,
        node: usize,
        children: &[Arc<FinalProof>],
        observer: &Arc<dyn Observer>,
    ) -> Result<Proved, ProverError> {
        match self.spec.leaves.get(node) {
            Some(LeafSpec::Base(spec)) => {
                let base =
                    self.prepared.base(node).ok_or(ProverError::LeafProofs { leaf: node })?;
                let publics = self.leaves[node].first().map_or(&[][..], Vec::as_slice);
                prove_base(&self.place(node, LayerKind::Base), base, spec, publics, observer)
            }
            Some(LeafSpec::Proof(_)) => Err(ProverError::LeafProofs { leaf: node }),
            None => self.prove_layer(node, children, observer),
        }
    }

    fn prove_layer(
        &self,
        node: usize,
        children: &[Arc<FinalProof>],
        observer: &Arc<dyn Observer>,
    ) -> Result<Proved, ProverError> {
        let wrong = || ProverError::Statement { layer: node };
        let planned = &self.prepared.plan().nodes[node];
        let mut given = children.iter();
        let mut inputs: Vec<ChildInput<'_>> = Vec::with_capacity(planned.inputs.len());
        let public_values: Vec<Vec<Vec<F>>> =
            planned.inputs.iter().map(|input| self.public_values(input.node)).collect();
        for (input, public_values) in planned.inputs.iter().zip(&public_values) {
            // A slot that pads repeats the first child of its node.
            let proof = if input.present { given.next() } else { children.first() };
            inputs.push(ChildInput {
                proof: proof.ok_or_else(wrong)?.as_child(),
                public_values,
                preprocessed: self.prepared.preprocessed(input.node),
                present: input.present,
            });
        }
        if given.next().is_some() {
            return Err(wrong());
        }
        let kind = match planned.kind {
            NodeKind::Wrap => LayerKind::Layer,
            _ => LayerKind::Merge,
        };
        let circuit = self.prepared.layer(node).ok_or_else(wrong)?;
        prove_layer(&self.place(node, kind), circuit, &inputs, &self.digests[node], observer)
    }

    pub(super) fn verify(&self, node: usize, proof: &FinalProof) -> Result<(), ProverError> {
        let error = |source| ProverError::SelfCheck { layer: node, source };
        let wrong = || ProverError::LeafProofs { leaf: node };
        let finished = self.prepared.finished(node);
        let layer = self.prepared.layer(node).or_else(|| finished?.last());
        let base = self.prepared.base(node).or_else(|| finished?.base());
        match (layer, base, proof) {
            (Some(layer), _, FinalProof::Batch(proof)) => {
                layer.verify(proof, &self.digests[node]).map_err(error)
            }
            (None, Some(base), proof) => {
                let publics = self.leaves[node].first().map_or(&[][..], Vec::as_slice);
                base.verify(proof, publics).map_err(error)
            }
            _ => Err(wrong()),
        }
    }

    /// Public values of a node's proof, by instance.
    fn public_values(&self, node: usize) -> Vec<Vec<F>> {
        match self.leaves.get(node) {
            Some(values) => values.clone(),
            None => layer_public_values(&self.digests[node]),
        }
    }

    fn place(&self, node: usize, kind: LayerKind) -> Place {
        Place {
            number: node,
            kind,
            node: Some(self.prepared.plan().nodes[node].id.to_string()),
            prepare_ms: self.prepared.prepare_ms(node),
        }
    }
}

/// Public values of the proofs of the leaves, by instance. `publics` are those of all bases, in order.
fn leaf_public_values(
    spec: &TreeSpec,
    prepared: &PreparedTree,
    digests: &[Digest],
    publics: &[Vec<F>],
) -> Vec<Vec<Vec<F>>> {
    let mut publics = publics.iter();
    let leaves = spec.leaves.iter().enumerate();
    leaves
        .map(|(node, leaf)| match leaf {
            LeafSpec::Base(_) => publics.next().map(|v| base_public_values(v)).unwrap_or_default(),
            LeafSpec::Proof(proof) => {
                let own: Vec<&Vec<F>> = publics.by_ref().take(proof.num_leaves()).collect();
                match (prepared.finished(node).and_then(|p| p.base()), own.first()) {
                    (Some(_), Some(values)) => base_public_values(values),
                    _ => layer_public_values(&digests[node]),
                }
            }
        })
        .collect()
}
