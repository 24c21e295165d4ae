//! In-circuit acceptance is native acceptance: every field of a proof is changed, and both verdicts
//! have to be the same.
//!
//! *The circuit rejects* means: the native shape checks refuse the proof, or the tables that a filler
//! makes of it, with every check of its own switched off, have a fault.

#[path = "../common/mod.rs"]
mod common;
/// Provers that lie about the tables themselves. They are here because a target of its own would compile
/// the provers of the children once more.
#[path = "../cheats/mod.rs"]
mod provers;

mod cheats;
mod fields;
mod grinding;
mod kernels;
mod lengths;
mod mutant;
mod subject;
mod verdict;

use fields::value_mutations;
use lengths::length_mutations;
use subject::{batch_subject, layer_subject, uni_subject};
use verdict::{Subject, report};

fn every_field_changed(subject: &Subject<'_>) {
    let honest = subject.judge(&subject.honest);
    assert!(honest.native.is_ok() && honest.circuit.is_ok(), "{honest:?}");
    report(subject, &value_mutations(subject));
}

#[test]
fn a_layer_with_grinding_at_every_site_and_any_value_changed() {
    layer_subject(3, every_field_changed);
}

#[test]
fn a_layer_without_grinding_and_any_value_changed() {
    layer_subject(0, every_field_changed);
}

#[test]
fn a_uni_stark_proof_with_any_value_changed() {
    for bits in [0, 2] {
        uni_subject(bits, every_field_changed);
    }
}

#[test]
fn a_batch_of_mixed_tables_with_any_value_changed() {
    batch_subject(1, every_field_changed);
}

#[test]
fn every_length_changed() {
    for bits in [0, 2] {
        uni_subject(bits, |subject| report(subject, &length_mutations(subject)));
        batch_subject(bits, |subject| report(subject, &length_mutations(subject)));
        layer_subject(bits, |subject| report(subject, &length_mutations(subject)));
    }
}
