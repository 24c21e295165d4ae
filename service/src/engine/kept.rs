//! What is kept in memory between one node and the next: plans with their circuits, and proofs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use arbor_prover::{FinalProof, Work};

use super::inner::lock;
use crate::model::JobId;

/// Encoded bytes of the proofs that are kept for the nodes above them.
const PROOF_BYTES: u64 = 64 << 20;

/// The plans of the jobs that were last worked on. Their circuits are in memory as long as the plan is.
pub(super) struct KeptWorks {
    works: Mutex<VecDeque<(JobId, Arc<Work>)>>,
    most: usize,
}

impl KeptWorks {
    pub(super) fn new(most: usize) -> Self {
        Self { works: Mutex::default(), most }
    }

    pub(super) fn get(&self, job: JobId) -> Option<Arc<Work>> {
        let mut works = lock(&self.works);
        let place = works.iter().position(|(of, _)| *of == job)?;
        let entry = works.remove(place)?;
        let work = Arc::clone(&entry.1);
        works.push_front(entry);
        Some(work)
    }

    pub(super) fn put(&self, job: JobId, work: Arc<Work>) {
        let mut works = lock(&self.works);
        works.retain(|(of, _)| *of != job);
        works.push_front((job, work));
        works.truncate(self.most);
    }

    /// Drops the plans of jobs that nobody works on.
    pub(super) fn keep_only(&self, wanted: impl Fn(JobId) -> bool) {
        lock(&self.works).retain(|(job, _)| wanted(*job));
    }

    pub(super) fn drop_job(&self, job: JobId) {
        lock(&self.works).retain(|(of, _)| *of != job);
    }

    pub(super) fn clear(&self) {
        lock(&self.works).clear();
    }
}

/// Decoded proofs by the names of their blobs, so that a node need not read what was just written.
#[derive(Default)]
pub(super) struct KeptProofs(Mutex<VecDeque<(String, u64, Arc<FinalProof>)>>);

impl KeptProofs {
    /// Takes a proof out: a node has one parent.
    pub(super) fn take(&self, hash: &str) -> Option<Arc<FinalProof>> {
        let mut proofs = lock(&self.0);
        let place = proofs.iter().position(|(of, ..)| of == hash)?;
        proofs.remove(place).map(|(_, _, proof)| proof)
    }

    pub(super) fn put(&self, hash: String, bytes: u64, proof: Arc<FinalProof>) {
        let mut proofs = lock(&self.0);
        proofs.push_back((hash, bytes, proof));
        let mut total: u64 = proofs.iter().map(|(_, bytes, _)| bytes).sum();
        while total > PROOF_BYTES {
            match proofs.pop_front() {
                Some((_, bytes, _)) => total -= bytes,
                None => break,
            }
        }
    }

    pub(super) fn clear(&self) {
        lock(&self.0).clear();
    }
}
