//! What can go wrong in a command, and the exit code for it.

use std::io;
use std::path::PathBuf;

use arbor_prover::{ParamError, ProverError, VerifyFailure};
use thiserror::Error;

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
            _ => EXIT_USAGE,
        }
    }
}
