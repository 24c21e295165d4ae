//! What the service remembers: jobs, their nodes, and what happened to them.
//!
//! Plain data, shared by the store, the engine and the routes. Times are milliseconds since 1970, UTC.

mod delivery;
mod event;
mod job;
mod node;

pub use delivery::{Delivery, DeliveryState};
pub use event::{Event, EventKind};
pub use job::{
    ErrorClass, JobError, JobFilter, JobId, JobRecord, JobState, Page, Phase, ProofRef, Sizing,
    UnknownState,
};
pub use node::{NodeRecord, NodeState};
