//! One proof of a chain or a tree: made, measured, verified, encoded and reported.

use std::sync::Arc;
use std::time::Instant;

use arbor_circuits::child::ChildInput;
use arbor_circuits::config::{Digest, F};
use arbor_circuits::error::{ProveError, VerifyError};
use arbor_circuits::layer::{Filled, PreparedLayer};

use crate::base::PreparedBase;
use crate::clock::{PhaseClock, millis};
use crate::error::ProverError;
use crate::memory;
use crate::observer::{Observer, PhaseName};
use crate::params::BaseSpec;
use crate::proof::FinalProof;
use crate::report::{LayerKind, LayerReport, TableReport, Timings};

/// A proof that was just made.
pub struct Proved {
    /// The proof.
    pub proof: FinalProof,
    /// The proof as [`FinalProof::to_bytes`] encodes it.
    pub bytes: Vec<u8>,
    /// What it took.
    pub report: LayerReport,
}

/// Which proof of its chain or tree it is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Its number in the order of proving, 0 for the base of a chain.
    pub(crate) number: usize,
    /// What it is.
    pub(crate) kind: LayerKind,
    /// Its node in a tree.
    pub(crate) node: Option<String>,
    /// What preparing its circuit took just now, in milliseconds.
    pub(crate) prepare_ms: f64,
}

/// Proves a base computation and verifies the proof.
///
/// Errors: the observer's wish to stop, or an error of ours.
pub(crate) fn prove_base(
    place: &Place,
    base: &PreparedBase,
    spec: &BaseSpec,
    public_values: &[F],
    observer: &Arc<dyn Observer>,
) -> Result<Proved, ProverError> {
    let step = Step { place, observer };
    let meter = step.start()?;
    let mut timings = Timings::default();
    let trace = step
        .timed(PhaseName::Fill, &mut timings.fill, || base.trace(&spec.program, public_values))?;
    let clock = PhaseClock::start(place.number, base.has_lookups(), observer);
    let proof = base.prove(trace, public_values, Arc::clone(&clock) as _)?;
    clock.finish(&mut timings);
    timings.total = meter.elapsed_ms();
    let used = meter.stop();
    step.timed(PhaseName::Verify, &mut timings.verify, || {
        base.verify(&proof, public_values).map_err(self_check(place.number))
    })?;
    let size = Size {
        tables: TableReport::all(&base.tables(), &spec.fri),
        permutations: 0,
        queries: spec.fri.num_queries,
    };
    step.finish(proof, timings, size, used)
}

/// Proves that `children` are valid, and verifies the proof. Its public values must be `expected`.
///
/// Errors: the observer's wish to stop, or an error of ours.
pub(crate) fn prove_layer(
    place: &Place,
    circuit: &PreparedLayer,
    children: &[ChildInput<'_>],
    expected: &Digest,
    observer: &Arc<dyn Observer>,
) -> Result<Proved, ProverError> {
    let step = Step { place, observer };
    let meter = step.start()?;
    let mut timings = Timings::default();
    let filled = step.fill(circuit, children, &mut timings)?;
    let clock = PhaseClock::start(place.number, true, observer);
    let (proof, digest) =
        circuit.prove(filled, Arc::clone(&clock) as _).map_err(prove_error(place.number))?;
    clock.finish(&mut timings);
    timings.total = meter.elapsed_ms();
    let used = meter.stop();
    if digest != *expected {
        return Err(ProverError::Statement { layer: place.number });
    }
    step.timed(PhaseName::Verify, &mut timings.verify, || {
        circuit.verify(&proof, &digest).map_err(self_check(place.number))
    })?;
    let proof = FinalProof::Batch(proof);
    let size = Size {
        tables: TableReport::all(&circuit.tables(), circuit.fri()),
        permutations: circuit.permutations(),
        queries: circuit.fri().num_queries,
    };
    step.finish(proof, timings, size, used)
}

/// The proof that is being made.
struct Step<'a> {
    place: &'a Place,
    observer: &'a Arc<dyn Observer>,
}

/// What a report says of the size of a proof.
struct Size {
    tables: Vec<TableReport>,
    permutations: usize,
    queries: usize,
}

impl Step<'_> {
    fn start(&self) -> Result<Meter, ProverError> {
        if self.observer.cancelled() {
            return Err(ProverError::Cancelled);
        }
        self.observer.layer_started(self.place.number, self.place.kind);
        Ok(Meter::start())
    }

    /// Restores the children's Merkle paths and fills the tables.
    fn fill(
        &self,
        circuit: &PreparedLayer,
        children: &[ChildInput<'_>],
        timings: &mut Timings,
    ) -> Result<Filled, ProverError> {
        let number = self.place.number;
        let restored = self.timed(PhaseName::Restore, &mut timings.restore, || {
            circuit.restore(children).map_err(prove_error(number))
        })?;
        self.timed(PhaseName::Fill, &mut timings.fill, || {
            circuit.fill(&restored).map_err(prove_error(number))
        })
    }

    /// Runs one phase, unless the observer wants to stop, and adds its time.
    fn timed<T>(
        &self,
        phase: PhaseName,
        time: &mut f64,
        work: impl FnOnce() -> Result<T, ProverError>,
    ) -> Result<T, ProverError> {
        if self.observer.cancelled() {
            return Err(ProverError::Cancelled);
        }
        self.observer.phase(self.place.number, phase);
        let start = Instant::now();
        let done = work()?;
        *time += millis(start.elapsed());
        Ok(done)
    }

    /// Encodes the proof, once for the report and for whoever stores it.
    fn finish(
        &self,
        proof: FinalProof,
        mut timings: Timings,
        size: Size,
        used: Used,
    ) -> Result<Proved, ProverError> {
        let bytes = proof.to_bytes()?;
        timings.prepare = self.place.prepare_ms;
        let report = LayerReport {
            layer: self.place.number,
            kind: self.place.kind,
            node: self.place.node.clone(),
            timings_ms: timings,
            tables: size.tables,
            permutations: size.permutations,
            queries: size.queries,
            proof_bytes: bytes.len(),
            minor_faults: used.minor_faults,
            peak_bytes: used.peak_bytes,
        };
        log(&report);
        self.observer.layer_finished(&report);
        Ok(Proved { proof, bytes, report })
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
        node = report.node.as_deref(),
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
