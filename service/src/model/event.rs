//! What happened to a job.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::job::UnknownState;

/// One event of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its number in the job, from 1, without gaps.
    pub id: i64,
    /// What kind.
    pub kind: EventKind,
    /// The details, by kind.
    pub data: Value,
    /// When.
    pub at_ms: i64,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The job changed its state.
    State,
    /// A node begins.
    NodeStarted,
    /// A node's proof is stored; with its report.
    NodeFinished,
    /// Nodes done, of how many, and the phase.
    Progress,
}

impl EventKind {
    /// The name in the event stream.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::NodeStarted => "node-started",
            Self::NodeFinished => "node-finished",
            Self::Progress => "progress",
        }
    }
}

impl FromStr for EventKind {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::State, Self::NodeStarted, Self::NodeFinished, Self::Progress]
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or(UnknownState)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
