//! What `arbor bench` measures.
//!
//! A run proves the Keccak chain and then the Fibonacci chain, so that every ratio is to a base proof of
//! the same run. The steady layer is the last of four with the same parameters: its circuit verifies a
//! layer of its own shape.

use arbor_prover::{LayerKind, TableReport};
use serde::Serialize;

use crate::cli::job_args::FriArgs;

mod child;
mod exact;
mod figures;
#[cfg(test)]
mod tests;
mod timed;

pub use figures::Figure;

/// Permutations of the Keccak base to which every time is related.
const KECCAK_PERMUTATIONS: u64 = 1_000;
/// Element that the Fibonacci base proves.
const FIBONACCI_ELEMENT: u64 = 10_000;
/// Layers of the Keccak chain; the last one is the steady layer.
const KECCAK_LAYERS: usize = 4;
/// Layers of the Fibonacci chain.
const FIBONACCI_LAYERS: usize = 1;
/// Seed of the Keccak inputs.
const SEED: u64 = 1;

/// A computation to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A chain over Keccak permutations.
    Keccak,
    /// A chain over a Fibonacci element.
    Fibonacci,
}

/// What to measure, and how.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The computations.
    pub work: Vec<Work>,
    /// Runs over which medians are taken, after a warm-up.
    pub runs: usize,
    /// Threads of child processes; those of this process are already bounded.
    pub threads: Option<usize>,
    /// FRI parameters.
    pub fri: &'a FriArgs,
}

/// What was measured.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// The figures, in the order of the README.
    pub figures: Vec<Figure>,
    /// Every layer behind them.
    pub layers: Vec<LayerOf>,
}

impl Measured {
    /// What does not depend on the machine: the figures, and the layers without times and memory.
    #[must_use]
    pub fn sizes(&self) -> Sizes<'_> {
        let layers = self.layers.iter().map(|LayerOf { work, report }| LayerSizes {
            work,
            layer: report.layer,
            kind: report.kind,
            tables: &report.tables,
            permutations: (report.proof_bytes > 0).then_some(report.permutations),
            queries: report.queries,
            proof_bytes: (report.proof_bytes > 0).then_some(report.proof_bytes),
        });
        Sizes { figures: &self.figures, layers: layers.collect() }
    }
}

/// What `--exact --json` prints.
#[derive(Debug, Serialize)]
pub struct Sizes<'a> {
    figures: &'a [Figure],
    layers: Vec<LayerSizes<'a>>,
}

/// A layer without times and memory.
#[derive(Debug, Serialize)]
struct LayerSizes<'a> {
    work: &'static str,
    layer: usize,
    kind: LayerKind,
    tables: &'a [TableReport],
    /// Of a layer that was proved.
    #[serde(skip_serializing_if = "Option::is_none")]
    permutations: Option<usize>,
    queries: usize,
    /// Of a layer that was proved.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof_bytes: Option<usize>,
}

/// A layer and the work that it belongs to.
#[derive(Clone, Debug, Serialize)]
pub struct LayerOf {
    /// The work.
    pub work: &'static str,
    /// The layer, with the medians of its timings.
    #[serde(flatten)]
    pub report: arbor_prover::LayerReport,
}

impl Bench<'_> {
    /// Whether `work` is to be measured.
    fn measures(&self, work: Work) -> bool {
        self.work.contains(&work)
    }
}
