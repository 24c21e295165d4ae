//! What the tests of both tables share: single windows of two rows, and tables to tamper with.

pub(crate) mod rows;
pub(crate) mod sample;

use p3_air::BaseAir;
use p3_air::symbolic::AirLayout;
use p3_batch_stark::symbolic::{get_max_constraint_degree, get_symbolic_constraints};
use p3_field::PrimeCharacteristicRing;
use p3_lookup::{LogUpGadget, Lookups};

use super::LayerAir;
pub(crate) use crate::check::probe::{Bus, Probe};
pub(crate) use crate::check::{Groups, Subject};
use crate::config::{D, EF, F};

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

/// The number of main columns that a table declares.
pub(crate) fn width(air: &LayerAir) -> usize {
    BaseAir::<F>::width(air)
}
