//! Server-sent events, as their fields go over the wire.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One event of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StreamEvent {
    /// Its number in the job, from 1: what `last-event-id` takes.
    #[schema(pattern = "^[1-9][0-9]*$")]
    pub id: String,
    /// Its kind: `state`, `node-started`, `node-finished` or `progress`.
    #[schema(pattern = "^(state|node-started|node-finished|progress)$")]
    pub event: String,
    /// JSON, with `at_ms` and what belongs to the kind.
    pub data: String,
    /// Of the first event: milliseconds after which a client comes back when the stream broke.
    #[schema(nullable = false)]
    pub retry: Option<u64>,
}
