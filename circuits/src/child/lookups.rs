//! The lookups of a child as `p3-batch-stark` packs and numbers them.

use p3_air::Air;
use p3_air::symbolic::AirLayout;
use p3_commit::PolynomialSpace;
use p3_lookup::{InteractionSymbolicBuilder, Kind, LogUpGadget, Lookup, Lookups};

use super::trace_domain;
use crate::config::{EF, F};

pub(super) fn log_num_chunks<A: Air<InteractionSymbolicBuilder<F, EF>>>(
    air: &A,
    log_height: usize,
    lookups: &[Lookup<F>],
) -> usize {
    p3_batch_stark::symbolic::get_log_num_quotient_chunks_for_domain::<F, EF, A, _>(
        air,
        AirLayout::from_air(air),
        trace_domain(log_height),
        lookups,
        0,
        &LogUpGadget::new(),
    )
}

/// The lookups of an AIR, packed as `ProverData::from_airs_and_degrees` packs them.
pub(super) fn packed_lookups<A: Air<InteractionSymbolicBuilder<F, EF>>>(
    air: &A,
    log_height: usize,
) -> Lookups<F> {
    let unpacked = Lookups::from_air::<EF, A>(air);
    let log_chunks = log_num_chunks(air, log_height, &unpacked);
    let transition = trace_domain(log_height).transition_degree_multiple();
    unpacked.pack_same_bus_with_degree((1 << log_chunks) + 1, |lookup| {
        LogUpGadget::new().constraint_degree_with_transition(lookup, transition)
    })
}

/// Fractions that a row adds to the sums: one a tuple, or one for all branches of an exclusive group.
pub(super) fn num_fractions(lookups: &Lookups<F>) -> usize {
    let of = |lookup: &Lookup<F>| match lookup.flags {
        Some(_) => 1,
        None => lookup.elements.len(),
    };
    lookups.iter().map(of).sum()
}

/// The bus of each LogUp column, the number of buses and the width of the widest message, as
/// `p3-batch-stark` numbers them: shared buses by name, local ones each for itself.
pub(super) fn number_buses(lookups: &[Lookups<F>]) -> (Vec<Vec<usize>>, usize, usize) {
    let mut names: Vec<&str> = vec![];
    let mut ids: Vec<usize> = vec![];
    let mut next = 0;
    let mut widest = 1;
    let numbered = lookups.iter().map(|columns| {
        columns
            .iter()
            .map(|lookup| {
                widest = lookup.elements.iter().map(Vec::len).fold(widest, usize::max);
                if let Kind::Global(name) = &lookup.kind
                    && let Some(known) = names.iter().position(|other| other == name)
                {
                    return ids[known];
                }
                if let Kind::Global(name) = &lookup.kind {
                    names.push(name);
                    ids.push(next);
                }
                next += 1;
                next - 1
            })
            .collect()
    });
    let numbered = numbered.collect();
    (numbered, next, widest)
}
