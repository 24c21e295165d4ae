//! Provers that open other indices than those that the transcript samples.

use arbor_circuits::config::{D, EF, F};
use arbor_circuits::program::Source;
use arbor_circuits::tables::hash::{NUM_COLS, PERM_COLS, scratch};
use p3_field::{BasedVectorSpace, Field, PrimeCharacteristicRing, PrimeField32};

use super::layout::{index_addr, path_rows, port, query_rows};
use super::lie::Lie;
use super::stages::{Cheat, Stage, constant, constant_child, limbs, mixed, wide};
use super::{Entry, require_rejected};

/// The first folding round, counted with the trees: main and quotient come before it.
const FIRST_ROUND: usize = 2;

/// The point after the first bit. Every tree's path follows one, though only that of the guide is read.
fn first_point(set: bool) -> F {
    if set { -F::GENERATOR } else { F::GENERATOR }
}

/// The path of one tree goes up from `index`.
fn climb<'a>(stage: &Stage, query: usize, tree: usize, index: usize) -> Lie<'a> {
    let program = stage.layer.program();
    path_rows(program, query, tree).into_iter().fold(Lie::default(), |lie, row| {
        let Source::Path { bit, level, .. } = program.hashes[row].source else {
            unreachable!("a row of a path")
        };
        let rest = move |bits: u16| F::from_usize(index >> bits << bits);
        lie.row(row, move |_, cells| {
            cells[scratch::BIT] = F::from_usize(index >> bit & 1);
            cells[scratch::REST] = rest(bit + 1);
            if level == 0 {
                cells[scratch::START] = rest(bit);
                cells[scratch::POINT] = first_point(index >> bit & 1 == 1);
            }
        })
    })
}

/// In one tree, the bit of a level is flipped and the rest carries what that leaves over.
fn flip<'a>(stage: &Stage, query: usize, tree: usize, level: usize) -> Lie<'a> {
    let set = stage.replay.indices[query] >> level & 1 == 1;
    let left = if set { F::from_u32(1 << level) } else { -F::from_u32(1 << level) };
    let rows = path_rows(stage.layer.program(), query, tree);
    rows.into_iter().enumerate().skip(level).fold(Lie::default(), |lie, (at, row)| {
        lie.row(row, move |_, cells| {
            if at == level {
                cells[scratch::BIT] = F::from_bool(!set);
            }
            if at == 0 {
                cells[scratch::POINT] = first_point(!set);
            }
            cells[scratch::REST] += left;
        })
    })
}

/// Bits 0 and 1 of two levels become 2 and 0.
fn bit_of_two<'a>(stage: &Stage, tree: usize) -> Lie<'a> {
    let levels = 1..path_rows(stage.layer.program(), 0, tree).len() - 1;
    let places = (0..stage.replay.indices.len()).flat_map(|query| {
        let index = stage.replay.indices[query];
        levels.clone().filter(move |level| index >> level & 3 == 2).map(move |level| (query, level))
    });
    let (query, level) = places.last().expect("some index has a 1 above a 0");
    let rows = path_rows(stage.layer.program(), query, tree);
    Lie::default()
        .row(rows[level], move |_, cells| {
            cells[scratch::BIT] = F::TWO;
            cells[scratch::REST] -= F::from_u32(2 << level);
        })
        .row(rows[level + 1], |_, cells| cells[scratch::BIT] = F::ZERO)
}

/// The two rows that decompose a query's index.
fn bit_rows(stage: &Stage, query: usize) -> [usize; 2] {
    let low = query_rows(stage.layer.program(), query, |row| {
        matches!(row.source, Source::BitsLow { .. })
    });
    [low[0], low[0] + 1]
}

/// A query opens at the low bits of `element + p`, and claims whether the top bits are all one.
fn not_canonical<'a>(top_ones: F) -> Cheat<'a> {
    let stage = constant();
    // Only elements below 2²⁴ − 1 have such a representative: other constants, until there is one.
    let (child, query, element) = (2..)
        .find_map(|seed| {
            let child = constant_child(seed);
            let traces = stage.fill(&Cheat { child: child.clone(), ..stage.cheat() });
            let element = |query: usize| {
                let [low, _] = bit_rows(stage, query);
                traces.hash.values[low * NUM_COLS + PERM_COLS + scratch::ELEMENT].as_canonical_u32()
            };
            let queries = 0..stage.replay.indices.len();
            let small = queries.map(|q| (q, element(q))).find(|(_, e)| *e < (1 << 24) - 1);
            small.map(|(query, element)| (child, query, element))
        })
        .expect("there is no end of seeds");
    let bits = element + F::ORDER_U32;
    let bit = move |i: usize| F::from_bool(bits >> i & 1 == 1);
    let index = bits as usize & ((1 << stage.shape.log_max_height) - 1);
    let [low, high] = bit_rows(stage, query);
    let lie = Lie::default()
        .row(low, move |input, _| *input = std::array::from_fn(bit))
        .row(high, move |input, cells| {
            *input = std::array::from_fn(|i| if i < 15 { bit(16 + i) } else { F::ZERO });
            cells[scratch::TOP_ONES] = top_ones;
            cells[scratch::TOP_INVERSE] = F::ONE;
            cells[scratch::INDEX] = F::from_usize(index);
        })
        .write(index_addr(stage.layer.program(), query), EF::from_usize(index));
    stage.over(child, lie)
}

/// All of a query but its sample is at another index.
fn opened_at<'a>(stage: &Stage, query: usize, index: usize) -> Lie<'a> {
    Lie::default().write(index_addr(stage.layer.program(), query), EF::from_usize(index))
}

/// The second query shows what the first one does.
fn skipped_query<'a>(stage: &'a Stage, lie: Lie<'a>) -> Cheat<'a> {
    let mut cheat = stage.lie(lie);
    let opening = cheat.child.opening();
    for tree in &mut opening.input_openings {
        tree.opened_values[1] = tree.opened_values[0].clone();
    }
    for round in &mut opening.commit_phase_openings {
        round.sibling_values[1] = round.sibling_values[0].clone();
    }
    cheat.restore = Box::new(|restored| {
        for paths in &mut restored.siblings {
            paths[1] = paths[0].clone();
        }
    });
    cheat
}

/// The second query is told that its sample is that of the first.
fn same_sample<'a>(stage: &Stage) -> Lie<'a> {
    let program = stage.layer.program();
    let [first, second] = [0, 1].map(|query| {
        let row = bit_rows(stage, query)[0];
        let Source::BitsLow { limb } = program.hashes[row].source else {
            unreachable!("a row of bits")
        };
        (row, usize::from(limb), port(program, row, 0))
    });
    let element = limbs(&stage.honest, first.2)[first.1];
    let mut pack: [F; D] = limbs(&stage.honest, second.2);
    pack[second.1] = element;
    Lie::default().read(second.0, second.2, EF::from_basis_coefficients_fn(|i| pack[i]))
}

/// The queried value is looked up at another slot of the last round, of arity two.
fn other_slot<'a>(stage: &Stage, slot: impl Fn(F) -> F) -> Lie<'a> {
    let program = stage.layer.program();
    let round = stage.shape.log_arities.iter().rposition(|&arity| arity == 1);
    let tree = FIRST_ROUND + round.expect("a round of pairs");
    let row = path_rows(program, 0, tree)[0];
    let addr = port(program, row, 2);
    let [at, start, ..] = limbs(&stage.honest, addr);
    let pack = [slot(at), start, F::ZERO, F::ZERO];
    Lie::default().read(row, addr, EF::from_basis_coefficients_fn(|i| pack[i]))
}

#[test]
fn other_indices_are_rejected() {
    let stage = constant();
    let index = stage.replay.indices[0];
    let over = |name, lie, expected| Entry { name, stage, cheat: stage.lie(lie), expected };
    let entries = vec![
        over("another index for one tree", climb(stage, 0, 1, index ^ 0b101), &["bus: index"]),
        over(
            "another index for the path of a folding round",
            climb(stage, 0, FIRST_ROUND, index ^ 0b1_0000),
            &["bus: result of E"],
        ),
        over(
            "another index for all trees and rounds of a query",
            opened_at(stage, 1, stage.replay.indices[1] ^ 0b1_0011),
            &["bus: index"],
        ),
        over(
            "a bit of a path flipped, the rest carries it to the cap",
            flip(stage, 0, 1, 1),
            &["bus: no such address"],
        ),
        over(
            "the lowest bit flipped, so that the halves of a cap entry are shifted",
            flip(stage, 0, 1, 0),
            &["bus: cap", "bus: no such address"],
        ),
        over("bits 2 and 0 for 0 and 1", bit_of_two(stage, 1), &["H path"]),
        over(
            "the slot of the other parity",
            other_slot(stage, |at| F::ONE - at),
            &["bus: result of E"],
        ),
    ];
    require_rejected("indices", entries);
}

#[test]
fn the_other_representative_of_a_sample_is_rejected() {
    let entry = |name, top_ones| Entry {
        name,
        stage: constant(),
        cheat: not_canonical(top_ones),
        expected: &["H canonical"],
    };
    let entries = vec![
        entry("the bits of v + p, top said to be all ones", F::ONE),
        entry("the bits of v + p, top said not to be all ones", F::ZERO),
    ];
    require_rejected("representatives", entries);
}

#[test]
fn a_skipped_query_is_rejected() {
    let mut entries = vec![];
    for stage in [wide(), mixed()] {
        entries.push(Entry {
            name: "a query shows the openings of another",
            stage,
            cheat: skipped_query(stage, opened_at(stage, 1, stage.replay.indices[0])),
            expected: &["bus: index"],
        });
        entries.push(Entry {
            name: "and takes its sample",
            stage,
            cheat: skipped_query(stage, same_sample(stage)),
            expected: &["bus: output of a sponge"],
        });
    }
    require_rejected("queries", entries);
}
