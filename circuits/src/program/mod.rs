//! The program of a layer: rows of both tables with their bus addresses, before any witness.
//!
//! A program is built once per shape by the [`compiler`](crate::compiler) and replayed for every
//! proof by the [`filler`](crate::filler). Every bus address is written by exactly one row and read
//! by rows that the program fixes, so that each multiplicity is known when the program is sealed
//! (the few addresses that are read at a witness-dependent index apart: [`hash::Access::WriteIndexed`]).

pub mod arith;
mod audit;
pub mod builder;
pub mod hash;
pub mod regions;

pub use arith::{Gate, Role};
pub use audit::audit;
pub use builder::{Addr, Op, ProgramBuilder};
pub use hash::{Access, HashRow, Port, Source};
