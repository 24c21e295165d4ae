//! From an admitted job to its proof.
//!
//! The routes know nothing of queue, store and blobs: they ask the [`Engine`].

mod compiling;
mod error;
mod failure;
mod housekeeping;
mod inner;
mod kept;
mod metering;
mod progress;
mod proofs;
mod prove;
mod provers;
mod start;
mod stop;
mod submit;
mod tasks;

use std::sync::Arc;
use std::time::Duration;

use arbor_prover::tree::NodeId;
use arbor_prover::{Cache, Job};
use bytes::Bytes;
use tokio::sync::{Mutex, watch};

use crate::access::{KeyRecord, Quota};
use crate::admission::Reservation;
use crate::model::{Delivery, Event, JobFilter, JobId, JobRecord, NodeRecord, Page, Sizing};
use crate::traces::TraceParent;

pub use error::EngineError;
pub use start::Folder;

use inner::Inner;
use start::Background;
use stop::Reason;

/// Waits between attempts to note a result.
const STORE_PATIENCE: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_millis(1000),
    Duration::from_millis(3000),
];

/// A submission.
#[derive(Clone, Debug)]
pub struct Submission {
    /// What is wanted.
    pub job: Job,
    /// The client's name for this submission, with the BLAKE3 of the body that it came with.
    pub idempotency: Option<(String, [u8; 32])>,
    /// The name of the key that submits.
    pub owner: Option<String>,
    /// How much may be used under that name.
    pub quota: Quota,
    /// Whose jobs the submission may build upon; none: everybody's.
    pub viewer: Option<String>,
}

/// What a submission came to.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The job.
    pub record: JobRecord,
    /// Whether it is new; else the same submission came before.
    pub fresh: bool,
}

/// What `jobs:validate` says of a job that would be admitted.
#[derive(Clone, Debug)]
pub struct Validation {
    /// Everything that determines its circuits.
    pub spec: arbor_prover::tree::ProofSpec,
    /// Its nodes.
    pub nodes: Vec<NodeRecord>,
    /// What it would take.
    pub sizing: Sizing,
}

/// What `DELETE` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// The job will be cancelled.
    Cancelling,
    /// A finished job is gone, or there was none.
    Gone,
}

/// A proof file that was read and compared with its name.
#[derive(Clone, Debug)]
pub struct StoredProof {
    /// BLAKE3 in hexadecimal.
    pub hash: String,
    /// Length in bytes.
    pub bytes: u64,
    content: Bytes,
}

/// How the engine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Whether jobs are taken and proved.
    pub ready: bool,
    /// Why not, in one line a reason.
    pub reasons: Vec<String>,
}

/// The engine of one data folder. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
    background: Arc<Mutex<Option<Background>>>,
}

impl Engine {
    /// Resolves, sizes, admits and stores a job, and puts it into the queue.
    ///
    /// # Errors
    /// Refused parameters, too large, no room now, or the store's.
    pub async fn submit(&self, submission: Submission) -> Result<Submitted, EngineError> {
        self.do_submit(submission).await
    }

    /// Links the trace of a job to what its submission is part of, if jobs are traced.
    ///
    /// # Errors
    /// The store's.
    pub async fn link(&self, id: JobId, parent: &TraceParent) -> Result<(), EngineError> {
        Ok(self.inner.traces.link(id, parent).await?)
    }

    /// What [`Self::submit`] would say but for what is short right now, with plan and sizes; nothing is
    /// stored. Leaves that are jobs must be the `viewer`'s, if there is one.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub async fn validate(
        &self,
        job: Job,
        viewer: Option<&str>,
    ) -> Result<Validation, EngineError> {
        self.do_validate(&job, viewer).await
    }

    /// A job.
    ///
    /// # Errors
    /// [`EngineError::NoSuchJob`], or the store's.
    pub async fn job(&self, id: JobId) -> Result<JobRecord, EngineError> {
        self.inner.store.job(id).await?.ok_or(EngineError::NoSuchJob { id })
    }

    /// A page of jobs, newest first, beginning after `cursor`.
    ///
    /// # Errors
    /// The store's.
    pub async fn jobs(
        &self,
        filter: JobFilter,
        cursor: Option<JobId>,
        limit: u32,
    ) -> Result<Page, EngineError> {
        Ok(self.inner.store.jobs(&filter, cursor, limit).await?)
    }

    /// The nodes of a job, children before parents; none until it is planned.
    ///
    /// # Errors
    /// As [`Self::job`].
    pub async fn nodes(&self, id: JobId) -> Result<Vec<NodeRecord>, EngineError> {
        self.job(id).await?;
        let rows = self.inner.store.nodes(id).await?;
        Ok(rows.into_iter().map(|row| row.record).collect())
    }

    /// At most `limit` events with ids above `after`, in order.
    ///
    /// # Errors
    /// As [`Self::job`].
    pub async fn events(
        &self,
        id: JobId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Event>, EngineError> {
        let events = self.inner.store.events(id, after, limit).await?;
        if events.is_empty() {
            self.job(id).await?;
        }
        Ok(events)
    }

    /// The messages about a job, in order.
    ///
    /// # Errors
    /// The store's.
    pub async fn deliveries(&self, id: JobId) -> Result<Vec<Delivery>, EngineError> {
        Ok(self.inner.store.deliveries(id).await?)
    }

    /// Changes whenever the job or one of its nodes does; holds the revision, and `i64::MAX` once the job is
    /// removed. To be asked for before the record is read, so that no change is missed.
    #[must_use]
    pub fn changes(&self, id: JobId) -> watch::Receiver<i64> {
        self.inner.store.changes(id)
    }

    /// Cancels a live job, removes a finished one with its proofs.
    ///
    /// # Errors
    /// The store's.
    pub async fn delete(&self, id: JobId) -> Result<Deleted, EngineError> {
        let inner = &self.inner;
        if inner.remove(id).await? {
            return Ok(Deleted::Gone);
        }
        match inner.store.cancel(id, inner.times.now_ms()).await? {
            None => Ok(Deleted::Gone),
            Some(_) => {
                inner.stop_job(id, Reason::Cancelled);
                inner.forget_deadline(id);
                Ok(Deleted::Cancelling)
            }
        }
    }

    /// Puts a failed, cancelled or expired job back into the queue; finished nodes are kept, and a deadline
    /// begins anew. It counts under the name of its owner as a submission with this quota does.
    ///
    /// # Errors
    /// As [`Self::job`]; [`EngineError::NotRetryable`] in any other state; [`EngineError::Quota`];
    /// [`EngineError::Busy`] if too many jobs wait or run.
    pub async fn retry(&self, id: JobId, quota: Quota) -> Result<JobRecord, EngineError> {
        self.do_retry(id, quota).await
    }

    /// The proof file of a job (`node` none), or the proof file of one of its nodes. A damaged proof is made
    /// again.
    ///
    /// # Errors
    /// As [`Self::job`]; [`EngineError::NoSuchNode`], [`EngineError::NodeNotAlone`],
    /// [`EngineError::NotFinished`], [`EngineError::Corrupt`].
    pub async fn proof(&self, id: JobId, node: Option<NodeId>) -> Result<StoredProof, EngineError> {
        self.do_proof(id, node).await
    }

    /// Bytes `range` of a proof, as far as there are any.
    ///
    /// # Errors
    /// None: the bytes are there.
    pub async fn read(
        &self,
        proof: &StoredProof,
        range: std::ops::Range<u64>,
    ) -> Result<Bytes, EngineError> {
        let place = |at: u64| usize::try_from(at.min(proof.bytes)).unwrap_or(usize::MAX);
        let (start, end) = (place(range.start), place(range.end));
        Ok(proof.content.slice(start.min(end)..end))
    }

    /// A key and the hash of its secret, revoked or not.
    ///
    /// # Errors
    /// The store's.
    pub async fn key(&self, id: &str) -> Result<Option<(KeyRecord, blake3::Hash)>, EngineError> {
        Ok(self.inner.store.key(id).await?)
    }

    /// Whether there is any key, a revoked one included.
    ///
    /// # Errors
    /// The store's.
    pub async fn has_keys(&self) -> Result<bool, EngineError> {
        Ok(self.inner.store.has_keys().await?)
    }

    /// How the engine is.
    pub async fn health(&self) -> Health {
        let inner = &self.inner;
        let mut reasons = Vec::new();
        if inner.closing.is_cancelled() {
            reasons.push("the server is shutting down".to_owned());
        }
        if inner.store.check().await.is_err() {
            reasons.push("the records cannot be read".to_owned());
        }
        if inner.blobs.failing() {
            reasons.push("the last proof could not be stored".to_owned());
        }
        let least = inner.config.data.min_free_bytes;
        if fs4::available_space(&inner.folder).is_ok_and(|free| free < least) {
            reasons.push("the disk is nearly full".to_owned());
        }
        Health { ready: reasons.is_empty(), reasons }
    }

    /// The prepared circuits, to be shared with whoever verifies.
    #[must_use]
    pub fn cache(&self) -> Arc<Cache> {
        Arc::clone(&self.inner.cache)
    }

    /// Memory for something else than a node, until the reservation is dropped: a verification, say. Does not
    /// wait.
    ///
    /// # Errors
    /// [`EngineError::TooLarge`] or [`EngineError::Busy`].
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, EngineError> {
        self.inner.memory.reserve_now(bytes)
    }

    /// Sets the gauges to what is now; what cannot be found out stays as it was.
    pub async fn refresh_metrics(&self) {
        if let Err(error) = metering::refresh(&self.inner).await {
            tracing::warn!(%error, "the gauges are old");
        }
    }
}
