//! Rows that are not in a program yet.

use std::collections::HashMap;

use crate::config::F;
use crate::program::builder::{Addr, ProgramBuilder};

/// Ports a, b, c and coefficients.
type Row = (Addr, Addr, Addr, [F; 5]);

/// Rows that can still be thrown away: the same lowering can be tried in two ways.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    first: Addr,
    rows: Vec<Row>,
    index: HashMap<Row, Addr>,
}

impl Rows {
    /// No rows. Nothing may be allocated in `builder` until [`Self::commit`].
    pub(super) fn new(builder: &ProgramBuilder) -> Self {
        let first = Addr(builder.reads.len() as u32);
        Self { first, rows: Vec::new(), index: HashMap::new() }
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// `q_ab·a·b + q_a·a + q_b·b + q_c·c + q_1`: one row, unless there is an equal one.
    pub(super) fn gate(&mut self, a: Addr, b: Addr, c: Addr, q: [F; 5]) -> Addr {
        let row = (a, b, c, q);
        let next = self.first.offset(self.rows.len());
        let out = *self.index.entry(row).or_insert(next);
        if out == next {
            self.rows.push(row);
        }
        out
    }

    /// Appends the rows that `result` depends on to the program; returns where `result` is then.
    pub(super) fn commit(&self, builder: &mut ProgramBuilder, result: Addr) -> Addr {
        let local = |addr: Addr| addr.index().checked_sub(self.first.index());
        let mut is_needed = vec![false; self.rows.len()];
        if let Some(i) = local(result) {
            is_needed[i] = true;
        }
        for (i, &(a, b, c, _)) in self.rows.iter().enumerate().rev() {
            if is_needed[i] {
                for operand in [a, b, c].into_iter().filter_map(local) {
                    is_needed[operand] = true;
                }
            }
        }
        let mut moved = vec![Addr::ZERO; self.rows.len()];
        let at = |moved: &[Addr], addr: Addr| local(addr).map_or(addr, |i| moved[i]);
        for (i, &(a, b, c, q)) in self.rows.iter().enumerate() {
            if is_needed[i] {
                moved[i] = builder.gate(at(&moved, a), at(&moved, b), at(&moved, c), q);
            }
        }
        at(&moved, result)
    }
}
