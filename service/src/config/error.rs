//! Why a configuration is refused: which option, where it was set, and what would be allowed.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Where the value of an option comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    #[default]
    Default,
    /// A configuration file.
    File(PathBuf),
    /// A variable of the environment.
    Environment(String),
    /// The command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the default"),
            Self::File(path) => path.display().fmt(f),
            Self::Environment(name) => f.write_str(name),
            Self::Flag => f.write_str("the command line"),
        }
    }
}

/// Why a configuration is refused.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{}, line {line}, column {column}: {reason}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What does not fit there.
        reason: String,
    },
    /// An option that there is not.
    #[error("{origin}: there is no option {option}{hint}")]
    Unknown {
        /// As given.
        option: String,
        /// Where.
        origin: Origin,
        /// What may have been meant; empty, or text to be appended.
        hint: String,
    },
    /// A value that an option cannot have.
    #[error("{option} (from {origin}): {reason}")]
    Refused {
        /// The option, as `section.option`.
        option: String,
        /// Where it was set.
        origin: Origin,
        /// What is the matter, and what would be allowed.
        reason: String,
    },
}
