//! What does not depend on the machine: rows, columns, cells, permutations, bytes.

use std::sync::Arc;

use arbor_prover::{
    BaseJob, Cache, LayerReport, Observer, PreparedInfo, Silent, TableReport, Timings, chain,
};

use super::figures::Figures;
use super::{Bench, KECCAK_LAYERS, KECCAK_PERMUTATIONS, LayerOf, Measured, SEED, Work};
use crate::error::CliError;

/// Element of the small chain that is proved for the size of a steady proof.
pub(super) const SMALL_ELEMENT: u64 = 100;

impl Bench<'_> {
    /// Compiles the circuits of the Keccak chain without proving it. Their steady layer is that of every
    /// other chain, so that a small one gives its permutations and its bytes.
    ///
    /// # Errors
    /// Impossible parameters, a proof that fails.
    pub fn exact(&self) -> Result<Measured, CliError> {
        let cache = Cache::new();
        let mut figures = Figures::default();
        let mut layers = Vec::new();
        let small = self.prove(BaseJob::fibonacci(SMALL_ELEMENT, 0, 1), KECCAK_LAYERS, &cache)?;
        if let (true, Some(layer)) = (self.measures(Work::Keccak), small.reports.last()) {
            steady(layer, &mut figures);
            let circuits = self.keccak_circuits(&cache)?;
            if let Some(wrap) = circuits.iter().find(|circuit| circuit.layer == 1) {
                figures.push("keccak_layer1_lde_cells", cells(&wrap.tables));
            }
            layers.extend(
                circuits
                    .iter()
                    .map(|circuit| self.compiled(circuit))
                    .collect::<Result<Vec<_>, _>>()?,
            );
            if circuits.last().is_some_and(|circuit| circuit.tables != layer.tables) {
                tracing::warn!("the steady layers of Keccak and of a small chain differ");
            }
        }
        layers.extend(
            small.reports.into_iter().map(|report| LayerOf { work: "fibonacci-100", report }),
        );
        for &work in &self.work {
            let Some(arity) = work.arity() else { continue };
            let sizes = self.tree_sizes(arity, &cache)?.into_iter();
            layers.extend(sizes.map(|report| LayerOf { work: work.name(), report }));
        }
        let strength =
            if self.measures(Work::Proven100) { self.strength(true, &cache)? } else { Vec::new() };
        Ok(Measured {
            figures: figures.into_vec(),
            layers,
            parameters: self.parameters()?,
            security: Some(self.security()?),
            strength,
            ..Measured::default()
        })
    }

    /// A layer of the Keccak chain that is compiled and not proved: it has sizes only.
    fn compiled(&self, circuit: &PreparedInfo) -> Result<LayerOf, CliError> {
        let spec = self.spec(BaseJob::keccak(KECCAK_PERMUTATIONS, SEED), KECCAK_LAYERS)?;
        let report = LayerReport {
            layer: circuit.layer,
            kind: circuit.kind,
            node: None,
            timings_ms: Timings::default(),
            tables: circuit.tables.clone(),
            permutations: 0,
            queries: spec.fri_of(circuit.layer).num_queries,
            proof_bytes: 0,
            minor_faults: 0,
            peak_bytes: 0,
        };
        Ok(LayerOf { work: "keccak", report })
    }

    /// The circuits of the Keccak chain.
    fn keccak_circuits(&self, cache: &Cache) -> Result<Vec<PreparedInfo>, CliError> {
        let spec = self.spec(BaseJob::keccak(KECCAK_PERMUTATIONS, SEED), KECCAK_LAYERS)?;
        let observer: Arc<dyn Observer> = Arc::new(Silent);
        Ok(chain::prepare(&spec, cache, &observer)?.infos().to_vec())
    }
}

/// The sizes of a steady layer.
pub(super) fn steady(layer: &LayerReport, figures: &mut Figures) {
    figures.push("steady_lde_cells", cells(&layer.tables));
    figures.push("steady_permutations", layer.permutations as f64);
    figures.push("steady_proof_bytes", layer.proof_bytes as f64);
}

/// Cells that are committed to online: main, LogUp and quotient columns × height × blowup.
pub(super) fn cells(tables: &[TableReport]) -> f64 {
    tables.iter().map(|table| table.lde_cells).sum::<u64>() as f64
}
