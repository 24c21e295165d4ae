//! An equation and its source for every round.
//!
//! Notation: |F| = p⁴, the challenge field; k rows of a trace, n = k·blowup points, ρ = k/n; L the size of
//! a list of codewords. All results are bits, −log₂ of an error.
//!
//! Where `p3-security` 0.8.0 could be read in two ways for our proofs, this is the careful one:
//!
//! - |F| is 123.95 bits. `p3-security` takes whole bits; 124 goes in and the difference comes off.
//! - A proof of work of b bits is credited with what the transcript asks for: that the low b bits of an
//!   element of a field of 2³¹ − 2²⁴ + 1 elements are zero, up to 0.012 bits less.
//! - Folding is charged for the schedule that is folded, with the points *before* each round, and one
//!   degree more where the codeword of a shorter trace joins. `p3-security` charges no folding round
//!   at all when the schedule has only rounds of a lower arity than the highest allowed.
//! - One batching challenge serves the codewords of all heights: their errors are added up.
//! - In the Johnson regime a draw before the openings gives a forger one try for each codeword in the
//!   list. `p3-security` charges L for constraints and out-of-domain point; here it is charged for
//!   the lookups too. With H heights the list is at most L^H.
//! - The Johnson error is that of eprint 2025/2055, Theorem 4.2, as the public calculator soundcalc has
//!   it, not the smaller one of eprint 2026/2056 with an extension to curves that is only in comments
//!   of `p3-security`.
//! - Columns opened at two points are two quotients, so each counts twice, and the code that is decoded has
//!   a rate of (k + 2)/n (eprint 2022/1216 §4.1.3).
//! - Constraints of all tables count together, though each table has a quotient of its own.

use arbor_circuits::config::{D, F, FriConfig};
use p3_field::PrimeField32;
use p3_security::fri::FriRegime;
use p3_security::logup::LogUpAir;
use p3_security::{InstanceShape, StarkAirParams, air, deep, fri, logup, proximity};

use super::sizes::Sizes;

/// Whole bits of the challenge field, rounded up: what `p3-security` is told.
const MODULUS_BITS: usize = 124;
/// Whole bits of the challenge field, rounded down: where fewer are the careful choice.
const MODULUS_BITS_DOWN: usize = 123;

/// log₂ |F|, 123.95.
#[must_use]
pub fn field_bits() -> f64 {
    D as f64 * f64::from(F::ORDER_U32).log2()
}

/// log₂ of the work to find a collision of a digest, or of the sponge's capacity, of eight elements each:
/// half of 247.9.
#[must_use]
pub fn collision_bits() -> f64 {
    4.0 * f64::from(F::ORDER_U32).log2()
}

/// What grinding of `pow_bits` is worth: −log₂ of the share of field elements whose low bits are zero.
#[must_use]
pub fn grinding(pow_bits: usize) -> f64 {
    let hits = ((F::ORDER_U32 - 1) >> pow_bits) + 1;
    (f64::from(F::ORDER_U32) / f64::from(hits)).log2()
}

/// Constraints, folded with powers of one challenge: `L·C/|F|`, eprint 2022/1216 Theorem 8
/// ([`p3_security::air`]).
#[must_use]
pub fn constraints(sizes: &Sizes, list: f64) -> f64 {
    exact(air::composition_error(sizes.constraints, list, MODULUS_BITS).bits())
}

/// The out-of-domain point: `L·max(d·(k + 1) + k − 1, (c + 1)·k + 1)/|F|` for constraints of degree d and
/// c quotient chunks, eprint 2022/1216 Theorem 8 ([`p3_security::deep`]). d is taken as c + 1, the most
/// that c chunks hold.
#[must_use]
pub fn out_of_domain(sizes: &Sizes, fri: &FriConfig, list: f64) -> f64 {
    let shape = instance(sizes.log_max_height());
    exact(deep::deep_ali_error(&air_params(sizes), &shape, list).bits())
        + grinding(fri.ood_pow_bits)
}

/// The lookup challenges: `L·N·(W + 2)/|F|` for N fractions and messages of width W, eprint 2022/1530
/// with vanishing denominators counted ([`p3_security::logup`]). None without lookups.
#[must_use]
pub fn lookup(sizes: &Sizes, fri: &FriConfig, list: f64) -> Option<f64> {
    let num_interactions = usize::try_from(sizes.fractions).unwrap_or(usize::MAX);
    if num_interactions == 0 {
        return None;
    }
    let air = LogUpAir { num_interactions, max_message_width: sizes.message_width };
    let bits = exact(logup::fingerprint_error(&air, &instance(0)).bits());
    Some((bits - list.log2()).max(0.0) + grinding(fri.lookup_pow_bits))
}

/// The batching challenge: `Σ (K − 1)·ε(n)` over the heights, each with K opened values, where ε is the
/// error of a line in the regime.
#[must_use]
pub fn batching(sizes: &Sizes, fri: &FriConfig, line: impl Fn(f64) -> f64) -> f64 {
    let errors = sizes.openings.iter().map(|openings| {
        let points = 2f64.powi((openings.log_height + fri.log_blowup) as i32);
        openings.count.saturating_sub(1).max(1) as f64 * line(points)
    });
    from_error(errors.sum()) + grinding(fri.batch_pow_bits)
}

/// The folding challenges: the worst round's degree × ε(n). None if nothing is folded.
#[must_use]
pub fn folding(sizes: &Sizes, fri: &FriConfig, line: impl Fn(f64) -> f64) -> Option<f64> {
    let errors =
        sizes.rounds.iter().map(|r| r.degree() as f64 * line(2f64.powi(r.log_domain as i32)));
    let worst = errors.reduce(f64::max)?;
    Some(from_error(worst) + grinding(fri.commit_pow_bits))
}

/// ε of a line in the unique-decoding regime: `(n + 1)/|F|`, eprint 2020/654 Theorem 4.1. Eprint 2025/2055
/// has `γn + 1`, at most half of that.
#[must_use]
pub fn line_unique(points: f64) -> f64 {
    (points + 1.0) / field_bits().exp2()
}

/// ε of a line in the Johnson regime with multiplicity m, γ = 1 − (1 + 1/2m)·√ρ:
/// `((2(m+½)⁵ + 3(m+½)γρ)·n/(3ρ^{3/2}) + (m+½)/√ρ)/|F|`, eprint 2025/2055 Theorem 4.2.
#[must_use]
pub fn line_johnson(points: f64, log_blowup: usize, m: usize) -> f64 {
    let rate = (-(log_blowup as f64)).exp2();
    let shifted = m as f64 + 0.5;
    let radius = proximity::gamma_ldr_m(log_blowup, m);
    let curve = (2.0 * shifted.powi(5) + 3.0 * shifted * radius * rate) * points
        / (3.0 * rate * rate.sqrt());
    (curve + shifted / rate.sqrt()) / field_bits().exp2()
}

/// Queries that each find a codeword's error with probability 1 − α: `α^queries`, eprint 2024/1553
/// Theorems 2 and 3 ([`p3_security::fri`]).
#[must_use]
pub fn queries(fri: &FriConfig, agreement: f64) -> f64 {
    fri::query_phase_error(agreement, fri.num_queries, 0).bits() + grinding(fri.query_pow_bits)
}

/// α of the unique-decoding regime, `(1 + ρ⁺)/2` with ρ⁺ = (k + points)/n, for the shortest trace.
#[must_use]
pub fn agreement_unique(sizes: &Sizes, fri: &FriConfig) -> f64 {
    proximity::alpha_udr(sizes.log_min_height(), fri.log_blowup, sizes.points)
}

/// Queries under the random-words heuristic, `(ρ + η)^queries` with η = ρ·log₂(e/ρ)/log₂|F|, eprint
/// 2025/2010 §1.5 ([`p3_security::fri`]).
#[must_use]
pub fn queries_conjectured(fri: &FriConfig) -> f64 {
    let regime = FriRegime {
        log_blowup: fri.log_blowup,
        num_queries: fri.num_queries,
        log_final_poly_len: fri.log_final_poly_len,
        max_log_arity: fri.max_log_arity,
        commit_pow_bits: 0,
        query_pow_bits: 0,
    };
    let shape = InstanceShape { modulus_bits: MODULUS_BITS_DOWN, ..instance(0) };
    fri::conjectured_error(&regime, &shape).bits() + grinding(fri.query_pow_bits)
}

/// Greatest multiplicity m for which the decoded code, of rate (k + points)/n, is within the radius.
#[must_use]
pub fn greatest_multiplicity(sizes: &Sizes) -> usize {
    proximity::compute_upper_m(1 << sizes.log_min_height(), sizes.points).min(proximity::LDR_M_CAP)
}

/// The list size `(m + ½)/√ρ`, once for each height.
#[must_use]
pub fn list_size_johnson(sizes: &Sizes, fri: &FriConfig, m: usize) -> f64 {
    proximity::list_size_ldr_m(fri.log_blowup, m).powi(sizes.openings.len() as i32)
}

fn air_params(sizes: &Sizes) -> StarkAirParams {
    StarkAirParams {
        num_constraints: sizes.constraints,
        max_constraint_degree: sizes.quotient_chunks + 1,
        num_quotient_chunks: sizes.quotient_chunks,
        max_combo: sizes.points,
    }
}

/// What `p3-security` is told of a trace; fields that it does not use in a function are left at 0.
const fn instance(log_trace_length: usize) -> InstanceShape {
    InstanceShape {
        log_trace_length,
        modulus_bits: MODULUS_BITS,
        collision_resistance: 0,
        num_batched_functions: 0,
    }
}

/// Takes off what [`MODULUS_BITS`] is too much.
fn exact(bits: f64) -> f64 {
    (bits - (MODULUS_BITS as f64 - field_bits())).max(0.0)
}

fn from_error(error: f64) -> f64 {
    (-error.log2()).max(0.0)
}
