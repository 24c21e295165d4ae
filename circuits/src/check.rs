//! Evaluates tables row by row: which constraint fails where, and whether the bus balances.
//!
//! A proof of these tables is accepted exactly if nothing is reported here, up to the soundness error
//! of the proof system. Tests ask this instead of making a proof that would have to fail.

mod groups;
pub(crate) mod probe;
mod site;

use p3_field::PrimeCharacteristicRing;
use p3_matrix::dense::RowMajorMatrix;

pub use self::groups::Groups;
use self::probe::Bus;
pub use self::site::{Rejection, Site, Subject};
use crate::config::F;
use crate::tables::LayerAir;

/// What is wrong with a set of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A constraint does not hold.
    Constraint {
        /// Which table.
        table: usize,
        /// The row on which it is evaluated.
        row: usize,
        /// Its number, in order of emission.
        constraint: usize,
    },
    /// What is written and what is read differ.
    Bus {
        /// The message: address and limbs.
        message: Vec<F>,
        /// Writes minus reads.
        surplus: F,
    },
}

/// All faults of the tables, at most `most` of them.
#[must_use]
pub fn faults(tables: &[(&LayerAir, &RowMajorMatrix<F>, &[F])], most: usize) -> Vec<Fault> {
    let mut found = vec![];
    let mut bus = Bus::new();
    for (table, (air, trace, publics)) in tables.iter().enumerate() {
        let subject = Subject { air, trace, publics };
        for row in 0..subject.height() {
            let probe = subject.probe(row, [subject.cells(row), subject.cells(row + 1)]);
            for flags in &probe.flags {
                let sum: F = flags.iter().copied().sum();
                assert!(sum == F::ZERO || sum == F::ONE, "branches of a port exclude each other");
            }
            let failed = probe.failed.iter();
            found.extend(failed.map(|&constraint| Fault::Constraint { table, row, constraint }));
            for (message, count) in probe.bus {
                *bus.entry(message).or_insert(F::ZERO) += count;
            }
            if found.len() >= most {
                found.truncate(most);
                return found;
            }
        }
    }
    let surplus = bus.into_iter().filter(|(_, count)| *count != F::ZERO);
    found.extend(surplus.map(|(message, surplus)| Fault::Bus { message, surplus }));
    found.truncate(most);
    found
}
