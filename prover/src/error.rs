//! What can go wrong before and while a proof is made.

use std::path::PathBuf;

use arbor_circuits::error::{CompileError, ProveError, VerifyError};
use thiserror::Error;

/// Parameters that are refused before any work.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ParamError {
    /// A value outside of what is allowed.
    #[error("{parameter} = {value} is not allowed; allowed: {allowed}")]
    Refused {
        /// The parameter, as in a job or a preset.
        parameter: String,
        /// Its value.
        value: u64,
        /// What would be allowed, in words.
        allowed: String,
    },
    /// A computation for which the field has no domain.
    #[error(
        "{parameter} = {value} does not fit the field: at log_blowup {log_blowup} the two-adicity \
         of 24 allows {limit} {unit}"
    )]
    BeyondTwoAdicity {
        /// The parameter, as in a job.
        parameter: &'static str,
        /// Its value.
        value: u64,
        /// What would fit.
        limit: u64,
        /// What is counted.
        unit: &'static str,
        /// Log of the blowup of the base proof.
        log_blowup: usize,
    },
    /// A field without which there is nothing to do.
    #[error("{parameter} is missing")]
    Missing {
        /// The field.
        parameter: &'static str,
    },
    /// A tree where a chain is asked for.
    #[error("recursion.mode = \"tree\" where a chain is needed")]
    NotAChain,
    /// A chain where a tree is asked for.
    #[error("recursion.mode = \"chain\" where a tree is needed")]
    NotATree,
    /// A tree has leaves made from one base, or leaves of its own, not both and not neither.
    #[error("recursion takes \"depth\" or \"leaves\" (or proof files): one of them, not both")]
    TreeLeaves,
    /// A base that no leaf is made from.
    #[error(
        "base and recursion.leaves are both given: a tree with leaves of its own takes no base"
    )]
    UnusedBase,
    /// A leaf that is the proof of another job, outside of a service that knows jobs.
    #[error("recursion.leaves[{leaf}].job = \"{job}\": no job of this id is known here")]
    LeafJob {
        /// Which leaf.
        leaf: usize,
        /// The id.
        job: String,
    },
    /// Parameters for a layer that there is not.
    #[error("final.fri is given, but recursion.layers = 0 has no last layer; use base.fri")]
    NoLastLayer,
    /// JSON that is none, or another one than asked for.
    #[error("{what} cannot be read: {source}")]
    Json {
        /// What was being read.
        what: &'static str,
        /// What does not fit, with line and column.
        source: serde_json::Error,
    },
    /// A name that no embedded preset has.
    #[error("preset \"{name}\" is not known; known: {known}, and proven-N for N from 60 to 110")]
    UnknownPreset {
        /// As asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Fewer proven bits than the preset promises, and no grinding that may still be added helps.
    #[error("the preset asks for {minimum} proven bits, this job comes to {found}")]
    TooWeak {
        /// As the preset asks.
        minimum: u32,
        /// What can be had: regime, round and proof that bind.
        found: crate::security::Figure,
    },
    /// A preset that does not parse.
    #[error("preset {origin} cannot be read: {source}")]
    Preset {
        /// Its name or its path.
        origin: String,
        /// What does not fit.
        source: Box<toml::de::Error>,
    },
    /// A preset file that cannot be read.
    #[error("preset {path} is neither embedded ({known}) nor a readable file: {source}")]
    PresetFile {
        /// Its path.
        path: PathBuf,
        /// The names of the embedded presets.
        known: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl ParamError {
    /// Exit code of a command that ends with this error: 2, or 3 where a limit is exceeded.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::BeyondTwoAdicity { .. } => 3,
            _ => 2,
        }
    }
}

/// Why there is no proof.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProverError {
    /// The parameters are refused.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The job would not fit into memory.
    #[error(
        "the job needs about {} MiB of memory at its peak, {} MiB are available",
        needed >> 20,
        available >> 20
    )]
    Memory {
        /// Estimated peak, in bytes.
        needed: u64,
        /// What the machine or the container has left, in bytes.
        available: u64,
    },
    /// No circuit can be built for a layer.
    #[error("layer {layer}: {source}")]
    Compile {
        /// The layer, 0 being the base.
        layer: usize,
        /// Why not.
        source: CompileError,
    },
    /// A layer could not be filled or proved.
    #[error("layer {layer}: {source}")]
    Prove {
        /// The layer, 0 being the base.
        layer: usize,
        /// Why not.
        source: ProveError,
    },
    /// The prover of the base proof refused its trace.
    #[error("the base proof could not be made: {reason}")]
    Base {
        /// What it said.
        reason: String,
    },
    /// A proof that was just made is not accepted: an error of ours.
    #[error("the proof of layer {layer} was made but does not verify: {source}")]
    SelfCheck {
        /// The layer, 0 being the base.
        layer: usize,
        /// What the verifier said.
        source: VerifyError,
    },
    /// A leaf that should be a finished proof has none, or one that comes to something else.
    #[error("leaf {leaf}: the finished proof is missing or is of another kind")]
    LeafProofs {
        /// Which leaf.
        leaf: usize,
    },
    /// A leaf cannot be brought to the shape of the others.
    #[error("a leaf has not come to the common shape of the tree after {layers} layers")]
    Unsettled {
        /// Layers that were tried.
        layers: usize,
    },
    /// A thread that proved a node panicked: an error of ours.
    #[error("a node could not be proved: its thread panicked")]
    Panicked,
    /// A digest that was computed twice came out differently: an error of ours.
    #[error("layer {layer}: circuit and plan disagree about the statement digest")]
    Statement {
        /// The layer.
        layer: usize,
    },
    /// The proof could not be encoded.
    #[error("the proof cannot be encoded: {reason}")]
    Encode {
        /// What the encoder said.
        reason: String,
    },
    /// The stored proof of a node does not decode.
    #[error("the stored proof of node {layer} cannot be decoded: {reason}")]
    Decode {
        /// The node.
        layer: usize,
        /// What the decoder said.
        reason: String,
    },
    /// The file could not be written; nothing is left behind.
    #[error("{path} cannot be written: {source}")]
    Write {
        /// Where it was to go.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The observer asked to stop.
    #[error("interrupted")]
    Cancelled,
}

impl ProverError {
    /// Exit code of a command that ends with this error.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Param(error) => error.exit_code(),
            Self::Memory { .. } | Self::Compile { source: CompileError::TooTall { .. }, .. } => 3,
            Self::SelfCheck { .. } | Self::Statement { .. } => 1,
            Self::Cancelled => 130,
            _ => 2,
        }
    }
}
