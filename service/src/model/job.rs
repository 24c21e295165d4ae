//! A job and its states.

use std::fmt;
use std::str::FromStr;

use arbor_prover::Job;
use arbor_prover::tree::{ProofSpec, ProofStatement};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Name of a job: a UUID of version 7, so that ids sort by the time of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(Uuid);

impl JobId {
    /// A new id.
    #[must_use]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// Its 128 bits.
    #[must_use]
    pub const fn bytes(self) -> [u8; 16] {
        self.0.into_bytes()
    }
}

impl Default for JobId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for JobId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::try_parse(text).map(Self)
    }
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Admitted; no node has begun.
    Queued,
    /// At least one node has begun.
    Running,
    /// To be cancelled as soon as the node that is being proved ends.
    Cancelling,
    /// The proof is there.
    Succeeded,
    /// There will be no proof unless the job is retried.
    Failed,
    /// Cancelled by its owner.
    Cancelled,
    /// Its deadline passed.
    Expired,
}

impl JobState {
    /// Whether a job in this state can begin again: it has ended, and not with a proof.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Failed | Self::Cancelled | Self::Expired)
    }

    /// The name that the API and the store use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Cancelling => "cancelling",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// Every state, in the order of a job's life.
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Running,
        Self::Cancelling,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
        Self::Expired,
    ];

    /// Whether nothing will happen to the job by itself any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled | Self::Expired)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for JobState {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|state| state.name() == text).ok_or(UnknownState)
    }
}

/// A name that no state has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such state")]
pub struct UnknownState;

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobError {
    /// What kind of failure it is.
    pub class: ErrorClass,
    /// What went wrong, in one line.
    pub message: String,
    /// Whether `retry` may help.
    pub retryable: bool,
    /// The node that failed, as `level/index`; none if the job failed before any.
    pub node: Option<String>,
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The parameters turned out to be impossible.
    Parameters,
    /// Memory, disk or another resource was short.
    Resources,
    /// The proof store could not be read or written.
    Storage,
    /// The worker died too often on one node.
    Crashed,
    /// The deadline passed.
    Deadline,
    /// An error of ours.
    Internal,
}

impl ErrorClass {
    /// The name that the API has for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Resources => "resources",
            Self::Storage => "storage",
            Self::Crashed => "crashed",
            Self::Deadline => "deadline",
            Self::Internal => "internal",
        }
    }
}

/// What a job is expected to take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sizing {
    /// Most memory in bytes, what the process takes anyway and the job's circuits included; those of other jobs are
    /// not, because they are given up for it.
    pub peak_bytes: u64,
    /// Time to prove everything, in milliseconds: within a factor of two on two cores with AVX-512.
    pub prove_ms: u64,
    /// Most bytes on disk: proofs of all nodes, and the proof file.
    pub disk_bytes: u64,
}

/// What is being done for a job right now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Phase {
    /// The node, as `level/index`; none while circuits are planned.
    pub node: Option<String>,
    /// `plan`, `prepare`, or a phase of a proof as in the reports.
    pub name: String,
}

/// A finished proof file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProofRef {
    /// BLAKE3 of the file, in hexadecimal; its name in the blob store.
    pub hash: String,
    /// Its length in bytes.
    pub bytes: u64,
}

/// A job as the store has it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRecord {
    /// Its id.
    pub id: JobId,
    /// Where it stands.
    pub state: JobState,
    /// As submitted.
    pub job: Job,
    /// Everything that determines its circuits.
    pub spec: ProofSpec,
    /// What it is expected to take.
    pub sizing: Sizing,
    /// The key that submitted it, once there are keys.
    pub owner: Option<String>,
    /// When it was submitted.
    pub created_at_ms: i64,
    /// When its first node began.
    pub started_at_ms: Option<i64>,
    /// When it came to a final state.
    pub finished_at_ms: Option<i64>,
    /// When it stops being wanted.
    pub deadline_at_ms: Option<i64>,
    /// Nodes of its plan; 0 until it is planned.
    pub nodes_total: u32,
    /// Nodes whose proof is there.
    pub nodes_done: u32,
    /// What is being done right now.
    pub phase: Option<Phase>,
    /// Why it failed or expired.
    pub error: Option<JobError>,
    /// What its proof says, once it is there.
    pub statement: Option<ProofStatement>,
    /// Digests of the verifying keys, in hexadecimal; empty until planned.
    pub keys: Vec<String>,
    /// Its proof file, once it is there.
    pub proof: Option<ProofRef>,
    /// Version of Arbor that planned it.
    pub version: String,
    /// Rises with every change of the job or of one of its nodes.
    pub revision: i64,
}

/// Which jobs a list shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Only jobs in one of these states; all if empty.
    pub states: Vec<JobState>,
    /// Only jobs of this program (`keccak`, `fibonacci`), leaves of trees included.
    pub program: Option<String>,
    /// Only jobs of this mode (`chain`, `tree`).
    pub mode: Option<String>,
    /// Only jobs with all of these labels.
    pub labels: Vec<(String, String)>,
    /// Only jobs of this key.
    pub owner: Option<String>,
}

/// One page of a list, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The jobs.
    pub jobs: Vec<JobRecord>,
    /// Where the next page begins; none at the end.
    pub next: Option<JobId>,
}
