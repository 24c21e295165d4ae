//! E, the extension-field arithmetic table.
//!
//! **Claim.** Every row satisfies `q_ab·a·b + q_a·a + q_b·b + q_c·c + q_1 = out` over the extension
//! field, and the four values are those that the bus has at the four addresses of the row.
//!
//! **Row.** One gate. Which ports are written and which are read is fixed by two signed
//! multiplicities, those of `a` and of `out`; `b` and `c` are always read. A division is a row that
//! writes `a`; a boolean is a row whose `a`, `b` and `out` have one address.
//!
//! **Height.** A power of two, the rows of the program padded by rows that read zero.
//!
//! **Degree.** 3: a preprocessed coefficient times a product.
//!
//! **Bus.** Four interactions a row, two to a LogUp column.
//!
//! **Why it is sound.** Coefficients, addresses and multiplicities are preprocessed; the bus gives
//! every address one value; what is left is the gate.

mod air;
mod columns;
mod groups;
#[cfg(test)]
mod tests;
mod trace;

pub(crate) use air::ext_mul;
pub use air::{ArithAir, Publics};
pub use columns::{ArithCols, ArithPreprocessed, NUM_COLS, NUM_PREPROCESSED};
pub(crate) use groups::groups;
pub use trace::{fill_rows, preprocessed_trace};
