//! One proof of a job.

use std::str::FromStr;

use arbor_prover::LayerReport;
use serde::{Deserialize, Serialize};

use super::job::UnknownState;
use utoipa::ToSchema;

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// A child is missing.
    Waiting,
    /// All children are there; in the queue.
    Ready,
    /// Being proved.
    Running,
    /// Its proof is in the blob store.
    Done,
    /// It failed, and with it its job.
    Failed,
}

impl NodeState {
    /// Every state, in the order of a node's life.
    pub const ALL: [Self; 5] =
        [Self::Waiting, Self::Ready, Self::Running, Self::Done, Self::Failed];

    /// The name that the API and the store use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

impl FromStr for NodeState {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|state| state.name() == text).ok_or(UnknownState)
    }
}

/// One proof of a job, as the store has it.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRecord {
    /// `level/index`, the same for every run of the same job.
    pub id: String,
    /// `base`, `layer`, `merge` or `finished`.
    pub kind: String,
    /// Where it stands.
    pub state: NodeState,
    /// The nodes that it verifies, in order of its slots, without those that pad.
    pub children: Vec<String>,
    /// Slots that pad.
    pub padding: u32,
    /// Name of its proof in the blob store: BLAKE3 in hexadecimal.
    pub hash: Option<String>,
    /// Length of its proof.
    pub bytes: Option<u64>,
    /// What proving took.
    pub report: Option<LayerReport>,
    /// How often proving began.
    pub starts: u32,
    /// How often a proof was finished and stored; more than one only if the blob was lost.
    pub finishes: u32,
}
