//! Provers that choose their challenges.

use arbor_circuits::compiler::transcript::ChallengeId;
use arbor_circuits::config::{D, EF, F};
use arbor_circuits::program::{Addr, Role, Source};
use arbor_circuits::tables::hash::scratch;
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};

use super::layout::{port, query_rows};
use super::lie::Lie;
use super::stages::{Cheat, FREE, Stage, constant, constant_child_of, idle};
use super::{Entry, require_rejected};

/// A value that nobody samples.
fn chosen() -> EF {
    EF::from_basis_coefficients_fn(|i| F::from_usize(11 + 5 * i))
}

#[test]
fn challenges_are_those_of_the_sponge() {
    let stage = constant();
    let names = [
        ("the challenge that folds constraints is chosen", ChallengeId::Constraint),
        ("ζ is chosen", ChallengeId::Zeta),
        ("the challenge that batches openings is chosen", ChallengeId::Batch),
        ("the challenge of the first fold is chosen", ChallengeId::Fold(0)),
        ("the challenge of the last fold is chosen", ChallengeId::Fold(1)),
    ];
    assert_eq!(names.len(), stage.replay.challenges.len());
    let entries = names.map(|(name, id)| Entry {
        name,
        stage,
        cheat: stage.lie(Lie::default().write(stage.challenge(id), chosen())),
        expected: &["bus: output of a sponge"],
    });
    let lookups = [
        ("the base of the lookups is chosen", ChallengeId::LookupAlpha),
        ("the combiner of a lookup message is chosen", ChallengeId::LookupBeta),
    ];
    let lookups = lookups.map(|(name, id)| Entry {
        name,
        stage: idle(),
        cheat: idle().lie(Lie::default().write(idle().challenge(id), chosen())),
        expected: &["bus: output of a sponge"],
    });
    require_rejected("challenges", entries.into_iter().chain(lookups).collect());
}

/// Rows of the leaf of the quotient of the first query, whose values are all zero.
fn quotient_rows(stage: &Stage) -> Vec<usize> {
    query_rows(stage.layer.program(), 0, |row| matches!(row.source, Source::Leaf { tree: 1, .. }))
}

/// γ with its powers, from this row of a leaf on.
fn gamma_from<'a>(row: usize, gamma: EF) -> Lie<'a> {
    Lie::default().row(row, move |_, cells| {
        let columns = [scratch::GAMMA, scratch::GAMMA2, scratch::GAMMA3, scratch::GAMMA4];
        for (column, power) in columns.into_iter().zip(gamma.powers().skip(1)) {
            cells[column..column + D].copy_from_slice(power.as_basis_coefficients_slice());
        }
    })
}

fn gamma(stage: &Stage) -> Addr {
    port(stage.layer.program(), quotient_rows(stage)[0], 1)
}

/// α = 0: all columns but the first of each ladder are forgotten. That column is zero.
fn alpha_of_zero<'a>(stage: &Stage) -> Cheat<'a> {
    let child = constant_child_of(FREE, |column| F::from_u32(column % 15));
    let lie = Lie::default().write(stage.challenge(ChallengeId::Batch), EF::ZERO);
    stage.over(child, lie)
}

/// A table of zeros, over which no challenge matters.
fn inverse_of_nothing<'a>(stage: &Stage) -> Cheat<'a> {
    let child = constant_child_of(FREE, |_| F::ZERO);
    let lie = Lie::default().write(gamma(stage), chosen());
    stage.over(child, lie)
}

#[test]
fn the_inverse_of_the_batching_challenge_is_one_and_the_same() {
    let stage = constant();
    let rows = quotient_rows(stage);
    let over = |name, cheat, expected| Entry { name, stage, cheat, expected };
    let entries = vec![
        over(
            "the batching challenge is zero",
            alpha_of_zero(stage),
            &["E gate, division", "bus: output of a sponge"],
        ),
        over("γ is not its inverse", inverse_of_nothing(stage), &["E gate, division"]),
        over(
            "another γ for the rows of one leaf",
            stage.lie(Lie::default().read(rows[0], gamma(stage), chosen())),
            &["bus: quotient of E"],
        ),
        over(
            "another γ from the second row of a leaf on",
            stage.lie(gamma_from(rows[1], chosen())),
            &["H powers"],
        ),
    ];
    require_rejected("γ", entries);
}

/// ζ in the trace's domain: ζⁿ − 1 is zero, so that a quotient says nothing of the constraints, and the
/// selector of the first row is 0/0. The public value that it would compare is false.
fn zeta_of_one(stage: &Stage, selector: EF) -> Cheat<'static> {
    let program = stage.layer.program();
    let zeta = stage.challenge(ChallengeId::Zeta);
    let minus_one = program.gates.iter().find(|gate| {
        gate.role == Role::Compute
            && gate.a == zeta
            && gate.q[1] == F::ONE
            && gate.q[4] == F::NEG_ONE
    });
    let denominator = minus_one.expect("ζ − 1 is computed").out;
    let division =
        program.gates.iter().find(|gate| gate.role == Role::Quotient && gate.b == denominator);
    let first_row = division.expect("the selector of the first row").a;
    let lie = Lie::default().write(zeta, EF::ONE).write(first_row, selector);
    let mut cheat = stage.lie(lie);
    cheat.child.publics[0][0] += F::ONE;
    cheat
}

#[test]
fn a_free_division_needs_a_point_of_the_domain() {
    let stage = constant();
    let entries = vec![
        Entry {
            name: "ζ = 1, the free selector is 0, and a public value is false",
            stage,
            cheat: zeta_of_one(stage, EF::ZERO),
            expected: &["E gate, division", "bus: output of a sponge"],
        },
        Entry {
            name: "ζ = 1, the free selector is not 0",
            stage,
            cheat: zeta_of_one(stage, chosen()),
            expected: &["E gate, assertion", "E gate, division", "bus: output of a sponge"],
        },
    ];
    require_rejected("0/0", entries);
}
