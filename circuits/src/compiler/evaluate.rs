//! The out-of-domain check: constraints at ζ against the quotient, and the lookup terminals.
//!
//! Source: `p3_uni_stark::verify_constraints`, `p3_batch_stark::VerifierData`,
//! `recompose_quotient_from_chunks`, `LogUpGadget::verify_terminal_sum`.

use p3_commit::PolynomialSpace;
use p3_dft::{Radix2Dit, TwoAdicSubgroupDft};
use p3_field::coset::TwoAdicMultiplicativeCoset;
use p3_field::{Field, PrimeCharacteristicRing};

use super::constraints::{Leaves, fold_constraints};
use super::prologue::Transcript;
use super::transcript::ChallengeId;
use crate::child::{ChildShape, Commitment, Instance, trace_domain};
use crate::config::{D, F};
use crate::program::{Addr, ProgramBuilder};

/// What depends on ζ and the height of a trace alone.
struct Domain {
    log_height: usize,
    /// ζ^{2^i} for i up to the log of the height.
    zeta_powers: Vec<Addr>,
    /// ζⁿ − 1.
    vanishing: Addr,
    is_first_row: Addr,
    is_last_row: Addr,
    is_transition: Addr,
}

/// Requires the constraints of every instance to match its quotient, and the terminals to cancel.
pub(super) fn compile_evaluation(
    builder: &mut ProgramBuilder,
    shape: &ChildShape,
    transcript: &Transcript,
) {
    let challenges = LookupChallenges::new(builder, shape, transcript);
    let mut publics = transcript.publics.as_slice();
    let mut terminals = transcript.terminals.as_slice();
    let mut domains: Vec<Domain> = vec![];
    for (i, instance) in shape.instances.iter().enumerate() {
        let (own_publics, rest) = publics.split_at(instance.num_publics);
        publics = rest;
        let (own_terminal, rest) = terminals.split_at(usize::from(instance.aux_width > 0));
        terminals = rest;
        if !domains.iter().any(|domain| domain.log_height == instance.log_height) {
            let zeta = transcript.challenge(ChallengeId::Zeta);
            domains.push(Domain::new(builder, zeta, instance.log_height));
        }
        let domain = domains
            .iter()
            .find(|domain| domain.log_height == instance.log_height)
            .expect("pushed above");
        let check = Check { shape, transcript, instance, index: i, domain };
        check.compile(builder, &challenges, own_publics, own_terminal);
    }
    if !transcript.terminals.is_empty() {
        assert_sum_zero(builder, &transcript.terminals);
    }
}

/// The lookup challenges in the form in which the constraints read them.
struct LookupChallenges {
    beta: Addr,
    /// α + (bus + 1)·β^W for every bus.
    prefixes: Vec<Addr>,
}

impl LookupChallenges {
    /// Source: `p3_lookup::Challenges::new`.
    fn new(builder: &mut ProgramBuilder, shape: &ChildShape, transcript: &Transcript) -> Self {
        if shape.num_lookup_instances() == 0 {
            return Self { beta: Addr::ZERO, prefixes: vec![] };
        }
        let alpha = transcript.challenge(ChallengeId::LookupAlpha);
        let beta = transcript.challenge(ChallengeId::LookupBeta);
        let (num_buses, widest) = shape.buses;
        let gamma = power(builder, beta, widest);
        let prefixes = (1..=num_buses)
            .map(|bus| {
                let q = [F::ZERO, F::from_usize(bus), F::ONE, F::ZERO, F::ZERO];
                builder.gate(gamma, alpha, Addr::ZERO, q)
            })
            .collect();
        Self { beta, prefixes }
    }
}

impl Domain {
    /// Source: `TwoAdicMultiplicativeCoset::selectors_at_point`. ζ in the domain has no inverse of
    /// its vanishing polynomial, so the circuit rejects it as native code does.
    fn new(builder: &mut ProgramBuilder, zeta: Addr, log_height: usize) -> Self {
        let mut zeta_powers = vec![zeta];
        for i in 0..log_height {
            zeta_powers.push(builder.mul(zeta_powers[i], zeta_powers[i]));
        }
        let vanishing = builder.affine(zeta_powers[log_height], F::ONE, F::NEG_ONE);
        builder.inverse(vanishing);
        let last = trace_domain(log_height).subgroup_generator().inverse();
        let from_first = builder.affine(zeta, F::ONE, F::NEG_ONE);
        let is_transition = builder.affine(zeta, F::ONE, -last);
        Self {
            log_height,
            vanishing,
            is_first_row: builder.div(vanishing, from_first),
            is_last_row: builder.div(vanishing, is_transition),
            is_transition,
            zeta_powers,
        }
    }
}

/// The check of one instance.
struct Check<'a> {
    shape: &'a ChildShape,
    transcript: &'a Transcript,
    instance: &'a Instance,
    index: usize,
    domain: &'a Domain,
}

impl Check<'_> {
    fn compile(
        &self,
        builder: &mut ProgramBuilder,
        challenges: &LookupChallenges,
        publics: &[Addr],
        terminal: &[Addr],
    ) {
        let claims = |commitment, point| {
            self.transcript.claims_of(self.shape, commitment, self.index, point)
        };
        let permutation =
            [0, 1].map(|point| recompose_all(builder, claims(Commitment::Permutation, point)));
        let periodic = self.periodic(builder);
        let lookups: Vec<Addr> = self
            .instance
            .buses
            .iter()
            .flat_map(|&bus| [challenges.prefixes[bus], challenges.beta])
            .collect();
        // A row that is not opened is read as zeros, as the native verifier does.
        let or_zeros = |claims: &[Addr], width: usize| {
            if claims.is_empty() { vec![Addr::ZERO; width] } else { claims.to_vec() }
        };
        let main_next = or_zeros(claims(Commitment::Main, 1), self.instance.main_width);
        let width = self.instance.preprocessed_width;
        let preprocessed_next = or_zeros(claims(Commitment::Preprocessed, 1), width);
        let leaves = Leaves {
            main: [claims(Commitment::Main, 0), &main_next],
            preprocessed: [claims(Commitment::Preprocessed, 0), &preprocessed_next],
            periodic: &periodic,
            public: publics,
            permutation: [&permutation[0], &permutation[1]],
            challenges: &lookups,
            permutation_values: terminal,
            is_first_row: self.domain.is_first_row,
            is_last_row: self.domain.is_last_row,
            is_transition: self.domain.is_transition,
        };
        let alpha = self.transcript.challenge(ChallengeId::Constraint);
        let folded = fold_constraints(builder, &self.instance.constraints, &leaves, alpha);
        let quotient = self.quotient(builder);
        let q = [F::ONE, F::ZERO, F::ZERO, F::ZERO, F::ZERO];
        builder.assert_gate(quotient, self.domain.vanishing, Addr::ZERO, q, folded);
    }

    /// Each periodic column at ζ: its interpolant at ζ^{n/period}, by Horner's rule.
    fn periodic(&self, builder: &mut ProgramBuilder) -> Vec<Addr> {
        let columns = &self.instance.periodic;
        columns
            .iter()
            .map(|column| {
                let log_period = p3_util::log2_strict_usize(column.len());
                let point = self.domain.zeta_powers[self.domain.log_height - log_period];
                let coefficients = Radix2Dit::default().idft(column.clone());
                let (last, others) = coefficients.split_last().expect("a period is positive");
                let start = builder.constant(*last);
                others.iter().rev().fold(start, |sum, &coefficient| {
                    let q = [F::ONE, F::ZERO, F::ZERO, F::ZERO, coefficient];
                    builder.gate(sum, point, Addr::ZERO, q)
                })
            })
            .collect()
    }

    /// Σ over chunks of Π over the others of Z_j(ζ)/Z_j(first point of the chunk's domain).
    fn quotient(&self, builder: &mut ProgramBuilder) -> Addr {
        let domains = chunk_domains(self.instance);
        let power = self.domain.zeta_powers[self.domain.log_height];
        let chunks = self.chunks(builder);
        let mut sum = None;
        for (i, &chunk) in chunks.iter().enumerate() {
            let mut term = chunk;
            for (j, other) in domains.iter().enumerate().filter(|(j, _)| *j != i) {
                assert_ne!(i, j);
                let scale = other.shift_inverse().exp_power_of_2(other.log_size());
                let at_first = other.vanishing_poly_at_point(domains[i].first_point());
                let weight = F::inverse(&at_first);
                // term · (ζⁿ·scale − 1) · weight
                let q = [scale * weight, -weight, F::ZERO, F::ZERO, F::ZERO];
                term = builder.gate(term, power, Addr::ZERO, q);
            }
            sum = Some(match sum {
                None => term,
                Some(sum) => builder.add(sum, term),
            });
        }
        sum.expect("there is at least one chunk")
    }

    fn chunks(&self, builder: &mut ProgramBuilder) -> Vec<Addr> {
        let tree = self.shape.tree_of(Commitment::Quotient).expect("every proof has a quotient");
        let matrices = self.shape.trees[tree].matrices.iter().zip(&self.transcript.claims[tree]);
        let own = matrices.filter(|(matrix, _)| matrix.instance == self.index);
        own.flat_map(|(_, claims)| recompose_all(builder, &claims[0])).collect()
    }
}

/// The domains of the quotient chunks, as the native verifier splits them.
fn chunk_domains(instance: &Instance) -> Vec<TwoAdicMultiplicativeCoset<F>> {
    let size = instance.num_chunks << instance.log_height;
    trace_domain(instance.log_height)
        .create_disjoint_domain(size)
        .split_domains(instance.num_chunks)
}

/// Extension-field columns from the openings of their limbs.
fn recompose_all(builder: &mut ProgramBuilder, claims: &[Addr]) -> Vec<Addr> {
    claims
        .chunks_exact(D)
        .map(|limbs| builder.recompose(std::array::from_fn(|i| limbs[i])))
        .collect()
}

/// `base^exponent` for a positive exponent.
pub(super) fn power(builder: &mut ProgramBuilder, base: Addr, exponent: usize) -> Addr {
    assert!(exponent > 0);
    let mut result = base;
    for bit in (0..exponent.ilog2()).rev() {
        result = builder.mul(result, result);
        if exponent >> bit & 1 == 1 {
            result = builder.mul(result, base);
        }
    }
    result
}

/// Requires `Σ terms = 0`.
fn assert_sum_zero(builder: &mut ProgramBuilder, terms: &[Addr]) {
    let mut sum = Addr::ZERO;
    for pair in terms.chunks(2) {
        let second = pair.get(1).copied().unwrap_or(Addr::ZERO);
        let q = [F::ZERO, F::ONE, F::ONE, F::ONE, F::ZERO];
        sum = builder.gate(sum, pair[0], second, q);
    }
    builder.assert_zero(sum);
}
