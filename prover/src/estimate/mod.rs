//! What a job takes, before anything is allocated: memory at its peak, bytes of its proofs, time.
//!
//! Memory is an upper bound, with which jobs are admitted: the circuits of the job, the largest proof of it, and
//! what the process takes anyway. Circuits of other jobs are not in it, because a cache gives them up. Proofs are
//! bounded from above too. Times are rough.

mod memory;
mod outlook;
mod sketch;
#[cfg(test)]
mod tests;

use arbor_circuits::config::FriConfig;

use self::memory::work_bytes;
use self::outlook::Outlook;
use self::sketch::{Kind, Sketch};
use crate::error::ProverError;
use crate::memory::available_bytes;
use crate::params::{BaseSpec, ChainSpec};
use crate::report::TableReport;
use crate::tree::{ProofSpec, TreeSpec};

pub use self::memory::{PROCESS_BYTES, base_circuit_bytes};

/// Nanoseconds that a cell committed to takes in a layer, all phases included. Measured with `arbor bench` on two
/// cores with AVX-512: 18 where nothing else runs, 38 beside other work.
pub const NS_PER_LAYER_CELL: f64 = 26.0;
/// The same of a Keccak base proof, whose rows are wide and whose constraints are cheap: measured 12 to 24.
pub const NS_PER_KECCAK_CELL: f64 = 16.0;
/// The same of a Fibonacci base proof, whose rows are narrow: hashing a row takes a permutation all the same.
pub const NS_PER_FIBONACCI_CELL: f64 = 60.0;
/// Nanoseconds for one trial of grinding, on the same cores.
pub const NS_PER_TRIAL: f64 = 65.0;
/// Bytes of a proof file beside its header: lengths and a checksum.
const FILE_FIXED: u64 = 512;

/// Bytes that a job is expected to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// While the largest base proof is made.
    pub base_bytes: u64,
    /// While the largest layer is made; 0 without layers.
    pub layer_bytes: u64,
    /// At the peak of the job.
    pub peak_bytes: u64,
}

impl Estimate {
    fn new(base_bytes: u64, layer_bytes: u64) -> Self {
        Self { base_bytes, layer_bytes, peak_bytes: base_bytes.max(layer_bytes) }
    }
}

/// The estimate of a chain whose parameters are valid. Layers are prepared after the base proof.
#[must_use]
pub fn estimate(spec: &ChainSpec) -> Estimate {
    let outlook = Outlook::of_chain(spec);
    let base = PROCESS_BYTES + base_circuit_bytes(&spec.base) + outlook.base_work();
    if outlook.layers.is_empty() {
        return Estimate::new(base, 0);
    }
    let proving = outlook.circuits_bytes() + outlook.layer_work();
    Estimate::new(base, PROCESS_BYTES + proving.max(outlook.preparing_bytes()))
}

/// The estimate of a tree: all of its circuits beside its largest base or its largest merge, of which two may be
/// made at a time.
#[must_use]
pub fn estimate_tree(spec: &TreeSpec, concurrent_pairs: bool) -> Estimate {
    let at_a_time = if concurrent_pairs { 2 } else { 1 };
    let outlook = Outlook::of_tree(spec);
    let proving = |work: u64| outlook.circuits_bytes() + at_a_time * work;
    let preparing = outlook.preparing_bytes();
    Estimate::new(
        PROCESS_BYTES + proving(outlook.base_work()).max(preparing),
        PROCESS_BYTES + proving(outlook.layer_work()).max(preparing),
    )
}

/// The estimate of a proof of any form.
#[must_use]
pub fn estimate_any(spec: &ProofSpec) -> Estimate {
    match spec {
        ProofSpec::Chain(chain) => estimate(chain),
        ProofSpec::Tree(tree) => estimate_tree(tree, false),
    }
}

/// Bytes that one base proof takes beside what the process holds already.
#[must_use]
pub fn base_work_bytes(base: &BaseSpec) -> u64 {
    work_bytes(&Sketch::base(base))
}

/// Bytes that one layer takes whose tables are known, beside what the process holds already.
#[must_use]
pub fn layer_work_bytes(tables: &[TableReport], fri: &FriConfig) -> u64 {
    let log_height = tables.iter().map(|table| table.log_height).max().unwrap_or(0);
    work_bytes(&Sketch { kind: Kind::Layer, log_height, fri: *fri })
}

/// Bytes that the prepared circuits of a layer keep whose tables have `2^log_height` rows.
#[must_use]
pub fn layer_circuit_bytes(log_height: usize, fri: &FriConfig) -> u64 {
    memory::circuit_bytes(&Sketch { kind: Kind::Layer, log_height, fri: *fri })
}

/// Bytes that preparing the circuit of a base computation takes, beside what the process holds already.
#[must_use]
pub fn derive_base_bytes(base: &BaseSpec) -> u64 {
    base_circuit_bytes(base) * 3 / 2
}

/// Bytes that deriving the keys of a proof of any form takes, beside what the process holds already: those of all
/// its circuits.
#[must_use]
pub fn derive_any_bytes(spec: &ProofSpec) -> u64 {
    Outlook::of(spec).preparing_bytes()
}

/// Bytes of the largest circuit that a verifier derives, nested proofs included, with the proof that is made with
/// it: a measure of how much work the circuit is.
#[must_use]
pub fn derive_largest_bytes(spec: &ProofSpec) -> u64 {
    Outlook::of(spec).largest_bytes()
}

/// Bytes of all proofs of a job and of its proof file, at most.
#[must_use]
pub fn proofs_bytes(spec: &ProofSpec) -> u64 {
    let outlook = Outlook::of(spec);
    let proofs = outlook.made().map(Sketch::proof_bytes).sum::<u64>();
    let root = outlook.root().map_or(0, Sketch::proof_bytes);
    proofs + root + header_bytes(spec, &outlook)
}

/// A file repeats parameters and inputs in its statement, and has a key for every circuit.
fn header_bytes(spec: &ProofSpec, outlook: &Outlook) -> u64 {
    let spec = serde_json::to_vec(spec).map_or(0, |json| json.len() as u64);
    let keys = (outlook.base_circuits.len() + outlook.layer_circuits.len()) as u64;
    FILE_FIXED + 2 * spec + 70 * keys.max(spec_layers(outlook))
}

/// A chain has a key for every layer, the same ones included.
fn spec_layers(outlook: &Outlook) -> u64 {
    outlook.layers.len() as u64 + 1
}

/// Milliseconds that all proofs of a job take one by one, its circuits being prepared. Rough: within a factor of
/// two on a machine like the one that it was measured on.
#[must_use]
pub fn prove_ms(spec: &ProofSpec) -> f64 {
    Outlook::of(spec).made().map(|sketch| proof_ms(sketch, sketch.cells())).sum()
}

/// Milliseconds that one base proof takes, as [`prove_ms`].
#[must_use]
pub fn base_ms(base: &BaseSpec) -> f64 {
    let sketch = Sketch::base(base);
    proof_ms(&sketch, sketch.cells())
}

/// Milliseconds that one layer takes whose tables are known, as [`prove_ms`].
#[must_use]
pub fn layer_ms(tables: &[TableReport], fri: &FriConfig) -> f64 {
    let log_height = tables.iter().map(|table| table.log_height).max().unwrap_or(0);
    let sketch = Sketch { kind: Kind::Layer, log_height, fri: *fri };
    proof_ms(&sketch, tables.iter().map(|table| table.lde_cells).sum())
}

fn proof_ms(sketch: &Sketch, cells: u64) -> f64 {
    let ns = match sketch.kind {
        Kind::Keccak => NS_PER_KECCAK_CELL,
        Kind::Fibonacci => NS_PER_FIBONACCI_CELL,
        Kind::Layer => NS_PER_LAYER_CELL,
    };
    (cells as f64 * ns + sketch.grinding() as f64 * NS_PER_TRIAL) / 1e6
}

/// Refuses a tree that would not fit, as [`check_memory`] does a chain.
///
/// Errors: [`ProverError::Memory`] with the estimate.
pub fn check_tree_memory(spec: &TreeSpec, concurrent_pairs: bool) -> Result<Estimate, ProverError> {
    refuse_beyond(estimate_tree(spec, concurrent_pairs))
}

/// Memory that may still be taken: of the machine, or of the container if that is less.
#[must_use]
pub fn available_memory() -> Option<u64> {
    available_bytes()
}

/// Refuses a chain that would not fit. Where nothing is known of the machine, nothing is refused.
///
/// Errors: [`ProverError::Memory`] with the estimate.
pub fn check_memory(spec: &ChainSpec) -> Result<Estimate, ProverError> {
    refuse_beyond(estimate(spec))
}

fn refuse_beyond(estimate: Estimate) -> Result<Estimate, ProverError> {
    match available_memory() {
        Some(available) if available < estimate.peak_bytes => {
            Err(ProverError::Memory { needed: estimate.peak_bytes, available })
        }
        _ => Ok(estimate),
    }
}
