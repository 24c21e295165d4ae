//! Rows of H against Plonky3's own hash, compression, folding and permutation.

use std::array::from_fn;
use std::collections::BTreeSet;
use std::marker::PhantomData;

use p3_field::{BasedVectorSpace, Field, PrimeCharacteristicRing, TwoAdicField};
use p3_fri::{FriFoldingStrategy, TwoAdicFriFolding};
use p3_symmetric::{CryptographicHasher, Permutation, PseudoCompressionFunction};
use p3_util::reverse_bits_len;
use proptest::prelude::*;

use crate::config::{Compress, D, DIGEST, Digest, EF, F, Hash, RATE, WIDTH, permutation};
use crate::program::hash::mask;
use crate::tables::hash::{HashCols, HashPreprocessed, NUM_COLS, fill_permutations, scratch};
use crate::tables::testing::rows::{HandRow, HashRows};
use crate::tables::testing::{bus, message};

/// Addresses of the test's bus. Indexed tables lie far from the others.
const GAMMA: F = F::new(11);
const SUM: F = F::new(12);
const START: F = F::new(13);
const POINT: F = F::new(14);
const SLOTS: F = F::new(100);
const CAP: F = F::new(1 << 26);

pub(super) fn any_base() -> impl Strategy<Value = F> {
    any::<u32>().prop_map(|value| F::from_u64(value.into()))
}

fn any_ext() -> impl Strategy<Value = EF> {
    [any_base(), any_base(), any_base(), any_base()].prop_map(ext)
}

fn ext(limbs: [F; D]) -> EF {
    EF::from_basis_coefficients_fn(|i| limbs[i])
}

fn limbs(value: EF) -> [F; D] {
    let limbs: &[F] = value.as_basis_coefficients_slice();
    from_fn(|i| limbs[i])
}

/// Rows that hash `values` and sum them up by powers of γ. Returns the rows' last output.
fn push_leaf(rows: &mut HashRows, values: &[F], gamma: EF) -> [F; WIDTH] {
    let mut state = [F::ZERO; WIDTH];
    let mut sum = EF::ZERO;
    let blocks = values.chunks(RATE).count();
    for (block, chunk) in values.chunks(RATE).enumerate() {
        state[..chunk.len()].copy_from_slice(chunk);
        let mut fixed = HashPreprocessed { mask: mask(0, chunk.len()), ..Default::default() };
        if block == 0 {
            fixed.leaf_first = F::ONE;
            (fixed.addr[1], fixed.count[1]) = (GAMMA, F::NEG_ONE);
        } else {
            (fixed.leaf_next, fixed.sum_next) = (F::ONE, F::ONE);
        }
        if block + 1 == blocks {
            (fixed.addr[0], fixed.count[0]) = (SUM, F::ONE);
        }
        let mut row = HandRow::new(fixed, state);
        let slot = |i: usize| chunk.get(i).copied().unwrap_or(F::ZERO);
        let horner = |from: usize, sum: EF| (from..from + 4).fold(sum, |s, i| s * gamma + slot(i));
        let half = horner(0, sum);
        for (i, column) in
            [scratch::GAMMA, scratch::GAMMA2, scratch::GAMMA3, scratch::GAMMA4].iter().enumerate()
        {
            row.put(*column, &limbs(gamma.exp_u64(i as u64 + 1)));
        }
        row.put(scratch::ACC, &limbs(sum));
        row.put(scratch::HALF, &limbs(half));
        sum = horner(4, half);
        row.put(scratch::SUM, &limbs(sum));
        rows.push(row);
        state = permutation().permute(state);
    }
    state
}

/// Rows that climb from a digest to the cap, and follow the point.
fn push_path(rows: &mut HashRows, mut state: [F; WIDTH], index: usize, siblings: &[Digest]) {
    let mut point = F::GENERATOR;
    let levels = siblings.len();
    for (level, sibling) in siblings.iter().enumerate() {
        let set = index >> level & 1 == 1;
        let own: Digest = from_fn(|i| state[i]);
        let halves = if set { [*sibling, own] } else { [own, *sibling] };
        let first = level == 0;
        let mut fixed = HashPreprocessed {
            path: F::ONE,
            path_next: F::from_bool(!first),
            last: F::from_bool(level + 1 == levels),
            c: F::from_usize(1 << level),
            ..Default::default()
        };
        if first {
            (fixed.addr[1], fixed.count[1]) = (START, F::NEG_ONE);
        } else {
            fixed.kappa = F::two_adic_generator(level + 1) - F::ONE;
        }
        if level + 1 == levels {
            fixed.addr = [POINT, CAP + F::ONE, CAP];
            fixed.count = [F::ONE, F::NEG_ONE, F::NEG_ONE];
        }
        let input: [F; WIDTH] = from_fn(|i| halves[i / DIGEST][i % DIGEST]);
        let mut row = HandRow::new(fixed, input);
        if set {
            point *= F::two_adic_generator(level + 1);
        }
        row.put(scratch::BIT, &[F::from_bool(set)]);
        row.put(scratch::REST, &[F::from_usize(index >> (level + 1) << (level + 1))]);
        row.put(scratch::POINT, &[point]);
        if first {
            row.put(scratch::START, &[F::from_usize(index)]);
        }
        rows.push(row);
        state = permutation().permute(input);
    }
}

/// Rows that hash and fold a group, with each value sent as often as its position says. Returns the
/// last output and the sum.
fn push_group(rows: &mut HashRows, evals: &[EF], u: EF) -> ([F; WIDTH], EF) {
    let pairs = evals.len() / 2;
    let log_arity = evals.len().trailing_zeros() as usize;
    let root = F::two_adic_generator(log_arity).inverse();
    let (mut state, mut sum) = ([F::ZERO; WIDTH], EF::ZERO);
    for (pair, values) in evals.chunks_exact(2).enumerate() {
        let [lo, hi] = [values[0], values[1]];
        let c = root.exp_u64(reverse_bits_len(pair, log_arity - 1) as u64);
        let mut fixed = HashPreprocessed {
            fri_first: F::from_bool(pair == 0),
            fri_next: F::from_bool(pair > 0),
            c,
            c2: c.square(),
            dynamic: F::ONE,
            ..Default::default()
        };
        let slot = SLOTS + F::from_usize(2 * pair);
        fixed.addr = [slot, slot + F::ONE, F::ZERO];
        if pair == 0 {
            (fixed.addr[2], fixed.count[2]) = (GAMMA, F::NEG_ONE);
        } else if pair + 1 == pairs {
            (fixed.addr[2], fixed.count[2]) = (SUM, F::ONE);
        }
        state[..D].copy_from_slice(&limbs(lo));
        state[D..RATE].copy_from_slice(&limbs(hi));
        let mut row = HandRow::new(fixed, state);
        let fold = lo + hi + (lo - hi) * u * c;
        let weight = (u.square() * c.square() - F::ONE).inverse();
        sum += fold * weight;
        row.put(scratch::GAMMA, &limbs(u));
        row.put(scratch::GAMMA2, &limbs(u.square()));
        row.put(scratch::FOLD, &limbs(fold));
        row.put(scratch::WEIGHT, &limbs(weight));
        row.put(scratch::ACC, &limbs(sum));
        row.put(scratch::MULTIPLICITY, &[0, 1].map(|i| F::from_usize(2 * pair + i)));
        rows.push(row);
        state = permutation().permute(state);
    }
    (state, sum)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn permutations_are_plonky3s(inputs in prop::collection::vec(any::<[u32; WIDTH]>(), 16)) {
        let inputs: Vec<[F; WIDTH]> =
            inputs.iter().map(|input| input.map(|x| F::from_u64(x.into()))).collect();
        let mut values = F::zero_vec(16 * NUM_COLS);
        for (row, input) in values.chunks_exact_mut(NUM_COLS).zip(&inputs) {
            row[..WIDTH].copy_from_slice(input);
        }
        fill_permutations(&mut values);
        for (row, input) in values.chunks_exact(NUM_COLS).zip(&inputs) {
            prop_assert_eq!(HashCols::new(row).output(), permutation().permute(*input));
        }
    }

    #[test]
    fn leaves_are_hashed_and_summed(
        values in prop::collection::vec(any_base(), 1..=40),
        gamma in any_ext(),
    ) {
        let mut rows = HashRows::default();
        let output = push_leaf(&mut rows, &values, gamma);
        let digest = Hash::new(permutation()).hash_iter(values.iter().copied());
        prop_assert_eq!(&output[..DIGEST], &digest);

        let slots = values.len().div_ceil(RATE) * RATE;
        let terms = values.iter().enumerate();
        let sum: EF = terms.map(|(s, &v)| gamma.exp_u64((slots - 1 - s) as u64) * v).sum();
        let outcome = rows.check();
        prop_assert_eq!(outcome.failed, BTreeSet::new());
        let expected = [
            (message(GAMMA, &limbs(gamma)), F::NEG_ONE),
            (message(SUM, &limbs(sum)), F::ONE),
        ];
        prop_assert_eq!(outcome.bus, bus(expected));
    }

    #[test]
    fn paths_end_in_the_root(
        leaf in prop::array::uniform8(any_base()),
        siblings in prop::collection::vec(prop::array::uniform8(any_base()), 2..=10),
        index in any::<u16>(),
    ) {
        let levels = siblings.len();
        let index = index as usize & ((4 << levels) - 1);
        let mut rows = HashRows::default();
        let state = push_leaf(&mut rows, &leaf, EF::ZERO);
        push_path(&mut rows, state, index, &siblings);

        let mut root = Hash::new(permutation()).hash_iter(leaf);
        let compress = Compress::new(permutation());
        for (level, &sibling) in siblings.iter().enumerate() {
            let set = index >> level & 1 == 1;
            root = compress.compress(if set { [sibling, root] } else { [root, sibling] });
        }
        let entry = CAP + F::from_usize(index >> levels << levels);
        let exponent = reverse_bits_len(index & ((1 << levels) - 1), levels);
        let point = F::GENERATOR * F::two_adic_generator(levels).exp_u64(exponent as u64);
        let expected = [
            (message(GAMMA, &[]), F::NEG_ONE),
            (message(SUM, &limbs(leaf[7].into())), F::ONE),
            (message(START, &[F::from_usize(index)]), F::NEG_ONE),
            (message(entry, &root[..D]), F::NEG_ONE),
            (message(entry + F::ONE, &root[D..]), F::NEG_ONE),
            (message(POINT, &[point]), F::ONE),
        ];
        let outcome = rows.check();
        prop_assert_eq!(outcome.failed, BTreeSet::new());
        prop_assert_eq!(outcome.bus, bus(expected));
    }

    #[test]
    fn groups_are_hashed_and_folded(
        log_arity in 1_usize..=4,
        evals in prop::collection::vec(any_ext(), 16),
        beta in any_ext(),
        log_height in 0_usize..=8,
        index in any::<u8>(),
    ) {
        let evals = &evals[..1 << log_arity];
        let index = index as usize & ((1 << log_height) - 1);
        let start = F::two_adic_generator(log_height + log_arity)
            .exp_u64(reverse_bits_len(index, log_height) as u64);
        let u = beta * start.inverse();
        let mut rows = HashRows::default();
        let (output, sum) = push_group(&mut rows, evals, u);

        let flat = evals.iter().flat_map(|value| limbs(*value));
        let digest = Hash::new(permutation()).hash_iter(flat);
        prop_assert_eq!(&output[..DIGEST], &digest);
        let folding = TwoAdicFriFolding::<(), ()>(PhantomData);
        let folded: EF = FriFoldingStrategy::<F, EF>::fold_row(
            &folding,
            index,
            log_height,
            log_arity,
            beta,
            evals.iter().copied(),
        );
        let scale = F::from_usize(evals.len()).inverse();
        prop_assert_eq!(sum * (u.exp_power_of_2(log_arity) - F::ONE) * scale, folded);

        let slots = evals.iter().enumerate().map(|(slot, &value)| {
            (message(SLOTS + F::from_usize(slot), &limbs(value)), F::from_usize(slot))
        });
        let read = (message(GAMMA, &limbs(u)), F::NEG_ONE);
        let written = (message(SUM, &limbs(sum)), F::from_bool(log_arity > 1));
        let outcome = rows.check();
        prop_assert_eq!(outcome.failed, BTreeSet::new());
        prop_assert_eq!(outcome.bus, bus(slots.chain([read, written])));
    }
}
