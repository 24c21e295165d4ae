//! Provers whose digest says something else than what they verified.

use arbor_circuits::child::Commitment;
use arbor_circuits::compiler::transcript::CapId;
use arbor_circuits::config::{DIGEST, Digest, EF, F};
use arbor_circuits::program::{Access, Addr, Source};
use p3_field::PrimeCharacteristicRing;

use super::layout::prologue_rows;
use super::lie::Lie;
use super::stages::{Cheat, Stage, constant, mixed};
use super::{Entry, require_rejected};

/// The rows of digests that read an address.
fn readers(stage: &Stage, addr: Addr) -> Vec<usize> {
    prologue_rows(stage.layer.program(), |row| {
        let reads =
            |port: &arbor_circuits::program::Port| port.addr == addr && port.access == Access::Read;
        row.source == Source::Ports && row.ports.iter().flatten().any(reads)
    })
}

/// The digest takes something else to be at an address than the rest of the program.
fn misread<'a>(stage: &Stage, addr: Addr, value: EF) -> Lie<'a> {
    let rows = readers(stage, addr);
    assert!(!rows.is_empty(), "a digest covers this address");
    rows.into_iter().fold(Lie::default(), |lie, row| lie.read(row, addr, value))
}

/// The first half of the first entry of the cap of the preprocessed columns.
fn key_pack(stage: &Stage) -> Addr {
    let at = stage.layout.cap(CapId::Input(Commitment::Preprocessed));
    let limbs = &stage.replay.absorbed[at..at + DIGEST / 2];
    let value = <EF as p3_field::BasedVectorSpace<F>>::from_basis_coefficients_fn(|i| limbs[i]);
    let found = stage.honest.memory.iter().position(|&other| other == value);
    Addr(found.expect("caps are on the bus") as u32)
}

fn honest_digest(stage: &Stage) -> Digest {
    stage.digest(&stage.honest)
}

#[test]
fn the_digest_is_that_of_what_was_verified() {
    let (stage, mixed) = (constant(), mixed());
    let present = stage.layer.program().children[0].present;
    let entry = |name, stage, cheat, expected| Entry { name, stage, cheat, expected };
    let pack = stage.layout.public_packs[0];
    let mixed_pack = mixed.layout.public_packs[0];
    let mut other = honest_digest(stage);
    other[DIGEST - 1] += F::ONE;
    let entries = vec![
        entry(
            "another digest",
            stage,
            Cheat { digest: Some(other), ..stage.cheat() },
            &["E publics"],
        ),
        entry(
            "the presence bit is another than that of the digest",
            stage,
            Cheat { present: false, digest: Some(honest_digest(stage)), ..stage.cheat() },
            &["E publics"],
        ),
        entry(
            "the digest reads another presence bit",
            stage,
            Cheat { present: false, ..stage.lie(misread(stage, present, EF::ONE)) },
            &["bus: input"],
        ),
        entry(
            "the presence bit is two",
            stage,
            stage.lie(Lie::default().write(present, EF::TWO)),
            &["E gate, input"],
        ),
        entry(
            "the digest names another key than the one that is opened",
            mixed,
            mixed.lie(misread(mixed, key_pack(mixed), EF::ONE)),
            &["bus: cap"],
        ),
        entry(
            "the digest names other public values than the transcript",
            mixed,
            mixed.lie(misread(mixed, mixed_pack, mixed.at(mixed_pack) + EF::ONE)),
            &["bus: absorbed value"],
        ),
        entry(
            "the public values are others than those of the transcript",
            stage,
            stage.lie(Lie::default().write(pack, stage.at(pack) + EF::ONE)),
            &["E gate, assertion", "bus: absorbed value"],
        ),
    ];
    require_rejected("statement", entries);
}
