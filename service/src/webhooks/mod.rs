//! News of jobs, sent to whoever submitted them.
//!
//! A message is written down in the transaction that changes the job, so none is lost; it is sent afterwards,
//! again and again until its receiver takes it or too much time has gone by, across restarts. It is signed as the
//! Standard Webhooks specification has it, and goes to no address of an inner network unless that is allowed.

mod backoff;
mod deliver;
mod policy;
mod sign;
mod turns;

pub use backoff::Backoff;
pub use deliver::run;
pub use policy::Destinations;
pub use sign::{Secret, sign};
