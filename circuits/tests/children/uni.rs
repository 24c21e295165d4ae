//! Children of `p3-uni-stark`.

use arbor_circuits::config::{Digest, F};
use p3_keccak_air::{KeccakAir, generate_trace_rows};

use crate::common::airs::{FibonacciAir, Fixed, SampleAir};
use crate::common::children::{UniAir, UniChild};
use crate::common::{TINY, prove_and_verify, wrap};

/// The number of quotient chunks of the shape.
fn accepted<A: UniAir>(child: &UniChild<A>, what: &str) -> usize {
    child.verify_own().expect(what);
    wrap(child.shape(), child.input(), what);
    child.shape().instances[0].num_chunks
}

fn accepted_sample(air: SampleAir) -> usize {
    let what = format!("{air:?}");
    accepted(&UniChild::sample(air, TINY), &what)
}

fn proved<A: UniAir>(child: &UniChild<A>, what: &str) {
    child.verify_own().expect(what);
    let (layer, filled) = wrap(child.shape(), child.input(), what);
    let (_, digest) = prove_and_verify(&layer, filled);
    assert_ne!(digest, Digest::default());
}

#[test]
fn fibonacci_with_three_public_values_is_proved() {
    let (trace, publics) = FibonacciAir::trace(6);
    let child = UniChild::prove(FibonacciAir, trace, publics, TINY);
    proved(&child, "fibonacci");
}

#[test]
fn any_width_at_one_row_and_at_two() {
    for width in [1, 7, 8, 9, 40] {
        accepted_sample(SampleAir::new(6, width));
        accepted_sample(SampleAir::new(6, width).next());
    }
}

#[test]
fn one_two_and_four_quotient_chunks() {
    let chunks = |air: SampleAir| [2, 3, 5].map(|d| accepted_sample(air.clone().degree(d)));
    assert_eq!(chunks(SampleAir::new(6, 3)), [1, 2, 4]);
    assert_eq!(chunks(SampleAir::new(6, 9).next()), [1, 2, 4]);
}

#[test]
fn any_number_of_public_values() {
    for publics in 0..=9 {
        accepted_sample(SampleAir::new(6, 3).publics(publics));
        accepted_sample(SampleAir::new(6, 3).next().fixed(Fixed::Local(2)).publics(publics));
    }
}

#[test]
fn preprocessed_columns_at_one_row_and_at_two() {
    for width in [1, 8, 11] {
        accepted_sample(SampleAir::new(6, 3).fixed(Fixed::Local(width)));
        accepted_sample(SampleAir::new(6, 3).fixed(Fixed::Next(width)));
        accepted_sample(SampleAir::new(6, 3).next().fixed(Fixed::Local(width)));
        accepted_sample(SampleAir::new(6, 3).next().fixed(Fixed::Next(width)));
    }
}

#[test]
fn periodic_columns_of_any_period() {
    for periods in [&[1][..], &[2], &[64], &[1, 2, 4, 8, 16, 32, 64], &[4, 4]] {
        accepted_sample(SampleAir::new(6, 3).periodic(periods));
        accepted_sample(SampleAir::new(6, 3).next().periodic(periods));
    }
}

#[test]
fn everything_at_once_is_proved() {
    let air = SampleAir::new(7, 9).next().degree(5).publics(5);
    let air = air.fixed(Fixed::Next(3)).periodic(&[2, 16]);
    proved(&UniChild::sample(air, TINY), "everything");
}

#[test]
fn one_keccak_permutation() {
    let trace = generate_trace_rows::<F>(vec![std::array::from_fn(|i| i as u64)], 0);
    let height = trace.values.len() / trace.width;
    let min_height = 1 << 6;
    // Rows after the permutation run another one, on zeros.
    let trace = if height < min_height {
        generate_trace_rows::<F>(vec![std::array::from_fn(|i| i as u64), [0; 25]], 0)
    } else {
        trace
    };
    let child = UniChild::prove(KeccakAir {}, trace, vec![], TINY);
    accepted(&child, "keccak");
}
