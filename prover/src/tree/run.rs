//! Proves a tree, node by node.

use std::sync::{Arc, Mutex, PoisonError};

use super::spec::{ProofSpec, TreeSpec};
use super::{TreeProof, TreeStatement};
use crate::cache::Cache;
use crate::error::ProverError;
use crate::estimate::check_tree_memory;
use crate::observer::Observer;
use crate::proof::FinalProof;
use crate::report::LayerReport;
use crate::work::{Work, WorkKind};

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
    let results: Vec<_> = finished.iter().map(|leaf| leaf.results.clone()).collect();
    let work = Work::plan(&ProofSpec::Tree(spec.clone()), &results, cache, observer)?;
    let run = Run { work: &work, cache, observer };
    let slots = Slots::new(work.nodes().len());
    run.finished(finished, &slots)?;
    if options.concurrent_pairs {
        run.level_by_level(&slots)?;
    } else {
        run.depth_first(&slots)?;
    }
    let (proof, reports) = slots.finish(work.root())?;
    Ok(TreeProof {
        spec: spec.clone(),
        statement: TreeStatement::new(spec, &mut work.results().iter().copied()),
        keys: work.keys(cache, observer)?,
        proof,
        reports,
        concurrent: options.concurrent_pairs,
    })
}

/// Proofs that later nodes take, and the reports so far.
struct Slots {
    proofs: Vec<Mutex<Option<Arc<FinalProof>>>>,
    reports: Mutex<Vec<LayerReport>>,
}

impl Slots {
    fn new(nodes: usize) -> Self {
        let proofs = (0..nodes).map(|_| Mutex::new(None)).collect();
        Self { proofs, reports: Mutex::new(Vec::new()) }
    }

    fn put(&self, node: usize, proof: FinalProof) {
        *lock(&self.proofs[node]) = Some(Arc::new(proof));
    }

    fn get(&self, node: usize) -> Result<Arc<FinalProof>, ProverError> {
        lock(&self.proofs[node]).clone().ok_or(ProverError::Statement { layer: node })
    }

    fn drop_proof(&self, node: usize) {
        *lock(&self.proofs[node]) = None;
    }

    fn report(&self, report: LayerReport) {
        lock(&self.reports).push(report);
    }

    fn finish(self, root: usize) -> Result<(FinalProof, Vec<LayerReport>), ProverError> {
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
    work: &'a Work,
    cache: &'a Cache,
    observer: &'a Arc<dyn Observer>,
}

impl Run<'_> {
    /// Puts the finished proofs in their places, verified.
    fn finished(&self, finished: Vec<LeafProof>, slots: &Slots) -> Result<(), ProverError> {
        let mut finished = finished.into_iter();
        for (node, planned) in self.work.nodes().iter().enumerate() {
            if planned.kind == WorkKind::Finished {
                let given = finished.next().ok_or(ProverError::LeafProofs { leaf: node })?;
                self.work.verify(node, &given.proof, self.cache, self.observer)?;
                slots.put(node, given.proof);
            }
        }
        Ok(())
    }

    /// One node after the other, every subtree finished before the next begins, and proofs dropped
    /// as soon as nothing takes them any more.
    fn depth_first(&self, slots: &Slots) -> Result<(), ProverError> {
        for node in self.work.depth_first() {
            self.prove(node, slots)?;
            for &child in &self.work.nodes()[node].children {
                slots.drop_proof(child);
            }
        }
        Ok(())
    }

    /// Two nodes of a level at a time.
    fn level_by_level(&self, slots: &Slots) -> Result<(), ProverError> {
        for level in self.work.levels() {
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
                for &child in &self.work.nodes()[node].children {
                    slots.drop_proof(child);
                }
            }
        }
        Ok(())
    }

    /// Proves one node, unless it is a finished proof.
    fn prove(&self, node: usize, slots: &Slots) -> Result<(), ProverError> {
        let planned = &self.work.nodes()[node];
        if planned.kind == WorkKind::Finished {
            return Ok(());
        }
        let children: Vec<Arc<FinalProof>> =
            planned.children.iter().map(|&child| slots.get(child)).collect::<Result<_, _>>()?;
        let proved = self.work.prove(node, &children, self.cache, self.observer)?;
        slots.put(node, proved.proof);
        slots.report(proved.report);
        Ok(())
    }
}
