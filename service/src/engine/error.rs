//! Why the engine does not do what it is asked.

use std::path::PathBuf;

use arbor_prover::{ParamError, ProverError};
use thiserror::Error;

use crate::config::EndpointError;
use crate::model::{JobId, JobState};

/// Why a request to the engine fails. Routes turn it into a status and a stable type; causes are logged
/// and never shown.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The parameters are refused.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A circuit cannot be built.
    #[error(transparent)]
    Prover(#[from] ProverError),
    /// No job of this id.
    #[error("there is no job {id}")]
    NoSuchJob {
        /// As asked for.
        id: JobId,
    },
    /// No node of this id.
    #[error("job {id} has no node {node}")]
    NoSuchNode {
        /// The job.
        id: JobId,
        /// As asked for.
        node: String,
    },
    /// The proof is not there yet, or never will be as things stand.
    #[error("{}: the job is {state}", if state.is_final() { "there is no proof" } else { "the proof is not there yet" })]
    NotFinished {
        /// Where the job stands.
        state: JobState,
    },
    /// Only a failed, cancelled or expired job can be retried.
    #[error("a job that is {state} cannot be retried")]
    NotRetryable {
        /// Where the job stands.
        state: JobState,
    },
    /// The same idempotency key came with another body before.
    #[error("the idempotency key was used for another body before")]
    IdempotencyConflict,
    /// A leaf that is the proof of a job that is not there, or has no proof yet.
    #[error("recursion.leaves[{leaf}].job: {reason}")]
    LeafJob {
        /// Which leaf.
        leaf: usize,
        /// What is the matter.
        reason: String,
    },
    /// Larger than this server will ever take.
    #[error("{what} is {got}, this server takes at most {limit}")]
    TooLarge {
        /// What there is too much of: a field of the job where there is one.
        what: &'static str,
        /// How much.
        got: u64,
        /// The limit.
        limit: u64,
    },
    /// No room now; later there may be.
    #[error("{reason}; try again in {retry_after_s} s")]
    Busy {
        /// What is short.
        reason: String,
        /// When to come back.
        retry_after_s: u64,
        /// Whether the queue is full (429) and not the machine (503).
        queue: bool,
    },
    /// News of the job cannot be sent where it says.
    #[error("webhook.url: {reason}")]
    Webhook {
        /// Why not.
        reason: String,
    },
    /// The quota of the key that submits is reached.
    #[error("{reason}")]
    Quota {
        /// Which one, and what is used of it.
        reason: String,
        /// When to come back; none where that does not help.
        retry_after_s: Option<u64>,
    },
    /// The node's proof says nothing by itself: it is not what a chain or a tree would have come to.
    #[error("node {node} of job {id} has no proof file of its own")]
    NodeNotAlone {
        /// The job.
        id: JobId,
        /// The node.
        node: String,
    },
    /// The data folder cannot be used: another server has it, or it cannot be written to.
    #[error("the data folder {} cannot be used: {reason}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Traces cannot be sent where the configuration says.
    #[error("telemetry.otlp_endpoint: {0}")]
    Telemetry(#[from] EndpointError),
    /// The server is ending.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// The records cannot be read or written.
    #[error("the records cannot be reached")]
    Store(#[from] sqlx::Error),
    /// The proofs cannot be read or written.
    #[error("the proof store cannot be reached")]
    Blobs(#[from] object_store::Error),
    /// A thread that proves has panicked: an error of ours.
    #[error("a thread panicked")]
    Panicked,
    /// A stored proof is not what it was; it is being made again.
    #[error("the stored proof of node {node} is damaged; it is being proved again")]
    Corrupt {
        /// The node.
        node: String,
    },
}
