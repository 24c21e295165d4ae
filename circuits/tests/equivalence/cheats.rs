//! Cheats of which one check alone is left: everything else of the proof is consistent with them.

use arbor_circuits::check::Fault;
use arbor_circuits::filler::replay::Replay;
use arbor_circuits::filler::view::ChildView;
use p3_field::PrimeCharacteristicRing;

use super::fields::some;
use super::mutant::{Mutant, limb};
use super::subject::{batch_airs, batch_subject_of, uni_air, uni_subject_of, with_pow};
use super::verdict::Subject;
use crate::common::airs::{Bus, SampleAir};
use crate::common::children::{BatchChild, UniChild};
use arbor_circuits::config::{F, FriConfig};

/// Parameters with a query that a new witness can find again.
fn one_query() -> FriConfig {
    FriConfig { num_queries: 1, query_pow_bits: 1, ..with_pow(0) }
}

fn indices(subject: &Subject<'_>, mutant: &Mutant) -> Vec<usize> {
    let view = ChildView::new(subject.shape.clone(), mutant.input(), 0).expect("the same shape");
    Replay::new(&view).indices
}

/// Takes other witnesses until the queries are those of the honest proof and native code gives this
/// verdict, a reason or none.
fn grind(subject: &Subject<'_>, mutant: &mut Mutant, reason: Option<&str>) {
    let wanted = indices(subject, &subject.honest);
    for _ in 0..1 << 15 {
        mutant.opening().query_pow_witness += F::ONE;
        if indices(subject, mutant) == wanted {
            let found = match (subject.judge(mutant).native, reason) {
                (Err(native), Some(reason)) => native.contains(reason),
                (native, reason) => native.is_ok() && reason.is_none(),
            };
            if found {
                return;
            }
        }
    }
    panic!("no witness gives these queries");
}

/// All faults of the layer over a cheat: rows of E alone, and so few that they are one check's.
fn only_arithmetic(subject: &Subject<'_>, mutant: &Mutant) {
    let faults = subject.faults(mutant, 100).expect("the shape is right");
    assert!(!faults.is_empty(), "{}: accepted", subject.name);
    let mut rows = vec![];
    for fault in &faults {
        match fault {
            Fault::Constraint { table: 0, row, .. } => rows.push(*row),
            other => panic!("{}: {other:?}", subject.name),
        }
    }
    rows.dedup();
    assert_eq!(rows.len(), 1, "{}: one assertion fails: {faults:?}", subject.name);
}

fn uni(fri: FriConfig, run: impl FnOnce(&Subject<'_>)) {
    uni_subject_of(&UniChild::sample(uni_air(), fri), 0, run);
}

#[test]
fn another_final_polynomial_at_the_same_queries() {
    uni(one_query(), |subject| {
        for coefficient in some(8) {
            let mut mutant = subject.honest.clone();
            mutant.opening().final_poly[coefficient] += limb(coefficient);
            grind(subject, &mut mutant, Some("FinalPolyMismatch"));
            only_arithmetic(subject, &mutant);
        }
    });
}

#[test]
fn a_witness_without_work_at_the_same_queries() {
    uni(one_query(), |subject| {
        let mut mutant = subject.honest.clone();
        grind(subject, &mut mutant, Some("InvalidPowWitness"));
        only_arithmetic(subject, &mutant);
    });
}

#[test]
fn another_witness_with_work_at_the_same_queries_is_accepted() {
    uni(one_query(), |subject| {
        let mut mutant = subject.honest.clone();
        grind(subject, &mut mutant, None);
        let verdict = subject.judge(&mutant);
        assert!(verdict.native.is_ok() && verdict.circuit.is_ok(), "{verdict:?}");
    });
}

/// A name for what is wrong, and how it is brought about in the cells and the public values of one
/// table, or of every table. Only a prover that is built with debug assertions looks at its trace.
type Lie<T> = (&'static str, fn(&mut [T], &mut [T]));

fn prove_uni(edit: impl FnOnce(&mut [F], &mut [F])) -> UniChild<SampleAir> {
    let air = uni_air();
    let (mut trace, mut publics) = air.trace();
    edit(&mut trace.values, &mut publics);
    UniChild::prove(air, trace, publics, with_pow(0))
}

#[test]
fn false_statements_of_one_table() {
    let lies: [Lie<F>; 3] = [
        ("a cell", |trace, _| trace[5 * 17] += F::ONE),
        ("a cell of the last row", |trace, _| trace[5 * 63 + 1] += F::ONE),
        ("a public value", |_, publics| publics[4] += F::ONE),
    ];
    for (what, lie) in lies {
        let child = prove_uni(lie);
        uni_subject_of(&child, 0, |subject| {
            let native = subject.judge(&subject.honest).native.expect_err(what);
            assert!(native.contains("OodEvaluationMismatch"), "{what}: {native}");
            only_arithmetic(subject, &subject.honest);
        });
    }
}

#[test]
fn false_statements_of_several_tables() {
    let lies: [Lie<Vec<F>>; 3] = [
        ("a cell", |traces, _| traces[1][3 * 50] += F::ONE),
        ("a preprocessed rule", |traces, _| traces[3][20] += F::ONE),
        ("a public value", |_, publics| publics[2][0] += F::ONE),
    ];
    for (what, lie) in lies {
        let (mut traces, mut publics): (Vec<_>, Vec<_>) =
            batch_airs().iter().map(SampleAir::trace).unzip();
        let mut cells: Vec<Vec<F>> =
            traces.iter_mut().map(|trace| std::mem::take(&mut trace.values)).collect();
        lie(&mut cells, &mut publics);
        traces.iter_mut().zip(cells).for_each(|(trace, cells)| trace.values = cells);
        let child = BatchChild::prove(batch_airs(), &traces, publics, with_pow(0));
        batch_subject_of(&child, 0, |subject| {
            let native = subject.judge(&subject.honest).native.expect_err(what);
            assert!(native.contains("OodEvaluationMismatch"), "{what}: {native}");
            only_arithmetic(subject, &subject.honest);
        });
    }
}

#[test]
fn a_bus_that_does_not_balance() {
    let mut airs = batch_airs();
    let Bus::Receive(times) = airs[2].buses[0] else { panic!("a receiver") };
    airs[2].buses[0] = Bus::Receive(times + 1);
    let child = BatchChild::sample(airs, with_pow(0));
    batch_subject_of(&child, 0, |subject| {
        let native = subject.judge(&subject.honest).native.expect_err("unbalanced");
        assert!(native.contains("Lookup"), "{native}");
        only_arithmetic(subject, &subject.honest);
    });
}
