use std::sync::Arc;

use p3_air::symbolic::{AirLayout, SymbolicAirBuilder};
use p3_air::{Air, AirBuilder, BaseAir, PermutationAirBuilder, RowWindow, WindowAccess};
use p3_batch_stark::folder::VerifierConstraintFolderWithLookups;
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};
use p3_keccak_air::KeccakAir;
use p3_koala_bear::{
    GenericPoseidon2LinearLayersKoalaBear, KOALABEAR_POSEIDON2_HALF_FULL_ROUNDS,
    KOALABEAR_POSEIDON2_PARTIAL_ROUNDS_16, KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL,
    KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL, KOALABEAR_POSEIDON2_RC_16_INTERNAL,
};
use p3_lookup::{
    Count, InteractionBuilder, InteractionSymbolicBuilder, LogUpGadget, Lookup, LookupProtocol,
    Lookups,
};
use p3_matrix::dense::{RowMajorMatrix, RowMajorMatrixView};
use p3_matrix::stack::{VerticalPair, ViewPair};
use p3_poseidon2_air::{Poseidon2Air, RoundConstants};
use p3_uni_stark::VerifierConstraintFolder;
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::{Constraint, Leaves, batch_constraints, fold_constraints, uni_constraints};
use crate::compiler::expr::{Dag, Form, Lowering};
use crate::config::{EF, F, LayerConfig, WIDTH};
use crate::program::arith::Role;
use crate::program::builder::{Addr, ProgramBuilder};
use crate::tables::LayerAir;
use crate::tables::arith::{self, ArithAir, Publics};
use crate::tables::hash::{self, HashAir};

/// Random values of everything that a constraint may read.
struct Values {
    main: [Vec<EF>; 2],
    preprocessed: [Vec<EF>; 2],
    periodic: Vec<EF>,
    public: Vec<F>,
    permutation: [Vec<EF>; 2],
    challenges: Vec<EF>,
    permutation_values: Vec<EF>,
    selectors: [EF; 3],
    alpha: EF,
}

impl Values {
    fn random(layout: &AirLayout, num_lookups: usize, rng: &mut SmallRng) -> Self {
        let has_lookups = usize::from(num_lookups > 0);
        let mut row = |len: usize| -> Vec<EF> { (0..len).map(|_| rng.random()).collect() };
        Self {
            main: [row(layout.main_width), row(layout.main_width)],
            preprocessed: [row(layout.preprocessed_width), row(layout.preprocessed_width)],
            periodic: row(layout.num_periodic_columns),
            permutation: [row(num_lookups + has_lookups), row(num_lookups + has_lookups)],
            challenges: row(2 * num_lookups),
            permutation_values: row(has_lookups),
            selectors: [row(1)[0], row(1)[0], row(1)[0]],
            alpha: row(1)[0],
            public: (0..layout.num_public_values).map(|_| rng.random()).collect(),
        }
    }

    fn folder(&self) -> VerifierConstraintFolder<'_, LayerConfig> {
        let preprocessed = pair(&self.preprocessed);
        VerifierConstraintFolder {
            main: pair(&self.main),
            preprocessed,
            preprocessed_window: RowWindow::from_two_rows(
                preprocessed.top.values,
                preprocessed.bottom.values,
            ),
            periodic_values: &self.periodic,
            public_values: &self.public,
            is_first_row: self.selectors[0],
            is_last_row: self.selectors[1],
            is_transition: self.selectors[2],
            alpha: self.alpha,
            accumulator: EF::ZERO,
        }
    }

    fn folder_with_lookups(&self) -> VerifierConstraintFolderWithLookups<'_, LayerConfig> {
        VerifierConstraintFolderWithLookups {
            inner: self.folder(),
            permutation: pair(&self.permutation),
            permutation_challenges: &self.challenges,
            permutation_values: &self.permutation_values,
        }
    }
}

fn pair(rows: &[Vec<EF>; 2]) -> ViewPair<'_, EF> {
    let [local, next] = rows;
    VerticalPair::new(RowMajorMatrixView::new_row(local), RowMajorMatrixView::new_row(next))
}

/// A program builder beside the values at the addresses that no row of a fold writes.
struct Machine {
    builder: ProgramBuilder,
    memory: Vec<(Addr, EF)>,
}

impl Machine {
    fn new() -> Self {
        let mut machine = Self { builder: ProgramBuilder::new(), memory: Vec::new() };
        let x = machine.input(generator());
        machine.builder.set_generator(x);
        machine
    }

    fn input(&mut self, value: EF) -> Addr {
        let addr = self.builder.alloc();
        self.memory.push((addr, value));
        addr
    }

    fn inputs(&mut self, values: &[EF]) -> Vec<Addr> {
        values.iter().map(|&value| self.input(value)).collect()
    }

    fn rows(&mut self, rows: &[Vec<EF>; 2]) -> [Vec<Addr>; 2] {
        [self.inputs(&rows[0]), self.inputs(&rows[1])]
    }

    /// Runs all rows in order; panics if one reads an address before it is written.
    fn eval(&self, addr: Addr) -> EF {
        let mut memory = vec![None; self.builder.reads.len()];
        for &(addr, value) in &self.memory {
            memory[addr.index()] = Some(value);
        }
        for gate in self.builder.gates.iter().filter(|gate| gate.role == Role::Compute) {
            let read = |addr: Addr| {
                let is_zero = addr == Addr::ZERO;
                memory[addr.index()].or(is_zero.then_some(EF::ZERO)).expect("written before")
            };
            let out = gate.eval(read(gate.a), read(gate.b), read(gate.c));
            memory[gate.out.index()] = Some(out);
        }
        memory[addr.index()].expect("written")
    }
}

/// The element X that the extension is generated by.
fn generator() -> EF {
    EF::from_basis_coefficients_fn(|i| F::from_bool(i == 1))
}

/// Gives every leaf an address.
fn with_leaves<R>(values: &Values, run: impl FnOnce(&mut Machine, &Leaves<'_>) -> R) -> R {
    let mut machine = Machine::new();
    let public: Vec<EF> = values.public.iter().map(|&value| value.into()).collect();
    let main = machine.rows(&values.main);
    let preprocessed = machine.rows(&values.preprocessed);
    let permutation = machine.rows(&values.permutation);
    let [is_first_row, is_last_row, is_transition] = values.selectors.map(|s| machine.input(s));
    let leaves = Leaves {
        main: [&main[0], &main[1]],
        preprocessed: [&preprocessed[0], &preprocessed[1]],
        periodic: &machine.inputs(&values.periodic),
        public: &machine.inputs(&public),
        permutation: [&permutation[0], &permutation[1]],
        challenges: &machine.inputs(&values.challenges),
        permutation_values: &machine.inputs(&values.permutation_values),
        is_first_row,
        is_last_row,
        is_transition,
    };
    run(&mut machine, &leaves)
}

/// Folds with rows; returns the result and how many rows it took.
fn fold_with_rows(constraints: &[Constraint], values: &Values) -> (EF, usize) {
    with_leaves(values, |machine, leaves| {
        let alpha = machine.input(values.alpha);
        let before = machine.builder.gates.len();
        let folded = fold_constraints(&mut machine.builder, constraints, leaves, alpha);
        (machine.eval(folded), machine.builder.gates.len() - before)
    })
}

/// Folds as one weighted sum, whether that takes few rows or not.
fn fold_as_weighted_sum(constraints: &[Constraint], values: &Values, is_centred: bool) -> EF {
    with_leaves(values, |machine, leaves| {
        let powers = values.alpha.powers().collect_n(constraints.len());
        let powers = machine.inputs(&powers);
        let mut dag = Dag::default();
        let nodes = constraints.iter().map(|constraint| constraint.import(&mut dag));
        let terms: Vec<_> = nodes.zip(powers.into_iter().map(Form::addr).rev()).collect();
        let roots = terms.iter().map(|t| t.0);
        let mut lowering =
            Lowering::new(&mut machine.builder, &dag, roots, |leaf| leaves.addr(leaf));
        let sum = lowering.weighted_sum(&terms, is_centred);
        let sum = lowering.commit(&mut machine.builder, &sum);
        machine.eval(sum)
    })
}

/// Compares with the native fold of `p3-uni-stark`; returns the number of rows.
fn check_uni<A>(air: &A, seed: u64) -> usize
where
    A: BaseAir<F> + Air<SymbolicAirBuilder<F>>,
    A: for<'a> Air<VerifierConstraintFolder<'a, LayerConfig>>,
{
    let layout = AirLayout::from_air::<F>(air);
    let values = Values::random(&layout, 0, &mut SmallRng::seed_from_u64(seed));
    let mut folder = values.folder();
    air.eval(&mut folder);
    let constraints = uni_constraints(air, layout);
    let (folded, num_rows) = fold_with_rows(&constraints, &values);
    assert_eq!(folded, folder.accumulator);
    for is_centred in [false, true] {
        let folded = fold_as_weighted_sum(&constraints, &values, is_centred);
        assert_eq!(folded, folder.accumulator, "as a weighted sum, centred: {is_centred}");
    }
    num_rows
}

/// Compares with the native fold of `p3-batch-stark`; returns the number of rows.
fn check_batch<A>(air: &A, lookups: &[Lookup<F>], seed: u64) -> usize
where
    A: BaseAir<F> + Air<InteractionSymbolicBuilder<F, EF>>,
    A: for<'a> Air<VerifierConstraintFolderWithLookups<'a, LayerConfig>>,
{
    let layout = AirLayout::from_air::<F>(air);
    let values = Values::random(&layout, lookups.len(), &mut SmallRng::seed_from_u64(seed));
    let mut folder = values.folder_with_lookups();
    LogUpGadget::new().eval_air_and_lookups(air, &mut folder, lookups);
    let (folded, num_rows) = fold_with_rows(&batch_constraints(air, layout, lookups), &values);
    assert_eq!(folded, folder.inner.accumulator);
    num_rows
}

const HALF_FULL: usize = KOALABEAR_POSEIDON2_HALF_FULL_ROUNDS;
const PARTIAL: usize = KOALABEAR_POSEIDON2_PARTIAL_ROUNDS_16;

fn poseidon2_air()
-> Poseidon2Air<F, GenericPoseidon2LinearLayersKoalaBear, WIDTH, 3, 0, HALF_FULL, PARTIAL> {
    Poseidon2Air::new(RoundConstants::new(
        KOALABEAR_POSEIDON2_RC_16_EXTERNAL_INITIAL,
        KOALABEAR_POSEIDON2_RC_16_INTERNAL,
        KOALABEAR_POSEIDON2_RC_16_EXTERNAL_FINAL,
    ))
}

/// Reads every kind of leaf that a single proof has.
struct MixedAir;

impl BaseAir<F> for MixedAir {
    fn width(&self) -> usize {
        6
    }

    fn preprocessed_width(&self) -> usize {
        2
    }

    fn num_public_values(&self) -> usize {
        2
    }

    fn num_periodic_columns(&self) -> usize {
        1
    }
}

impl<AB: AirBuilder<F = F>> Air<AB> for MixedAir {
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        let (x, y) = (main.current_slice().to_vec(), main.next_slice().to_vec());
        let (p, q) = (builder.preprocessed().current_slice(), builder.preprocessed().next_slice());
        let (p, q) = (p.to_vec(), q.to_vec());
        let public: Vec<AB::Expr> = builder.public_values().iter().map(|&v| v.into()).collect();
        let periodic: AB::Expr = builder.periodic_values()[0].into();

        builder.when_first_row().assert_eq(x[0], public[0].clone());
        builder.when_last_row().assert_eq(x[1], public[1].clone());
        for i in 0..6 {
            builder.when_transition().assert_eq(y[i], x[(i + 1) % 6]);
        }
        builder.when_transition().when(p[0]).assert_zeros([x[0] - y[1], x[1] - y[2]]);
        builder.assert_bools([x[0], x[1], x[2]]);
        builder.when(x[3]).assert_one(x[4] * x[5] + p[1] * F::from_u8(7));
        let sum: AB::Expr = x.iter().map(|&v| v.into()).sum();
        builder.assert_zero(sum.clone() * (sum.clone() - AB::Expr::TWO) * (sum - q[0] - q[1]));
        builder.assert_eq(x[0].into().xor3(&x[1].into(), &y[5].into()), -periodic);
        builder.assert_zero(AB::Expr::ZERO);
        builder.assert_zero(AB::Expr::ONE);
        builder.when_ne(x[2], y[2]).assert_zeros([x[2], y[2], y[0]]);
        builder.assert_zeros([x[0].into().double(), x[0].into() * x[0] * x[0] * x[1]]);
    }
}

/// Plain, local and exclusive interactions, beside constraints over both fields.
struct LookupAir {
    num_plain: usize,
}

impl BaseAir<F> for LookupAir {
    fn width(&self) -> usize {
        8
    }

    fn num_public_values(&self) -> usize {
        1
    }
}

impl<AB> Air<AB> for LookupAir
where
    AB: AirBuilder<F = F> + InteractionBuilder + PermutationAirBuilder<EF = EF>,
{
    fn eval(&self, builder: &mut AB) {
        let main = builder.main();
        let x: Vec<AB::Expr> = main.current_slice().iter().map(|&v| v.into()).collect();
        let public: AB::Expr = builder.public_values()[0].into();
        builder.assert_bool(x[0].clone());
        if let Some(challenge) = builder.permutation_randomness().first() {
            let challenge: AB::ExprEF = (*challenge).into();
            let product = challenge.clone() * challenge * x[1].clone();
            builder.assert_zero_ext(product * generator() - x[2].clone() + generator().square());
        }
        builder.assert_bool(x[1].clone());
        for i in 0..self.num_plain {
            let count = x[i % 8].clone() + public.clone();
            let fields = [x[(i + 1) % 8].clone(), x[(i + 2) % 8].clone() * x[3].clone()];
            builder.push_interaction("plain", fields, Count::bounded(count, 1));
        }
        builder.push_local_interaction([
            (vec![x[4].clone()], Count::from(1)),
            (vec![x[5].clone() + AB::Expr::TWO], Count::provided(-x[6].clone())),
        ]);
        let branches = [
            (x[0].clone(), Count::from(1), vec![x[2].clone(), x[3].clone(), x[4].clone()]),
            (x[1].clone(), Count::from(-2), vec![x[5].clone(), AB::Expr::ONE, public]),
        ];
        builder.push_exclusive_interaction("exclusive", branches);
        builder.when_transition().assert_zero(x[7].clone());
    }
}

/// Random constraints over random shared expressions, with everything that folding looks for: runs
/// with a common factor, differences of columns, booleans before sums of xors, linear layers.
struct RandomAir {
    seed: u64,
}

impl BaseAir<F> for RandomAir {
    fn width(&self) -> usize {
        12
    }
}

impl<AB: AirBuilder<F = F>> Air<AB> for RandomAir {
    fn eval(&self, builder: &mut AB) {
        let mut rng = SmallRng::seed_from_u64(self.seed);
        let main = builder.main();
        let cells = main.current_slice().iter().chain(main.next_slice());
        let cells: Vec<AB::Expr> = cells.map(|&cell| cell.into()).collect();
        let mut pool = cells.clone();
        pool.extend([builder.is_transition(), AB::Expr::from(rng.random::<F>())]);
        for _ in 0..rng.random_range(1..20) {
            for _ in 0..8 {
                let [x, y] = pick(&pool, &mut rng);
                pool.push(match rng.random_range(0..5) {
                    0 => x + y,
                    1 => x - y,
                    2 => x.double() + y * F::from_u8(3),
                    3 => -(x.xor(&y)),
                    _ => x * y,
                });
            }
            let terms = random_terms::<AB>(&cells, &pool, &mut rng);
            let [when, _] = pick(&pool, &mut rng);
            let is_filtered = rng.random_range(0..3) == 0;
            for term in terms {
                builder.assert_zero(if is_filtered { when.clone() * term } else { term });
            }
        }
    }
}

fn pick<T: Clone, const N: usize>(pool: &[T], rng: &mut SmallRng) -> [T; N] {
    std::array::from_fn(|_| pool[rng.random_range(0..pool.len())].clone())
}

fn random_terms<AB: AirBuilder<F = F>>(
    cells: &[AB::Expr],
    pool: &[AB::Expr],
    rng: &mut SmallRng,
) -> Vec<AB::Expr> {
    let len = rng.random_range(1..9);
    let start = rng.random_range(0..cells.len() - len);
    let cells = &cells[start..start + len];
    match rng.random_range(0..4) {
        0 => pick::<_, 5>(pool, rng).to_vec(),
        1 => {
            let [shift] = pick::<usize, 1>(&[1, 2, 3], rng);
            (0..len).map(|i| cells[i].clone() - cells[(i + shift) % len].clone()).collect()
        }
        2 => {
            let [key, other] = pick(pool, rng);
            let xors = cells.iter().map(|cell| cell.xor(&key));
            let sum = xors.fold(other, |sum, bit| sum.double() + bit);
            let [root] = pick::<u8, 1>(&[0, 1, 5], rng);
            let squares =
                cells.iter().map(|cell| cell.clone() * (cell.clone() - AB::Expr::from_u8(root)));
            squares.chain([sum.clone(), key * sum]).collect()
        }
        _ => {
            let cubes: Vec<AB::Expr> = pick::<_, 6>(pool, rng).map(|x| x.cube()).to_vec();
            let row = |i: usize| -> AB::Expr {
                cubes.iter().enumerate().map(|(j, x)| x.clone() * F::from_usize(i * j + 1)).sum()
            };
            (0..len).map(|i| row(i) - cells[i].clone()).collect()
        }
    }
}

#[test]
fn keccak_equals_native() {
    let num_rows = check_uni(&KeccakAir {}, 1);
    println!("KeccakAir: {num_rows} rows");
    assert!(num_rows <= 11_610, "{num_rows}");
}

#[test]
fn poseidon2_equals_native() {
    let num_rows = check_uni(&poseidon2_air(), 2);
    println!("Poseidon2Air: {num_rows} rows");
    assert!(num_rows <= 1_030, "{num_rows}");
}

#[test]
fn no_constraints_fold_to_zero() {
    struct EmptyAir;
    impl BaseAir<F> for EmptyAir {
        fn width(&self) -> usize {
            1
        }
    }
    impl<AB: AirBuilder<F = F>> Air<AB> for EmptyAir {
        fn eval(&self, _builder: &mut AB) {}
    }
    assert_eq!(check_uni(&EmptyAir, 3), 0);
}

proptest! {
    #[test]
    fn random_constraints_equal_native(seed: u64) {
        check_uni(&RandomAir { seed }, seed);
    }

    #[test]
    fn mixed_leaves_equal_native(seed: u64) {
        check_uni(&MixedAir, seed);
    }

    #[test]
    fn lookups_equal_native(seed: u64, num_plain in 0_usize..6, max_degree in 3_usize..6) {
        let air = LookupAir { num_plain };
        let lookups = Lookups::from_air::<EF, _>(&air);
        check_batch(&air, &lookups, seed);
        let packed = lookups.pack_same_bus(&LogUpGadget::new(), max_degree);
        check_batch(&air, &packed, seed);
    }

    #[test]
    fn batch_without_lookups_equals_native(seed: u64) {
        check_batch(&MixedAir, &[], seed);
    }
}

#[test]
fn layer_tables_equal_native() {
    let preprocessed = |width| Arc::new(RowMajorMatrix::new(vec![F::ZERO; width], width));
    let arith = LayerAir::Arith(ArithAir {
        publics: Publics::Digest,
        preprocessed: preprocessed(arith::NUM_PREPROCESSED),
    });
    let hash = LayerAir::Hash(HashAir { preprocessed: preprocessed(hash::NUM_PREPROCESSED) });
    for (name, air) in [("E", arith), ("H", hash)] {
        let lookups = Lookups::from_air::<EF, _>(&air);
        println!("{name}: {} rows", check_batch(&air, &lookups, 4));
    }
}

#[test]
fn long_sums_equal_native() {
    /// A sum that is as deep as it is long.
    struct SumAir;
    impl BaseAir<F> for SumAir {
        fn width(&self) -> usize {
            4_000
        }
    }
    impl<AB: AirBuilder<F = F>> Air<AB> for SumAir {
        fn eval(&self, builder: &mut AB) {
            let main = builder.main();
            let sum: AB::Expr = main.current_slice().iter().map(|&v| v.into() * v).sum();
            builder.assert_bool(sum);
        }
    }
    assert_eq!(check_uni(&SumAir, 5), 4_001);
}
