//! FRI parameters at their ends: the layer over a proof with them has no faults, or the parameter is
//! refused by name.

mod common;

use arbor_circuits::child::ChildShape;
use arbor_circuits::config::FriConfig;
use arbor_circuits::error::CompileError;
use common::airs::{BatchAir, SampleAir};
use common::{Fibonacci, TINY, wrap};

/// A Fibonacci proof with these parameters, over the fewest rows that they allow.
fn accepted(fri: FriConfig) {
    let what = format!("{fri:?}");
    let minimum = 8_usize.saturating_sub(fri.log_blowup).max(fri.log_final_poly_len + 1);
    let child = Fibonacci::prove(9, minimum, fri);
    child.prepared.verify(&child.proof, &child.publics[0]).expect(&what);
    wrap(child.prepared.shape(), child.input(), &what);
}

#[test]
fn every_blowup_with_every_arity() {
    for log_blowup in 1..=4 {
        for max_log_arity in 1..=4 {
            let (log_final_poly_len, cap_height) = (1, 0);
            let fri =
                FriConfig { log_blowup, max_log_arity, log_final_poly_len, cap_height, ..TINY };
            accepted(fri);
        }
    }
}

#[test]
fn every_final_polynomial_with_the_smallest_and_the_largest_cap() {
    for log_final_poly_len in 0..=6 {
        for cap_height in [0, log_final_poly_len] {
            accepted(FriConfig { log_final_poly_len, cap_height, ..TINY });
        }
    }
    // At every blowup the largest cap has 2^(log_blowup + log_final_poly_len − 2) entries.
    for log_blowup in 1..=4 {
        let cap_height = log_blowup + 3 - 2;
        accepted(FriConfig { log_blowup, log_final_poly_len: 3, cap_height, ..TINY });
    }
}

/// The parameters with `bits` at one of the five sites.
fn with_pow(site: usize, bits: usize, fri: FriConfig) -> FriConfig {
    match site {
        0 => FriConfig { batch_pow_bits: bits, ..fri },
        1 => FriConfig { lookup_pow_bits: bits, ..fri },
        2 => FriConfig { ood_pow_bits: bits, ..fri },
        3 => FriConfig { commit_pow_bits: bits, ..fri },
        _ => FriConfig { query_pow_bits: bits, ..fri },
    }
}

#[test]
fn every_grinding_site_alone_and_all_together() {
    let none = FriConfig { query_pow_bits: 0, ..TINY };
    accepted(none);
    for bits in [1, 5, 8, 12] {
        for site in 0..5 {
            accepted(with_pow(site, bits, none));
        }
        accepted((0..5).fold(none, |fri, site| with_pow(site, bits, fri)));
    }
}

#[test]
fn every_number_of_queries() {
    for num_queries in [1, 2, 9, 60] {
        accepted(FriConfig { num_queries, ..TINY });
    }
}

#[test]
fn every_end_at_once() {
    let fri = FriConfig {
        log_blowup: 4,
        max_log_arity: 4,
        log_final_poly_len: 6,
        cap_height: 8,
        num_queries: 9,
        ..(0..5).fold(TINY, |fri, site| with_pow(site, 7, fri))
    };
    accepted(fri);
    accepted(FriConfig { max_log_arity: 1, ..fri });
}

/// Why a narrow table of this height cannot be wrapped.
fn refused(log_height: usize, degree: usize, fri: FriConfig) -> CompileError {
    let air = SampleAir::new(log_height, 2).degree(degree);
    ChildShape::uni(&air, log_height, &fri).expect_err("no circuit verifies such a proof")
}

/// Requires that the refusal names this parameter and its value.
fn names(error: &CompileError, expected: &str, value: usize) {
    match error {
        CompileError::Unsupported { parameter, got, allowed } => {
            assert_eq!((*parameter, *got), (expected, value), "{error}");
            assert!(!allowed.is_empty());
        }
        other => panic!("{other} does not name {expected}"),
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let large_cap = FriConfig { cap_height: 4, ..TINY };
    names(&refused(7, 2, large_cap), "cap_height", 4);
    names(&refused(5, 2, TINY), "log_height", 5);
    let long = FriConfig { log_final_poly_len: 7, ..TINY };
    names(&refused(7, 2, long), "log_height", 7);
    let short = FriConfig { log_blowup: 1, log_final_poly_len: 0, cap_height: 0, ..TINY };
    names(&refused(7, 2, short), "log_final_poly_len", 0);
    names(&refused(7, 5, FriConfig { log_blowup: 1, ..TINY }), "log_blowup", 1);
}

#[test]
fn what_native_code_refuses_or_cannot_sample_is_refused_by_name() {
    names(&refused(9, 2, FriConfig { num_queries: 0, ..TINY }), "num_queries", 0);
    names(&refused(9, 2, FriConfig { max_log_arity: 0, ..TINY }), "max_log_arity", 0);
    for log_blowup in [0, 24, 100] {
        names(&refused(9, 2, FriConfig { log_blowup, ..TINY }), "log_blowup", log_blowup);
    }
    let sites = ["batch", "lookup", "ood", "commit", "query"];
    for (site, name) in sites.into_iter().enumerate() {
        let error = refused(9, 2, with_pow(site, 25, TINY));
        names(&error, &format!("{name}_pow_bits"), 25);
    }
    let none = ChildShape::batch::<BatchAir>(&[], &[], &TINY).expect_err("no table");
    names(&none, "tables", 0);
}

#[test]
fn heights_beyond_two_adicity_are_refused() {
    for log_blowup in 1..=4 {
        let fri = FriConfig { log_blowup, ..TINY };
        let maximum = 24 - log_blowup;
        let error = refused(maximum + 1, 2, fri);
        let expected =
            CompileError::TooTall { table: "trace", log_height: maximum + 1, log_blowup, maximum };
        assert_eq!(error, expected);
        let air = SampleAir::new(maximum, 2);
        ChildShape::uni(&air, maximum, &fri).expect("the tallest trace that there is");
    }
}
