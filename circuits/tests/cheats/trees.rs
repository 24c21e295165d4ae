//! Provers that open one tree where another one should be.

use arbor_circuits::child::Commitment;
use arbor_circuits::compiler::transcript::CapId;
use arbor_circuits::config::{D, EF, F};
use arbor_circuits::program::{Access, Source};
use p3_field::PrimeCharacteristicRing;

use super::layout::{index_addr, port, query_rows};
use super::lie::Lie;
use super::stages::{Cheat, Stage, constant, mixed};
use super::{Entry, require_rejected};

/// The trace and the quotient, of equal widths, are opened in each other's place.
fn exchanged<'a>(stage: &Stage, caps: bool) -> Cheat<'a> {
    let mut cheat = stage.cheat();
    cheat.restore = Box::new(|restored| restored.siblings.swap(0, 1));
    let trees = &mut cheat.child.opening().input_openings;
    let queries = trees[0].opened_values.len();
    for query in 0..queries {
        let main = trees[0].opened_values[query].concat();
        let quotient = trees[1].opened_values[query].concat();
        trees[0].opened_values[query] = vec![quotient];
        trees[1].opened_values[query] = main.chunks(D).map(<[F]>::to_vec).collect();
    }
    let opened = cheat.child.opened(0);
    let main = opened.trace_local.clone();
    opened.trace_local = opened.quotient_chunks.concat();
    opened.trace_next = Some(opened.trace_local.clone());
    opened.quotient_chunks = main.chunks(D).map(<[EF]>::to_vec).collect();
    if caps {
        let ids = [Commitment::Main, Commitment::Quotient].map(CapId::Input);
        let [main, quotient] = ids.map(|id| cheat.child.cap_mut(id).expect("a commitment").clone());
        *cheat.child.cap_mut(ids[0]).expect("a commitment") = quotient;
        *cheat.child.cap_mut(ids[1]).expect("a commitment") = main;
    }
    cheat
}

/// Two queries open what the other one should.
fn exchanged_queries<'a>(stage: &'a Stage) -> Cheat<'a> {
    let at = |query: usize, other: usize| {
        let index = EF::from_usize(stage.replay.indices[other]);
        (index_addr(stage.layer.program(), query), index)
    };
    let [first, second] = [at(0, 1), at(1, 0)];
    let mut cheat = stage.lie(Lie::default().write(first.0, first.1).write(second.0, second.1));
    let opening = cheat.child.opening();
    opening.input_openings.iter_mut().for_each(|tree| tree.opened_values.swap(0, 1));
    opening.commit_phase_openings.iter_mut().for_each(|round| round.sibling_values.swap(0, 1));
    cheat.restore =
        Box::new(|restored| restored.siblings.iter_mut().for_each(|tree| tree.swap(0, 1)));
    cheat
}

/// Shorter matrices open to other values, whose digest is not the one that enters the path: the path is
/// that of the honest opening, and so are the sums that E is told.
fn other_injected<'a>(stage: &'a Stage) -> Cheat<'a> {
    let program = stage.layer.program();
    let inject = query_rows(program, 0, |row| row.source == Source::Inject)[0];
    let digest = [0, 1].map(|i| port(program, inject, i));
    let mut lie =
        digest.into_iter().fold(Lie::default(), |lie, addr| lie.read(inject, addr, stage.at(addr)));
    let leaves =
        query_rows(program, 0, |row| matches!(row.source, Source::Leaf { .. } | Source::Repeat));
    for row in leaves.into_iter().filter(|&row| row < inject) {
        if let Some(sum) = program.hashes[row].ports[0]
            && sum.access == Access::Write
        {
            lie = lie.write(sum.addr, stage.at(sum.addr));
        }
    }
    let mut cheat = stage.lie(lie);
    let tree = &stage.shape.trees[0];
    let tallest = stage.shape.tree_heights(0)[0];
    let short = tree.matrices.iter().position(|m| stage.shape.log_lde_height(m) != tallest);
    let matrix = short.expect("the matrices have different heights");
    cheat.child.opening().input_openings[0].opened_values[0][matrix][0] += F::ONE;
    cheat
}

#[test]
fn exchanged_openings_are_rejected() {
    let (stage, mixed) = (constant(), mixed());
    let entry = |name, stage, cheat, expected| Entry { name, stage, cheat, expected };
    let entries = vec![
        entry(
            "two trees exchanged, claims and openings",
            stage,
            exchanged(stage, false),
            &["E gate, assertion", "bus: cap"],
        ),
        entry(
            "two trees exchanged, claims, openings and commitments",
            stage,
            exchanged(stage, true),
            &["E gate, assertion"],
        ),
        entry("two queries exchanged", mixed, exchanged_queries(mixed), &["bus: index"]),
        entry(
            "another digest of shorter matrices enters the path",
            mixed,
            other_injected(mixed),
            &["bus: output of a sponge", "bus: sum of a leaf"],
        ),
    ];
    require_rejected("trees", entries);
}
