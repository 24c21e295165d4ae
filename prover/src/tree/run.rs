//! Proves a tree, node by node.

use std::sync::{Arc, Mutex, PoisonError};

use arbor_circuits::child::ChildInput;
use arbor_circuits::config::{Digest, F};

use super::plan::NodeKind;
use super::prepare::{PreparedTree, prepare};
use super::spec::{LeafSpec, TreeSpec};
use super::{TreeProof, TreeStatement};
use crate::cache::Cache;
use crate::error::ProverError;
use crate::estimate::check_tree_memory;
use crate::observer::Observer;
use crate::proof::FinalProof;
use crate::report::{LayerKind, LayerReport};
use crate::step::{Place, Proved, prove_base, prove_layer};

/// How a tree is proved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Proves two nodes of a level at the same time, against one shared preparation.
    pub concurrent_pairs: bool,
}

/// A finished proof that is a leaf, with what its bases come to, in order.
pub struct LeafProof {
    /// The proof.
    pub proof: FinalProof,
    /// What its bases come to.
    pub results: Vec<Option<u32>>,
}

/// Proves a tree. Every proof is verified natively before the node above takes it.
///
/// `finished` holds the proofs of the leaves that are finished proofs, in order.
///
/// Errors: refused parameters, too little memory, a finished proof that is missing or invalid, the
/// observer's wish to stop, or an error of ours.
pub fn prove(
    spec: &TreeSpec,
    finished: Vec<LeafProof>,
    options: RunOptions,
    cache: &Cache,
    observer: &Arc<dyn Observer>,
) -> Result<TreeProof, ProverError> {
    spec.validate()?;
    check_tree_memory(spec, options.concurrent_pairs)?;
    let tree = prepare(spec, cache, observer)?;
    let results = results(spec, &finished)?;
    let publics = spec.public_values(&results);
    let digests = tree.statement_digests(&mut publics.iter().cloned());
    let run = Run { spec, tree: &tree, digests: &digests, observer };
    let slots = Slots::new(tree.plan().nodes.len());
    run.leaves(finished, &publics, &slots)?;
    if options.concurrent_pairs {
        run.level_by_level(&slots)?;
    } else {
        run.depth_first(&slots)?;
    }
    let (root, reports) = slots.finish(tree.plan().root())?;
    Ok(TreeProof {
        spec: spec.clone(),
        statement: TreeStatement::new(spec, &mut results.into_iter()),
        keys: tree.keys(),
        proof: root.proof,
        reports,
        concurrent: options.concurrent_pairs,
    })
}

/// What every base comes to, in order.
fn results(spec: &TreeSpec, finished: &[LeafProof]) -> Result<Vec<Option<u32>>, ProverError> {
    let mut given = finished.iter();
    let mut results = Vec::new();
    for (leaf, spec) in spec.leaves.iter().enumerate() {
        match spec {
            LeafSpec::Base(base) => results.push(base.program.result()),
            LeafSpec::Proof(proof) => {
                let given = given.next().ok_or(ProverError::LeafProofs { leaf })?;
                if given.results.len() != proof.num_leaves() {
                    return Err(ProverError::LeafProofs { leaf });
                }
                results.extend(&given.results);
            }
        }
    }
    Ok(results)
}

/// Proofs that later nodes take, and the reports so far.
struct Slots {
    proofs: Vec<Mutex<Option<Arc<Proved>>>>,
    reports: Mutex<Vec<LayerReport>>,
}

impl Slots {
    fn new(nodes: usize) -> Self {
        let proofs = (0..nodes).map(|_| Mutex::new(None)).collect();
        Self { proofs, reports: Mutex::new(Vec::new()) }
    }

    fn put(&self, node: usize, proved: Proved) {
        *lock(&self.proofs[node]) = Some(Arc::new(proved));
    }

    fn get(&self, node: usize) -> Result<Arc<Proved>, ProverError> {
        lock(&self.proofs[node]).clone().ok_or(ProverError::Statement { layer: node })
    }

    fn drop_proof(&self, node: usize) {
        *lock(&self.proofs[node]) = None;
    }

    fn report(&self, report: LayerReport) {
        lock(&self.reports).push(report);
    }

    fn finish(self, root: usize) -> Result<(Proved, Vec<LayerReport>), ProverError> {
        let proved = self.get(root)?;
        drop(self.proofs);
        let proved = Arc::into_inner(proved).ok_or(ProverError::Statement { layer: root })?;
        let mut reports = self.reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        reports.sort_by_key(|report| report.layer);
        Ok((proved, reports))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all nodes share.
struct Run<'a> {
    spec: &'a TreeSpec,
    tree: &'a PreparedTree,
    digests: &'a [Digest],
    observer: &'a Arc<dyn Observer>,
}

impl Run<'_> {
    /// Puts the finished proofs in their places, verified, and remembers what the bases take.
    fn leaves(
        &self,
        finished: Vec<LeafProof>,
        publics: &[Vec<F>],
        slots: &Slots,
    ) -> Result<(), ProverError> {
        let mut finished = finished.into_iter();
        let mut publics = publics.iter().cloned();
        for (node, leaf) in self.spec.leaves.iter().enumerate() {
            let LeafSpec::Proof(spec) = leaf else {
                publics.next();
                continue;
            };
            let missing = || ProverError::LeafProofs { leaf: node };
            let LeafProof { proof, .. } = finished.next().ok_or_else(missing)?;
            let own: Vec<Vec<F>> = publics.by_ref().take(spec.num_leaves()).collect();
            let public_values = self.check_finished(node, &proof, &own)?;
            slots.put(node, Proved { proof, public_values });
        }
        Ok(())
    }

    /// Verifies a finished proof and gives its public values, by instance.
    fn check_finished(
        &self,
        node: usize,
        proof: &FinalProof,
        publics: &[Vec<F>],
    ) -> Result<Vec<Vec<F>>, ProverError> {
        let missing = || ProverError::LeafProofs { leaf: node };
        let prepared = self.tree.finished(node).ok_or_else(missing)?;
        let error = |source| ProverError::SelfCheck { layer: node, source };
        match (prepared.last(), prepared.base(), proof) {
            (Some(layer), _, FinalProof::Batch(proof)) => {
                layer.verify(proof, &self.digests[node]).map_err(error)?;
                Ok(crate::chain::layer_public_values(&self.digests[node]))
            }
            (None, Some(base), proof) => {
                let publics = publics.first().cloned().unwrap_or_default();
                base.verify(proof, &publics).map_err(error)?;
                Ok(vec![publics])
            }
            _ => Err(missing()),
        }
    }

    /// One node after the other, every subtree finished before the next begins, and proofs dropped
    /// as soon as nothing takes them any more.
    fn depth_first(&self, slots: &Slots) -> Result<(), ProverError> {
        let plan = self.tree.plan();
        for node in plan.depth_first() {
            self.prove(node, slots)?;
            for input in &plan.nodes[node].inputs {
                slots.drop_proof(input.node);
            }
        }
        Ok(())
    }

    /// Two nodes of a level at a time.
    fn level_by_level(&self, slots: &Slots) -> Result<(), ProverError> {
        for level in self.tree.plan().levels() {
            for pair in level.chunks(2) {
                match *pair {
                    [first, second] => std::thread::scope(|scope| {
                        let other = scope.spawn(|| self.prove(second, slots));
                        let own = self.prove(first, slots);
                        let other = other.join().unwrap_or(Err(ProverError::Panicked));
                        own.and(other)
                    })?,
                    _ => pair.iter().try_for_each(|&node| self.prove(node, slots))?,
                }
            }
            for &node in &level {
                for input in &self.tree.plan().nodes[node].inputs {
                    slots.drop_proof(input.node);
                }
            }
        }
        Ok(())
    }

    /// Proves one node, unless it is a finished proof.
    fn prove(&self, node: usize, slots: &Slots) -> Result<(), ProverError> {
        let (proved, report) = match (self.tree.base(node), self.tree.layer(node)) {
            (Some(_), _) => self.prove_leaf(node)?,
            (None, Some(_)) => self.prove_node(node, slots)?,
            (None, None) => return Ok(()),
        };
        slots.put(node, proved);
        slots.report(report);
        Ok(())
    }

    fn place(&self, node: usize, kind: LayerKind) -> Place {
        Place {
            number: node,
            kind,
            node: Some(self.tree.plan().nodes[node].id.to_string()),
            prepare_ms: self.tree.prepare_ms(node),
        }
    }

    fn prove_leaf(&self, node: usize) -> Result<(Proved, LayerReport), ProverError> {
        let missing = ProverError::LeafProofs { leaf: node };
        let (Some(base), LeafSpec::Base(spec)) = (self.tree.base(node), &self.spec.leaves[node])
        else {
            return Err(missing);
        };
        let publics = spec.program.public_values(spec.program.result());
        prove_base(&self.place(node, LayerKind::Base), base, spec, &publics, self.observer)
    }

    fn prove_node(&self, node: usize, slots: &Slots) -> Result<(Proved, LayerReport), ProverError> {
        let plan = self.tree.plan();
        let inputs = &plan.nodes[node].inputs;
        let proofs: Vec<Arc<Proved>> =
            inputs.iter().map(|input| slots.get(input.node)).collect::<Result<_, _>>()?;
        let children: Vec<ChildInput<'_>> = inputs
            .iter()
            .zip(&proofs)
            .map(|(input, proved)| ChildInput {
                proof: proved.proof.as_child(),
                public_values: &proved.public_values,
                preprocessed: self.tree.preprocessed(input.node),
                present: input.present,
            })
            .collect();
        let kind = match plan.nodes[node].kind {
            NodeKind::Wrap => LayerKind::Layer,
            _ => LayerKind::Merge,
        };
        let circuit = self.tree.layer(node).ok_or(ProverError::Statement { layer: node })?;
        let expected = &self.digests[node];
        prove_layer(&self.place(node, kind), circuit, &children, expected, self.observer)
    }
}
