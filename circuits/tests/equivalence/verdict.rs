//! What native code and the circuit say of a mutant, and the table of both.

use std::collections::{BTreeMap, BTreeSet};

use arbor_circuits::check::Fault;
use arbor_circuits::child::ChildShape;
use arbor_circuits::error::ProveError;
use arbor_circuits::filler::restore::Misfit;
use arbor_circuits::layer::PreparedLayer;
use p3_maybe_rayon::prelude::*;

use super::mutant::Mutant;
use crate::common::{TINY, faults_of};

/// Native verification of a mutant: the reason if it is rejected.
pub(crate) type Native<'a> = Box<dyn Fn(&Mutant) -> Result<(), String> + Sync + 'a>;

/// A proof whose mutants are judged.
pub(crate) struct Subject<'a> {
    pub(crate) name: String,
    pub(crate) honest: Mutant,
    pub(crate) shape: ChildShape,
    pub(crate) layer: PreparedLayer,
    native: Native<'a>,
}

/// A change of one field.
pub(crate) struct Mutation {
    /// Which field.
    pub(crate) field: &'static str,
    /// Where in it.
    pub(crate) place: String,
    /// Whether the shape has to be refused, before anything is computed.
    pub(crate) shape: bool,
    pub(crate) apply: Box<dyn Fn(&mut Mutant) + Send + Sync>,
}

/// Both verdicts: the reason if it is a rejection.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) native: Result<(), String>,
    pub(crate) circuit: Result<(), String>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(name: String, honest: Mutant, shape: ChildShape, native: Native<'a>) -> Self {
        let layer = PreparedLayer::prepare(vec![shape.clone()], TINY, 0).expect("compiles");
        Self { name, honest, shape, layer, native }
    }

    pub(crate) fn judge(&self, mutant: &Mutant) -> Verdict {
        let native = (self.native)(mutant);
        let circuit = match self.faults(mutant, 1) {
            Err(ProveError::Shape { what, .. }) => Err(format!("shape: {what}")),
            Err(other) => panic!("{other}"),
            Ok(faults) => faults.first().map_or(Ok(()), |fault| Err(kind(fault))),
        };
        Verdict { native, circuit }
    }

    /// The faults of the layer over a mutant, at most `most` of them.
    pub(crate) fn faults(&self, mutant: &Mutant, most: usize) -> Result<Vec<Fault>, ProveError> {
        let restored = self.layer.restore_with(&[mutant.input()], Misfit::Zeros)?;
        let filled = self.layer.fill(&restored).expect("filling never fails");
        Ok(faults_of(&self.layer, &filled, most))
    }
}

pub(crate) fn kind(fault: &Fault) -> String {
    match fault {
        Fault::Constraint { table, .. } => format!("constraint of {}", ["E", "H"][*table]),
        Fault::Bus { .. } => "bus".into(),
    }
}

/// An error without its details.
fn brief(reason: &str) -> String {
    let words: Vec<&str> = reason
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(char::is_uppercase))
        .filter(|word| !["Some", "None"].contains(word))
        .collect();
    words[words.len().saturating_sub(2)..].join(" ")
}

#[derive(Default)]
struct Line {
    mutations: usize,
    native: usize,
    circuit: usize,
    reasons: BTreeSet<String>,
    faults: BTreeMap<String, usize>,
}

/// Judges all mutants, prints a line for each field and requires that both verdicts are rejections.
pub(crate) fn report(subject: &Subject<'_>, mutations: &[Mutation]) {
    let verdicts: Vec<Verdict> = mutations
        .par_iter()
        .map(|mutation| {
            let mut mutant = subject.honest.clone();
            (mutation.apply)(&mut mutant);
            subject.judge(&mutant)
        })
        .collect();
    let mut lines: BTreeMap<&str, Line> = BTreeMap::new();
    let mut failures = vec![];
    for (mutation, verdict) in mutations.iter().zip(&verdicts) {
        let line = lines.entry(mutation.field).or_default();
        line.mutations += 1;
        if let Err(reason) = &verdict.native {
            line.native += 1;
            line.reasons.insert(brief(reason));
        }
        if let Err(reason) = &verdict.circuit {
            line.circuit += 1;
            *line.faults.entry(reason.clone()).or_default() += 1;
        }
        let refused = verdict.circuit.as_ref().is_err_and(|reason| reason.starts_with("shape"));
        if verdict.native.is_ok() || verdict.circuit.is_ok() || mutation.shape && !refused {
            failures.push(format!("{} {}: {verdict:?}", mutation.field, mutation.place));
        }
    }
    let mut table = format!("{}: field, mutations, rejected natively, in-circuit\n", subject.name);
    for (field, line) in &lines {
        let Line { mutations, native, circuit, reasons, faults } = line;
        table += &format!(
            "  {field:32} {mutations:4} {native:4} {circuit:4}  {reasons:?} | {faults:?}\n"
        );
    }
    println!("{table}");
    assert!(failures.is_empty(), "{}:\n{}", subject.name, failures.join("\n"));
}
