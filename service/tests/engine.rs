//! The engine, without the routes: jobs come to their proofs, whatever happens on the way.
#![expect(clippy::unwrap_used, reason = "test")]

#[path = "engine/jobs.rs"]
mod jobs;
#[path = "engine/support.rs"]
mod support;
