//! What can go wrong in a command, and the exit code for it.

use std::io;
use std::path::PathBuf;

use arbor_prover::{ParamError, ProverError, VerifyFailure};
use thiserror::Error;

use crate::access::MalformedKey;
use crate::client::ClientError;
use crate::config::ConfigError;
use crate::engine::EngineError;
use crate::model::{JobId, JobState};
use crate::verifier::StartError;

/// Exit code of a mistake in usage, of input and output, and of foreign files.
pub const EXIT_USAGE: u8 = 2;

/// Why a command failed, in one line.
#[derive(Debug, Error)]
pub enum CliError {
    /// A parameter is wrong or impossible.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A proof could not be made.
    #[error(transparent)]
    Prover(#[from] ProverError),
    /// A file is not a valid proof.
    #[error(transparent)]
    Verify(#[from] VerifyFailure),
    /// A proof that was to become a leaf is not valid, or cannot be read.
    #[error("leaf {}: {source}", path.display())]
    Leaf {
        /// The file.
        path: PathBuf,
        /// Why it is not accepted.
        source: VerifyFailure,
    },
    /// A leaf that the proof does not have.
    #[error("--leaf {leaf}: the proof has {leaves} leaves, counted from 0")]
    NoSuchLeaf {
        /// As asked for.
        leaf: usize,
        /// How many there are.
        leaves: usize,
    },
    /// A value of a flag that nothing knows.
    #[error("{flag} {value}: expected {expected}")]
    UnknownValue {
        /// The flag.
        flag: &'static str,
        /// What was given.
        value: String,
        /// What would have been understood.
        expected: &'static str,
    },
    /// Two flags, or a flag and a program, that do not go together.
    #[error("{flag} does not go with {with}")]
    Conflict {
        /// The flag.
        flag: &'static str,
        /// What it does not go with.
        with: &'static str,
    },
    /// A flag without which the command cannot work.
    #[error("{flag} is missing: {why}")]
    Missing {
        /// The flag.
        flag: &'static str,
        /// What it is needed for.
        why: &'static str,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that is read whole is larger than such a file can be.
    #[error("{}: larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Most bytes that are read.
        limit: u64,
    },
    /// A server could not be asked, or refuses.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A job has ended without a proof.
    #[error("job {id} {state}{}{}", message.as_ref().map(|m| format!(": {m}")).unwrap_or_default(),
            if *retry { "; a retry may help" } else { "" })]
    JobEnded {
        /// The job.
        id: JobId,
        /// How it ended.
        state: JobState,
        /// Why, if the server says.
        message: Option<String>,
        /// Whether a retry may help.
        retry: bool,
    },
    /// A server that takes no jobs now.
    #[error("not ready: {reasons}")]
    NotReady {
        /// Why not.
        reasons: String,
    },
    /// The configuration of a server is refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A configuration could not be printed.
    #[error("the configuration cannot be printed: {source}")]
    Encode {
        /// What the encoder said.
        source: toml::ser::Error,
    },
    /// A server cannot listen.
    #[error("{address}: {source}")]
    Listen {
        /// Where.
        address: std::net::SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A server cannot start its threads or listen for signals.
    #[error("the server cannot start: {source}")]
    Runtime {
        /// What the system said.
        source: io::Error,
    },
    /// The metrics of this process are collected already.
    #[error("metrics: {0}")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
    /// The threads of the verifier could not be started.
    #[error(transparent)]
    Verifier(#[from] StartError),
    /// The records of a data folder cannot be opened.
    #[error("{}: {source}", path.display())]
    Records {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: sqlx::Error,
    },
    /// The records of a data folder cannot be read or written.
    #[error("the records: {source}")]
    Store {
        /// What SQLite said.
        source: sqlx::Error,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {source}")]
    Random {
        /// What it said.
        source: getrandom::Error,
    },
    /// What was given as an API key is none. It is not repeated.
    #[error("--api-key (or ARBOR_API_KEY): {0}")]
    Key(#[from] MalformedKey),
    /// No key has this id.
    #[error("there is no key of this id; `arbor keys list` shows the ids")]
    NoSuchKey,
    /// No key has this name.
    #[error("there is no key of the name {name}; `arbor keys list` shows the names")]
    NoSuchName {
        /// As given.
        name: String,
    },
    /// The engine of a server cannot start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Standard output could not be written to.
    #[error("standard output: {0}")]
    Output(io::Error),
    /// The threads could not be started.
    #[error("--threads: {reason}")]
    Threads {
        /// What was said.
        reason: String,
    },
    /// A child process of a measurement failed.
    #[error("`arbor {command}` ended with {status}: {stderr}")]
    Child {
        /// What it was asked to do.
        command: &'static str,
        /// How it ended.
        status: std::process::ExitStatus,
        /// The last line that it wrote to standard error.
        stderr: String,
    },
    /// A child process of a measurement printed something else than it should.
    #[error("`arbor {command}` did not print {expected}")]
    ChildOutput {
        /// What it was asked to do.
        command: &'static str,
        /// What was looked for.
        expected: &'static str,
    },
}

impl CliError {
    /// The exit code that tells scripts what kind of failure this is.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Param(error) => error.exit_code(),
            Self::Prover(error) => error.exit_code(),
            Self::Verify(source) | Self::Leaf { source, .. } => source.exit_code(),
            Self::Client(error) => error.exit_code(),
            Self::JobEnded { .. } | Self::NotReady { .. } => 1,
            _ => EXIT_USAGE,
        }
    }
}
