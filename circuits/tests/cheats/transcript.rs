//! Provers whose transcript absorbs something else than what they use, or forgets what it absorbed.

use arbor_circuits::child::Commitment;
use arbor_circuits::compiler::transcript::{CapId, ValueId};
use arbor_circuits::config::{DIGEST, EF, F, RATE};
use arbor_circuits::program::{Addr, HashRow, Role};
use p3_field::PrimeCharacteristicRing;

use super::layout::prologue_rows;
use super::lie::Lie;
use super::stages::{Cheat, Stage, constant, constant_child, idle, unbalanced};
use super::{Entry, require_rejected};

/// The transcript absorbs another element at `at`; all that read `addr` have what the proof has.
fn not_absorbed<'a>(stage: &Stage, at: usize, addr: Addr) -> Cheat<'a> {
    Cheat {
        restore: Box::new(move |restored| restored.replay.absorbed[at] += F::ONE),
        ..stage.lie(Lie::default().write(addr, stage.at(addr)))
    }
}

fn value<'a>(stage: &Stage, id: ValueId) -> Cheat<'a> {
    let (at, addr) = stage.layout.value(id);
    not_absorbed(stage, at, addr)
}

#[test]
fn what_is_used_is_what_was_absorbed() {
    let (stage, idle) = (constant(), idle());
    let claim = |tree, point| ValueId::Claim { tree, matrix: 0, point, column: 3 };
    let absorbed: &[&str] = &["bus: absorbed value"];
    let entry = |name, stage, cheat, expected| Entry { name, stage, cheat, expected };
    let entries = vec![
        entry("a claim of the trace is not absorbed", stage, value(stage, claim(0, 0)), absorbed),
        entry("one of its next row", stage, value(stage, claim(0, 1)), absorbed),
        entry("a claim of the quotient", stage, value(stage, claim(1, 0)), absorbed),
        entry(
            "a coefficient of the final polynomial",
            stage,
            value(stage, ValueId::FinalPoly(2)),
            absorbed,
        ),
        entry(
            "a public value",
            stage,
            not_absorbed(stage, stage.layout.publics, stage.layout.public_packs[0]),
            absorbed,
        ),
        entry("a lookup terminal", idle, value(idle, ValueId::Terminal(0)), absorbed),
        entry("a whole commitment", stage, other_commitment(stage), &["bus: cap"]),
        entry("an entry of a cap", stage, other_cap_entry(stage), &["bus: cap"]),
        entry(
            "a number of the shape is absorbed as another",
            stage,
            Cheat {
                restore: Box::new(|restored| restored.replay.absorbed[0] += F::ONE),
                ..stage.cheat()
            },
            &["bus: result of E"],
        ),
    ];
    require_rejected("absorbed and used", entries);
}

/// The transcript absorbs the commitment to one trace, everything else is a proof of another one.
fn other_commitment<'a>(stage: &Stage) -> Cheat<'a> {
    let main = CapId::Input(Commitment::Main);
    let mut cheat = stage.over(constant_child(9), Lie::default());
    let mut honest = stage.child.clone();
    let cap = honest.cap_mut(main).expect("every proof has a trace").clone();
    cheat.child.edit_cap(main, |roots| roots.copy_from_slice(cap.roots()));
    cheat
}

/// One entry of a cap is absorbed as another, one that some query ends in.
fn other_cap_entry<'a>(stage: &Stage) -> Cheat<'a> {
    let at = stage.layout.cap(CapId::Input(Commitment::Main));
    let low = stage.shape.log_max_height - stage.shape.fri.cap_height;
    let cheat = |entry: usize| Cheat {
        restore: Box::new(move |restored| {
            restored.replay.absorbed[at + DIGEST * entry + 3] += F::ONE;
        }),
        ..stage.cheat()
    };
    let opened = |entry: &usize| {
        let traces = stage.fill(&cheat(*entry));
        (0..stage.shape.fri.num_queries).any(|query| stage.sampled(&traces, query) >> low == *entry)
    };
    cheat((0..1 << stage.shape.fri.cap_height).find(opened).expect("an entry that is looked at"))
}

/// Terminals that do not add up are told to do so where they are added.
fn terminal_changed(stage: &Stage) -> Cheat<'static> {
    let [first, second] = [0, 1].map(|i| stage.layout.value(ValueId::Terminal(i)).1);
    let program = stage.layer.program();
    let sum = [F::ZERO, F::ONE, F::ONE, F::ONE, F::ZERO];
    let row = program.gates.iter().position(|gate| {
        gate.role == Role::Compute && (gate.b, gate.c) == (first, second) && gate.q == sum
    });
    let row = row.expect("the terminals are added");
    assert_ne!(stage.at(first) + stage.at(second), EF::ZERO);
    let lie = Lie::default().write(program.gates[row].out, EF::ZERO);
    Cheat { arith: vec![(row, 2, -stage.at(first))], ..stage.lie(lie) }
}

#[test]
fn lookups_that_do_not_balance_are_rejected() {
    let stage = unbalanced();
    let entries = vec![
        Entry {
            name: "the terminals do not add up",
            stage,
            cheat: stage.cheat(),
            expected: &["E gate, assertion"],
        },
        Entry {
            name: "a terminal is another after it was absorbed",
            stage,
            cheat: terminal_changed(stage),
            expected: &["bus: absorbed value"],
        },
    ];
    require_rejected("terminals", entries);
}

#[test]
fn the_sponge_cannot_be_restarted() {
    let stage = constant();
    let program = stage.layer.program();
    let row = |wanted: fn(&HashRow) -> F, nth: usize| {
        prologue_rows(program, |row| wanted(row) == F::ONE)[nth]
    };
    let first = row(|row| row.fixed.sponge_first, 0);
    let next = row(|row| row.fixed.sponge_next, 3);
    let over = |name, row: usize, change: fn(&mut [F; 16]), expected| Entry {
        name,
        stage,
        cheat: stage.lie(Lie::default().row(row, move |input, _| change(input))),
        expected,
    };
    let entries = vec![
        over(
            "the sponge starts from another state",
            first,
            |i| i[15] += F::ONE,
            &["H sponge_start"],
        ),
        over(
            "the sponge starts with another length",
            first,
            |i| i[RATE] += F::ONE,
            &["H sponge_start"],
        ),
        over("the capacity is another in between", next, |i| i[12] += F::ONE, &["H sponge_link"]),
        over("the length of a block is another", next, |i| i[RATE] -= F::ONE, &["H sponge_link"]),
        over("the capacity is forgotten", next, |i| i[RATE..].fill(F::ZERO), &["H sponge_link"]),
    ];
    require_rejected("sponge", entries);
}
