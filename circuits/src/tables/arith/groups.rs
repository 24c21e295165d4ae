//! The constraints of E by the function that emits them.

use p3_field::PrimeCharacteristicRing;

use super::air::{Publics, constrain_digest, constrain_gate, constrain_scalars};
use super::columns::{ArithCols, ArithPreprocessed, NUM_COLS, NUM_PREPROCESSED};
use crate::check::Groups;
use crate::check::probe::Probe;
use crate::config::{D, F};

static ROW: [F; NUM_COLS] = [F::ZERO; NUM_COLS];
static FIXED: [F; NUM_PREPROCESSED] = [F::ZERO; NUM_PREPROCESSED];
static PUBLICS: [F; 2 * D] = [F::ZERO; 2 * D];

/// The functions in the order in which [`ArithAir::eval`](super::ArithAir::eval) calls them.
pub(crate) fn groups(publics: Publics) -> Groups {
    let mut probe = Probe::new([&ROW; 2], [&FIXED; 2], &PUBLICS, 0, 1);
    let row = ArithCols::from_row(&ROW);
    constrain_gate(&mut probe, &row, &ArithPreprocessed::from_row(&FIXED));
    let gate = probe.emitted;
    match publics {
        Publics::Digest => constrain_digest(&mut probe, &row),
        Publics::Scalars(count) => constrain_scalars(&mut probe, &row, count),
    }
    Groups(vec![("gate", 0..gate), ("publics", gate..probe.emitted)])
}
