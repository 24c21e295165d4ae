//! Tests of H.

mod bits;
mod native;
mod programs;

use std::array::from_fn;

use p3_air::BaseAir;
use p3_field::PrimeCharacteristicRing;

use super::{
    HALF_FULL_ROUNDS, HashCols, HashPreprocessed, NUM_COLS, NUM_PREPROCESSED, PARTIAL_ROUNDS,
    PERM_COLS, SCRATCH, groups, scratch,
};
use crate::config::{D, F, WIDTH};
use crate::tables::testing::sample::{layer_shape, sample};
use crate::tables::testing::{symbolic, width};

static ROW: [F; NUM_COLS] = [F::ZERO; NUM_COLS];

#[test]
fn the_permutation_is_laid_out_round_by_round() {
    assert_eq!((HALF_FULL_ROUNDS, PARTIAL_ROUNDS), (4, 20));
    assert_eq!((PERM_COLS, SCRATCH, NUM_COLS), (164, 28, 192));
    let row: [usize; NUM_COLS] = from_fn(|i| i);
    let cols = HashCols::new(&row);
    assert_eq!(cols.input(), from_fn::<_, WIDTH, _>(|i| i));
    let starts = [16, 32, 48, 64, 100, 116, 132, 148];
    for (round, start) in starts.into_iter().enumerate() {
        assert_eq!(cols.full_round(round), from_fn::<_, WIDTH, _>(|i| start + i));
    }
    for round in 0..PARTIAL_ROUNDS {
        assert_eq!(cols.partial_round(round), 80 + round);
    }
    assert_eq!(cols.output(), from_fn::<_, WIDTH, _>(|i| 148 + i));
    assert_eq!(cols.all_scratch(), from_fn::<_, SCRATCH, _>(|i| 164 + i));
}

#[test]
fn the_scratch_columns_are_shared_as_documented() {
    let row: [usize; NUM_COLS] = from_fn(|i| i.wrapping_sub(PERM_COLS));
    let cols = HashCols::new(&row);
    let exts = [
        (cols.gamma(), 0),
        (cols.gamma2(), 4),
        (cols.gamma3(), 8),
        (cols.gamma4(), 12),
        (cols.acc(), 16),
        (cols.half(), 20),
        (cols.sum(), 24),
        (cols.fold(), 8),
        (cols.weight(), 12),
        (cols.value(), 12),
    ];
    for (cells, start) in exts {
        assert_eq!(cells, from_fn::<_, D, _>(|i| start + i));
    }
    assert_eq!(cols.multiplicity(), [20, 21, 22]);
    let single = [
        (cols.element(), scratch::ELEMENT, 16),
        (cols.top_ones(), scratch::TOP_ONES, 17),
        (cols.top_inverse(), scratch::TOP_INVERSE, 18),
        (cols.index(), scratch::INDEX, 19),
        (cols.start(), scratch::START, 22),
        (cols.slot(), scratch::SLOT, 23),
        (cols.bit(), scratch::BIT, 24),
        (cols.rest(), scratch::REST, 25),
        (cols.point(), scratch::POINT, 26),
        (cols.factor(), scratch::FACTOR, 27),
    ];
    for (cell, named, expected) in single {
        assert_eq!((cell, named), (expected, expected));
    }
    let named = [
        scratch::GAMMA,
        scratch::GAMMA2,
        scratch::GAMMA3,
        scratch::GAMMA4,
        scratch::ACC,
        scratch::HALF,
        scratch::SUM,
        scratch::FOLD,
        scratch::WEIGHT,
        scratch::MULTIPLICITY,
        scratch::VALUE,
    ];
    assert_eq!(named, [0, 4, 8, 12, 16, 20, 24, 8, 12, 20, 12]);
}

#[test]
fn the_preprocessed_columns_are_in_the_order_of_their_fields() {
    assert_eq!(NUM_PREPROCESSED, 40);
    let row: [usize; NUM_PREPROCESSED] = from_fn(|i| i);
    let fixed = HashPreprocessed::from_row(&row);
    assert_eq!(fixed.to_row(), row);
    assert_eq!(fixed.mask, from_fn(|i| i));
    let selectors = [
        fixed.leaf_first,
        fixed.leaf_next,
        fixed.repeat,
        fixed.sum_next,
        fixed.fri_first,
        fixed.fri_next,
        fixed.sponge_first,
        fixed.sponge_next,
        fixed.sponge_squeeze,
        fixed.path,
        fixed.path_next,
        fixed.last,
        fixed.slot,
        fixed.inject,
        fixed.factor,
        fixed.bits_low,
        fixed.bits_high,
        fixed.c,
        fixed.c2,
        fixed.kappa,
        fixed.window0,
        fixed.window3,
        fixed.head,
        fixed.squeeze,
        fixed.table,
        fixed.dynamic,
    ];
    assert_eq!(selectors, from_fn::<_, 26, _>(|i| 8 + i));
    assert_eq!((fixed.addr, fixed.count), ([34, 35, 36], [37, 38, 39]));
}

#[test]
fn the_degree_is_the_declared_one() {
    let air = &sample().layer.airs()[1];
    assert_eq!(width(air), NUM_COLS);
    let (degree, constraints) = symbolic(air, sample().hash().height());
    assert_eq!(Some(degree), BaseAir::<F>::max_constraint_degree(air));
    assert_eq!(degree, 3);
    assert_eq!(constraints, groups().len());
}

#[test]
fn the_groups_have_the_documented_sizes() {
    let sizes: Vec<(&str, usize)> =
        groups().0.iter().map(|(name, range)| (*name, range.len())).collect();
    let expected = [
        ("permutation", 148),
        ("sponge_start", 16),
        ("sponge_link", 16),
        ("repeat", 16),
        ("path", 13),
        ("point", 3),
        ("powers", 16),
        ("reduced_opening", 16),
        ("fold", 16),
        ("bits", 19),
        ("canonical", 3),
    ];
    assert_eq!(sizes, expected);
    // The last window of an honest table emits as many.
    let subject = sample().hash();
    let probe = subject.probe(0, [subject.cells(0), subject.cells(1)]);
    assert_eq!(probe.emitted, groups().len());
}

#[test]
fn every_port_is_a_logup_column() {
    let shape = layer_shape();
    // The accumulator is one more.
    assert_eq!(shape.instances[1].aux_width, 3 + 1);
    assert_eq!(shape.instances[1].buses, [0; 3]);
}
