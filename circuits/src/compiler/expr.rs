//! Constraint expressions as a hash-consed graph, and their lowering to rows of E.
//!
//! Symbolic expressions are trees whose equal parts are often equal by value only, because AIR
//! builders clone. [`Dag`] gives equal parts one [`Node`]; [`Lowering`] turns nodes into lazy
//! [`Form`]s, which become rows only where a value is needed as such.

mod dag;
mod form;
mod lowering;
mod rows;
mod weighted;

pub use dag::{Dag, Leaf, Node, NodeId};
pub use form::Form;
pub use lowering::Lowering;
