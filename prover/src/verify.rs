//! Verifies a proof file from its bytes alone.
//!
//! In this order: the file (magic, version, limits, checksum), the parameters against the limits, what
//! is expected, the keys (derived from the parameters, never read from the file), the digests of every
//! layer, and the last proof. That proof vouches for all below it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use arbor_circuits::config::F;
use arbor_circuits::error::VerifyError;
use serde::Serialize;
use thiserror::Error;

use crate::cache::Cache;
use crate::chain::{PreparedChain, prepare};
use crate::clock::millis;
use crate::error::{ParamError, ProverError};
use crate::estimate::derive_bytes;
use crate::format::{FormatError, Limits, ProofFile, ReadError};
use crate::key::to_hex;
use crate::observer::{Observer, Silent};
use crate::params::{ChainSpec, Program};
use crate::proof::FinalProof;
use crate::statement::{Expected, Statement};

/// Rows of a base table for whose key the verifier commits to nothing: all that the field allows.
pub const DEFAULT_MAX_ROWS: usize = 1 << 23;
/// Rows of a base table that the verifier commits to itself in order to derive its key.
pub const DEFAULT_MAX_COMMITTED_ROWS: usize = 1 << 20;
/// Memory to derive the keys, estimated before it is taken.
pub const DEFAULT_MAX_DERIVE_BYTES: u64 = 4 << 30;

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
}

/// A proof that is valid, and what it says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verified {
    /// What was proved.
    pub statement: Statement,
    /// Digests of the verifying keys in hexadecimal, derived here, the base first.
    pub keys: Vec<String>,
    /// Digest of the whole statement, in hexadecimal: the last layer's public values.
    pub node_digest: String,
    /// Length of the encoded proof.
    pub proof_bytes: usize,
    /// The least of `log_blowup × queries + query grinding` over all proofs.
    pub naive_bits: usize,
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
    let chain = derive(spec, cache)?;
    check_keys(&file, &chain)?;
    let derive_ms = millis(start.elapsed());
    let start = Instant::now();
    let public_values = spec.base.program.public_values(statement.result());
    let node_digest = check_proof(&chain, &proof, &public_values)?;
    let verify_ms = millis(start.elapsed());
    Ok(Verified {
        statement,
        keys: file.header.keys,
        node_digest,
        proof_bytes: file.proof.len(),
        naive_bits: spec.naive_bits(),
        derive_ms,
        verify_ms,
    })
}

/// Refuses what would cost too much, before any of it is spent.
fn check_limits(spec: &ChainSpec, options: &VerifyOptions) -> Result<(), VerifyFailure> {
    spec.validate().map_err(|source| VerifyFailure::Parameters { source })?;
    let default = match spec.base.program {
        Program::Keccak { .. } => DEFAULT_MAX_ROWS,
        Program::Fibonacci { .. } => DEFAULT_MAX_COMMITTED_ROWS,
    };
    let max_rows = options.max_rows.unwrap_or(default) as u64;
    at_most("rows of the base", 1 << spec.base.log_height(), max_rows)?;
    at_most("leaves", 1, options.max_leaves.map_or(u64::MAX, |leaves| leaves as u64))?;
    let max_bytes = options.max_derive_bytes.unwrap_or(DEFAULT_MAX_DERIVE_BYTES);
    at_most("bytes of memory to derive its keys", derive_bytes(spec), max_bytes)
}

fn at_most(what: &'static str, got: u64, limit: u64) -> Result<(), VerifyFailure> {
    if got <= limit { Ok(()) } else { Err(VerifyFailure::OverLimit { what, got, limit }) }
}

/// The statement that follows from the parameters; only the result is the file's to say.
fn check_statement(file: &ProofFile) -> Result<Statement, VerifyFailure> {
    let spec = &file.header.spec;
    let statement = Statement::new(spec, file.header.statement.result());
    let reduced = statement.result().is_none_or(is_reduced);
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

fn derive(spec: &ChainSpec, cache: &Cache) -> Result<PreparedChain, VerifyFailure> {
    let observer: Arc<dyn Observer> = Arc::new(Silent);
    prepare(spec, cache, &observer).map_err(|error| match error {
        ProverError::Param(source) => VerifyFailure::Parameters { source },
        error => VerifyFailure::Derive { reason: error.to_string() },
    })
}

fn check_keys(file: &ProofFile, chain: &PreparedChain) -> Result<(), VerifyFailure> {
    let (expected, got) = (chain.keys().len(), file.header.keys.len());
    if expected != got {
        return Err(VerifyFailure::KeyCount { expected, got });
    }
    let pairs = chain.keys().iter().zip(&file.header.keys);
    match pairs.map(|(key, text)| to_hex(key) == *text).position(|same| !same) {
        Some(layer) => Err(VerifyFailure::Key { layer }),
        None => Ok(()),
    }
}

/// Verifies the last proof against the digests that the plan gives, and gives the last of them.
fn check_proof(
    chain: &PreparedChain,
    proof: &FinalProof,
    public_values: &[F],
) -> Result<String, VerifyFailure> {
    let digests = chain.statement_digests(public_values);
    let digest = digests[digests.len() - 1];
    let verify = || match (chain.last(), proof) {
        (Some(layer), FinalProof::Batch(proof)) => layer.verify(proof, &digest),
        (Some(_), FinalProof::Uni(_)) => Err(VerifyError::Rejected {
            reason: "the proof is of the other proof system".to_owned(),
        }),
        (None, proof) => chain.base().verify(proof, public_values),
    };
    // Plonky3 checks shapes, and so do we. Should a shape slip through both, the panic of an
    // indexing error must not take down a server: it is one more way to be invalid.
    match catch_unwind(AssertUnwindSafe(verify)) {
        Ok(Ok(())) => Ok(to_hex(&digest)),
        Ok(Err(source)) => Err(VerifyFailure::Rejected { source }),
        Err(_) => Err(VerifyFailure::Panicked),
    }
}
