//! One query: index, openings, folding rounds, final polynomial.
//!
//! Source: `p3_fri::verifier::{open_inputs, fold_query, verify_fri}`, `TwoAdicFriFolding::fold_row`.

use p3_field::{Field, PrimeCharacteristicRing, TwoAdicField};
use p3_util::reverse_bits_len;

use super::bits::low_bits;
use super::merkle::{Path, Query, QueryBits, Sums};
use super::openings::square_times;
use super::sponge::Limb;
use super::transcript::{CapId, ChallengeId};
use crate::config::F;
use crate::program::{Addr, HashRow, Port, ProgramBuilder, Source};

/// What the folding rounds of every query read.
pub(super) struct FoldContext {
    /// β of each round.
    pub betas: Vec<Addr>,
    /// β^{2^a} of the rounds after which something joins.
    pub joins: Vec<Option<Addr>>,
}

impl FoldContext {
    /// Computes the powers of β that queries need.
    pub(super) fn new(builder: &mut ProgramBuilder, query: &Query<'_>) -> Self {
        let shape = query.shape;
        let rounds = 0..shape.log_arities.len();
        let betas: Vec<Addr> = rounds
            .clone()
            .map(|round| query.transcript.challenge(ChallengeId::Fold(round)))
            .collect();
        let joins = rounds
            .map(|round| {
                let height = shape.log_max_height - shape.round_bit(round + 1);
                let joined = query.openings.points.contains_key(&height);
                joined.then(|| square_times(builder, betas[round], shape.log_arities[round]))
            })
            .collect();
        Self { betas, joins }
    }
}

impl Query<'_> {
    /// All rows of one query.
    pub(super) fn compile(
        &self,
        builder: &mut ProgramBuilder,
        sampled: Limb,
        context: &FoldContext,
    ) {
        let index = low_bits(builder, sampled, self.shape.log_max_height);
        let (bits, sums) = self.compile_trees(builder, index);
        let mut folded = self.reduced_opening(builder, self.shape.log_max_height, &bits, &sums);
        let mut last = Addr::ZERO;
        for round in 0..self.shape.log_arities.len() {
            let beta = context.betas[round];
            let start = self.fold_start(builder, round, &bits);
            folded = self.fold(builder, round, &bits, beta, start, folded);
            if let Some(weight) = context.joins[round] {
                let height = self.shape.log_max_height - self.shape.round_bit(round + 1);
                let joining = self.reduced_opening(builder, height, &bits, &sums);
                folded = builder.mul_add(weight, joining, folded);
            }
            last = start;
        }
        let log_arity = self.shape.log_arities.last().copied().unwrap_or(0);
        let point = square_times(builder, last, log_arity);
        self.check_final(builder, point, folded);
    }

    /// Σ over points of (claimed − opened)/(z − x) at one height.
    fn reduced_opening(
        &self,
        builder: &mut ProgramBuilder,
        log_height: usize,
        bits: &QueryBits,
        sums: &Sums,
    ) -> Addr {
        let x = self.evaluation_point(builder, log_height, bits);
        let mut total = None;
        for point in &self.openings.points[&log_height] {
            let mut rest = point.claimed;
            for weight in &point.weights {
                let sum = sums[weight.tree][weight.group][weight.segment];
                let q = [F::NEG_ONE, F::ZERO, F::ZERO, F::ONE, F::ZERO];
                rest = builder.gate(weight.weight, sum, rest, q);
            }
            let distance = builder.sub(point.z, x);
            let inverse = builder.inverse(distance);
            total = Some(match total {
                None => builder.mul(rest, inverse),
                Some(total) => builder.mul_add(rest, inverse, total),
            });
        }
        total.expect("a height has points")
    }

    /// x at a height: the tallest one's is on the bus; with k low bits dropped it is
    /// G·(X/X_k)^{2^k}, where X_k are the factors of those bits.
    fn evaluation_point(
        &self,
        builder: &mut ProgramBuilder,
        log_height: usize,
        bits: &QueryBits,
    ) -> Addr {
        let low = self.shape.log_max_height - log_height;
        if low == 0 {
            return bits.point;
        }
        let ratio = builder.div(bits.point, bits.partial_point(low));
        let power = square_times(builder, ratio, low);
        builder.affine(power, F::GENERATOR, F::ZERO)
    }

    /// The start s of the coset that round `round` interpolates over: (X/X_{k+a})^{2^k}.
    fn fold_start(&self, builder: &mut ProgramBuilder, round: usize, bits: &QueryBits) -> Addr {
        let low = self.shape.round_bit(round);
        let high = self.shape.round_bit(round + 1);
        let ratio = builder.div(bits.point, bits.partial_point(high));
        square_times(builder, ratio, low)
    }

    /// One folding round: the group's leaf and path, and its value at β.
    fn fold(
        &self,
        builder: &mut ProgramBuilder,
        round: usize,
        bits: &QueryBits,
        beta: Addr,
        start: Addr,
        queried: Addr,
    ) -> Addr {
        let log_arity = self.shape.log_arities[round];
        let u = builder.div(beta, start);
        let (slots, sum) = self.fold_leaf(builder, round, u, queried);
        self.fold_path(builder, round, bits, slots, queried);
        if log_arity == 1 {
            return fold_pair(builder, slots, u);
        }
        // sum · (u^{2^a} − 1)/2^a
        let power = square_times(builder, u, log_arity);
        let scale = F::from_u32(1 << log_arity).inverse();
        builder.gate(sum, power, Addr::ZERO, [scale, -scale, F::ZERO, F::ZERO, F::ZERO])
    }

    /// Hashes and folds a group, a pair a row. Returns its slots and the sum over pairs.
    fn fold_leaf(
        &self,
        builder: &mut ProgramBuilder,
        round: usize,
        u: Addr,
        queried: Addr,
    ) -> (Addr, Addr) {
        let log_arity = self.shape.log_arities[round];
        let pairs = 1 << (log_arity - 1);
        let slots = builder.alloc_block(2 * pairs);
        let sum = if log_arity > 1 { builder.alloc() } else { Addr::ZERO };
        let root = F::two_adic_generator(log_arity).inverse();
        for pair in 0..pairs {
            let mut row = HashRow::new(Source::Fold {
                round: round as u16,
                pair: pair as u16,
                log_arity: log_arity as u16,
                bit: self.shape.round_bit(round) as u16,
                queried,
            });
            let c = root.exp_u64(reverse_bits_len(pair, log_arity - 1) as u64);
            row.fixed.c = c;
            row.fixed.c2 = c.square();
            row.fixed.fri_first = F::from_bool(pair == 0);
            row.fixed.fri_next = F::from_bool(pair > 0);
            row.fixed.dynamic = F::ONE;
            row.ports[0] = Port::write_indexed(slots.offset(2 * pair));
            row.ports[1] = Port::write_indexed(slots.offset(2 * pair + 1));
            // With one pair the table's sum says nothing that E does not compute from the slots.
            if log_arity > 1 && pair == 0 {
                row.ports[2] = Port::read(u);
            } else if log_arity > 1 && pair + 1 == pairs {
                row.ports[2] = Port::write(sum);
            }
            builder.push_hash(row);
        }
        (slots, sum)
    }

    /// The path of a group. Its first row looks the queried value up at its slot.
    fn fold_path(
        &self,
        builder: &mut ProgramBuilder,
        round: usize,
        bits: &QueryBits,
        slots: Addr,
        queried: Addr,
    ) {
        let (low, high) = (self.shape.round_bit(round), self.shape.round_bit(round + 1));
        let log_height = self.shape.log_max_height - high;
        let path = Path {
            tree: self.shape.trees.len() + round,
            cap: self.transcript.caps[&CapId::Round(round)],
            first_bit: high,
            levels: log_height - self.shape.fri.cap_height,
            log_height,
        };
        let start = slot_and_start(builder, bits.rest(low), bits.rest(high), low);
        for level in 0..path.levels {
            let mut row = path.row(level);
            if level == 0 {
                row.fixed.slot = F::ONE;
                row.ports[0] = Port::read(queried);
                row.ports[1] = Port::read_indexed(slots);
                row.ports[2] = Port::read(start);
            }
            builder.push_hash(row);
        }
    }

    /// The final polynomial at the folded point.
    fn check_final(&self, builder: &mut ProgramBuilder, point: Addr, folded: Addr) {
        let coefficients = &self.transcript.final_poly;
        let (&first, others) = coefficients.split_first().expect("at least one coefficient");
        let Some((&top, middle)) = others.split_last() else {
            builder.assert_eq(first, folded);
            return;
        };
        let sum = middle
            .iter()
            .rev()
            .fold(top, |sum, &coefficient| builder.mul_add(sum, point, coefficient));
        let q = [F::ONE, F::ZERO, F::ZERO, F::ONE, F::ZERO];
        builder.assert_gate(sum, point, first, q, folded);
    }
}

/// `slot + X·start`: the position in the group, and the index with the group's bits cleared.
fn slot_and_start(builder: &mut ProgramBuilder, from: Addr, to: Addr, low: usize) -> Addr {
    let [_, x, ..] = builder.basis();
    let scale = F::from_u32(1 << low).inverse();
    builder.gate(to, x, from, [F::ONE, -scale, F::ZERO, scale, F::ZERO])
}

/// (lo + hi)/2 + u·(lo − hi)/2.
fn fold_pair(builder: &mut ProgramBuilder, slots: Addr, u: Addr) -> Addr {
    let (lo, hi) = (slots, slots.offset(1));
    let half = F::ONE.halve();
    let difference = builder.sub(lo, hi);
    let part = builder.gate(u, difference, lo, [half, F::ZERO, F::ZERO, half, F::ZERO]);
    builder.gate(part, hi, Addr::ZERO, [F::ZERO, F::ONE, half, F::ZERO, F::ZERO])
}
