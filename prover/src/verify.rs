//! Verifies a proof file from its bytes alone.
//!
//! In this order: the file (magic, version, limits, checksum), the parameters against the limits, what
//! is expected, the keys (derived from the parameters, never read from the file), the security of the
//! parameters against the policy, the digests of every layer, and the last proof. That proof vouches for all below it.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use arbor_circuits::config::{F, FriConfig};
use arbor_circuits::error::VerifyError;
use serde::Serialize;
use thiserror::Error;

use crate::budget::Budget;
use crate::cache::Cache;
use crate::clock::millis;
use crate::error::{ParamError, ProverError};
use crate::estimate::derive_largest_bytes;
use crate::format::{FormatError, Limits, ProofFile, ReadError};
use crate::key::to_hex;
use crate::observer::Observer;
use crate::params::{BaseSpec, Program};
use crate::proof::FinalProof;
use crate::security::{Figure, Policy, SecurityReport};
use crate::statement::Expected;
use crate::tree::{LeafSpec, MAX_LEAVES, PreparedProof, ProofSpec, ProofStatement};

/// Rows of a base table for whose key the verifier commits to nothing: all that the field allows.
pub const DEFAULT_MAX_ROWS: usize = 1 << 23;
/// Rows of a base table that the verifier commits to itself in order to derive its key.
pub const DEFAULT_MAX_COMMITTED_ROWS: usize = 1 << 20;
/// Distinct base keys and FRI parameters: a verifier compiles and commits to circuits for each.
const MAX_DISTINCT: u64 = 64;
/// Memory to derive the keys: what all circuits of the file keep together, counted before each is prepared.
/// The costliest files that we could make took half a minute of two cores, and less than that memory.
pub const DEFAULT_MAX_DERIVE_BYTES: u64 = 4 << 30;

const DERIVE_BYTES: &str = "bytes of memory to derive its keys";

/// What a verifier allows and expects.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// What is read of a file at most.
    pub limits: Limits,
    /// What the proof must say.
    pub expect: Option<Expected>,
    /// Most rows of a base table; by default [`DEFAULT_MAX_ROWS`] or, where deriving the key means
    /// committing to them, [`DEFAULT_MAX_COMMITTED_ROWS`].
    pub max_rows: Option<usize>,
    /// Most base proofs; a chain has one.
    pub max_leaves: Option<usize>,
    /// Most bytes of memory to derive the keys; by default [`DEFAULT_MAX_DERIVE_BYTES`].
    pub max_derive_bytes: Option<u64>,
    /// How secure the proof must be. By default [`Policy::default`], which refuses parameters for tests.
    pub policy: Policy,
}

impl VerifyOptions {
    /// The defaults, but accepting proofs of any strength: for tests and for looking at a proof.
    #[must_use]
    pub fn any_strength() -> Self {
        Self { policy: Policy::ANY_STRENGTH, ..Self::default() }
    }
}

/// A proof that is valid, and what it says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verified {
    /// What was proved.
    pub statement: ProofStatement,
    /// Digests of the verifying keys in hexadecimal, derived here, the base first.
    pub keys: Vec<String>,
    /// Digest of the whole statement, in hexadecimal: the last layer's public values.
    pub node_digest: String,
    /// Length of the encoded proof.
    pub proof_bytes: usize,
    /// The least of `log_blowup × queries + query grinding` over all proofs.
    pub naive_bits: usize,
    /// How secure it is, everything below included.
    pub security: SecurityReport,
    /// What was asked of its security.
    pub policy: Policy,
    /// Time to derive the keys, in milliseconds.
    pub derive_ms: f64,
    /// Time to verify the last proof, in milliseconds.
    pub verify_ms: f64,
}

/// Why a file is not accepted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VerifyFailure {
    /// The file is not one of ours, or is damaged.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The file cannot be read.
    #[error("{path} cannot be read: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Parameters for which no circuit is built.
    #[error("the parameters of the file are refused: {source}")]
    Parameters {
        /// Which, and what would be allowed.
        source: ParamError,
    },
    /// More than the verifier was told to spend.
    #[error("{what}: the file asks for {got}, the limit is {limit}")]
    OverLimit {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        got: u64,
        /// The limit.
        limit: u64,
    },
    /// The keys could not be derived.
    #[error("the keys cannot be derived: {reason}")]
    Derive {
        /// Why not.
        reason: String,
    },
    /// The statement in the file is not the one of its parameters.
    #[error("the statement in the file does not follow from its parameters")]
    Statement,
    /// A tree without inner layers has parameters for them, which would be part of its statement.
    #[error("the file has parameters for layers of a tree that there are not")]
    UnusedParameters,
    /// A key in the file is not the one of its parameters.
    #[error("layer {layer}: the key in the file is not the one that its parameters give")]
    Key {
        /// The layer, 0 being the base.
        layer: usize,
    },
    /// The number of keys is not that of the proofs.
    #[error("the file has {got} keys for {expected} proofs")]
    KeyCount {
        /// Proofs of the chain.
        expected: usize,
        /// Keys in the file.
        got: usize,
    },
    /// The parameters are weaker than the verifier asks for, however valid the proof.
    #[error("the proof is too weak: {found}, the policy asks for {policy}")]
    TooWeak {
        /// What it has: regime, round and layer that bind.
        found: Figure,
        /// What was asked.
        policy: Policy,
    },
    /// The proof is not accepted.
    #[error("the proof is invalid: {source}")]
    Rejected {
        /// What the verifier said.
        source: VerifyError,
    },
    /// The verifier panicked, which counts as not accepting.
    #[error("the proof is invalid: it has a shape that Plonky3's verifier cannot handle")]
    Panicked,
    /// A proof of something else.
    #[error("the statement has {field} = {got}, expected is {expected}")]
    Unexpected {
        /// The field of the statement.
        field: String,
        /// As expected.
        expected: String,
        /// As proved.
        got: String,
    },
    /// An expectation that makes no sense.
    #[error("the expected statement cannot be used: {reason}")]
    Expectation {
        /// What does not fit.
        reason: String,
    },
}

/// What a failure means for whoever asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureClass {
    /// The proof is invalid, corrupt, or proves something else.
    Invalid,
    /// The question was wrong: unreadable, foreign, of another version, a bad expectation.
    Usage,
    /// The answer would cost more than allowed.
    Limit,
}

impl VerifyFailure {
    /// What the failure means.
    #[must_use]
    pub const fn class(&self) -> FailureClass {
        use FormatError as E;
        match self {
            Self::Format(E::Foreign | E::OtherVersion { .. } | E::OtherPlonky3 { .. })
            | Self::Read { .. }
            | Self::Expectation { .. } => FailureClass::Usage,
            Self::Format(E::OverLimit { .. })
            | Self::Parameters { .. }
            | Self::OverLimit { .. }
            | Self::Derive { .. } => FailureClass::Limit,
            _ => FailureClass::Invalid,
        }
    }

    /// Exit code of a command that ends with this failure.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self.class() {
            FailureClass::Invalid => 1,
            FailureClass::Usage => 2,
            FailureClass::Limit => 3,
        }
    }
}

impl From<ReadError> for VerifyFailure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io { path, source } => Self::Read { path, source },
            ReadError::Format(error) => Self::Format(error),
        }
    }
}

/// Verifies a proof file. Circuits that the keys are derived from come from `cache`, or are prepared
/// and stay there.
///
/// Errors: the first check that fails. Never panics, whatever the bytes.
pub fn verify_bytes(
    bytes: &[u8],
    options: &VerifyOptions,
    cache: &Cache,
) -> Result<Verified, VerifyFailure> {
    let file = ProofFile::parse(bytes, &options.limits)?;
    let spec = &file.header.spec;
    check_limits(spec, options)?;
    let statement = check_statement(&file)?;
    if let Some(expected) = &options.expect {
        expected.check(&statement)?;
    }
    let proof = file.decode_proof()?;
    let start = Instant::now();
    let prepared = derive(spec, options, cache)?;
    if prepared.canonical(spec) != *spec {
        return Err(VerifyFailure::UnusedParameters);
    }
    check_keys(&file, &prepared)?;
    let security = SecurityReport::of(&prepared);
    let policy = options.policy;
    policy.check(&security).map_err(|found| VerifyFailure::TooWeak { found, policy })?;
    let derive_ms = millis(start.elapsed());
    let start = Instant::now();
    let publics = spec.public_values(&statement.results());
    let node_digest = check_proof(&prepared, &proof, &publics)?;
    let verify_ms = millis(start.elapsed());
    Ok(Verified {
        statement,
        keys: file.header.keys,
        node_digest,
        proof_bytes: file.proof.len(),
        naive_bits: spec.naive_bits(),
        security,
        policy,
        derive_ms,
        verify_ms,
    })
}

/// The circuits of the proof in a file, derived from its parameters within the limits. Neither the
/// proof nor anything else that the file says is checked.
///
/// Errors: what is over a limit, or that the circuits cannot be built.
pub fn circuits(
    file: &ProofFile,
    options: &VerifyOptions,
    cache: &Cache,
) -> Result<PreparedProof, VerifyFailure> {
    check_limits(&file.header.spec, options)?;
    derive(&file.header.spec, options, cache)
}

/// Refuses what would cost too much, before any of it is spent.
fn check_limits(spec: &ProofSpec, options: &VerifyOptions) -> Result<(), VerifyFailure> {
    spec.validate().map_err(|source| VerifyFailure::Parameters { source })?;
    for base in spec.bases() {
        let default = match base.program {
            Program::Keccak { .. } => DEFAULT_MAX_ROWS,
            Program::Fibonacci { .. } => DEFAULT_MAX_COMMITTED_ROWS,
        };
        let max_rows = options.max_rows.unwrap_or(default) as u64;
        at_most("rows of the base", 1 << base.log_height(), max_rows)?;
    }
    let distinct = distinct_circuits(spec);
    at_most("distinct base keys and FRI parameters", distinct.len() as u64, MAX_DISTINCT)?;
    let max_rows = options.max_rows.unwrap_or(DEFAULT_MAX_COMMITTED_ROWS) as u64;
    let rows = distinct.iter().filter_map(|(base, _)| committed_rows(base)).sum();
    at_most("rows of all distinct bases", rows, max_rows)?;
    let max_leaves = options.max_leaves.unwrap_or(MAX_LEAVES) as u64;
    at_most("leaves", spec.num_leaves() as u64, max_leaves)?;
    at_most(DERIVE_BYTES, derive_largest_bytes(spec), max_derive_bytes(options))
}

fn max_derive_bytes(options: &VerifyOptions) -> u64 {
    options.max_derive_bytes.unwrap_or(DEFAULT_MAX_DERIVE_BYTES)
}

/// Every base key below, with the FRI parameters of the layer over it: each costs a circuit or more.
fn distinct_circuits(spec: &ProofSpec) -> HashSet<(BaseSpec, FriConfig)> {
    match spec {
        ProofSpec::Chain(chain) => {
            HashSet::from([(chain.base.without_inputs(), *chain.fri_of(chain.layers.min(1)))])
        }
        ProofSpec::Tree(tree) => {
            let leaves = tree.leaves.iter();
            leaves
                .flat_map(|leaf| match leaf {
                    LeafSpec::Base(base) => {
                        HashSet::from([(base.without_inputs(), tree.layer_fri)])
                    }
                    LeafSpec::Proof(proof) => distinct_circuits(proof),
                })
                .collect()
        }
    }
}

/// Rows that the verifier commits to for the key of a base.
fn committed_rows(base: &BaseSpec) -> Option<u64> {
    matches!(base.program, Program::Fibonacci { .. }).then(|| 1 << base.log_height())
}

fn at_most(what: &'static str, got: u64, limit: u64) -> Result<(), VerifyFailure> {
    if got <= limit { Ok(()) } else { Err(VerifyFailure::OverLimit { what, got, limit }) }
}

/// The statement that follows from the parameters; only the results are the file's to say.
fn check_statement(file: &ProofFile) -> Result<ProofStatement, VerifyFailure> {
    let spec = &file.header.spec;
    let results = file.header.statement.results();
    let reduced = results.iter().flatten().all(|&result| is_reduced(result));
    let statement = ProofStatement::new(spec, &mut results.into_iter());
    if reduced && statement == file.header.statement {
        Ok(statement)
    } else {
        Err(VerifyFailure::Statement)
    }
}

/// Whether a number is the canonical form of a field element: otherwise one proof would prove two.
fn is_reduced(value: u32) -> bool {
    use p3_field::PrimeField32;
    value < F::ORDER_U32
}

/// Prepares circuit after circuit, as long as all of them together stay within the limit.
fn derive(
    spec: &ProofSpec,
    options: &VerifyOptions,
    cache: &Cache,
) -> Result<PreparedProof, VerifyFailure> {
    let limit = max_derive_bytes(options);
    let budget = Arc::new(Budget::new(limit));
    let observer: Arc<dyn Observer> = Arc::clone(&budget) as _;
    PreparedProof::prepare(spec, cache, &observer).map_err(|error| match (budget.excess(), error) {
        (Some(got), _) => VerifyFailure::OverLimit { what: DERIVE_BYTES, got, limit },
        (None, ProverError::Param(source)) => VerifyFailure::Parameters { source },
        (None, error) => VerifyFailure::Derive { reason: error.to_string() },
    })
}

fn check_keys(file: &ProofFile, prepared: &PreparedProof) -> Result<(), VerifyFailure> {
    let keys = prepared.keys();
    let (expected, got) = (keys.len(), file.header.keys.len());
    if expected != got {
        return Err(VerifyFailure::KeyCount { expected, got });
    }
    let pairs = keys.iter().zip(&file.header.keys);
    match pairs.map(|(key, text)| to_hex(key) == *text).position(|same| !same) {
        Some(layer) => Err(VerifyFailure::Key { layer }),
        None => Ok(()),
    }
}

/// Verifies the last proof against the digest that the plan gives, and gives that digest.
fn check_proof(
    prepared: &PreparedProof,
    proof: &FinalProof,
    publics: &[Vec<F>],
) -> Result<String, VerifyFailure> {
    let digest = prepared.statement_digest(&mut publics.iter().cloned());
    let verify = || match (prepared.last(), prepared.base(), proof) {
        (Some(layer), _, FinalProof::Batch(proof)) => layer.verify(proof, &digest),
        (None, Some(base), proof) => {
            base.verify(proof, publics.first().map_or(&[][..], Vec::as_slice))
        }
        _ => Err(VerifyError::Rejected {
            reason: "the proof is of the other proof system".to_owned(),
        }),
    };
    // Plonky3 checks shapes, and so do we. Should a shape slip through both, the panic of an
    // indexing error must not take down a server: it is one more way to be invalid.
    match catch_unwind(AssertUnwindSafe(verify)) {
        Ok(Ok(())) => Ok(to_hex(&digest)),
        Ok(Err(source)) => Err(VerifyFailure::Rejected { source }),
        Err(_) => Err(VerifyFailure::Panicked),
    }
}
