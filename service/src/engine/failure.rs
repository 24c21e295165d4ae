//! Why a node was not proved, and what that makes of its job.

use arbor_prover::ProverError;
use thiserror::Error;

use super::inner::Running;
use super::stop::Reason;
use crate::blobs::BlobError;
use crate::model::{ErrorClass, JobError, JobId};

/// Why a node was not proved.
#[derive(Debug, Error)]
pub(super) enum Failure {
    /// It was asked to stop.
    #[error("stopped")]
    Stopped(Reason),
    /// The prover says no.
    #[error(transparent)]
    Prover(ProverError),
    /// The prover panicked.
    #[error("the prover panicked")]
    Panicked,
    /// There was no room in memory for a while.
    #[error("no room for the {} MiB of memory that it takes", bytes >> 20)]
    Memory {
        /// What it takes.
        bytes: u64,
    },
    /// There never will be.
    #[error("it takes {} MiB of memory, this server has {}", bytes >> 20, limit >> 20)]
    TooLarge {
        /// What it takes.
        bytes: u64,
        /// What there is.
        limit: u64,
    },
    /// The proof of a child is damaged.
    #[error("the stored proof {hash} of node {node} is missing or damaged")]
    Damaged {
        /// The child.
        node: String,
        /// Its proof.
        hash: String,
    },
    /// The proof of another job that is a leaf is damaged.
    #[error(
        "the proof of job {job}, which is a leaf, is missing or damaged; it is being made again"
    )]
    DamagedLeaf {
        /// The other job.
        job: JobId,
    },
    /// The proof store fails.
    #[error(transparent)]
    Blobs(BlobError),
    /// The records fail: the task is begun again.
    #[error(transparent)]
    Store(#[from] sqlx::Error),
}

impl Failure {
    /// The prover stopped because somebody asked.
    pub(super) fn stopped(running: &Running) -> Self {
        Self::Stopped(running.stop.reason().unwrap_or(Reason::Shutdown))
    }

    /// What its span says.
    pub(super) fn for_trace(&self) -> String {
        match self {
            Self::Stopped(Reason::Cancelled) => "the job was cancelled".to_owned(),
            Self::Stopped(Reason::Expired) => "the deadline has passed".to_owned(),
            Self::Stopped(Reason::Shutdown) => "handed back: the server ends".to_owned(),
            other => other.describe(None).message,
        }
    }

    /// What clients are told. Causes are in the log.
    pub(super) fn describe(&self, node: Option<&str>) -> JobError {
        let (class, message, retryable) = match self {
            Self::Prover(ProverError::Param(_) | ProverError::Compile { .. }) => {
                (ErrorClass::Parameters, self.to_string(), false)
            }
            Self::Prover(ProverError::Memory { .. }) | Self::Memory { .. } => {
                (ErrorClass::Resources, self.to_string(), true)
            }
            Self::TooLarge { .. } => (ErrorClass::Resources, self.to_string(), false),
            Self::Blobs(_) => {
                (ErrorClass::Storage, "the proof store could not be used".to_owned(), true)
            }
            Self::DamagedLeaf { .. } | Self::Damaged { .. } => {
                (ErrorClass::Storage, self.to_string(), true)
            }
            Self::Prover(error) => (ErrorClass::Internal, error.to_string(), true),
            Self::Panicked | Self::Store(_) | Self::Stopped(_) => {
                (ErrorClass::Internal, "an internal error; the log says more".to_owned(), true)
            }
        };
        JobError { class, message, retryable, node: node.map(str::to_owned) }
    }
}
