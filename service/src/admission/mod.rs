//! Which jobs are taken: those that are within the limits, and for which there is room.
//!
//! What is too large for this server is refused for good, what does not fit now with the advice to come
//! back. A job that was taken is not lost to a shortage later: its nodes wait for room.

mod disk;
mod limits;
mod memory;
mod sizing;

pub use disk::spare as spare_disk;
pub use limits::check as check_limits;
pub use memory::{Memory, Reservation};
pub use sizing::{node_bytes, plan_bytes, sizing};
