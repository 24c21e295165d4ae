//! What all parts of the engine share.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arbor_prover::Cache;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::kept::{KeptProofs, KeptWorks};
use super::progress::Note;
use super::provers::Provers;
use super::stop::{Reason, Stop};
use crate::admission::Memory;
use crate::blobs::Blobs;
use crate::clock::Times;
use crate::config::Config;
use crate::model::JobId;
use crate::store::Store;
use crate::traces::{Attempt, Traces};

/// A node that is being proved: its job and its place in the plan.
pub(super) type Place = (JobId, i64);

/// The parts of a running engine.
pub(super) struct Inner {
    pub(super) config: Config,
    pub(super) folder: PathBuf,
    pub(super) times: Times,
    pub(super) store: Store,
    pub(super) blobs: Blobs,
    pub(super) cache: Arc<Cache>,
    pub(super) memory: Memory,
    pub(super) provers: Provers,
    pub(super) works: KeptWorks,
    pub(super) proofs: KeptProofs,
    pub(super) progress: mpsc::UnboundedSender<Note>,
    pub(super) traces: Traces,
    /// Nodes in the hands of this process, and how to stop them.
    running: Mutex<HashMap<Place, Arc<Stop>>>,
    /// When jobs stop being wanted, on the monotonic clock.
    deadlines: Mutex<HashMap<JobId, Duration>>,
    /// Circuits that nothing is proved with are compiled one at a time.
    pub(super) compiling: Arc<tokio::sync::Semaphore>,
    /// Proof files of nodes are made one at a time.
    pub(super) node_files: tokio::sync::Semaphore,
    /// When something was last proved, on the monotonic clock, in milliseconds; negative once memory was
    /// given back.
    pub(super) busy_ms: AtomicI64,
    /// No further submissions and no further nodes.
    pub(super) closing: CancellationToken,
    /// Nothing is written any more.
    pub(super) closed: AtomicBool,
}

/// The entry of a node in [`Inner::running`], until it is dropped.
pub(super) struct Running {
    inner: Arc<Inner>,
    place: Place,
    pub(super) stop: Arc<Stop>,
    pub(super) trace: Attempt,
}

/// What [`Inner`] is made from.
pub(super) struct Parts {
    pub(super) config: Config,
    pub(super) folder: PathBuf,
    pub(super) times: Times,
    pub(super) store: Store,
    pub(super) blobs: Blobs,
    pub(super) cache: Arc<Cache>,
    pub(super) provers: Provers,
    pub(super) progress: mpsc::UnboundedSender<Note>,
    pub(super) traces: Traces,
}

impl Inner {
    pub(super) fn new(parts: Parts) -> Self {
        let concurrent = parts.config.engine.concurrent_nodes.max(1);
        let memory = Memory::new(parts.config.memory.limit_bytes, Arc::clone(&parts.cache));
        Self {
            config: parts.config,
            folder: parts.folder,
            times: parts.times,
            store: parts.store,
            blobs: parts.blobs,
            cache: parts.cache,
            memory,
            provers: parts.provers,
            works: KeptWorks::new(concurrent + 1),
            proofs: KeptProofs::default(),
            progress: parts.progress,
            traces: parts.traces,
            running: Mutex::default(),
            deadlines: Mutex::default(),
            compiling: Arc::new(tokio::sync::Semaphore::new(1)),
            node_files: tokio::sync::Semaphore::new(1),
            busy_ms: AtomicI64::new(0),
            closing: CancellationToken::new(),
            closed: AtomicBool::new(false),
        }
    }

    /// Takes a node, unless it is in the hands of this process already.
    pub(super) fn take(self: &Arc<Self>, place: Place) -> Option<Running> {
        let mut running = lock(&self.running);
        if running.contains_key(&place) {
            return None;
        }
        let stop = Arc::new(Stop::default());
        running.insert(place, Arc::clone(&stop));
        self.mark_busy();
        let trace = self.traces.attempt(place.0);
        Some(Running { inner: Arc::clone(self), place, stop, trace })
    }

    /// Nodes in the hands of this process.
    pub(super) fn in_flight(&self) -> HashSet<Place> {
        lock(&self.running).keys().copied().collect()
    }

    /// Asks the nodes of a job to stop.
    pub(super) fn stop_job(&self, job: JobId, reason: Reason) {
        for ((of, _), stop) in lock(&self.running).iter() {
            if *of == job {
                stop.ask(reason);
            }
        }
    }

    /// Asks every node to stop.
    pub(super) fn stop_all(&self, reason: Reason) {
        lock(&self.running).values().for_each(|stop| stop.ask(reason));
    }

    /// Has a job expire after `left`, from now on the monotonic clock.
    pub(super) fn set_deadline(&self, job: JobId, left: Duration) {
        let at = self.times.monotonic().saturating_add(left);
        lock(&self.deadlines).insert(job, at);
    }

    /// Jobs whose deadlines have passed; they are forgotten here.
    pub(super) fn overdue(&self) -> Vec<JobId> {
        let now = self.times.monotonic();
        let mut deadlines = lock(&self.deadlines);
        let overdue: Vec<JobId> =
            deadlines.iter().filter(|&(_, &at)| at <= now).map(|(&job, _)| job).collect();
        overdue.iter().for_each(|job| {
            deadlines.remove(job);
        });
        overdue
    }

    pub(super) fn forget_deadline(&self, job: JobId) {
        lock(&self.deadlines).remove(&job);
    }

    /// Notes that something is being proved now.
    pub(super) fn mark_busy(&self) {
        let now = self.times.monotonic().as_millis();
        self.busy_ms.store(i64::try_from(now).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Whether nothing is in the hands of this process.
    pub(super) fn is_idle(&self) -> bool {
        lock(&self.running).is_empty()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.inner.running).remove(&self.place);
        self.trace.close();
        self.inner.mark_busy();
    }
}

/// Nothing in these maps is ever half-done.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
