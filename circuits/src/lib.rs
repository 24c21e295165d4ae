//! What a recursion layer of Arbor proves: its two tables, the bus between them, the compiler from
//! a child's shape to a program, and the filler of its witness.
//!
//! No IO, no async, no clock.

pub mod check;
pub mod child;
pub mod circuit;
pub mod compiler;
pub mod config;
pub mod error;
pub mod filler;
pub mod fingerprint;
pub mod layer;
pub mod program;
pub mod statement;
pub mod tables;
pub mod timed_pcs;
