//! Who is told how a chain comes along.

use std::fmt;

use crate::key::CircuitKey;
use crate::report::{LayerKind, LayerReport, TableReport};

/// A phase of a layer, in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseName {
    /// The child's Merkle paths are restored.
    Restore,
    /// The tables are filled; of a base proof: the trace is generated.
    Fill,
    /// The main trace is committed to.
    Commit,
    /// The LogUp trace is built and committed to.
    Logup,
    /// The quotient is computed and committed to.
    Quotient,
    /// Everything is opened.
    Open,
    /// The proof is verified natively.
    Verify,
}

impl fmt::Display for PhaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Restore => "restore",
            Self::Fill => "fill",
            Self::Commit => "commit",
            Self::Logup => "logup",
            Self::Quotient => "quotient",
            Self::Open => "open",
            Self::Verify => "verify",
        })
    }
}

/// A circuit that is compiled and whose preprocessed columns are committed to.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PreparedInfo {
    /// First layer of the chain that uses the circuit, 0 being the base.
    pub layer: usize,
    /// What the layer is.
    pub kind: LayerKind,
    /// What preparing took, in milliseconds; 0 if the circuit was there already.
    pub prepare_ms: f64,
    /// Memory that the circuit keeps, in bytes.
    pub preprocessed_bytes: usize,
    /// Sizes of its tables.
    pub tables: Vec<TableReport>,
    /// Digest of its verifying key, in hexadecimal.
    pub key: String,
}

/// Is told of everything that takes time. Every method may be left out.
///
/// Methods are called on the thread that proves and should return at once.
pub trait Observer: Send + Sync {
    /// A circuit is about to be used, which keeps about so many bytes of memory; told for every use,
    /// before anything is spent on it. [`Self::cancelled`] is asked next.
    fn needs(&self, circuit: CircuitKey, bytes: u64) {
        let _ = (circuit, bytes);
    }

    /// The circuit of `layer` is not in the cache and is being prepared.
    fn preparing(&self, layer: usize) {
        let _ = layer;
    }

    /// A circuit has just been prepared.
    fn prepared(&self, info: &PreparedInfo) {
        let _ = info;
    }

    /// The proof of `layer` begins, 0 being the base.
    fn layer_started(&self, layer: usize, kind: LayerKind) {
        let _ = (layer, kind);
    }

    /// A phase of `layer` begins.
    fn phase(&self, layer: usize, phase: PhaseName) {
        let _ = (layer, phase);
    }

    /// The proof of a layer is made and verified.
    fn layer_finished(&self, report: &LayerReport) {
        let _ = report;
    }

    /// Whether to stop; asked between layers and between the longer phases.
    fn cancelled(&self) -> bool {
        false
    }
}

/// An observer that looks away.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Observer for Silent {}
