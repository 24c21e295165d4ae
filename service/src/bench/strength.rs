//! What more proven bits cost: the steady layer of the preset `proven-100` beside that of the parameters
//! which are measured.
//!
//! Both are the last of four layers over one small computation, proved in turns, so that the machine is
//! the same for both.

use std::sync::Arc;

use arbor_prover::security::forecast;
use arbor_prover::tree::ProofSpec;
use arbor_prover::{BaseJob, Cache, ChainSpec, Job, LayerReport, Observer, Silent, chain};
use serde::Serialize;

use super::exact::{SMALL_ELEMENT, cells};
use super::figures::median;
use super::{Bench, KECCAK_LAYERS};
use crate::error::CliError;

/// The preset that is compared.
const PRESET: &str = "proven-100";

/// A steady layer, and how it compares with that of the parameters which are measured.
#[derive(Clone, Debug, Serialize)]
pub struct StrengthCost {
    /// The preset, or `measured` for the parameters of the other figures.
    pub preset: &'static str,
    /// Least proven bits of the chain.
    pub proven_bits: f64,
    /// Queries of the steady layer.
    pub queries: usize,
    /// Its permutations.
    pub permutations: usize,
    /// Cells that it commits to online.
    pub lde_cells: u64,
    /// The same over those of `measured`.
    pub cells_ratio: f64,
    /// Length of its proof.
    pub proof_bytes: usize,
    /// The same over that of `measured`.
    pub bytes_ratio: f64,
    /// Restore, fill and prove; not taken by `--exact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_ms: Option<f64>,
    /// The same over that of `measured`: the median of the ratios of each run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ratio: Option<f64>,
}

impl Bench<'_> {
    /// Proves both chains `runs` times in turns, after a warm-up; `exact` only once, for the sizes.
    pub(super) fn strength(
        &self,
        exact: bool,
        cache: &Cache,
    ) -> Result<Vec<StrengthCost>, CliError> {
        let base = || BaseJob::fibonacci(SMALL_ELEMENT, 0, 1);
        let measured = self.spec(base(), KECCAK_LAYERS)?;
        let job = Job { preset: PRESET.to_owned(), ..Job::chain(base(), KECCAK_LAYERS) };
        let stronger = job.resolve()?;
        let both = || -> Result<[LayerReport; 2], CliError> {
            Ok([steady(&measured, cache)?, steady(&stronger, cache)?])
        };
        let mut last = both()?;
        let mut times = Vec::new();
        for _ in 0..if exact { 0 } else { self.runs } {
            last = both()?;
            times.push([0, 1].map(|i: usize| last[i].timings_ms.total));
        }
        let cost = |i: usize, preset, spec: &ChainSpec| -> Result<StrengthCost, CliError> {
            let (own, other) = (&last[i], &last[0]);
            let report = forecast(&ProofSpec::Chain(spec.clone()))?;
            let ratio = |own: f64, other: f64| own / other.max(1.0);
            let timed =
                |of: &dyn Fn(&[f64; 2]) -> f64| (!exact).then(|| median(times.iter().map(of)));
            Ok(StrengthCost {
                preset,
                proven_bits: report.proven.bits,
                queries: own.queries,
                permutations: own.permutations,
                lde_cells: cells(&own.tables) as u64,
                cells_ratio: ratio(cells(&own.tables), cells(&other.tables)),
                proof_bytes: own.proof_bytes,
                bytes_ratio: ratio(own.proof_bytes as f64, other.proof_bytes as f64),
                total_ms: timed(&|times| times[i]),
                time_ratio: timed(&|times| times[i] / times[0]),
            })
        };
        Ok(vec![cost(0, "measured", &measured)?, cost(1, PRESET, &stronger)?])
    }
}

/// The last layer of a chain.
fn steady(spec: &ChainSpec, cache: &Cache) -> Result<LayerReport, CliError> {
    let observer: Arc<dyn Observer> = Arc::new(Silent);
    let mut proof = chain::prove(spec, cache, &observer)?;
    let last = proof.reports.len() - 1;
    Ok(proof.reports.swap_remove(last))
}
