//! Elements and their canonical bits.

use std::collections::BTreeSet;

use p3_field::{Field, PrimeCharacteristicRing, PrimeField32};
use proptest::prelude::*;

use super::groups;
use super::native::any_base;
use crate::config::{D, F};
use crate::tables::hash::{HashPreprocessed, scratch};
use crate::tables::testing::rows::{HandRow, HashRows, Outcome};
use crate::tables::testing::{bus, message};

const PACK: F = F::new(11);
const INDEX: F = F::new(12);
const ELEMENT: F = F::new(13);

/// What a prover claims of an element: its bits as an integer, and whether the top is all ones.
#[derive(Clone, Copy, Debug)]
struct Claim {
    bits: u32,
    top_ones: F,
    top_inverse: F,
}

impl Claim {
    /// The claim that the columns are defined by.
    fn honest(bits: u32) -> Self {
        let missing = F::from_u32((bits >> 24 & 127).count_ones()) - F::from_u8(7);
        let inverse = missing.try_inverse();
        Self {
            bits,
            top_ones: F::from_bool(inverse.is_none()),
            top_inverse: inverse.unwrap_or(F::ZERO),
        }
    }
}

/// The two rows that take `num_bits` bits from element `limb` of `pack`.
fn rows(pack: [F; D], limb: usize, num_bits: usize, claim: Claim) -> HashRows {
    let masks = |first: usize| std::array::from_fn(|i| F::from_bool(first + i < num_bits));
    let bits = |first: usize| {
        std::array::from_fn(|i| F::from_bool(first + i < 32 && claim.bits >> (first + i) & 1 == 1))
    };
    let mut fixed = HashPreprocessed { bits_low: F::ONE, mask: masks(8), ..Default::default() };
    match limb {
        0 => fixed.kappa = F::ONE,
        1 => fixed.c = F::ONE,
        2 => fixed.c2 = F::ONE,
        _ => {}
    }
    fixed.addr = [PACK, F::ZERO, ELEMENT];
    fixed.count = [F::NEG_ONE, F::ZERO, F::ONE];
    let mut low = HandRow::new(fixed, bits(0));
    low.put(scratch::VALUE, &pack);
    low.put(scratch::ELEMENT, &[pack[limb]]);

    let mut fixed = HashPreprocessed { bits_high: F::ONE, mask: masks(16), ..Default::default() };
    (fixed.addr[2], fixed.count[2]) = (INDEX, F::ONE);
    let mut high = HandRow::new(fixed, bits(16));
    high.put(scratch::TOP_ONES, &[claim.top_ones, claim.top_inverse]);
    let index = claim.bits & ((1 << num_bits) - 1);
    high.put(scratch::INDEX, &[F::from_u32(index)]);

    let mut rows = HashRows::default();
    rows.push(low);
    rows.push(high);
    rows
}

/// Checks that the honest rows for `value` are accepted and send its low bits.
fn accepted(value: u32, limb: usize, num_bits: usize, other: F) {
    let mut pack = [other; D];
    pack[limb] = F::from_u32(value);
    let Outcome { failed, bus: sent } = rows(pack, limb, num_bits, Claim::honest(value)).check();
    assert_eq!(failed, BTreeSet::new(), "{value}");
    let index = F::from_u32(value & ((1 << num_bits) - 1));
    let expected = [
        (message(PACK, &pack), F::NEG_ONE),
        (message(ELEMENT, &[pack[limb]]), F::ONE),
        (message(INDEX, &[index]), F::ONE),
    ];
    assert_eq!(sent, bus(expected), "{value}");
}

/// Values at which the comparison with p = 127·2²⁴ + 1 or the split of the bits turns.
const EDGES: [u32; 10] = [
    0,
    1,
    0xffff,
    0x1_0000,
    (1 << 24) - 1,
    1 << 24,
    (126 << 24) - 1,
    126 << 24,
    (126 << 24) + (1 << 24) - 1,
    127 << 24,
];

#[test]
fn edge_values_are_accepted() {
    assert_eq!(EDGES[9], F::ORDER_U32 - 1);
    for value in EDGES {
        for limb in 0..D {
            for num_bits in [8, 9, 16, 17, 24] {
                accepted(value, limb, num_bits, F::from_u32(77));
            }
        }
    }
}

#[test]
fn the_other_representative_is_rejected_whatever_else_is_claimed() {
    // value + p < 2³¹
    let values = [0, 1, 2, 0xff, 0x100, 0xffff, 0x1_0000, (1 << 24) - 2];
    let canonical = groups().range("canonical");
    for value in values {
        let bits = value + F::ORDER_U32;
        assert!(bits < 1 << 31);
        let pack = [F::from_u32(value); D];
        for top_ones in [F::ZERO, F::ONE, F::TWO] {
            for top_inverse in [F::ZERO, F::ONE, F::NEG_ONE] {
                let claim = Claim { bits, top_ones, top_inverse };
                let failed = rows(pack, 0, 24, claim).check().failed;
                assert!(!failed.is_empty(), "{value}, {claim:?}");
                assert!(failed.iter().all(|i| canonical.contains(i)), "{value}, {claim:?}");
            }
        }
    }
}

#[test]
fn the_top_cannot_be_claimed_away() {
    // p − 1 has seven ones on top; another value has not.
    let canonical = groups().range("canonical");
    for (value, top_ones) in [(F::ORDER_U32 - 1, F::ZERO), (126 << 24, F::ONE), (5, F::ONE)] {
        for top_inverse in [F::ZERO, F::ONE, Claim::honest(value).top_inverse] {
            let claim = Claim { bits: value, top_ones, top_inverse };
            let failed = rows([F::from_u32(value); D], 3, 8, claim).check().failed;
            assert!(failed.iter().any(|i| canonical.contains(i)), "{value}, {claim:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn canonical_bits_are_accepted(
        value in any_base(),
        limb in 0..D,
        num_bits in 8_usize..=24,
        other in any_base(),
    ) {
        accepted(value.as_canonical_u32(), limb, num_bits, other);
    }

    #[test]
    fn other_bits_are_rejected(value in any_base(), bits in 0_u32..1 << 31) {
        let failed = rows([value; D], 1, 16, Claim::honest(bits)).check().failed;
        prop_assert_eq!(failed.is_empty(), bits == value.as_canonical_u32());
    }

    #[test]
    fn non_canonical_bits_are_rejected(value in 0_u32..(1 << 24) - 1) {
        let claim = Claim::honest(value + F::ORDER_U32);
        let failed = rows([F::from_u32(value); D], 2, 24, claim).check().failed;
        prop_assert_eq!(failed, BTreeSet::from([groups().range("canonical").end - 1]));
    }

    #[test]
    fn the_limb_is_the_one_that_is_named(
        pack in prop::array::uniform4(any_base()),
        limb in 0..D,
        wrong in 0..D,
    ) {
        let mut table = HashRows::default();
        let mut fixed = HashPreprocessed { bits_low: F::ONE, ..Default::default() };
        match limb {
            0 => fixed.kappa = F::ONE,
            1 => fixed.c = F::ONE,
            2 => fixed.c2 = F::ONE,
            _ => {}
        }
        let mut row = HandRow::new(fixed, [F::ZERO; 16]);
        row.put(scratch::VALUE, &pack);
        row.put(scratch::ELEMENT, &[pack[wrong]]);
        table.push(row);
        prop_assert_eq!(table.check().failed.is_empty(), pack[limb] == pack[wrong]);
    }
}
