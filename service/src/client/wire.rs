//! What a client reads of the server's answers. Fields that it does not know are left alone, so that an
//! older client understands a newer server.

use std::fmt;

use arbor_prover::LayerReport;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{EventKind, JobError, JobId, JobState, Phase, ProofRef};

/// A job as the server shows it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct JobView {
    /// Its id.
    pub id: JobId,
    /// Where it stands.
    pub state: JobState,
    /// How far it is.
    #[serde(default)]
    pub progress: NodesDone,
    /// What is being done right now.
    #[serde(default)]
    pub phase: Option<Phase>,
    /// Why it failed or expired.
    #[serde(default)]
    pub error: Option<JobError>,
    /// Its proof file, once it is there.
    #[serde(default)]
    pub proof: Option<ProofRef>,
    /// Reports of the proofs that are there.
    #[serde(default)]
    pub layers: Vec<LayerReport>,
    /// When it was submitted, in milliseconds since 1970.
    #[serde(default)]
    pub created_at_ms: Option<i64>,
    /// When it came to a final state.
    #[serde(default)]
    pub finished_at_ms: Option<i64>,
}

/// How many proofs of a job are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodesDone {
    /// Proofs that are there.
    pub nodes_done: u64,
    /// Proofs that there will be; 0 until the job is planned.
    pub nodes_total: u64,
}

impl fmt::Display for NodesDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.nodes_done, self.nodes_total)
    }
}

/// One node of `…/tree`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TreeNode {
    /// `level/index`.
    pub id: String,
    /// `base`, `layer`, `merge` or `finished`.
    pub kind: String,
    /// `waiting`, `ready`, `running`, `done` or `failed`.
    pub state: String,
    /// The nodes that it verifies.
    #[serde(default)]
    pub children: Vec<String>,
    /// Slots that pad.
    #[serde(default)]
    pub padding: u32,
    /// Length of its proof.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// How often proving began.
    #[serde(default)]
    pub starts: u32,
}

/// One event, as the client acts upon it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobEvent {
    /// Its number.
    pub id: i64,
    /// What happened.
    pub kind: EventKind,
    /// The details.
    pub data: Value,
}

impl JobEvent {
    /// The new state, of an event that tells one.
    #[must_use]
    pub fn state(&self) -> Option<JobState> {
        if self.kind != EventKind::State {
            return None;
        }
        self.data.get("state")?.as_str()?.parse().ok()
    }

    /// A text of the details.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.data.get(name)?.as_str()
    }

    /// The node that the event is about.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        self.text("node").or_else(|| self.data.get("phase")?.get("node")?.as_str())
    }

    /// What is being done, if the event says.
    #[must_use]
    pub fn phase(&self) -> Option<&str> {
        self.data.get("phase")?.get("name")?.as_str()
    }

    /// How far the job is, if the event says.
    #[must_use]
    pub fn progress(&self) -> Option<NodesDone> {
        let progress = NodesDone::deserialize(&self.data).ok()?;
        (progress.nodes_total > 0).then_some(progress)
    }

    /// What a proof took, in milliseconds, if the event is its end.
    #[must_use]
    pub fn total_ms(&self) -> Option<f64> {
        self.data.get("report")?.get("timings_ms")?.get("total")?.as_f64()
    }
}
