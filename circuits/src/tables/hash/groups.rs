//! The constraints of H by the function that emits them.

use p3_field::PrimeCharacteristicRing;

use super::air::{self, Window};
use super::columns::{HashCols, HashPreprocessed, NUM_COLS, NUM_PREPROCESSED};
use super::permutation;
use crate::check::Groups;
use crate::check::probe::Probe;
use crate::config::F;

static ROW: [F; NUM_COLS] = [F::ZERO; NUM_COLS];
static FIXED: [F; NUM_PREPROCESSED] = [F::ZERO; NUM_PREPROCESSED];

/// One function of the AIR.
type Constrain = fn(&mut Probe<'static>, &Window<'static, F>);

/// The functions in the order in which [`HashAir::eval`](super::HashAir::eval) calls them.
pub(crate) fn groups() -> Groups {
    let functions: [(&'static str, Constrain); 11] = [
        ("permutation", |builder, w| permutation::constrain(builder, &w.now)),
        ("sponge_start", air::constrain_sponge_start),
        ("sponge_link", air::constrain_sponge_link),
        ("repeat", air::constrain_repeat),
        ("path", air::constrain_path),
        ("point", air::constrain_point),
        ("powers", air::constrain_powers),
        ("reduced_opening", air::constrain_reduced_opening),
        ("fold", air::constrain_fold),
        ("bits", air::constrain_bits),
        ("canonical", air::constrain_canonical),
    ];
    let mut probe = Probe::new([&ROW; 2], [&FIXED; 2], &[], 0, 1);
    let window = Window {
        now: HashCols::new(&ROW),
        next: HashCols::new(&ROW),
        fixed: HashPreprocessed::from_row(&FIXED),
        fixed_next: HashPreprocessed::from_row(&FIXED),
    };
    let ranges = functions.map(|(name, constrain)| {
        let start = probe.emitted;
        constrain(&mut probe, &window);
        (name, start..probe.emitted)
    });
    Groups(ranges.to_vec())
}
