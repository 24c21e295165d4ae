//! Which rows are tampered with, by how much, and what noticed.

use std::collections::BTreeMap;

use arbor_circuits::check::Rejection;
use arbor_circuits::config::F;
use p3_field::PrimeCharacteristicRing;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Numbers of rows by kind.
pub(crate) type Rows = BTreeMap<String, Vec<usize>>;

/// Random changes of every cell, besides 1.
const RANDOM_CHANGES: usize = 3;

/// The changes that a cell undergoes: none of them zero, other ones for every row.
pub(crate) fn changes(row: usize) -> [F; 1 + RANDOM_CHANGES] {
    let mut rng = StdRng::seed_from_u64(row as u64);
    std::array::from_fn(|i| match i {
        0 => F::ONE,
        _ => F::from_u32(rng.random_range(2..1 << 30)),
    })
}

/// One change that is neither small nor a power of two.
pub(crate) fn some_change(row: usize) -> F {
    changes(row)[1]
}

/// Rows of each kind, at most `most` of each, spread evenly.
pub(crate) fn rows_by_kind(kinds: impl Iterator<Item = String>, most: usize) -> Rows {
    let mut rows = Rows::new();
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

/// How many cells were changed, and what noticed.
#[derive(Clone, Copy, Default)]
struct Line {
    rows: usize,
    tried: usize,
    constraint: usize,
    bus: usize,
    missed: usize,
}

/// A line for each kind of row.
#[derive(Default)]
pub(crate) struct Coverage(BTreeMap<String, Line>);

impl Coverage {
    pub(crate) fn row(&mut self, kind: &str) {
        self.0.entry(kind.to_owned()).or_default().rows += 1;
    }

    pub(crate) fn count(&mut self, kind: &str, rejection: &Rejection) {
        let line = self.0.entry(kind.to_owned()).or_default();
        line.tried += 1;
        line.constraint += usize::from(!rejection.failed.is_empty());
        line.bus += usize::from(rejection.bus);
        line.missed += usize::from(!rejection.rejects());
    }

    pub(crate) fn print(&self, title: &str) {
        let mut table = format!(
            "{title}\n  {:44} {:>4} {:>7} {:>10} {:>7} {:>6}\n",
            "kind of row", "rows", "changes", "constraint", "bus", "free"
        );
        let mut all = Line::default();
        for (kind, line) in &self.0 {
            table += &print_line(kind, line);
            all.rows += line.rows;
            all.tried += line.tried;
            all.constraint += line.constraint;
            all.bus += line.bus;
            all.missed += line.missed;
        }
        println!("{table}{}", print_line("all", &all));
    }
}

fn print_line(kind: &str, line: &Line) -> String {
    let Line { rows, tried, constraint, bus, missed } = line;
    format!("  {kind:44} {rows:4} {tried:7} {constraint:10} {bus:7} {missed:6}\n")
}
