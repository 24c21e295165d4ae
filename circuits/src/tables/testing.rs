//! What the tests of both tables share: single windows of two rows, and tables to tamper with.

pub(crate) mod rows;
pub(crate) mod sample;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use p3_air::symbolic::AirLayout;
use p3_air::{Air, BaseAir};
use p3_batch_stark::symbolic::{get_max_constraint_degree, get_symbolic_constraints};
use p3_field::PrimeCharacteristicRing;
use p3_lookup::{LogUpGadget, Lookups};
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;

use super::LayerAir;
pub(crate) use crate::check::probe::{Bus, Probe};
use crate::config::{D, EF, F};

/// Why a changed row is not accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rejection {
    /// Constraints that do not hold.
    pub(crate) failed: BTreeSet<usize>,
    /// Whether other messages are on the bus than before.
    pub(crate) bus: bool,
}

impl Rejection {
    /// Whether there is a reason.
    pub(crate) fn rejects(&self) -> bool {
        self.bus || !self.failed.is_empty()
    }
}

/// An honest table.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) air: &'a LayerAir,
    pub(crate) trace: &'a RowMajorMatrix<F>,
    pub(crate) publics: &'a [F],
}

impl<'a> Subject<'a> {
    pub(crate) fn height(&self) -> usize {
        self.trace.height()
    }

    pub(crate) fn cells(&self, row: usize) -> &'a [F] {
        cells(self.trace, row % self.height())
    }

    pub(crate) fn fixed(&self, row: usize) -> &'a [F] {
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

    /// One row to tamper with.
    pub(crate) fn site(self, row: usize) -> Site<'a> {
        let mut site = Site { subject: self, row, bus: Bus::new() };
        let (failed, bus) = site.windows(self.cells(row));
        assert_eq!(failed, BTreeSet::new(), "row {row} is honest");
        site.bus = bus;
        site
    }
}

/// A row of an honest table, with what its two windows put on the bus.
pub(crate) struct Site<'a> {
    subject: Subject<'a>,
    row: usize,
    bus: Bus,
}

impl<'a> Site<'a> {
    fn before(&self) -> usize {
        (self.row + self.subject.height() - 1) % self.subject.height()
    }

    /// Main columns of the row before, the row, and the one after.
    pub(crate) fn cells(&self) -> [&'a [F]; 3] {
        [self.before(), self.row, self.row + 1].map(|row| self.subject.cells(row))
    }

    /// Preprocessed columns of the row and the one after.
    pub(crate) fn fixed(&self) -> [&'a [F]; 2] {
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
    pub(crate) fn replace(&self, cells: &[F]) -> Rejection {
        let (failed, bus) = self.windows(cells);
        Rejection { failed, bus: bus != self.bus }
    }
}

/// Names of constraints by number: one range for each `constrain_*` function.
pub(crate) struct Groups(pub(crate) Vec<(&'static str, Range<usize>)>);

impl Groups {
    /// The range of a group.
    pub(crate) fn range(&self, name: &str) -> Range<usize> {
        let found = self.0.iter().find(|(other, _)| *other == name);
        found.unwrap_or_else(|| panic!("no group {name}")).1.clone()
    }

    /// Names of the groups that `failed` lies in.
    pub(crate) fn names(&self, failed: &BTreeSet<usize>) -> BTreeSet<&'static str> {
        let hit = self.0.iter().filter(|(_, range)| failed.iter().any(|i| range.contains(i)));
        hit.map(|(name, _)| *name).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.last().map_or(0, |(_, range)| range.end)
    }
}

/// How many cells were changed, and how many changes were noticed, by row kind.
#[derive(Default)]
pub(crate) struct Coverage(BTreeMap<String, [usize; 3]>);

impl Coverage {
    pub(crate) fn count(&mut self, kind: &str, caught: bool) {
        let [tried, noticed, _] = self.0.entry(kind.to_owned()).or_default();
        *tried += 1;
        *noticed += usize::from(caught);
    }

    pub(crate) fn row(&mut self, kind: &str) {
        self.0.entry(kind.to_owned()).or_default()[2] += 1;
    }

    pub(crate) fn print(&self, title: &str) {
        println!("{title}: kind, rows, tried, caught");
        for (kind, [tried, caught, rows]) in &self.0 {
            println!("  {kind:44} {rows:3} {tried:6} {caught:6}");
        }
        let sum = |i: usize| self.0.values().map(|counts| counts[i]).sum::<usize>();
        println!("  {:44} {:3} {:6} {:6}", "all", sum(2), sum(0), sum(1));
    }
}

/// Rows of each kind, at most `most` of each, spread evenly.
pub(crate) fn rows_by_kind(
    kinds: impl Iterator<Item = String>,
    most: usize,
) -> BTreeMap<String, Vec<usize>> {
    let mut rows: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (row, kind) in kinds.enumerate() {
        rows.entry(kind).or_default().push(row);
    }
    for rows in rows.values_mut() {
        let (len, taken) = (rows.len(), rows.len().min(most));
        let spread = |i: usize| if taken > 1 { i * (len - 1) / (taken - 1) } else { 0 };
        *rows = (0..taken).map(|i| rows[spread(i)]).collect();
    }
    rows
}

/// Largest symbolic degree with lookups, and the number of base constraints.
pub(crate) fn symbolic(air: &LayerAir, height: usize) -> (usize, usize) {
    let layout = AirLayout::from_air(air);
    let lookups = Lookups::from_air::<EF, _>(air);
    let gadget = LogUpGadget::new();
    let (base, _) = get_symbolic_constraints::<F, EF, _, _>(air, layout, &lookups, &gadget);
    let degree = get_max_constraint_degree::<F, EF, _, _>(air, layout, height, &lookups, &gadget);
    (degree, base.len())
}

/// A message: an address and what is there.
pub(crate) fn message(addr: impl Into<F>, value: &[F]) -> Vec<F> {
    let mut message = vec![addr.into()];
    message.extend(value);
    message.resize(1 + D, F::ZERO);
    message
}

/// A bus with these messages.
pub(crate) fn bus(messages: impl IntoIterator<Item = (Vec<F>, F)>) -> Bus {
    let mut bus = Bus::new();
    for (message, count) in messages {
        *bus.entry(message).or_insert(F::ZERO) += count;
    }
    bus.retain(|_, count| *count != F::ZERO);
    bus
}

fn cells(matrix: &RowMajorMatrix<F>, row: usize) -> &[F] {
    &matrix.values[row * matrix.width..(row + 1) * matrix.width]
}

/// The number of main columns that a table declares.
pub(crate) fn width(air: &LayerAir) -> usize {
    BaseAir::<F>::width(air)
}
