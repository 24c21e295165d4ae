//! Proves a chain, layer by layer.

use std::sync::Arc;
use std::time::Instant;

use arbor_circuits::child::ChildInput;
use arbor_circuits::config::{Cap, Digest, F};
use arbor_circuits::error::{ProveError, VerifyError};
use arbor_circuits::layer::PreparedLayer;

use super::prepare::{PreparedChain, prepare, prepare_base};
use super::{ChainProof, layer_public_values};
use crate::cache::Cache;
use crate::clock::{PhaseClock, millis};
use crate::error::ProverError;
use crate::estimate::check_memory;
use crate::memory;
use crate::observer::{Observer, PhaseName};
use crate::params::ChainSpec;
use crate::proof::FinalProof;
use crate::report::{LayerKind, LayerReport, TableReport, Timings};
use crate::statement::Statement;

/// A proof with what the layer above it must know.
struct Proved {
    proof: FinalProof,
    public_values: Vec<Vec<F>>,
}

/// Proves a chain. Every proof is verified natively before the next layer takes it.
///
/// Errors: refused parameters, too little memory, the observer's wish to stop, or an error of ours.
pub fn prove(
    spec: &ChainSpec,
    cache: &Cache,
    observer: &Arc<dyn Observer>,
) -> Result<ChainProof, ProverError> {
    spec.validate()?;
    check_memory(spec)?;
    let result = spec.base.program.result();
    let public_values = spec.base.program.public_values(result);
    // The base proof needs most memory. The circuits of the layers fit into what it leaves behind, so
    // they are prepared after it.
    let base = prepare_base(spec, cache, observer.as_ref())?;
    let (mut top, report) = Run { spec, chain: &base, observer }.base(public_values.clone())?;
    let mut reports = vec![report];
    let chain = prepare(spec, cache, observer)?;
    let digests = chain.statement_digests(&public_values);
    let run = Run { spec, chain: &chain, observer };
    for (layer, expected) in digests.iter().enumerate().skip(1) {
        let (proved, report) = run.layer(layer, &top, expected)?;
        top = proved;
        reports.push(report);
    }
    let statement = Statement::new(spec, result);
    Ok(ChainProof {
        spec: spec.clone(),
        statement,
        keys: chain.keys().to_vec(),
        proof: top.proof,
        reports,
    })
}

/// What all proofs of a chain share.
struct Run<'a> {
    spec: &'a ChainSpec,
    chain: &'a PreparedChain,
    observer: &'a Arc<dyn Observer>,
}

impl Run<'_> {
    /// Proves the base.
    fn base(&self, public_values: Vec<F>) -> Result<(Proved, LayerReport), ProverError> {
        let base = self.chain.base();
        let meter = self.start(0, LayerKind::Base)?;
        let mut timings = Timings::default();
        let trace = self.timed(0, PhaseName::Fill, &mut timings.fill, || {
            base.trace(&self.spec.base.program, &public_values)
        })?;
        let clock = PhaseClock::start(0, base.has_lookups(), self.observer);
        let proof = base.prove(trace, &public_values, Arc::clone(&clock) as _)?;
        clock.finish(&mut timings);
        timings.total = meter.elapsed_ms();
        let used = meter.stop();
        self.timed(0, PhaseName::Verify, &mut timings.verify, || {
            base.verify(&proof, &public_values).map_err(self_check(0))
        })?;
        let tables = TableReport::all(&base.tables(), &self.spec.base.fri);
        let report = self.report(0, LayerKind::Base, timings, tables, 0, &proof, used)?;
        Ok((Proved { proof, public_values: vec![public_values] }, report))
    }

    /// Proves that `child` verifies.
    fn layer(
        &self,
        layer: usize,
        child: &Proved,
        expected: &Digest,
    ) -> Result<(Proved, LayerReport), ProverError> {
        let circuit = self.circuit(layer)?;
        let meter = self.start(layer, LayerKind::Layer)?;
        let mut timings = Timings::default();
        let filled = self.fill(circuit, layer, child, &mut timings)?;
        let clock = PhaseClock::start(layer, true, self.observer);
        let (proof, digest) =
            circuit.prove(filled, Arc::clone(&clock) as _).map_err(prove_error(layer))?;
        clock.finish(&mut timings);
        timings.total = meter.elapsed_ms();
        let used = meter.stop();
        if digest != *expected {
            return Err(ProverError::Statement { layer });
        }
        self.timed(layer, PhaseName::Verify, &mut timings.verify, || {
            circuit.verify(&proof, &digest).map_err(self_check(layer))
        })?;
        let proof = FinalProof::Batch(proof);
        let tables = TableReport::all(&circuit.tables(), self.spec.fri_of(layer));
        let hashed = circuit.permutations();
        let report = self.report(layer, LayerKind::Layer, timings, tables, hashed, &proof, used)?;
        Ok((Proved { proof, public_values: layer_public_values(&digest) }, report))
    }

    /// Restores the child's Merkle paths and fills the tables.
    fn fill(
        &self,
        circuit: &PreparedLayer,
        layer: usize,
        child: &Proved,
        timings: &mut Timings,
    ) -> Result<arbor_circuits::layer::Filled, ProverError> {
        let input = ChildInput {
            proof: child.proof.as_child(),
            public_values: &child.public_values,
            preprocessed: self.preprocessed(layer - 1),
            present: true,
        };
        let restored = self.timed(layer, PhaseName::Restore, &mut timings.restore, || {
            circuit.restore(&[input]).map_err(prove_error(layer))
        })?;
        self.timed(layer, PhaseName::Fill, &mut timings.fill, || {
            circuit.fill(&restored).map_err(prove_error(layer))
        })
    }

    /// Commitment to the preprocessed columns of the proof of `layer`.
    fn preprocessed(&self, layer: usize) -> Option<&Cap> {
        match self.chain.layer(layer) {
            Some(circuit) => Some(circuit.preprocessed_cap()),
            None => self.chain.base().preprocessed_cap(),
        }
    }

    fn circuit(&self, layer: usize) -> Result<&PreparedLayer, ProverError> {
        self.chain.layer(layer).ok_or(ProverError::Statement { layer })
    }

    fn start(&self, layer: usize, kind: LayerKind) -> Result<Meter, ProverError> {
        if self.observer.cancelled() {
            return Err(ProverError::Cancelled);
        }
        self.observer.layer_started(layer, kind);
        Ok(Meter::start())
    }

    /// Runs one phase, unless the observer wants to stop, and adds its time.
    fn timed<T>(
        &self,
        layer: usize,
        phase: PhaseName,
        time: &mut f64,
        work: impl FnOnce() -> Result<T, ProverError>,
    ) -> Result<T, ProverError> {
        if self.observer.cancelled() {
            return Err(ProverError::Cancelled);
        }
        self.observer.phase(layer, phase);
        let start = Instant::now();
        let done = work()?;
        *time += millis(start.elapsed());
        Ok(done)
    }

    #[expect(clippy::too_many_arguments, reason = "one for each group of fields of the report")]
    fn report(
        &self,
        layer: usize,
        kind: LayerKind,
        mut timings: Timings,
        tables: Vec<TableReport>,
        permutations: usize,
        proof: &FinalProof,
        used: Used,
    ) -> Result<LayerReport, ProverError> {
        timings.prepare = self.chain.prepare_ms(layer);
        let report = LayerReport {
            layer,
            kind,
            node: None,
            timings_ms: timings,
            tables,
            permutations,
            queries: self.spec.fri_of(layer).num_queries,
            proof_bytes: proof.to_bytes()?.len(),
            minor_faults: used.minor_faults,
            peak_bytes: used.peak_bytes,
        };
        log(&report);
        self.observer.layer_finished(&report);
        Ok(report)
    }
}

/// Measures one proof.
struct Meter {
    start: Instant,
    minor_faults: u64,
}

/// What one proof took of the process.
#[derive(Clone, Copy)]
struct Used {
    minor_faults: u64,
    peak_bytes: u64,
}

impl Meter {
    fn start() -> Self {
        memory::reset_peak();
        let minor_faults = memory::minor_faults().unwrap_or(0);
        Self { start: Instant::now(), minor_faults }
    }

    fn elapsed_ms(&self) -> f64 {
        millis(self.start.elapsed())
    }

    fn stop(&self) -> Used {
        let now = memory::minor_faults().unwrap_or(0);
        Used {
            minor_faults: now.saturating_sub(self.minor_faults),
            peak_bytes: memory::peak_bytes().unwrap_or(0),
        }
    }
}

fn log(report: &LayerReport) {
    let t = &report.timings_ms;
    let heights: Vec<String> = report
        .tables
        .iter()
        .map(|table| format!("{} 2^{}", table.name, table.log_height))
        .collect();
    tracing::info!(
        layer = report.layer,
        kind = %report.kind,
        tables = heights.join(", "),
        total_ms = t.total.round(),
        restore_ms = t.restore.round(),
        fill_ms = t.fill.round(),
        commit_ms = t.commit.round(),
        logup_ms = t.logup.round(),
        quotient_ms = t.quotient.round(),
        open_ms = t.open.round(),
        verify_ms = t.verify.round(),
        prepare_ms = t.prepare.round(),
        proof_bytes = report.proof_bytes,
        minor_faults = report.minor_faults,
        "layer proved"
    );
}

fn prove_error(layer: usize) -> impl FnOnce(ProveError) -> ProverError {
    move |source| ProverError::Prove { layer, source }
}

fn self_check(layer: usize) -> impl FnOnce(VerifyError) -> ProverError {
    move |source| ProverError::SelfCheck { layer, source }
}
