//! Every sort of AIR can be a child: native verification accepts the proof, the shape compiles, and
//! the layer over it has no faults.

#[path = "../common/mod.rs"]
mod common;

mod batch;
mod uni;
