//! Rows of an honest table that are changed: only the windows that see them are evaluated.

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
        self.sites(row, 1)
    }

    /// `len` neighbouring rows to change, from `row` on.
    ///
    /// # Panics
    /// If a constraint does not hold on the rows as they are.
    #[must_use]
    pub fn sites(self, row: usize, len: usize) -> Site<'a> {
        let mut site = Site { subject: self, row, len, bus: Bus::new(), counts: vec![] };
        let honest: Vec<F> = (row..row + len).flat_map(|row| self.cells(row)).copied().collect();
        let (failed, bus) = site.evaluate(&honest);
        assert_eq!(failed, BTreeSet::new(), "row {row} is honest");
        let probes = site.windows(&honest);
        site.counts = probes.flat_map(|probe| probe.sent).map(|(count, _)| count).collect();
        site.bus = bus;
        site
    }
}

/// Rows of an honest table, with what their windows put on the bus.
#[derive(Debug)]
pub struct Site<'a> {
    subject: Subject<'a>,
    row: usize,
    len: usize,
    bus: Bus,
    /// How often each message is sent.
    counts: Vec<F>,
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

    /// The windows that see the rows, if those hold `changed`.
    fn windows<'b>(&'b self, changed: &'b [F]) -> impl Iterator<Item = Probe<'b>> {
        let width = self.subject.trace.width;
        let cells = move |offset: usize| match offset {
            0 => self.subject.cells(self.before()),
            offset if offset > self.len => self.subject.cells(self.row + self.len),
            offset => &changed[(offset - 1) * width..offset * width],
        };
        (0..=self.len).map(move |offset| {
            let row = (self.before() + offset) % self.subject.height();
            self.subject.probe(row, [cells(offset), cells(offset + 1)])
        })
    }

    fn evaluate(&self, changed: &[F]) -> (BTreeSet<usize>, Bus) {
        let (mut failed, mut bus) = (BTreeSet::new(), Bus::new());
        for probe in self.windows(changed) {
            failed.extend(probe.failed);
            for (message, count) in probe.bus {
                *bus.entry(message).or_insert(F::ZERO) += count;
            }
        }
        bus.retain(|_, count| *count != F::ZERO);
        (failed, bus)
    }

    /// What is wrong if the rows hold `changed` and all others what they did.
    #[must_use]
    pub fn replace(&self, changed: &[F]) -> Rejection {
        let (failed, bus) = self.evaluate(changed);
        Rejection { failed, bus: bus != self.bus }
    }

    /// Everything that has to stay as it is, if the rows hold `changed`: what each constraint requires
    /// to be zero, how often each message is sent, and each message that is sent at all.
    #[must_use]
    pub fn bound(&self, changed: &[F]) -> Vec<F> {
        let mut bound = vec![];
        let mut counts = self.counts.iter();
        for probe in self.windows(changed) {
            bound.extend(probe.values);
            for (count, message) in probe.sent {
                bound.push(count);
                if counts.next() != Some(&F::ZERO) {
                    bound.extend(message);
                }
            }
        }
        bound
    }
}

fn cells(matrix: &RowMajorMatrix<F>, row: usize) -> &[F] {
    &matrix.values[row * matrix.width..(row + 1) * matrix.width]
}
