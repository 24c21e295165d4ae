//! What a server says of itself.

use arbor_prover::FriOverrides;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What this server is and takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Capabilities {
    /// Version of Arbor.
    pub version: String,
    /// Commit that it was built from.
    pub commit: String,
    /// Version of the proof format that is written and read.
    pub proof_format: u16,
    /// Release of Plonky3.
    pub plonky3: String,
    /// CPU features that it was built for.
    pub cpu_features: String,
    /// Threads that prove.
    pub threads: usize,
    /// Computations that can be proved.
    pub programs: Vec<ProgramView>,
    /// Ways to stack proofs.
    pub modes: Vec<ModeView>,
    /// Names of the presets.
    pub presets: Vec<String>,
    /// What a request and a job may take.
    pub limits: Limits,
}

/// A computation that can be proved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProgramView {
    /// `base.program` of a job.
    pub name: String,
    /// Its fields in `base`.
    pub fields: Vec<String>,
    /// The most that its size may be.
    pub max_size: u64,
    /// The field that is its size.
    pub size_field: String,
    /// Whether a proof binds its inputs.
    pub inputs_bound: bool,
}

/// A way to stack proofs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModeView {
    /// `recursion.mode` of a job.
    pub name: String,
    /// Its fields in `recursion`.
    pub fields: Vec<String>,
}

/// What a request and a job may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Limits {
    /// Most Keccak permutations of a base.
    pub max_num_hashes: u64,
    /// Largest Fibonacci index.
    pub max_n: u64,
    /// Most layers of a chain.
    pub max_layers: usize,
    /// Least and most proofs that one layer of a tree merges.
    pub arity: [usize; 2],
    /// Most levels of a tree.
    pub max_depth: usize,
    /// Most leaves of a tree.
    pub max_leaves: usize,
    /// Most jobs that wait or run.
    pub max_queued: usize,
    /// Most labels of a job.
    pub max_labels: usize,
    /// Longest deadline, in seconds.
    pub max_deadline_s: u64,
    /// Largest body of a job, in bytes.
    pub max_body_bytes: usize,
    /// Longest wait that is honoured, in seconds.
    pub max_wait_s: u64,
    /// Largest file that is verified, in bytes.
    pub max_verification_bytes: usize,
    /// Seconds that a finished job is kept; 0 for ever.
    pub retention_s: u64,
}

/// The presets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PresetList {
    /// All of them.
    pub presets: Vec<PresetView>,
}

/// A named set of FRI parameters; what it leaves out has a built-in default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PresetView {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Whether it is for tests and protects nothing.
    pub insecure: bool,
    /// Proven bits that every proof has at least; none if that depends on the job.
    pub min_proven_bits: Option<u32>,
    /// Keccak base proofs.
    pub keccak: FriOverrides,
    /// Fibonacci base proofs.
    pub fibonacci: FriOverrides,
    /// Fibonacci leaves of trees, where they differ.
    pub tree_fibonacci: Option<FriOverrides>,
    /// Every layer.
    pub layer: FriOverrides,
    /// What differs in the last layer.
    #[serde(rename = "final")]
    pub last: FriOverrides,
}

/// Whether the server takes and proves jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Readiness {
    /// Whether it does.
    pub ready: bool,
    /// Why not, one line a reason.
    pub reasons: Vec<String>,
}
