//! The engine, without the routes: jobs come to their proofs, whatever happens on the way.
#![expect(clippy::unwrap_used, reason = "test")]

#[path = "engine/admission.rs"]
mod admission;
#[path = "engine/ends.rs"]
mod ends;
#[path = "engine/faults.rs"]
mod faults;
#[path = "engine/jobs.rs"]
mod jobs;
#[path = "engine/records.rs"]
mod records;
#[path = "engine/support.rs"]
mod support;
#[path = "engine/time.rs"]
mod time;
