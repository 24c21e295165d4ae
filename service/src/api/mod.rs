//! What travels over HTTP as JSON: shared by the routes and the client.
//!
//! Times are milliseconds since 1970, UTC.

mod event;
mod job;
mod problem;
mod proof;
mod server;

pub use event::StreamEvent;
pub use job::{
    DeliveryList, JobList, JobView, Links, Plan, PlanNode, Progress, TreeNode, TreeView,
};
pub use problem::{Problem, ProblemKind};
pub use proof::{NodeTimings, TimingsView, Verdict, VerdictClass};
pub use server::{Capabilities, Limits, ModeView, PresetList, PresetView, ProgramView, Readiness};
