//! Rows of H that a test writes by hand.

use std::collections::BTreeSet;
use std::sync::Arc;

use p3_field::PrimeCharacteristicRing;
use p3_matrix::dense::RowMajorMatrix;

use super::{Bus, Subject};
use crate::config::{F, WIDTH};
use crate::tables::LayerAir;
use crate::tables::hash::{
    HashAir, HashPreprocessed, NUM_COLS, NUM_PREPROCESSED, PERM_COLS, SCRATCH, fill_permutations,
};

/// A table of them.
#[derive(Default)]
pub(crate) struct HashRows(Vec<HandRow>);

/// One of them: all but the permutation.
#[derive(Clone, Copy)]
pub(crate) struct HandRow {
    pub(crate) fixed: HashPreprocessed<F>,
    pub(crate) input: [F; WIDTH],
    pub(crate) scratch: [F; SCRATCH],
}

impl HandRow {
    pub(crate) fn new(fixed: HashPreprocessed<F>, input: [F; WIDTH]) -> Self {
        Self { fixed, input, scratch: [F::ZERO; SCRATCH] }
    }

    pub(crate) fn put(&mut self, column: usize, values: &[F]) {
        self.scratch[column..column + values.len()].copy_from_slice(values);
    }
}

/// What the table says to rows that were written by hand.
pub(crate) struct Outcome {
    /// Numbers of the constraints that fail on some row.
    pub(crate) failed: BTreeSet<usize>,
    /// All messages that do not cancel.
    pub(crate) bus: Bus,
}

impl HashRows {
    pub(crate) fn push(&mut self, row: HandRow) {
        self.0.push(row);
    }

    /// The table with these rows and padding.
    pub(crate) fn table(&self) -> (LayerAir, RowMajorMatrix<F>) {
        let height = self.0.len().next_power_of_two().max(16);
        let mut main = F::zero_vec(height * NUM_COLS);
        let mut fixed = F::zero_vec(height * NUM_PREPROCESSED);
        for (i, row) in self.0.iter().enumerate() {
            let cells = &mut main[i * NUM_COLS..(i + 1) * NUM_COLS];
            cells[..WIDTH].copy_from_slice(&row.input);
            cells[PERM_COLS..].copy_from_slice(&row.scratch);
            fixed[i * NUM_PREPROCESSED..(i + 1) * NUM_PREPROCESSED]
                .copy_from_slice(&row.fixed.to_row());
        }
        fill_permutations(&mut main);
        let preprocessed = Arc::new(RowMajorMatrix::new(fixed, NUM_PREPROCESSED));
        (LayerAir::Hash(HashAir { preprocessed }), RowMajorMatrix::new(main, NUM_COLS))
    }

    /// Evaluates all windows.
    pub(crate) fn check(&self) -> Outcome {
        let (air, trace) = self.table();
        let subject = Subject { air: &air, trace: &trace, publics: &[] };
        let mut outcome = Outcome { failed: BTreeSet::new(), bus: Bus::new() };
        for row in 0..subject.height() {
            let probe = subject.probe(row, [subject.cells(row), subject.cells(row + 1)]);
            outcome.failed.extend(probe.failed);
            for (message, count) in probe.bus {
                *outcome.bus.entry(message).or_insert(F::ZERO) += count;
            }
        }
        outcome.bus.retain(|_, count| *count != F::ZERO);
        outcome
    }
}
