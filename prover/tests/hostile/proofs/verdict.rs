//! The three verdicts on a changed proof, and how far each change came.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use arbor_circuits::check::{Fault, faults};
use arbor_circuits::child::{ChildInput, ChildShape};
use arbor_circuits::config::{Digest, F};
use arbor_circuits::error::{ProveError, VerifyError};
use arbor_circuits::filler::restore::Misfit;
use arbor_circuits::layer::PreparedLayer;
use arbor_prover::base::PreparedBase;
use arbor_prover::format::assemble;
use arbor_prover::{Cache, FinalProof, Header, VerifyFailure, verify_bytes};

use super::mutant::{Mutant, Proof, copy_batch, copy_uni};
use crate::files::{Tally, options, stage};

/// What verifies a proof natively.
pub(crate) enum Native<'a> {
    Base(&'a PreparedBase),
    Layer(&'a PreparedLayer),
}

/// A proof that is changed, the layer above it, and the file that holds it.
pub(crate) struct Subject<'a> {
    pub(crate) name: String,
    pub(crate) honest: Mutant,
    pub(crate) shape: ChildShape,
    pub(crate) native: Native<'a>,
    /// The layer that takes the proof, among others, in one slot.
    pub(crate) above: &'a PreparedLayer,
    pub(crate) children: Vec<ChildInput<'a>>,
    pub(crate) slot: usize,
    /// None of a wrap, which is not the last proof of anything.
    pub(crate) file: Option<(Header, &'a Cache)>,
}

/// A change of one field.
pub(crate) struct Mutation {
    pub(crate) field: &'static str,
    pub(crate) place: String,
    pub(crate) shape: bool,
    pub(crate) apply: Box<dyn Fn(&mut Mutant) + Send + Sync>,
}

/// Filling and checking the layer above takes most of the time.
#[derive(Clone, Copy)]
pub(crate) struct Sampling {
    /// One of how many changes that keep every length is given to the circuit.
    pub(crate) circuit_every: usize,
}

impl Mutant {
    fn to_final(&self) -> FinalProof {
        match &self.proof {
            Proof::Uni(proof) => FinalProof::Uni(copy_uni(proof)),
            Proof::Batch(proof) => FinalProof::Batch(copy_batch(proof)),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.to_final().to_bytes().expect("encodes")
    }
}

impl Subject<'_> {
    /// What native code says.
    fn native(&self, mutant: &Mutant) -> Result<(), VerifyError> {
        let proof = mutant.to_final();
        let wrong = |what| VerifyError::Shape { what, expected: 0, got: 0 };
        match (&self.native, &proof, mutant.publics.as_slice()) {
            (Native::Base(base), proof, [publics]) => base.verify(proof, publics),
            (Native::Layer(layer), FinalProof::Batch(proof), [publics, rest])
                if rest.is_empty() =>
            {
                let digest: &[F] = publics;
                let digest: &Digest = digest.try_into().map_err(|_| wrong("public values"))?;
                layer.verify(proof, digest)
            }
            _ => Err(wrong("public values")),
        }
    }

    /// What the circuit of the layer above says.
    fn circuit(&self, mutant: &Mutant) -> Result<(), String> {
        let mut children = self.children.clone();
        children[self.slot] = mutant.input();
        let restored = match self.above.restore_with(&children, Misfit::Zeros) {
            Ok(restored) => restored,
            Err(ProveError::Shape { what, .. }) => return Err(format!("shape: {what}")),
            Err(other) => panic!("{other}"),
        };
        let filled = self.above.fill(&restored).expect("filling never fails");
        let [arith, hash] = self.above.airs() else { panic!("a layer has two tables") };
        let (traces, digest) = filled.parts();
        let found = faults(&[(arith, &traces.arith, digest), (hash, &traces.hash, &[])], 1);
        match found.first() {
            None => Ok(()),
            Some(Fault::Constraint { table, .. }) => Err(format!("constraint of table {table}")),
            Some(Fault::Bus { .. }) => Err("bus".into()),
        }
    }

    /// What a verifier says of a file with the proof in it. Nothing where the change is not in the proof.
    fn file(&self, mutant: &Mutant, honest: &[u8]) -> Option<Result<(), VerifyFailure>> {
        let (header, cache) = self.file.as_ref()?;
        let proof = mutant.to_bytes();
        if proof == honest {
            return None;
        }
        let bytes = assemble(header, &proof).expect("encodes");
        Some(verify_bytes(&bytes, &options(), cache).map(|_| ()))
    }

    /// The honest proof is accepted by all three.
    fn check_honest(&self) {
        self.native(&self.honest).expect("an honest proof");
        assert_eq!(self.circuit(&self.honest), Ok(()), "{}", self.name);
        if let Some((header, cache)) = &self.file {
            let bytes = assemble(header, &self.honest.to_bytes()).expect("encodes");
            verify_bytes(&bytes, &options(), cache).expect("an honest file");
        }
    }
}

/// Judges all changes, prints how far they came, and fails if any of them is accepted anywhere.
pub(crate) fn report(subject: &Subject<'_>, mutations: &[Mutation], sampling: Sampling) {
    subject.check_honest();
    let honest = subject.honest.to_bytes();
    let next = AtomicUsize::new(0);
    let results = Mutex::new((Tally::default(), Tally::default(), [0; 2], Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(mutation) = mutations.get(i) else { return };
                    let verdict = judge(subject, mutation, &honest, i, sampling);
                    let mut results = results.lock().expect("no panic");
                    let (native, file, circuit, failures) = &mut *results;
                    native.add(verdict.native);
                    if let Some(stage) = verdict.file {
                        file.add(stage);
                    }
                    if let Some(shape) = verdict.circuit {
                        circuit[usize::from(shape)] += 1;
                    }
                    failures.extend(verdict.failure);
                }
            });
        }
    });
    let (native, file, [tables, shapes], failures) = results.into_inner().expect("no panic");
    println!(
        "{}: {} changes; the circuit refuses {shapes} by shape and {tables} by its tables;\n\
         native code\n{}in files\n{}",
        subject.name,
        mutations.len(),
        native.table(),
        if subject.file.is_some() { file.table() } else { "  not the last proof of any\n".into() },
    );
    assert!(failures.is_empty(), "{}:\n{}", subject.name, failures.join("\n"));
    assert!(mutations.len() > 100 && tables >= 10 && shapes > 20, "{}", subject.name);
}

struct Verdicts {
    native: &'static str,
    file: Option<&'static str>,
    /// Whether the shape was refused, if the circuit was asked.
    circuit: Option<bool>,
    failure: Option<String>,
}

fn judge(
    subject: &Subject<'_>,
    mutation: &Mutation,
    honest: &[u8],
    number: usize,
    sampling: Sampling,
) -> Verdicts {
    let mut mutant = subject.honest.clone();
    (mutation.apply)(&mut mutant);
    let native = subject.native(&mutant).map_err(|source| VerifyFailure::Rejected { source });
    let file = subject.file(&mutant, honest);
    let asked = mutation.shape || number.is_multiple_of(sampling.circuit_every);
    let circuit = asked.then(|| subject.circuit(&mutant));
    let refused_by_shape = |reason: &String| reason.starts_with("shape");
    let by_shape = circuit.as_ref().map(|c| c.as_ref().is_err_and(refused_by_shape));
    // Native code refuses a wrong shape where the circuit does, and before it computes anything.
    let accepted = native.is_ok()
        || matches!(file, Some(Ok(())))
        || matches!(circuit, Some(Ok(())))
        || mutation.shape && by_shape != Some(true);
    let disagree = match (&native, &file) {
        // Lengths that Plonky3's own decoder compares never get as far as a verifier.
        (Err(_), Some(Err(VerifyFailure::Format(_)))) => false,
        (Err(native), Some(Err(file))) => native.to_string() != file.to_string(),
        _ => false,
    };
    let failure = (accepted || disagree).then(|| {
        format!("{} {}: {native:?}, {circuit:?}, {file:?}", mutation.field, mutation.place)
    });
    Verdicts { native: stage(&native), file: file.map(|v| stage(&v)), circuit: by_shape, failure }
}
