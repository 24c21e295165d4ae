//! Files as an attacker makes them, and what a verifier says.
#![allow(dead_code, reason = "every test target uses a part of it")]

use std::collections::BTreeMap;
use std::sync::OnceLock;

use arbor_circuits::error::VerifyError;
use arbor_prover::format::{PLONKY3_VERSION, assemble};
use arbor_prover::tree::{ProofSpec, ProofStatement};
use arbor_prover::{
    Cache, FormatError, Header, Limits, ProofFile, VerifyFailure, VerifyOptions, verify_bytes,
};

/// What every test here lets a verifier do: the one place for a change of policy.
pub(crate) fn options() -> VerifyOptions {
    VerifyOptions::any_strength()
}

/// A valid file: F(20), two layers, a handful of queries.
pub(crate) fn golden() -> &'static [u8] {
    include_bytes!("../golden/fibonacci.arbor")
}

/// The valid file, taken apart.
pub(crate) fn golden_file() -> ProofFile {
    static FILE: OnceLock<ProofFile> = OnceLock::new();
    FILE.get_or_init(|| ProofFile::parse(golden(), &Limits::default()).expect("valid")).clone()
}

/// A header of these parameters whose statement follows from them.
pub(crate) fn header(spec: &ProofSpec) -> Header {
    let results: Vec<Option<u32>> =
        spec.bases().into_iter().map(|base| base.program.result()).collect();
    Header {
        plonky3: PLONKY3_VERSION.to_owned(),
        spec: spec.clone(),
        statement: ProofStatement::new(spec, &mut results.into_iter()),
        keys: vec![],
    }
}

/// A file of these parameters with a proof that decodes. All that is wrong is that the proof proves
/// something else and that there are no keys.
pub(crate) fn claiming(spec: &ProofSpec) -> Vec<u8> {
    claiming_with(spec, vec![])
}

/// The same with these keys.
pub(crate) fn claiming_with(spec: &ProofSpec, keys: Vec<String>) -> Vec<u8> {
    // The statement of a computation that is only claimed need not be computed.
    let header = Header {
        plonky3: PLONKY3_VERSION.to_owned(),
        spec: spec.clone(),
        statement: ProofStatement::new(spec, &mut std::iter::repeat(Some(1))),
        keys,
    };
    assemble(&header, &golden_file().proof).expect("encodes")
}

/// Puts a file together from any header and any proof, with lengths and a checksum that fit.
pub(crate) fn seal(header: &[u8], proof: &[u8]) -> Vec<u8> {
    let mut bytes = golden()[..12].to_vec();
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend((proof.len() as u64).to_le_bytes());
    bytes.extend(header);
    bytes.extend(proof);
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    bytes
}

/// Why a file is refused; fails if it is not.
#[track_caller]
pub(crate) fn refusal(bytes: &[u8], options: &VerifyOptions, cache: &Cache) -> VerifyFailure {
    verify_bytes(bytes, options, cache).expect_err("a hostile file")
}

/// How far a file came, in the order of the checks.
pub(crate) const STAGES: [&str; 15] = [
    "1 magic and version",
    "2 limits of lengths",
    "3 lengths",
    "4 checksum",
    "5 header",
    "6 parameters",
    "7 limits of cost",
    "8 statement",
    "9 decoding",
    "10 key derivation",
    "11 shapes and lengths",
    "12 transcript: grinding",
    "13 constraints out of domain",
    "14 FRI and Merkle paths",
    "accepted",
];

/// The stage at which a verdict fell.
pub(crate) fn stage<T>(verdict: &Result<T, VerifyFailure>) -> &'static str {
    use FormatError as E;
    let index = match verdict {
        Ok(_) => 14,
        Err(VerifyFailure::Format(error)) => match error {
            E::Foreign | E::OtherVersion { .. } => 0,
            E::OverLimit { .. } => 1,
            E::Truncated { .. } | E::TooLong { .. } => 2,
            E::Checksum => 3,
            E::OtherPlonky3 { .. } | E::Reserved | E::Header { .. } => 4,
            E::Proof { .. } => 8,
        },
        Err(VerifyFailure::Parameters { .. }) => 5,
        Err(VerifyFailure::OverLimit { .. }) => 6,
        Err(VerifyFailure::Statement | VerifyFailure::Unexpected { .. }) => 7,
        Err(
            VerifyFailure::TooWeak { .. }
            | VerifyFailure::Derive { .. }
            | VerifyFailure::UnusedParameters
            | VerifyFailure::Key { .. }
            | VerifyFailure::KeyCount { .. },
        ) => 9,
        Err(VerifyFailure::Rejected { source }) => stage_of_proof(source),
        Err(other) => panic!("no stage of verification: {other}"),
    };
    STAGES[index]
}

/// The stage of the proof systems' own verdict.
fn stage_of_proof(error: &VerifyError) -> usize {
    let reason = match error {
        VerifyError::Shape { .. } => return 10,
        VerifyError::Rejected { reason } => reason,
    };
    let says = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    if says(&["PowWitness"]) {
        11
    } else if says(&["OodEvaluationMismatch", "Lookup", "Cumulative", "Terminal"]) {
        12
    } else if says(&["InvalidOpeningArgument", "Fri", "Mmcs", "FinalPoly"]) {
        13
    } else if says(&["Shape", "proof system", "Length", "Mismatch", "Randomization"]) {
        10
    } else {
        panic!("a reason of no known stage: {reason}")
    }
}

/// How many files came how far.
#[derive(Default)]
pub(crate) struct Tally(BTreeMap<&'static str, usize>);

impl Tally {
    pub(crate) fn add(&mut self, stage: &'static str) {
        *self.0.entry(stage).or_default() += 1;
    }

    pub(crate) fn of(&self, stage: &str) -> usize {
        self.0.get(stage).copied().unwrap_or(0)
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (stage, count) in &other.0 {
            *self.0.entry(stage).or_default() += count;
        }
    }

    /// One line a stage.
    pub(crate) fn table(&self) -> String {
        STAGES.iter().map(|stage| format!("  {stage:32} {:6}\n", self.of(stage))).collect()
    }
}
