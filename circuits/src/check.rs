//! Evaluates tables row by row: which constraint fails where, and whether the bus balances.
//!
//! A proof of these tables is accepted exactly if nothing is reported here, up to the soundness error
//! of the proof system. Tests ask this instead of making a proof that would have to fail.

pub(crate) mod probe;

use p3_air::{Air, BaseAir};
use p3_field::PrimeCharacteristicRing;
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;

use self::probe::{Bus, Probe};
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
        let preprocessed = air.preprocessed_trace().expect("both tables have such columns");
        let height = trace.height();
        for row in 0..height {
            let next = (row + 1) % height;
            let [now, then] = [row, next].map(|r| trace.row_slice(r).expect("a row"));
            let [fixed, fixed_next] =
                [row, next].map(|r| preprocessed.row_slice(r).expect("a row"));
            let mut probe = Probe::new([&now, &then], [&fixed, &fixed_next], publics, row, height);
            air.eval(&mut probe);
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
