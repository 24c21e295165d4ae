//! Timings and verdicts.

use arbor_prover::tree::ProofStatement;
use arbor_prover::{LayerReport, Timings};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::JobState;

/// What the proofs of a job took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimingsView {
    /// The job.
    pub job: String,
    /// Where it stands.
    pub state: JobState,
    /// Proofs of its plan that are made in this job; finished leaves are not among them.
    pub nodes: usize,
    /// The sums over all reports.
    pub sum_ms: Timings,
    /// A report for each proof that is there, children before parents.
    pub layers: Vec<NodeTimings>,
}

/// What one proof took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeTimings {
    /// Its node, as `level/index`.
    pub id: String,
    /// The report.
    #[serde(flatten)]
    pub report: LayerReport,
}

/// What a verifier says of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Verdict {
    /// Whether the file is a valid proof, and of what was expected.
    pub valid: bool,
    /// What kind of answer it is.
    pub class: VerdictClass,
    /// Why the file is not accepted; none if it is.
    pub reason: Option<String>,
    /// What was proved; none if nothing was.
    pub statement: Option<ProofStatement>,
    /// Digests of the verifying keys in hexadecimal, derived here, the base first.
    pub keys: Vec<String>,
    /// Digest of the whole statement in hexadecimal.
    pub node_digest: Option<String>,
    /// Least proven bits that were asked for.
    pub min_proven_bits: u32,
    /// Bits of security, each with its regime; none if nothing was proved.
    #[schema(value_type = Option<Object>)]
    pub security: Option<Value>,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Time to derive the keys, in milliseconds.
    pub derive_ms: Option<f64>,
    /// Time to verify, in milliseconds.
    pub verify_ms: Option<f64>,
}

/// Kinds of verdicts, as the exit codes of `arbor verify` tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictClass {
    /// A valid proof.
    Valid,
    /// Invalid, corrupt, or a proof of something else than expected.
    Invalid,
    /// Of parameters weaker than was asked for: nobody looked whether it is valid.
    Weak,
    /// Not a proof file of this version.
    Foreign,
}
