//! One row of an honest table that is changed: only the two windows that see it are evaluated.

use std::collections::BTreeSet;

use p3_air::Air;
use p3_field::PrimeCharacteristicRing;
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;

use super::probe::{Bus, Probe};
use crate::config::F;
use crate::tables::LayerAir;

/// Why a changed row is not accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejection {
    /// Constraints that do not hold, by number.
    pub failed: BTreeSet<usize>,
    /// Whether other messages are on the bus than before. All other rows stay as they are, and with the
    /// row as it was the bus balances: then it does not balance.
    pub bus: bool,
}

impl Rejection {
    /// Whether there is a reason.
    #[must_use]
    pub fn rejects(&self) -> bool {
        self.bus || !self.failed.is_empty()
    }
}

/// A filled table.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The table's constraints and preprocessed columns.
    pub air: &'a LayerAir,
    /// Its main columns.
    pub trace: &'a RowMajorMatrix<F>,
    /// Its public values.
    pub publics: &'a [F],
}

impl<'a> Subject<'a> {
    /// Number of rows, padding included.
    #[must_use]
    pub fn height(&self) -> usize {
        self.trace.height()
    }

    /// Main columns of a row, counted around the end.
    pub fn cells(&self, row: usize) -> &'a [F] {
        cells(self.trace, row % self.height())
    }

    /// Preprocessed columns of a row, counted around the end.
    pub fn fixed(&self, row: usize) -> &'a [F] {
        cells(self.air.preprocessed(), row % self.height())
    }

    /// The window that begins at `row`, with these main columns.
    pub(crate) fn probe<'b>(&self, row: usize, main: [&'b [F]; 2]) -> Probe<'b>
    where
        'a: 'b,
    {
        let fixed = [self.fixed(row), self.fixed(row + 1)];
        let mut probe = Probe::new(main, fixed, self.publics, row, self.height());
        self.air.eval(&mut probe);
        probe
    }

    /// One row to change.
    ///
    /// # Panics
    /// If a constraint does not hold on the row as it is.
    #[must_use]
    pub fn site(self, row: usize) -> Site<'a> {
        let mut site = Site { subject: self, row, bus: Bus::new() };
        let (failed, bus) = site.windows(self.cells(row));
        assert_eq!(failed, BTreeSet::new(), "row {row} is honest");
        site.bus = bus;
        site
    }
}

/// A row of an honest table, with what its two windows put on the bus.
#[derive(Debug)]
pub struct Site<'a> {
    subject: Subject<'a>,
    row: usize,
    bus: Bus,
}

impl<'a> Site<'a> {
    fn before(&self) -> usize {
        (self.row + self.subject.height() - 1) % self.subject.height()
    }

    /// Main columns of the row before, the row, and the one after.
    pub fn cells(&self) -> [&'a [F]; 3] {
        [self.before(), self.row, self.row + 1].map(|row| self.subject.cells(row))
    }

    /// Preprocessed columns of the row and the one after.
    pub fn fixed(&self) -> [&'a [F]; 2] {
        [self.row, self.row + 1].map(|row| self.subject.fixed(row))
    }

    fn windows(&self, row: &[F]) -> (BTreeSet<usize>, Bus) {
        let before = self.before();
        let first = self.subject.probe(before, [self.subject.cells(before), row]);
        let second = self.subject.probe(self.row, [row, self.subject.cells(self.row + 1)]);
        let failed = first.failed.union(&second.failed).copied().collect();
        let mut bus = first.bus;
        for (message, count) in second.bus {
            *bus.entry(message).or_insert(F::ZERO) += count;
        }
        bus.retain(|_, count| *count != F::ZERO);
        (failed, bus)
    }

    /// What is wrong if the row holds `cells` and all others what they did.
    #[must_use]
    pub fn replace(&self, cells: &[F]) -> Rejection {
        let (failed, bus) = self.windows(cells);
        Rejection { failed, bus: bus != self.bus }
    }
}

fn cells(matrix: &RowMajorMatrix<F>, row: usize) -> &[F] {
    &matrix.values[row * matrix.width..(row + 1) * matrix.width]
}
