//! Jobs as the API shows them.

use arbor_prover::tree::ProofStatement;
use arbor_prover::{Job, LayerReport, Recursion};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::{
    Delivery, JobError, JobRecord, JobState, NodeRecord, NodeState, Phase, ProofRef, Sizing,
};

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub state: JobState,
    /// What is being done right now.
    pub phase: Option<Phase>,
    /// How far it is.
    pub progress: Progress,
    /// The name of the key that it was submitted with.
    pub owner: Option<String>,
    /// As submitted, defaults filled in.
    pub job: Job,
    /// What it is expected to take.
    pub estimate: Sizing,
    /// When it was submitted.
    pub created_at_ms: i64,
    /// When its first node began.
    pub started_at_ms: Option<i64>,
    /// When it came to a final state.
    pub finished_at_ms: Option<i64>,
    /// When it stops being wanted.
    pub deadline_at_ms: Option<i64>,
    /// Why it failed or expired, and whether a retry may help.
    pub error: Option<JobError>,
    /// What its proof says, once it is there. A list leaves that of a tree out: it has all leaves.
    pub statement: Option<ProofStatement>,
    /// Digests of the verifying keys in hexadecimal, the base first; empty until planned.
    pub keys: Vec<String>,
    /// Its proof file, once it is there.
    pub proof: Option<ProofRef>,
    /// Reports of the proofs that are done. Only a single job shows them, and only if it has at most 73
    /// nodes; `timings` always has all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<Vec<LayerReport>>,
    /// Version of Arbor that planned it.
    pub version: String,
    /// Rises with every change; the `etag` is made from it.
    pub revision: i64,
    /// Where the rest is.
    pub links: Links,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// Proofs that are there.
    pub nodes_done: u32,
    /// Proofs of its plan; 0 until it is planned.
    pub nodes_total: u32,
}

/// Paths of everything that belongs to a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Links {
    /// The job.
    #[serde(rename = "self")]
    pub job: String,
    /// Its events.
    pub events: String,
    /// Its nodes.
    pub tree: String,
    /// What they took.
    pub timings: String,
    /// Its proof file.
    pub proof: String,
}

impl Links {
    /// The paths of a job.
    #[must_use]
    pub fn of(id: &str) -> Self {
        let job = format!("/v1/jobs/{id}");
        Self {
            events: format!("{job}/events"),
            tree: format!("{job}/tree"),
            timings: format!("{job}/timings"),
            proof: format!("{job}/proof"),
            job,
        }
    }
}

impl From<JobRecord> for JobView {
    fn from(record: JobRecord) -> Self {
        let id = record.id.to_string();
        Self {
            links: Links::of(&id),
            id,
            state: record.state,
            phase: record.phase,
            progress: Progress { nodes_done: record.nodes_done, nodes_total: record.nodes_total },
            owner: record.owner,
            job: record.job,
            estimate: record.sizing,
            created_at_ms: record.created_at_ms,
            started_at_ms: record.started_at_ms,
            finished_at_ms: record.finished_at_ms,
            deadline_at_ms: record.deadline_at_ms,
            error: record.error,
            statement: record.statement,
            keys: record.keys,
            proof: record.proof,
            layers: None,
            version: record.version,
            revision: record.revision,
        }
    }
}

impl JobView {
    /// The job among others.
    #[must_use]
    pub fn in_list(record: JobRecord) -> Self {
        let mut view = Self::from(record);
        if matches!(view.job.recursion, Recursion::Tree { .. }) {
            view.statement = None;
        }
        view
    }
}

/// A page of jobs, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobList {
    /// The jobs.
    pub jobs: Vec<JobView>,
    /// `cursor` of the next page; none at the end.
    pub next: Option<String>,
}

/// The nodes of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TreeView {
    /// The job.
    pub job: String,
    /// The nodes, children before parents, the root last.
    pub nodes: Vec<TreeNode>,
}

/// One proof of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TreeNode {
    /// `level/index`, the same for every run of the same job.
    pub id: String,
    /// `base`, `layer`, `merge` or `finished`.
    pub kind: String,
    /// Where it stands.
    pub state: NodeState,
    /// The nodes that it verifies, in order of its slots.
    pub children: Vec<String>,
    /// Slots that pad.
    pub padding: u32,
    /// BLAKE3 of its stored proof, in hexadecimal.
    pub hash: Option<String>,
    /// Length of its stored proof.
    pub bytes: Option<u64>,
    /// How often proving began.
    pub starts: u32,
    /// How often a proof was finished and stored; more than one only if it was lost since.
    pub finishes: u32,
}

impl From<NodeRecord> for TreeNode {
    fn from(node: NodeRecord) -> Self {
        Self {
            id: node.id,
            kind: node.kind,
            state: node.state,
            children: node.children,
            padding: node.padding,
            hash: node.hash,
            bytes: node.bytes,
            starts: node.starts,
            finishes: node.finishes,
        }
    }
}

/// What a job would take: the answer of `jobs:validate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    /// Always true: a job that is refused is an error.
    pub valid: bool,
    /// The nodes, children before parents, the root last.
    pub nodes: Vec<PlanNode>,
    /// What it is expected to take.
    pub estimate: Sizing,
    /// Bits of security, each with its regime.
    #[schema(value_type = Object)]
    pub security: Value,
}

/// One proof of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanNode {
    /// `level/index`.
    pub id: String,
    /// `base`, `layer`, `merge` or `finished`.
    pub kind: String,
    /// The nodes that it verifies, in order of its slots.
    pub children: Vec<String>,
    /// Slots that pad.
    pub padding: u32,
}

impl From<NodeRecord> for PlanNode {
    fn from(node: NodeRecord) -> Self {
        Self { id: node.id, kind: node.kind, children: node.children, padding: node.padding }
    }
}

/// The messages about a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryList {
    /// In the order of what they tell of.
    pub deliveries: Vec<Delivery>,
}
