//! Constraints of H.

use std::sync::Arc;

use p3_air::{AirBuilder, WindowAccess};
use p3_field::{Field, PrimeCharacteristicRing};
use p3_lookup::Count;
use p3_matrix::dense::RowMajorMatrix;

use super::columns::{HashCols, HashPreprocessed};
use super::permutation;
use crate::config::{D, F, RATE, WIDTH};
use crate::tables::arith::ext_mul;
use crate::tables::{BUS, TableBuilder};

/// The table with the program that it runs.
#[derive(Clone, Debug)]
pub struct HashAir {
    /// The preprocessed columns.
    pub preprocessed: Arc<RowMajorMatrix<F>>,
}

/// Two neighbouring rows. `now` and `next` are main columns, `fixed` and `fixed_next` preprocessed.
pub(super) struct Window<'a, V> {
    pub(super) now: HashCols<'a, V>,
    pub(super) next: HashCols<'a, V>,
    pub(super) fixed: HashPreprocessed<V>,
    pub(super) fixed_next: HashPreprocessed<V>,
}

impl HashAir {
    /// All constraints and interactions.
    pub fn eval<AB: TableBuilder>(&self, builder: &mut AB) {
        let main = builder.main();
        let preprocessed = builder.preprocessed().clone();
        let window = Window {
            now: HashCols::new(main.current_slice()),
            next: HashCols::new(main.next_slice()),
            fixed: HashPreprocessed::from_row(preprocessed.current_slice()),
            fixed_next: HashPreprocessed::from_row(preprocessed.next_slice()),
        };
        permutation::constrain(builder, &window.now);
        constrain_sponge_start(builder, &window);
        constrain_sponge_link(builder, &window);
        constrain_repeat(builder, &window);
        constrain_path(builder, &window);
        constrain_point(builder, &window);
        constrain_powers(builder, &window);
        constrain_reduced_opening(builder, &window);
        constrain_fold(builder, &window);
        constrain_bits(builder, &window);
        constrain_canonical(builder, &window);
        interact_a(builder, &window);
        interact_b(builder, &window);
        interact_c(builder, &window);
    }
}

/// Rows that hash opened values, or repeat such a row.
fn leaf<AB: TableBuilder>(fixed: &HashPreprocessed<AB::Var>) -> AB::Expr {
    fixed.leaf_first + fixed.leaf_next + fixed.repeat.into()
}

/// Rows that hash a FRI group.
fn fri<AB: TableBuilder>(fixed: &HashPreprocessed<AB::Var>) -> AB::Expr {
    fixed.fri_first + fixed.fri_next
}

/// Number of absorbed slots.
fn absorbed<AB: TableBuilder>(fixed: &HashPreprocessed<AB::Var>) -> AB::Expr {
    fixed.mask.iter().map(|&mask| mask.into()).sum()
}

/// The first row of a sponge: zero where nothing is absorbed; a duplex sponge adds the number of
/// absorbed elements to the first element of its capacity.
pub(super) fn constrain_sponge_start<AB: TableBuilder>(builder: &mut AB, w: &Window<'_, AB::Var>) {
    let input = w.now.input();
    let first = w.fixed.leaf_first + w.fixed.fri_first + w.fixed.sponge_first.into();
    builder.assert_zero(
        first.clone() * input[RATE].into() - absorbed::<AB>(&w.fixed) * w.fixed.sponge_first.into(),
    );
    for &cell in &input[RATE + 1..] {
        builder.when(first.clone()).assert_zero(cell);
    }
    let zeroed = w.fixed.leaf_first + w.fixed.sponge_first + w.fixed.sponge_next.into();
    for (slot, &mask) in w.fixed.mask.iter().enumerate() {
        builder
            .when(zeroed.clone())
            .assert_zero((AB::Expr::ONE - mask.into()) * input[slot].into());
    }
}

/// Further rows of a sponge: the capacity is carried, and so is what overwriting leaves.
pub(super) fn constrain_sponge_link<AB: TableBuilder>(builder: &mut AB, w: &Window<'_, AB::Var>) {
    let output = w.now.output();
    let input = w.next.input();
    let next = &w.fixed_next;
    let carried =
        next.leaf_next + next.fri_next + next.sponge_next.into() + next.sponge_squeeze.into();
    builder.assert_zero(
        carried.clone() * (input[RATE] - output[RATE])
            - absorbed::<AB>(next) * next.sponge_next.into(),
    );
    for slot in RATE + 1..WIDTH {
        builder.when(carried.clone()).assert_eq(input[slot], output[slot]);
    }
    for slot in 0..RATE {
        let kept =
            next.leaf_next * (AB::Expr::ONE - next.mask[slot].into()) + next.sponge_squeeze.into();
        builder.assert_zero(kept * (input[slot] - output[slot]));
    }
}

/// A repeated row has the input of the row before.
pub(super) fn constrain_repeat<AB: TableBuilder>(builder: &mut AB, w: &Window<'_, AB::Var>) {
    for (before, now) in w.now.input().into_iter().zip(w.next.input()) {
        builder.when(w.fixed_next.repeat).assert_eq(now, before);
    }
}

/// Merkle steps: the output before is the half of the input that the bit chooses, and the bit leaves
/// the index.
pub(super) fn constrain_path<AB: TableBuilder>(builder: &mut AB, w: &Window<'_, AB::Var>) {
    let output = w.now.output();
    let input = w.next.input();
    let linked = w.fixed_next.path + w.fixed_next.inject;
    for slot in 0..RATE {
        let chosen = input[slot] + w.next.bit() * (input[RATE + slot] - input[slot]);
        builder.when(linked.clone()).assert_eq(chosen, output[slot]);
    }

    builder.when(w.fixed.path).assert_bool(w.now.bit());
    builder.when(w.fixed.inject).assert_zero(w.now.bit());

    let bit_weight = w.now.bit() * w.fixed.c.into();
    builder
        .when(w.fixed.path - w.fixed.path_next)
        .assert_eq(w.now.start(), bit_weight + w.now.rest());
    let bit_weight = w.next.bit() * w.fixed_next.c.into();
    builder.when(w.fixed_next.path_next).assert_eq(w.now.rest(), bit_weight + w.next.rest());
    builder.when(w.fixed_next.inject + w.fixed_next.factor).assert_eq(w.next.rest(), w.now.rest());
}

/// The evaluation point: G·(1 − 2b) after the first bit (ω₂ = −1), times 1 + κb for each further one,
/// times the factor of the cap bits.
pub(super) fn constrain_point<AB: TableBuilder>(builder: &mut AB, w: &Window<'_, AB::Var>) {
    let first = w.fixed.path - w.fixed.path_next - w.fixed.slot.into();
    let start = (AB::Expr::ONE - w.now.bit().into().double()) * F::GENERATOR;
    builder.when(first).assert_eq(w.now.point(), start);

    let next = &w.fixed_next;
    let carried = next.path_next + next.inject;
    builder.assert_zero(
        carried * (w.next.point() - w.now.point())
            - w.next.bit() * next.kappa.into() * w.now.point().into(),
    );
    builder.when(next.factor).assert_eq(w.next.point(), w.now.point() * w.next.factor().into());
}

/// γ², γ³ and γ⁴ on leaf rows, u² on FRI leaf rows; γ or u is that of the row before.
pub(super) fn constrain_powers<AB: TableBuilder>(builder: &mut AB, w: &Window<'_, AB::Var>) {
    let [gamma, gamma2, gamma3, gamma4] =
        [w.now.gamma(), w.now.gamma2(), w.now.gamma3(), w.now.gamma4()];
    let leaf = leaf::<AB>(&w.fixed);
    assert_product(builder, &(leaf.clone() + fri::<AB>(&w.fixed)), gamma2, gamma, gamma);
    assert_product(builder, &leaf, gamma3, gamma2, gamma);
    assert_product(builder, &leaf, gamma4, gamma2, gamma2);

    let next = &w.fixed_next;
    let carried = next.leaf_next + next.repeat + next.fri_next.into();
    for (before, now) in gamma.into_iter().zip(w.next.gamma()) {
        builder.when(carried.clone()).assert_eq(now, before);
    }
}

/// The running sum takes in the eight slots of the row by Horner's rule in γ, four at a time.
///
/// The masks of the leading slots are not multiplied by the selector, to stay at degree 3: on rows
/// of other kinds with masks, γ, γ² and γ³ can be zero.
pub(super) fn constrain_reduced_opening<AB: TableBuilder>(
    builder: &mut AB,
    w: &Window<'_, AB::Var>,
) {
    let leaf = leaf::<AB>(&w.fixed);
    let input = w.now.input();
    let powers = [w.now.gamma3(), w.now.gamma2(), w.now.gamma()];
    let gamma4: [AB::Expr; D] = w.now.gamma4().map(Into::into);
    let halves = [(w.now.acc(), w.now.half(), 0), (w.now.half(), w.now.sum(), 4)];
    for (before, after, offset) in halves {
        let shifted = ext_mul::<AB>(&before.map(Into::into), &gamma4);
        let weights: [AB::Expr; 4] =
            std::array::from_fn(|i| w.fixed.mask[offset + i] * input[offset + i].into());
        for (limb, shifted) in shifted.into_iter().enumerate() {
            let last = if limb == 0 { weights[3].clone() } else { AB::Expr::ZERO };
            let taken: AB::Expr = (0..3).map(|i| weights[i].clone() * powers[i][limb].into()).sum();
            builder.assert_zero(leaf.clone() * (after[limb] - (shifted + last)) - taken);
        }
    }

    for &limb in &w.now.acc() {
        builder.when(leaf.clone() - w.fixed.sum_next.into()).assert_zero(limb);
    }
    for (before, now) in w.now.sum().into_iter().zip(w.next.acc()) {
        builder.when(w.fixed_next.sum_next).assert_eq(now, before);
    }
}

/// One pair of a FRI group: f = (lo + hi) + c·u·(lo − hi), v = 1/(c²u² − 1), and Σ f·v.
///
/// The polynomial through the group at β is Σ f·v times (u^{2^a} − 1)/2^a for an arity of 2^a.
pub(super) fn constrain_fold<AB: TableBuilder>(builder: &mut AB, w: &Window<'_, AB::Var>) {
    let fri = fri::<AB>(&w.fixed);
    let input = w.now.input();
    let difference: [AB::Expr; D] = std::array::from_fn(|i| input[i] - input[D + i]);
    let twisted = ext_mul::<AB>(&w.now.gamma().map(Into::into), &difference);
    let (fold, weight) = (w.now.fold(), w.now.weight());
    for (limb, twisted) in twisted.into_iter().enumerate() {
        let even = fold[limb] - (input[limb] + input[D + limb]);
        builder.assert_zero(fri.clone() * even - twisted * w.fixed.c.into());
    }

    let square: [AB::Expr; D] = w.now.gamma2().map(Into::into);
    let scaled = ext_mul::<AB>(&weight.map(Into::into), &square);
    for (limb, scaled) in scaled.into_iter().enumerate() {
        let inverse = weight[limb] + AB::Expr::from_bool(limb == 0);
        builder.assert_zero(scaled * w.fixed.c2.into() - fri.clone() * inverse);
    }

    assert_product(builder, &w.fixed.fri_first.into(), w.now.acc(), fold, weight);
    let term = ext_mul::<AB>(&w.next.fold().map(Into::into), &w.next.weight().map(Into::into));
    for (limb, term) in term.into_iter().enumerate() {
        let step = w.next.acc()[limb] - w.now.acc()[limb];
        builder.when(w.fixed_next.fri_next).assert_eq(step, term);
    }
}

/// Two rows of bits recompose to the element, and the masked low 24 to the index.
pub(super) fn constrain_bits<AB: TableBuilder>(builder: &mut AB, w: &Window<'_, AB::Var>) {
    let bits = w.fixed.bits_low + w.fixed.bits_high;
    for bit in w.now.input() {
        builder.when(bits.clone()).assert_bool(bit);
    }

    let pack = w.now.value();
    let picked: AB::Expr = [w.fixed.kappa, w.fixed.c, w.fixed.c2]
        .into_iter()
        .zip(pack)
        .map(|(choice, limb)| choice * (limb - pack[3]))
        .sum();
    builder.when(w.fixed.bits_low).assert_eq(w.now.element(), picked + pack[3]);

    let (low, high) = (w.now.input(), w.next.input());
    let weigh = |bits: &[AB::Var], shift: usize| -> AB::Expr {
        bits.iter().enumerate().map(|(i, &bit)| bit * F::from_u32(1 << (shift + i))).sum()
    };
    builder
        .when(w.fixed_next.bits_high)
        .assert_eq(w.now.element(), weigh(&low, 0) + weigh(&high[..15], 16));

    let masked = |bits: &[AB::Var], masks: &[AB::Var; 8], shift: usize| -> AB::Expr {
        (0..8).map(|i| bits[i] * masks[i].into() * F::from_u32(1 << (shift + i))).sum()
    };
    let index = weigh(&low[..8], 0)
        + masked(&low[8..], &w.fixed.mask, 8)
        + masked(&high[..8], &w.fixed_next.mask, 16);
    builder.when(w.fixed_next.bits_high).assert_eq(w.next.index(), index);
}

/// The element is below p = 127·2²⁴ + 1: not all of its seven top bits are one, or all others are 0.
pub(super) fn constrain_canonical<AB: TableBuilder>(builder: &mut AB, w: &Window<'_, AB::Var>) {
    let sum = |bits: &[AB::Var]| bits.iter().map(|&bit| bit.into()).sum::<AB::Expr>();
    let missing = sum(&w.now.input()[8..15]) - F::from_u8(7);
    let top = w.now.top_ones();
    builder
        .when(w.fixed.bits_high)
        .assert_eq(missing.clone() * w.now.top_inverse().into(), AB::Expr::ONE - top.into());
    builder.when(w.fixed.bits_high).assert_zero(missing * top.into());

    let others = sum(&w.now.input()) + sum(&w.next.input()[..8]);
    builder.when(w.fixed_next.bits_high).assert_zero(others * w.next.top_ones().into());
}

/// `when·(product − x·y) = 0`, limb by limb.
fn assert_product<AB: TableBuilder>(
    builder: &mut AB,
    when: &AB::Expr,
    product: [AB::Var; D],
    x: [AB::Var; D],
    y: [AB::Var; D],
) {
    let expected = ext_mul::<AB>(&x.map(Into::into), &y.map(Into::into));
    for (limb, expected) in product.into_iter().zip(expected) {
        builder.when(when.clone()).assert_eq(limb, expected);
    }
}

/// One branch of a port: its flag, its multiplicity and its message.
type Branch<AB> = (
    <AB as p3_air::AirBuilder>::Expr,
    Count<<AB as p3_air::AirBuilder>::Expr>,
    Vec<<AB as p3_air::AirBuilder>::Expr>,
);

/// A branch whose message is `value` at `addr`.
fn branch<AB: TableBuilder>(
    flag: impl Into<AB::Expr>,
    count: impl Into<AB::Expr>,
    addr: impl Into<AB::Expr>,
    value: [AB::Expr; D],
) -> Branch<AB> {
    let message = std::iter::once(addr.into()).chain(value).collect();
    (flag.into(), Count::bounded(count.into(), 1), message)
}

/// A base element as a message.
fn lift<AB: TableBuilder>(value: AB::Var) -> [AB::Expr; D] {
    [value.into(), AB::Expr::ZERO, AB::Expr::ZERO, AB::Expr::ZERO]
}

/// `N` cells from `cells`.
fn limbs<AB: TableBuilder>(cells: [AB::Var; D]) -> [AB::Expr; D] {
    cells.map(Into::into)
}

pub(super) fn interact_a<AB: TableBuilder>(builder: &mut AB, w: &Window<'_, AB::Var>) {
    let (fixed, input) = (&w.fixed, w.now.input());
    let (addr, fixed_count) = (fixed.addr[0], fixed.count[0]);
    let count: AB::Expr = fixed_count + fixed.dynamic * w.now.multiplicity()[0].into();
    let read = fixed_count;
    builder.push_exclusive_interaction(
        BUS,
        [
            branch::<AB>(
                fri::<AB>(fixed) + fixed.window0.into(),
                count.clone(),
                addr,
                limbs::<AB>([input[0], input[1], input[2], input[3]]),
            ),
            branch::<AB>(
                fixed.window3,
                count,
                addr,
                limbs::<AB>([input[3], input[4], input[5], input[6]]),
            ),
            branch::<AB>(leaf::<AB>(fixed), read, addr, limbs::<AB>(w.now.sum())),
            branch::<AB>(fixed.slot + fixed.bits_low, read, addr, limbs::<AB>(w.now.value())),
            branch::<AB>(
                fixed.path - fixed.slot + fixed.factor.into(),
                read,
                addr,
                lift::<AB>(w.now.point()),
            ),
            branch::<AB>(
                fixed.inject,
                read,
                addr,
                limbs::<AB>([input[15], input[14], input[13], input[12]]),
            ),
        ],
    );
}

pub(super) fn interact_b<AB: TableBuilder>(builder: &mut AB, w: &Window<'_, AB::Var>) {
    let (fixed, input, output) = (&w.fixed, w.now.input(), w.now.output());
    let following = w.next.input();
    let (addr, fixed_count) = (fixed.addr[1], fixed.count[1]);
    let count: AB::Expr = fixed_count + fixed.dynamic * w.now.multiplicity()[1].into();
    builder.push_exclusive_interaction(
        BUS,
        [
            branch::<AB>(
                fri::<AB>(fixed) + fixed.window0.into(),
                count.clone(),
                addr,
                limbs::<AB>([input[4], input[5], input[6], input[7]]),
            ),
            branch::<AB>(
                fixed.window3,
                count,
                addr,
                limbs::<AB>([input[7], following[0], following[1], following[2]]),
            ),
            branch::<AB>(
                fixed.squeeze,
                fixed_count,
                addr,
                limbs::<AB>([output[3], output[2], output[1], output[0]]),
            ),
            branch::<AB>(fixed.leaf_first, fixed_count, addr, limbs::<AB>(w.now.gamma())),
            branch::<AB>(
                fixed.path - fixed.path_next - fixed.slot.into(),
                fixed_count,
                addr,
                lift::<AB>(w.now.start()),
            ),
            branch::<AB>(fixed.slot, fixed_count, addr + w.now.slot(), limbs::<AB>(w.now.value())),
            branch::<AB>(
                fixed.last,
                fixed_count,
                addr + w.now.rest(),
                limbs::<AB>([output[4], output[5], output[6], output[7]]),
            ),
            branch::<AB>(
                fixed.inject,
                fixed_count,
                addr,
                limbs::<AB>([input[11], input[10], input[9], input[8]]),
            ),
        ],
    );
}

pub(super) fn interact_c<AB: TableBuilder>(builder: &mut AB, w: &Window<'_, AB::Var>) {
    let (fixed, input, output) = (&w.fixed, w.now.input(), w.now.output());
    let (addr, count) = (fixed.addr[2], fixed.count[2]);
    let zero = AB::Expr::ZERO;
    let head = [input[0].into(), input[1].into(), input[2].into(), zero.clone()];
    let start = [w.now.slot().into(), w.now.start().into(), zero.clone(), zero];
    builder.push_exclusive_interaction(
        BUS,
        [
            branch::<AB>(fixed.head, count, addr, head),
            branch::<AB>(
                fixed.squeeze,
                count,
                addr,
                limbs::<AB>([output[7], output[6], output[5], output[4]]),
            ),
            branch::<AB>(fixed.table, w.now.multiplicity()[2], addr, lift::<AB>(fixed.kappa)),
            branch::<AB>(
                fixed.path - fixed.last - fixed.slot.into(),
                count,
                addr,
                lift::<AB>(w.now.rest()),
            ),
            branch::<AB>(fixed.slot, count, addr, start),
            branch::<AB>(
                fixed.last,
                count,
                addr + w.now.rest(),
                limbs::<AB>([output[0], output[1], output[2], output[3]]),
            ),
            branch::<AB>(fixed.factor, count, addr + w.now.rest(), lift::<AB>(w.now.factor())),
            branch::<AB>(fixed.fri_first, count, addr, limbs::<AB>(w.now.gamma())),
            branch::<AB>(fixed.fri_next, count, addr, limbs::<AB>(w.now.acc())),
            branch::<AB>(fixed.bits_low, count, addr, lift::<AB>(w.now.element())),
            branch::<AB>(fixed.bits_high, count, addr, lift::<AB>(w.now.index())),
        ],
    );
}
