//! Elements out of packs: single ones, and their canonical bits.

use p3_field::PrimeCharacteristicRing;

use super::sponge::Limb;
use crate::config::F;
use crate::program::{Addr, HashRow, Port, ProgramBuilder, Source};

/// The element alone, lifted to the extension. One row of H.
pub(super) fn extract(builder: &mut ProgramBuilder, limb: Limb) -> Addr {
    let out = builder.alloc();
    let mut row = low_row(limb);
    row.ports[2] = Port::write(out);
    builder.push_hash(row);
    out
}

/// The `num_bits` ≥ 8 low bits of the element's canonical representative. Two rows of H.
///
/// Source: `CanSampleBits for DuplexChallenger`.
pub(super) fn low_bits(builder: &mut ProgramBuilder, limb: Limb, num_bits: usize) -> Addr {
    assert!((8..=24).contains(&num_bits), "an index of {num_bits} bits");
    let masks = |first: usize| std::array::from_fn(|i| F::from_bool(first + i < num_bits));
    let mut low = low_row(limb);
    low.fixed.mask = masks(8);
    builder.push_hash(low);

    let out = builder.alloc();
    let mut high = HashRow::new(Source::BitsHigh { num_bits: num_bits as u8 });
    high.fixed.bits_high = F::ONE;
    high.fixed.mask = masks(16);
    high.ports[2] = Port::write(out);
    builder.push_hash(high);
    out
}

/// Requires that the `num_bits` low bits of the element are zero: a proof of work.
pub(super) fn assert_low_bits_zero(builder: &mut ProgramBuilder, limb: Limb, num_bits: usize) {
    if num_bits >= 8 {
        let low = low_bits(builder, limb, num_bits);
        builder.assert_zero(low);
        return;
    }
    // The table always takes eight bits: require a multiple of 2^num_bits among them.
    let low = low_bits(builder, limb, 8);
    let mut product = low;
    for multiple in 1..1_u32 << (8 - num_bits) {
        let shift = F::from_u32(multiple << num_bits);
        let q = [F::ONE, -shift, F::ZERO, F::ZERO, F::ZERO];
        product = builder.gate(product, low, Addr::ZERO, q);
    }
    builder.assert_zero(product);
}

fn low_row(limb: Limb) -> HashRow {
    let mut row = HashRow::new(Source::BitsLow { limb: limb.limb as u8 });
    row.fixed.bits_low = F::ONE;
    match limb.limb {
        0 => row.fixed.kappa = F::ONE,
        1 => row.fixed.c = F::ONE,
        2 => row.fixed.c2 = F::ONE,
        _ => {}
    }
    row.ports[0] = Port::read(limb.pack);
    row
}
