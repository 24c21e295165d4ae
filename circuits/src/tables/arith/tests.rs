//! Tests of E.

mod gates;
mod tamper;

use std::array::from_fn;

use p3_air::BaseAir;
use p3_matrix::Matrix;

use super::{ArithCols, ArithPreprocessed, NUM_COLS, NUM_PREPROCESSED};
use crate::check::faults;
use crate::config::{D, F};
use crate::tables::LayerAir;
use crate::tables::testing::sample::{Circuit, layer_shape, sample};
use crate::tables::testing::{symbolic, width};
use p3_field::PrimeCharacteristicRing;

#[test]
fn columns_are_where_they_should_be() {
    assert_eq!((NUM_COLS, NUM_PREPROCESSED), (16, 11));
    let row: [usize; NUM_COLS] = from_fn(|i| i);
    let cols = ArithCols::from_row(&row);
    assert_eq!([cols.a, cols.b, cols.c, cols.out].concat(), row);
    assert_eq!(cols.out, [3 * D, 13, 14, 15]);

    let row: [usize; NUM_PREPROCESSED] = from_fn(|i| i);
    let fixed = ArithPreprocessed::from_row(&row);
    assert_eq!(fixed.addr, [0, 1, 2, 3]);
    assert_eq!(fixed.q, [4, 5, 6, 7, 8]);
    assert_eq!((fixed.count_a, fixed.count_out), (9, 10));
    assert_eq!(fixed.to_row(), row);
}

#[test]
fn the_degree_is_the_declared_one() {
    let air = &sample().layer.airs()[0];
    assert_eq!(width(air), NUM_COLS);
    let (degree, constraints) = symbolic(air, sample().arith().height());
    assert_eq!(Some(degree), BaseAir::<F>::max_constraint_degree(air));
    assert_eq!(degree, 3);
    assert_eq!(constraints, D + 2 * D + D);
}

#[test]
fn two_interactions_share_a_logup_column() {
    let shape = layer_shape();
    // The accumulator is one more.
    assert_eq!(shape.instances[0].aux_width, 2 + 1);
    assert_eq!(shape.instances[0].buses, [0, 0]);
}

#[test]
fn every_scalar_has_four_constraints() {
    for count in 1..=6 {
        let publics: Vec<F> = (0..count).map(|i| F::from_usize(i + 3)).collect();
        let circuit = Circuit::new(&publics, 5);
        let (degree, constraints) = symbolic(&circuit.air, circuit.trace.height());
        assert_eq!((degree, constraints), (3, D + D * count));
        assert_eq!(faults(&[(&circuit.air, &circuit.trace, &circuit.publics)], 10), []);
    }
}

#[test]
fn honest_tables_have_no_faults() {
    let sample = sample();
    let tables = [sample.arith(), sample.hash()];
    assert!(matches!(tables[0].air, LayerAir::Arith(_)));
    let tables = tables.map(|table| (table.air, table.trace, table.publics));
    assert_eq!(faults(&tables, 10), []);
}
