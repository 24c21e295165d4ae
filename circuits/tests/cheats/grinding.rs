//! Provers that did not do the work before the queries.

use arbor_circuits::config::{D, EF, F};
use arbor_circuits::program::{Addr, Role, Source};
use arbor_circuits::tables::hash::scratch;
use p3_field::{BasedVectorSpace, Field, PrimeCharacteristicRing};

use super::layout::{port, prologue_rows};
use super::lie::Lie;
use super::stages::{Cheat, Stage, laborious, limbs};
use super::{Entry, require_rejected};

/// A witness without work: the next one.
fn lazy<'a>(stage: &Stage, lie: Lie<'a>) -> Cheat<'a> {
    let mut cheat = stage.lie(lie);
    cheat.child.opening().query_pow_witness += F::ONE;
    cheat
}

/// The two rows of bits of the proof of work, and where its low bits are.
fn rows(stage: &Stage) -> (usize, usize, Addr) {
    let program = stage.layer.program();
    let high = prologue_rows(program, |row| matches!(row.source, Source::BitsHigh { .. }))[0];
    (high - 1, high, port(program, high, 2))
}

/// The row of E that requires the low bits to be zero.
fn assertion(stage: &Stage, low_bits: Addr) -> usize {
    let gates = &stage.layer.program().gates;
    let found = gates.iter().position(|gate| gate.role == Role::Assert && gate.a == low_bits);
    found.expect("the low bits are asserted to be zero")
}

/// The sample is told to be zero, in the one row that takes it out of its pack.
fn other_sample<'a>(stage: &Stage) -> Lie<'a> {
    let program = stage.layer.program();
    let (low, ..) = rows(stage);
    let Source::BitsLow { limb } = program.hashes[low].source else {
        unreachable!("a row of bits")
    };
    let addr = port(program, low, 0);
    let mut pack: [F; D] = limbs(&stage.fill(&lazy(stage, Lie::default())), addr);
    pack[usize::from(limb)] = F::ZERO;
    Lie::default().read(low, addr, EF::from_basis_coefficients_fn(|i| pack[i]))
}

#[test]
fn work_that_was_not_done_is_missed() {
    let stage = laborious();
    let (low, high, addr) = rows(stage);
    let over = |name, lie, expected| Entry { name, stage, cheat: lazy(stage, lie), expected };
    let entries = vec![
        over("another witness", Lie::default(), &["E gate, assertion"]),
        over(
            "its low bits are zero in E alone",
            Lie::default().write(addr, EF::ZERO),
            &["bus: index"],
        ),
        over(
            "its low bits are said to be zero",
            Lie::default()
                .row(high, |_, cells| cells[scratch::INDEX] = F::ZERO)
                .write(addr, EF::ZERO),
            &["H bits"],
        ),
        over(
            "its bits are those of zero",
            Lie::default()
                .row(low, |input, _| input.fill(F::ZERO))
                .row(high, |input, cells| {
                    input.fill(F::ZERO);
                    cells[scratch::INDEX] = F::ZERO;
                    cells[scratch::TOP_ONES] = F::ZERO;
                    cells[scratch::TOP_INVERSE] = -F::from_u8(7).inverse();
                })
                .write(addr, EF::ZERO),
            &["H bits"],
        ),
        over("its sample is zero", other_sample(stage), &["bus: output of a sponge"]),
        Entry {
            name: "the assertion reads zero",
            stage,
            cheat: Cheat {
                arith: vec![(assertion(stage, addr), 0, EF::ZERO)],
                ..lazy(stage, Lie::default())
            },
            expected: &["bus: index"],
        },
    ];
    require_rejected("grinding", entries);
}
