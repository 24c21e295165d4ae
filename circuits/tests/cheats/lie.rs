//! Lies that a filler builds in.

use std::collections::HashMap;

use arbor_circuits::config::{EF, F, WIDTH};
use arbor_circuits::filler::deviation::Deviation;
use arbor_circuits::program::Addr;
use arbor_circuits::tables::hash::SCRATCH;

/// A change of the input and the shared columns of a row of H.
type Change<'a> = Box<dyn Fn(&mut [F; WIDTH], &mut [F; SCRATCH]) + Sync + 'a>;

/// Lies, each in one place.
#[derive(Default)]
pub(crate) struct Lie<'a> {
    reads: HashMap<(usize, Addr), EF>,
    writes: HashMap<Addr, EF>,
    rows: HashMap<usize, Change<'a>>,
}

impl<'a> Lie<'a> {
    /// The row of H `row` takes `value` to be at `addr`.
    pub(crate) fn read(mut self, row: usize, addr: Addr, value: EF) -> Self {
        self.reads.insert((row, addr), value);
        self
    }

    /// Everybody takes `value` to be at `addr`.
    pub(crate) fn write(mut self, addr: Addr, value: EF) -> Self {
        self.writes.insert(addr, value);
        self
    }

    /// The row of H `row` is changed, and what follows from it.
    pub(crate) fn row(
        mut self,
        row: usize,
        change: impl Fn(&mut [F; WIDTH], &mut [F; SCRATCH]) + Sync + 'a,
    ) -> Self {
        self.rows.insert(row, Box::new(change));
        self
    }
}

impl Deviation for Lie<'_> {
    fn read(&self, row: usize, addr: Addr, value: EF) -> EF {
        self.reads.get(&(row, addr)).copied().unwrap_or(value)
    }

    fn write(&self, addr: Addr, value: EF) -> EF {
        self.writes.get(&addr).copied().unwrap_or(value)
    }

    fn row(&self, row: usize, input: &mut [F; WIDTH], scratch: &mut [F; SCRATCH]) {
        if let Some(change) = self.rows.get(&row) {
            change(input, scratch);
        }
    }
}
