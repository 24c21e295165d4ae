//! Evaluates tables row by row: which constraint fails where, and whether the bus balances.
//!
//! A proof of these tables is accepted exactly if nothing is reported here, up to the soundness error
//! of the proof system. Tests ask this instead of making a proof that would have to fail.

use std::collections::HashMap;

use p3_air::{Air, AirBuilder, BaseAir, RowWindow};
use p3_field::PrimeCharacteristicRing;
use p3_lookup::{Count, InteractionBuilder};
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;

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
    let mut bus: HashMap<Vec<F>, F> = HashMap::new();
    for (table, (air, trace, publics)) in tables.iter().enumerate() {
        let preprocessed = air.preprocessed_trace().expect("both tables have such columns");
        let height = trace.height();
        for row in 0..height {
            let next = (row + 1) % height;
            let [now, then] = [row, next].map(|r| trace.row_slice(r).expect("a row"));
            let [fixed, fixed_next] =
                [row, next].map(|r| preprocessed.row_slice(r).expect("a row"));
            let mut checker = RowChecker {
                main: RowWindow::from_two_rows(&now, &then),
                preprocessed: RowWindow::from_two_rows(&fixed, &fixed_next),
                publics,
                row,
                height,
                emitted: 0,
                failed: vec![],
                messages: vec![],
            };
            air.eval(&mut checker);
            let failed = checker.failed.iter();
            found.extend(failed.map(|&constraint| Fault::Constraint { table, row, constraint }));
            for (message, count) in checker.messages {
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

/// Evaluates one row.
struct RowChecker<'a> {
    main: RowWindow<'a, F>,
    preprocessed: RowWindow<'a, F>,
    publics: &'a [F],
    row: usize,
    height: usize,
    emitted: usize,
    failed: Vec<usize>,
    messages: Vec<(Vec<F>, F)>,
}

impl<'a> AirBuilder for RowChecker<'a> {
    type F = F;
    type Expr = F;
    type Var = F;
    type PreprocessedWindow = RowWindow<'a, F>;
    type MainWindow = RowWindow<'a, F>;
    type PublicVar = F;
    type PeriodicVar = F;

    fn main(&self) -> Self::MainWindow {
        self.main
    }

    fn preprocessed(&self) -> &Self::PreprocessedWindow {
        &self.preprocessed
    }

    fn is_first_row(&self) -> F {
        F::from_bool(self.row == 0)
    }

    fn is_last_row(&self) -> F {
        F::from_bool(self.row + 1 == self.height)
    }

    fn is_transition(&self) -> F {
        F::from_bool(self.row + 1 < self.height)
    }

    fn assert_zero<I: Into<F>>(&mut self, x: I) {
        if x.into() != F::ZERO {
            self.failed.push(self.emitted);
        }
        self.emitted += 1;
    }

    fn public_values(&self) -> &[F] {
        self.publics
    }
}

impl InteractionBuilder for RowChecker<'_> {
    fn push_interaction<E: Into<F>>(
        &mut self,
        _bus_name: &str,
        fields: impl IntoIterator<Item = E>,
        count: impl Into<Count<F>>,
    ) {
        let count = count.into().into_parts().0;
        let message = fields.into_iter().map(Into::into).collect();
        if count != F::ZERO {
            self.messages.push((message, count));
        }
    }

    fn push_local_interaction(&mut self, tuples: impl IntoIterator<Item = (Vec<F>, Count<F>)>) {
        tuples.into_iter().for_each(drop);
    }

    fn push_exclusive_interaction(
        &mut self,
        bus_name: &str,
        branches: impl IntoIterator<Item = (F, Count<F>, Vec<F>)>,
    ) {
        let mut flags = F::ZERO;
        for (flag, count, fields) in branches {
            flags += flag;
            if flag != F::ZERO {
                let count = count.into_parts().0 * flag;
                self.push_interaction(bus_name, fields, Count::bounded(count, 1));
            }
        }
        assert!(flags == F::ZERO || flags == F::ONE, "branches of a port exclude each other");
    }
}
