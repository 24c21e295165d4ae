//! Columns of E.

use crate::config::D;

/// Number of main columns.
pub const NUM_COLS: usize = 4 * D;
/// Number of preprocessed columns.
pub const NUM_PREPROCESSED: usize = 11;

/// Main columns of one row: the four ports, each an extension-field value by its limbs.
///
/// On padding rows all are zero.
#[derive(Clone, Copy, Debug)]
pub struct ArithCols<T> {
    /// First factor, or the quotient of a division. Bound by the bus and the gate.
    pub a: [T; D],
    /// Second factor. Bound by the bus.
    pub b: [T; D],
    /// Addend. Bound by the bus.
    pub c: [T; D],
    /// Result. Bound by the gate.
    pub out: [T; D],
}

/// Preprocessed columns of one row. On padding rows the addresses are that of zero, the rest is 0.
#[derive(Clone, Copy, Debug)]
pub struct ArithPreprocessed<T> {
    /// Addresses of a, b, c and out.
    pub addr: [T; 4],
    /// Coefficients of a·b, a, b, c and 1.
    pub q: [T; 5],
    /// How often a is read elsewhere if this row writes it, −1 if this row reads it.
    pub count_a: T,
    /// The same for out.
    pub count_out: T,
}

impl<T: Copy> ArithCols<T> {
    /// Reads a row.
    ///
    /// # Panics
    /// If the row is not [`NUM_COLS`] wide.
    pub fn from_row(row: &[T]) -> Self {
        let port = |i: usize| std::array::from_fn(|limb| row[i * D + limb]);
        Self { a: port(0), b: port(1), c: port(2), out: port(3) }
    }
}

impl<T: Copy> ArithPreprocessed<T> {
    /// Reads a row.
    ///
    /// # Panics
    /// If the row is not [`NUM_PREPROCESSED`] wide.
    pub fn from_row(row: &[T]) -> Self {
        Self {
            addr: std::array::from_fn(|i| row[i]),
            q: std::array::from_fn(|i| row[4 + i]),
            count_a: row[9],
            count_out: row[10],
        }
    }

    /// Writes a row, in the order in which [`Self::from_row`] reads it.
    #[must_use]
    pub fn to_row(&self) -> [T; NUM_PREPROCESSED] {
        let [a, b, c, out] = self.addr;
        let [q_ab, q_a, q_b, q_c, q_1] = self.q;
        [a, b, c, out, q_ab, q_a, q_b, q_c, q_1, self.count_a, self.count_out]
    }
}
