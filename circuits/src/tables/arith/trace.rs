//! Rows of E from a program and a memory.

use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};
use p3_matrix::dense::RowMajorMatrix;
use p3_maybe_rayon::prelude::*;

use super::columns::{ArithPreprocessed, NUM_COLS, NUM_PREPROCESSED};
use crate::config::{D, EF, F};
use crate::program::{Gate, Role};

/// The preprocessed columns of `gates`, padded to `2^log_height` rows.
///
/// `names[i]` is the bus name of address i, `reads[i]` how often it is read.
#[must_use]
pub fn preprocessed_trace(
    gates: &[Gate],
    log_height: usize,
    names: &[F],
    reads: &[u32],
) -> RowMajorMatrix<F> {
    let mut values = F::zero_vec(NUM_PREPROCESSED << log_height);
    let count = |written: bool, used: bool, index: usize| match (written, used) {
        (true, _) => F::from_u32(reads[index]),
        (false, true) => F::NEG_ONE,
        (false, false) => F::ZERO,
    };
    for (row, gate) in values.chunks_exact_mut(NUM_PREPROCESSED).zip(gates) {
        let writes_a = matches!(gate.role, Role::Quotient | Role::Input);
        let writes_out = gate.role == Role::Compute;
        let fixed = ArithPreprocessed {
            addr: [gate.a, gate.b, gate.c, gate.out].map(|addr| names[addr.index()]),
            q: gate.q,
            count_a: count(writes_a, true, gate.a.index()),
            count_out: count(writes_out, true, gate.out.index()),
        };
        row.copy_from_slice(&fixed.to_row());
    }
    RowMajorMatrix::new(values, NUM_PREPROCESSED)
}

/// The main columns of `gates` over `memory`, padded to `2^log_height` rows.
#[must_use]
pub fn fill_rows(gates: &[Gate], log_height: usize, memory: &[EF]) -> RowMajorMatrix<F> {
    let mut values = F::zero_vec(NUM_COLS << log_height);
    values.par_chunks_exact_mut(NUM_COLS).zip(gates.par_iter()).for_each(|(row, gate)| {
        let ports = [gate.a, gate.b, gate.c, gate.out];
        for (cells, addr) in row.chunks_exact_mut(D).zip(ports) {
            cells.copy_from_slice(memory[addr.index()].as_basis_coefficients_slice());
        }
    });
    RowMajorMatrix::new(values, NUM_COLS)
}
