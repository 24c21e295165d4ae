//! The transcript of a child, step by step, once for the compiler and for the native replay.
//!
//! Source: `p3_batch_stark::transcript`, `p3_uni_stark::transcript`, `p3_fri::pcs_transcript`,
//! `p3_fri::transcript`.

use p3_field::PrimeCharacteristicRing;

use crate::child::{Commitment, Inner, System};
use crate::config::F;

/// A commitment of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CapId {
    /// An input commitment.
    Input(Commitment),
    /// The codeword of a folding round.
    Round(usize),
}

/// Extension-field values that a proof carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueId {
    /// A lookup terminal, counted among the instances that have one.
    Terminal(usize),
    /// An opened value: tree, matrix, point (0: ζ, 1: gζ) and column.
    Claim {
        /// Input tree.
        tree: usize,
        /// Matrix in it.
        matrix: usize,
        /// Point.
        point: usize,
        /// Column.
        column: usize,
    },
    /// A coefficient of the final polynomial.
    FinalPoly(usize),
}

/// Where a proof of work is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowSite {
    /// Before the lookup challenges.
    Lookup,
    /// Before the out-of-domain point.
    Ood,
    /// Before the challenge that batches the openings.
    Batch,
    /// Before a folding challenge.
    Commit(usize),
    /// Before the query indices.
    Query,
}

/// What a challenge is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChallengeId {
    /// Base of the lookup denominators.
    LookupAlpha,
    /// Combiner of a lookup message.
    LookupBeta,
    /// Folds the constraints.
    Constraint,
    /// The out-of-domain point ζ.
    Zeta,
    /// Batches the openings.
    Batch,
    /// Folds the codeword of a round.
    Fold(usize),
}

/// Follows a transcript.
pub trait Visitor {
    /// Observes numbers that the shape fixes.
    fn constants(&mut self, values: &[F]);
    /// Observes a commitment.
    fn cap(&mut self, cap: CapId);
    /// Observes all public values, in instance order.
    fn publics(&mut self);
    /// Observes a value of the proof.
    fn value(&mut self, value: ValueId);
    /// Observes a witness and asks for `bits` zero bits. Not called for zero bits.
    fn pow(&mut self, site: PowSite, bits: usize);
    /// Samples a challenge.
    fn challenge(&mut self, challenge: ChallengeId);
    /// Samples the index of a query.
    fn index(&mut self, query: usize);
}

/// Walks through the whole transcript of a proof of this shape.
pub fn walk<V: Visitor>(shape: &Inner, visitor: &mut V) {
    visitor.constants(&shape.seed);
    match shape.system {
        System::Uni => walk_uni(shape, visitor),
        System::Batch => walk_batch(shape, visitor),
    }
    walk_openings(shape, visitor);
    walk_fri(shape, visitor);
}

fn pow<V: Visitor>(visitor: &mut V, site: PowSite, bits: usize) {
    if bits > 0 {
        visitor.pow(site, bits);
    }
}

fn walk_uni<V: Visitor>(shape: &Inner, visitor: &mut V) {
    visitor.cap(CapId::Input(Commitment::Main));
    if shape.tree_of(Commitment::Preprocessed).is_some() {
        visitor.cap(CapId::Input(Commitment::Preprocessed));
    }
    visitor.publics();
    visitor.challenge(ChallengeId::Constraint);
    visitor.cap(CapId::Input(Commitment::Quotient));
    pow(visitor, PowSite::Ood, shape.fri.ood_pow_bits);
    visitor.challenge(ChallengeId::Zeta);
}

fn walk_batch<V: Visitor>(shape: &Inner, visitor: &mut V) {
    let bits = shape
        .instances
        .iter()
        .flat_map(|instance| [F::from_usize(instance.log_height), F::ZERO, F::ZERO, F::ZERO]);
    visitor.constants(&bits.collect::<Vec<_>>());
    visitor.cap(CapId::Input(Commitment::Main));
    visitor.publics();
    if shape.tree_of(Commitment::Preprocessed).is_some() {
        visitor.cap(CapId::Input(Commitment::Preprocessed));
    }
    if shape.num_lookup_instances() > 0 {
        pow(visitor, PowSite::Lookup, shape.fri.lookup_pow_bits);
        visitor.challenge(ChallengeId::LookupAlpha);
        visitor.challenge(ChallengeId::LookupBeta);
        visitor.cap(CapId::Input(Commitment::Permutation));
        for terminal in 0..shape.num_lookup_instances() {
            visitor.value(ValueId::Terminal(terminal));
        }
    }
    visitor.challenge(ChallengeId::Constraint);
    visitor.cap(CapId::Input(Commitment::Quotient));
    pow(visitor, PowSite::Ood, shape.fri.ood_pow_bits);
    visitor.challenge(ChallengeId::Zeta);
}

fn walk_openings<V: Visitor>(shape: &Inner, visitor: &mut V) {
    visitor.constants(&shape.pcs_seed);
    for (tree, input) in shape.trees.iter().enumerate() {
        for (matrix, m) in input.matrices.iter().enumerate() {
            for point in 0..m.num_points() {
                for column in 0..m.width {
                    visitor.value(ValueId::Claim { tree, matrix, point, column });
                }
            }
        }
    }
    pow(visitor, PowSite::Batch, shape.fri.batch_pow_bits);
    visitor.challenge(ChallengeId::Batch);
}

fn walk_fri<V: Visitor>(shape: &Inner, visitor: &mut V) {
    visitor.constants(&shape.fri_seed);
    for round in 0..shape.log_arities.len() {
        visitor.cap(CapId::Round(round));
        pow(visitor, PowSite::Commit(round), shape.fri.commit_pow_bits);
        visitor.challenge(ChallengeId::Fold(round));
    }
    for coefficient in 0..1 << shape.fri.log_final_poly_len {
        visitor.value(ValueId::FinalPoly(coefficient));
    }
    pow(visitor, PowSite::Query, shape.fri.query_pow_bits);
    for query in 0..shape.fri.num_queries {
        visitor.index(query);
    }
}
