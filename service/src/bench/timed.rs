//! Times, as medians over runs.

use std::sync::Arc;

use arbor_prover::{BaseJob, Cache, ChainProof, Job, LayerReport, Observer, Timings, chain};
use tempfile::TempDir;

use super::figures::{Figures, median};
use super::trees::Tree;
use super::{
    Bench, FIBONACCI_ELEMENT, FIBONACCI_LAYERS, KECCAK_LAYERS, KECCAK_PERMUTATIONS, LayerOf,
    Measured, SEED, Work, child, exact,
};
use crate::error::CliError;
use crate::progress::Progress;

/// The reports of one run.
struct Run {
    keccak: Vec<LayerReport>,
    fibonacci: Vec<LayerReport>,
    /// Of every tree: a leaf, a merge of leaves, a steady merge.
    trees: Vec<Vec<LayerReport>>,
}

impl Bench<'_> {
    /// Proves everything `runs` times after a warm-up, then measures fresh processes.
    ///
    /// # Errors
    /// Impossible parameters, a proof that fails, a child process that fails.
    pub fn timed(&self) -> Result<Measured, CliError> {
        let service = self.measures(Work::Service).then(|| self.service()).transpose()?;
        // Every other figure needs the Keccak base, this one does not.
        if self.work.iter().all(|&work| work == Work::Service) {
            return Ok(Measured { service, ..Measured::default() });
        }
        let cache = Cache::new();
        let trees = self.trees(&cache)?;
        self.run(&trees, &cache)?;
        let mut runs = Vec::with_capacity(self.runs);
        let mut last = None;
        for _ in 0..self.runs {
            let (run, proof) = self.run(&trees, &cache)?;
            runs.push(run);
            last = Some(proof);
        }
        let mut figures = Figures::default();
        let mut layers = Vec::new();
        if self.measures(Work::Keccak) {
            keccak_figures(&runs, &mut figures);
            layers.extend(medians("keccak", runs.iter().map(|run| run.keccak.as_slice())));
            if let Some(proof) = last {
                self.fresh_processes(&proof, &mut figures)?;
            }
        }
        if self.measures(Work::Fibonacci) {
            figures.push("fibonacci_layer1_over_base", ratio(&runs, |run| run.fibonacci.get(1)));
            layers.extend(medians("fibonacci", runs.iter().map(|run| run.fibonacci.as_slice())));
        }
        for (index, tree) in trees.iter().enumerate() {
            for (name, place) in tree.work.tree_figures().into_iter().flatten().zip(1..) {
                figures.push(name, ratio(&runs, |run| run.trees[index].get(place)));
            }
            let reports = runs.iter().map(|run| run.trees[index].as_slice());
            layers.extend(medians(tree.work.name(), reports));
        }
        let mut leaves = Vec::new();
        if self.measures(Work::Leaves) {
            let bases = runs.iter().filter_map(|run| run.keccak.first());
            let base_ms = median(bases.map(|base| base.timings_ms.total));
            leaves = self.leaf_costs(base_ms, &cache)?;
        }
        let strength =
            if self.measures(Work::Proven100) { self.strength(false, &cache)? } else { Vec::new() };
        Ok(Measured {
            figures: figures.into_vec(),
            layers,
            parameters: self.parameters()?,
            security: Some(self.security()?),
            leaves,
            strength,
            service,
        })
    }

    /// One run: the Keccak chain, or its base alone if only others are asked for, Fibonacci, and trees.
    fn run(&self, trees: &[Tree], cache: &Cache) -> Result<(Run, ChainProof), CliError> {
        let layers = if self.measures(Work::Keccak) { KECCAK_LAYERS } else { 0 };
        let keccak = self.prove(BaseJob::keccak(KECCAK_PERMUTATIONS, SEED), layers, cache)?;
        let fibonacci = if self.measures(Work::Fibonacci) {
            self.prove(BaseJob::fibonacci(FIBONACCI_ELEMENT, 0, 1), FIBONACCI_LAYERS, cache)?
                .reports
        } else {
            Vec::new()
        };
        let trees =
            trees.iter().map(|tree| self.run_tree(tree, cache)).collect::<Result<_, _>>()?;
        Ok((Run { keccak: keccak.reports.clone(), fibonacci, trees }, keccak))
    }

    /// Proves one chain, whose last layer has the parameters of the others.
    pub(super) fn prove(
        &self,
        base: BaseJob,
        layers: usize,
        cache: &Cache,
    ) -> Result<ChainProof, CliError> {
        let spec = self.spec(base, layers)?;
        let progress = Progress::chain(layers);
        let observer: Arc<dyn Observer> = progress.clone();
        let proof = chain::prove(&spec, cache, &observer);
        progress.finish();
        Ok(proof?)
    }

    /// The chain to measure.
    pub(super) fn spec(
        &self,
        base: BaseJob,
        layers: usize,
    ) -> Result<arbor_prover::ChainSpec, CliError> {
        let mut spec = self.fri.resolve(Job::chain(base, layers))?;
        spec.last_fri = spec.layer_fri;
        Ok(spec)
    }

    /// A cold verification, and the peak memory of the main job.
    fn fresh_processes(&self, proof: &ChainProof, figures: &mut Figures) -> Result<(), CliError> {
        let folder = TempDir::new()
            .map_err(|source| CliError::File { path: std::env::temp_dir(), source })?;
        let file = folder.path().join("steady.arbor");
        proof.write(&file)?;
        let times = (0..self.runs).map(|_| child::verify_ms(&file, self.threads));
        figures.push("cold_verify_ms", median(times.collect::<Result<Vec<_>, _>>()?));
        let peak = child::keccak_peak_bytes(
            KECCAK_PERMUTATIONS,
            &proof.spec,
            &folder.path().join("peak.arbor"),
            self.threads,
        )?;
        figures.push("keccak_peak_bytes", peak);
        Ok(())
    }
}

/// The figures of the Keccak chain.
fn keccak_figures(runs: &[Run], figures: &mut Figures) {
    figures.push("keccak_layer1_over_base", ratio(runs, |run| run.keccak.get(1)));
    figures.push("steady_layer_over_base", ratio(runs, |run| run.keccak.last()));
    let verify =
        runs.iter().filter_map(|run| run.keccak.last()).map(|layer| layer.timings_ms.verify);
    figures.push("steady_verify_ms", median(verify));
    let Some(run) = runs.last() else { return };
    if let Some(layer) = run.keccak.get(1) {
        figures.push("keccak_layer1_lde_cells", exact::cells(&layer.tables));
    }
    if let Some(layer) = run.keccak.last() {
        exact::steady(layer, figures);
    }
}

/// Median of the time of a layer to the time of the Keccak base of the same run.
fn ratio(runs: &[Run], layer: impl Fn(&Run) -> Option<&LayerReport>) -> f64 {
    median(runs.iter().filter_map(|run| {
        let base = run.keccak.first()?.timings_ms.total;
        Some(layer(run)?.timings_ms.total / base)
    }))
}

/// The layers of a chain, each with the medians of its timings over the runs.
fn medians<'a>(
    work: &'static str,
    runs: impl Iterator<Item = &'a [LayerReport]>,
) -> impl Iterator<Item = LayerOf> {
    let runs: Vec<_> = runs.collect();
    let layers = runs.last().map_or(&[][..], |last| *last).iter();
    layers
        .enumerate()
        .map(|(index, report)| {
            let of = |field: fn(&Timings) -> f64| {
                median(
                    runs.iter()
                        .filter_map(|run| run.get(index))
                        .map(|layer| field(&layer.timings_ms)),
                )
            };
            let timings_ms = Timings {
                prepare: of(|ms| ms.prepare),
                restore: of(|ms| ms.restore),
                fill: of(|ms| ms.fill),
                commit: of(|ms| ms.commit),
                logup: of(|ms| ms.logup),
                quotient: of(|ms| ms.quotient),
                open: of(|ms| ms.open),
                verify: of(|ms| ms.verify),
                total: of(|ms| ms.total),
            };
            LayerOf { work, report: LayerReport { timings_ms, ..report.clone() } }
        })
        .collect::<Vec<_>>()
        .into_iter()
}
