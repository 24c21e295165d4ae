//! One window of two rows: which constraints fail, and what it puts on the bus.

use std::collections::{BTreeSet, HashMap};

use p3_air::{AirBuilder, RowWindow};
use p3_field::PrimeCharacteristicRing;
use p3_lookup::{Count, InteractionBuilder};

use crate::config::F;

/// Messages with their multiplicities.
pub(crate) type Bus = HashMap<Vec<F>, F>;

/// Evaluates a table on one window.
pub(crate) struct Probe<'a> {
    main: RowWindow<'a, F>,
    preprocessed: RowWindow<'a, F>,
    publics: &'a [F],
    row: usize,
    height: usize,
    /// Number of constraints so far.
    pub(crate) emitted: usize,
    /// Those that do not hold.
    pub(crate) failed: BTreeSet<usize>,
    /// What each constraint requires to be zero.
    pub(crate) values: Vec<F>,
    /// What is put on the bus.
    pub(crate) bus: Bus,
    /// The same, one after the other: multiplicity and message.
    pub(crate) sent: Vec<(F, Vec<F>)>,
    /// Flags of the branches, by port.
    pub(crate) flags: Vec<Vec<F>>,
}

impl<'a> Probe<'a> {
    /// A probe of the window that begins at `row`.
    pub(crate) fn new(
        main: [&'a [F]; 2],
        preprocessed: [&'a [F]; 2],
        publics: &'a [F],
        row: usize,
        height: usize,
    ) -> Self {
        Self {
            main: RowWindow::from_two_rows(main[0], main[1]),
            preprocessed: RowWindow::from_two_rows(preprocessed[0], preprocessed[1]),
            publics,
            row,
            height,
            emitted: 0,
            failed: BTreeSet::new(),
            values: vec![],
            bus: Bus::new(),
            sent: vec![],
            flags: vec![],
        }
    }

    fn send(&mut self, message: Vec<F>, count: F) {
        self.sent.push((count, message.clone()));
        let total = self.bus.entry(message).or_insert(F::ZERO);
        *total += count;
    }
}

impl<'a> AirBuilder for Probe<'a> {
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
        let value = x.into();
        self.values.push(value);
        if value != F::ZERO {
            self.failed.insert(self.emitted);
        }
        self.emitted += 1;
    }

    fn public_values(&self) -> &[F] {
        self.publics
    }
}

impl InteractionBuilder for Probe<'_> {
    fn push_interaction<E: Into<F>>(
        &mut self,
        _bus_name: &str,
        fields: impl IntoIterator<Item = E>,
        count: impl Into<Count<F>>,
    ) {
        let count = count.into().into_parts().0;
        self.send(fields.into_iter().map(Into::into).collect(), count);
    }

    fn push_local_interaction(&mut self, _tuples: impl IntoIterator<Item = (Vec<F>, Count<F>)>) {
        unreachable!("the tables have no local interactions");
    }

    fn push_exclusive_interaction(
        &mut self,
        _bus_name: &str,
        branches: impl IntoIterator<Item = (F, Count<F>, Vec<F>)>,
    ) {
        let mut flags = vec![];
        for (flag, count, fields) in branches {
            flags.push(flag);
            if flag != F::ZERO {
                self.send(fields, count.into_parts().0 * flag);
            }
        }
        self.flags.push(flags);
    }
}
