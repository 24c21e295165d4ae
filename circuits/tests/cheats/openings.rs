//! A claimed value that is false, and every place in which its prover can hide that.
//!
//! The claim is of a column that no constraint reads, so all that is wrong with it is that the opened
//! rows do not match: the reduced openings are not zero, while the codewords that were committed to are.

use arbor_circuits::config::{D, EF, F};
use arbor_circuits::filler::Traces;
use arbor_circuits::program::{Addr, Source};
use arbor_circuits::tables::hash::{NUM_COLS, PERM_COLS, scratch};
use p3_field::{BasedVectorSpace, Field, PrimeCharacteristicRing};

use super::layout::{path_rows, port, query_rows};
use super::lie::Lie;
use super::stages::{Cheat, Stage, constant};
use super::{Entry, require_rejected};

/// The column that is lied about, of the main trace.
const COLUMN: usize = 5;

/// A prover that claims another value at ζ. The rows of the codewords are what was committed to.
fn false_claim<'a>(stage: &Stage, lie: Lie<'a>) -> Cheat<'a> {
    let mut cheat = stage.lie(lie);
    cheat.child.opened(0).trace_local[COLUMN] += EF::ONE;
    cheat.child.opened(0).trace_next.as_mut().expect("both rows are opened")[COLUMN] += EF::ONE;
    cheat
}

/// The first rows of the leaf and of the path of the first round, and where the queried value is.
fn first_fold(stage: &Stage, query: usize) -> (usize, usize, Addr) {
    let program = stage.layer.program();
    let leaf = query_rows(program, query, |row| {
        matches!(row.source, Source::Fold { round: 0, pair: 0, .. })
    })[0];
    let path = path_rows(program, query, stage.shape.trees.len())[0];
    (leaf, path, port(program, path, 0))
}

fn queries(stage: &Stage) -> std::ops::Range<usize> {
    0..stage.shape.fri.num_queries
}

/// Every query's lie about the value that its first round looks up.
fn every_query<'a>(
    stage: &Stage,
    lie: impl Fn(Lie<'a>, (usize, usize, Addr)) -> Lie<'a>,
) -> Lie<'a> {
    queries(stage).map(|query| first_fold(stage, query)).fold(Lie::default(), lie)
}

/// The rows that are opened agree with the claim.
fn opened_rows(stage: &Stage) -> Cheat<'static> {
    let mut cheat = false_claim(stage, Lie::default());
    for rows in &mut cheat.child.opening().input_openings[0].opened_values {
        rows[0][COLUMN] += F::ONE;
    }
    cheat
}

/// The group holds the sum that is not zero, and beside it what makes the fold zero all the same.
fn undone_by_a_sibling(stage: &Stage) -> Cheat<'static> {
    let mut cheat = false_claim(stage, Lie::default());
    let traces = stage.fill(&cheat);
    let program = stage.layer.program();
    for query in queries(stage) {
        let (leaf, _, queried) = first_fold(stage, query);
        let (u, queried) = (at(&traces, port(program, leaf, 2)), at(&traces, queried));
        let index = stage.sampled(&traces, query);
        let slot = index & ((1 << stage.shape.log_arities[0]) - 1);
        let twist = u * program.hashes[leaf + slot / 2].fixed.c;
        // (lo + hi) + twist·(lo − hi) = 0
        let (own, other) = (EF::ONE + twist, EF::ONE - twist);
        let (partner, value) = match slot % 2 {
            0 => (slot, -queried * own * other.inverse()),
            _ => (slot - 1, -queried * other * own.inverse()),
        };
        // The proof leaves out the queried value, so that what follows it moves up.
        cheat.child.opening().commit_phase_openings[0].sibling_values[query][partner] = value;
    }
    cheat
}

fn at(traces: &Traces, addr: Addr) -> EF {
    traces.memory[addr.index()]
}

/// Rows of the leaf of the main trace.
fn leaf_rows(stage: &Stage, query: usize) -> Vec<usize> {
    query_rows(stage.layer.program(), query, |row| {
        matches!(row.source, Source::Leaf { tree: 0, .. })
    })
}

/// The sums over opened rows are those of rows that agree with the claim: in E alone.
fn other_sums<'a>(stage: &Stage, agreeing: &Traces) -> Lie<'a> {
    queries(stage).fold(Lie::default(), |lie, query| {
        let last = *leaf_rows(stage, query).last().expect("a leaf has rows");
        let sum = port(stage.layer.program(), last, 0);
        lie.write(sum, at(agreeing, sum))
    })
}

/// The same, from the row on that absorbs the column.
fn other_running_sums<'a>(stage: &Stage, agreeing: &Traces) -> Lie<'a> {
    queries(stage).fold(Lie::default(), |lie, query| {
        let row = leaf_rows(stage, query)[0];
        let start = row * NUM_COLS + PERM_COLS + scratch::SUM;
        let sum: [F; D] = std::array::from_fn(|i| agreeing.hash.values[start + i]);
        lie.row(row, move |_, cells| cells[scratch::SUM..scratch::SUM + D].copy_from_slice(&sum))
    })
}

#[test]
fn a_false_claim_is_rejected_wherever_it_is_hidden() {
    let stage = constant();
    let over =
        |name, lie, expected| Entry { name, stage, cheat: false_claim(stage, lie), expected };
    let rows = |name, cheat, expected| Entry { name, stage, cheat, expected };
    let agreeing = stage.fill(&opened_rows(stage));
    let entries = vec![
        rows("the opened rows agree with the claim", opened_rows(stage), &["bus: cap"]),
        over(
            "the sums over opened rows agree with the claim, in E alone",
            other_sums(stage, &agreeing),
            &["bus: sum of a leaf"],
        ),
        over(
            "the running sums do, in the row that absorbs the column",
            other_running_sums(stage, &agreeing),
            &["H reduced_opening"],
        ),
        over(
            "a gate yields zero for the reduced opening",
            every_query(stage, |lie, (_, _, queried)| lie.write(queried, EF::ZERO)),
            &["E gate, compute"],
        ),
        over(
            "the group holds zero and its path looks up zero",
            every_query(stage, |lie, (leaf, path, queried)| {
                lie.read(leaf, queried, EF::ZERO).read(path, queried, EF::ZERO)
            }),
            &["bus: result of E"],
        ),
        over(
            "the group holds zero, the value that is folded is another than the hashed one",
            every_query(stage, |lie, (leaf, _, queried)| lie.read(leaf, queried, EF::ZERO)),
            &["bus: slot of a group"],
        ),
        rows(
            "the group holds the reduced opening, and a sibling that undoes it",
            undone_by_a_sibling(stage),
            &["bus: cap"],
        ),
    ];
    require_rejected("a false claim", entries);
}

/// The weight of a pair of zeros is another: what it multiplies is zero.
fn other_weight<'a>(stage: &Stage) -> Lie<'a> {
    let (leaf, ..) = first_fold(stage, 0);
    Lie::default().row(leaf, |_, cells| cells[scratch::WEIGHT] += F::ONE)
}

/// The fold of a pair of zeros is one, and that of the next pair takes it back.
fn other_folds<'a>(stage: &Stage) -> Lie<'a> {
    let (leaf, ..) = first_fold(stage, 0);
    let [weight, next] = [leaf, leaf + 1].map(|row| {
        let start = row * NUM_COLS + PERM_COLS + scratch::WEIGHT;
        EF::from_basis_coefficients_fn(|i| stage.honest.hash.values[start + i])
    });
    let put = |cells: &mut [F], column: usize, value: EF| {
        cells[column..column + D].copy_from_slice(value.as_basis_coefficients_slice());
    };
    Lie::default()
        .row(leaf, move |_, cells| {
            put(cells, scratch::FOLD, EF::ONE);
            put(cells, scratch::ACC, weight);
        })
        .row(leaf + 1, move |_, cells| {
            put(cells, scratch::FOLD, -weight * next.inverse());
            put(cells, scratch::ACC, EF::ZERO);
        })
}

/// The challenge of the first fold over its coset's start is another.
fn other_u<'a>(stage: &Stage) -> Lie<'a> {
    let (leaf, ..) = first_fold(stage, 0);
    let u = port(stage.layer.program(), leaf, 2);
    Lie::default().read(leaf, u, stage.at(u) + EF::ONE)
}

#[test]
fn other_folds_are_rejected() {
    let stage = constant();
    let over = |name, lie, expected| Entry { name, stage, cheat: stage.lie(lie), expected };
    let entries = vec![
        over("another weight of a pair", other_weight(stage), &["H fold"]),
        over("another fold of a pair, undone by that of the next", other_folds(stage), &["H fold"]),
        over(
            "another challenge for the fold of one group",
            other_u(stage),
            &["bus: quotient of E"],
        ),
    ];
    require_rejected("folds", entries);
}
