//! What `arbor bench` measures.
//!
//! A run proves the Keccak chain, then the Fibonacci chain, then the merges of trees, so that every ratio
//! is to a base proof of the same run. The steady layer is the last of four with the same parameters: its
//! circuit verifies a layer of its own shape. The steady merge is one of the third level: it verifies
//! merges of its own shape. All its children are one proof that was made before, which changes nothing
//! but what it takes to get there.

use arbor_prover::security::forecast;
use arbor_prover::tree::ProofSpec;
use arbor_prover::{BaseJob, LayerKind, SecurityReport, TableReport};
use serde::Serialize;

use crate::cli::job_args::FriArgs;
use crate::error::CliError;
use crate::output;

mod child;
mod exact;
mod figures;
mod service;
mod strength;
#[cfg(test)]
mod tests;
mod timed;
mod trees;

pub use figures::Figure;
pub use service::ServiceCost;
pub use strength::StrengthCost;
pub use trees::LeafCost;

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
    /// A tree of two proofs to a node.
    Tree2,
    /// A tree of eight proofs to a node.
    Tree8,
    /// What a leaf costs in trees of 2 to 64 leaves.
    Leaves,
    /// What the service costs beside the proofs.
    Service,
    /// What the preset `proven-100` costs.
    Proven100,
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
#[derive(Debug, Default, Serialize)]
pub struct Measured {
    /// The figures, in the order of the README.
    pub figures: Vec<Figure>,
    /// Every layer behind them.
    pub layers: Vec<LayerOf>,
    /// The parameters of what was measured.
    pub parameters: Vec<Parameters>,
    /// How secure the Keccak chain is that is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security: Option<SecurityReport>,
    /// What a leaf costs, if that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leaves: Vec<LeafCost>,
    /// What the service costs, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceCost>,
    /// What more proven bits cost, if that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strength: Vec<StrengthCost>,
}

/// FRI parameters of one kind of proof, in words.
#[derive(Clone, Debug, Serialize)]
pub struct Parameters {
    /// The kind of proof.
    pub proof: &'static str,
    /// Its parameters.
    pub fri: String,
}

impl Measured {
    /// What does not depend on the machine: the figures, and the layers without times and memory.
    #[must_use]
    pub fn sizes(&self) -> Sizes<'_> {
        let layers = self.layers.iter().map(|LayerOf { work, report }| LayerSizes {
            work,
            layer: report.layer,
            node: report.node.as_deref(),
            kind: report.kind,
            tables: &report.tables,
            permutations: (report.permutations > 0 || report.proof_bytes > 0)
                .then_some(report.permutations),
            queries: report.queries,
            proof_bytes: (report.proof_bytes > 0).then_some(report.proof_bytes),
        });
        Sizes {
            figures: &self.figures,
            layers: layers.collect(),
            parameters: &self.parameters,
            security: self.security.as_ref(),
            strength: &self.strength,
        }
    }
}

/// What `--exact --json` prints.
#[derive(Debug, Serialize)]
pub struct Sizes<'a> {
    figures: &'a [Figure],
    layers: Vec<LayerSizes<'a>>,
    parameters: &'a [Parameters],
    security: Option<&'a SecurityReport>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    strength: &'a [StrengthCost],
}

/// A layer without times and memory.
#[derive(Debug, Serialize)]
struct LayerSizes<'a> {
    work: &'static str,
    layer: usize,
    /// Of a node of a tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a str>,
    kind: LayerKind,
    tables: &'a [TableReport],
    /// Of a layer that was proved or whose hash table was compiled.
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

    /// The figures of the Keccak chain.
    fn security(&self) -> Result<SecurityReport, CliError> {
        let keccak = self.spec(BaseJob::keccak(KECCAK_PERMUTATIONS, SEED), KECCAK_LAYERS)?;
        Ok(forecast(&ProofSpec::Chain(keccak))?)
    }

    /// The parameters of the proofs behind the figures.
    fn parameters(&self) -> Result<Vec<Parameters>, CliError> {
        let keccak = self.spec(BaseJob::keccak(KECCAK_PERMUTATIONS, SEED), KECCAK_LAYERS)?;
        let mut all = vec![
            Parameters { proof: "every layer", fri: output::fri(&keccak.layer_fri) },
            Parameters { proof: "Keccak base", fri: output::fri(&keccak.base.fri) },
        ];
        if self.measures(Work::Fibonacci) {
            let base = BaseJob::fibonacci(FIBONACCI_ELEMENT, 0, 1);
            let fri = self.spec(base, FIBONACCI_LAYERS)?.base.fri;
            all.push(Parameters { proof: "Fibonacci base", fri: output::fri(&fri) });
        }
        let tree = self.tree_spec(2, 1)?;
        let trees = self.work.iter().any(|work| work.arity().is_some() || *work == Work::Leaves);
        if let (true, Some(base)) = (trees, tree.bases().first()) {
            all.push(Parameters { proof: "leaf of a tree", fri: output::fri(&base.fri) });
        }
        Ok(all)
    }
}
