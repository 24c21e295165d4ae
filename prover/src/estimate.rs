//! How much memory a job takes at its peak, before anything is allocated.
//!
//! An upper bound in round figures: a trace, its extension, the Merkle trees and what the quotient
//! and the openings add. It errs on the high side.

use arbor_circuits::config::{D, DIGEST, FriConfig, RATE};

use crate::error::ProverError;
use crate::memory::available_bytes;
use crate::params::{BaseSpec, ChainSpec, Program};
use crate::report::TableReport;
use crate::tree::{LeafSpec, ProofSpec, TreeSpec};

/// Bytes of a base-field element.
const CELL: u64 = 4;
/// Columns of the Keccak table.
const KECCAK_COLUMNS: u64 = p3_keccak_air::NUM_KECCAK_COLS as u64;
/// Columns of a Fibonacci table, preprocessed, LogUp and quotient columns included.
const FIBONACCI_COLUMNS: u64 = 80;
/// Columns of the two tables of a layer together, with everything that is committed to.
const LAYER_COLUMNS: u64 = 440;
/// What the process takes without any proof.
const FIXED: u64 = 64 << 20;

/// Bytes that a job is expected to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// While the base proof is made.
    pub base_bytes: u64,
    /// While the largest layer is made; 0 without layers.
    pub layer_bytes: u64,
    /// At the peak of the job.
    pub peak_bytes: u64,
}

/// The estimate of a chain whose parameters are valid.
#[must_use]
pub fn estimate(spec: &ChainSpec) -> Estimate {
    let base_bytes = FIXED + base_bytes(&spec.base);
    let layer_bytes = (1..=spec.layers.min(3))
        .chain((spec.layers > 3).then_some(spec.layers))
        .map(|layer| FIXED + layer_bytes(spec, layer))
        .max()
        .unwrap_or(0);
    Estimate { base_bytes, layer_bytes, peak_bytes: base_bytes.max(layer_bytes) }
}

/// The estimate of a tree: its largest base, or its merges, of which two may run at a time.
#[must_use]
pub fn estimate_tree(spec: &TreeSpec, concurrent_pairs: bool) -> Estimate {
    let at_a_time = if concurrent_pairs { 2 } else { 1 };
    let bases = spec.bases().into_iter().map(base_bytes).max().unwrap_or(0);
    let wraps = spec
        .bases()
        .into_iter()
        .map(|base| {
            let chain = ChainSpec {
                base: base.clone(),
                layers: 2,
                layer_fri: spec.layer_fri,
                last_fri: spec.last_fri,
            };
            (layer_bytes(&chain, 1), layer_log_height(&chain, 3))
        })
        .fold((0, 0), |(bytes, log), (b, l)| (bytes.max(b), log.max(l)));
    let log_merge = wraps.1 + spec.arity.next_power_of_two().ilog2() as usize;
    let merge = proof_bytes(LAYER_COLUMNS, log_merge, &spec.layer_fri).max(proof_bytes(
        LAYER_COLUMNS,
        log_merge,
        &spec.last_fri,
    ));
    let base_bytes = FIXED + at_a_time * bases;
    let layer_bytes = FIXED + at_a_time * merge.max(wraps.0);
    Estimate { base_bytes, layer_bytes, peak_bytes: base_bytes.max(layer_bytes) }
}

/// The estimate of a proof of any form.
#[must_use]
pub fn estimate_any(spec: &ProofSpec) -> Estimate {
    match spec {
        ProofSpec::Chain(chain) => estimate(chain),
        ProofSpec::Tree(tree) => estimate_tree(tree, false),
    }
}

/// The estimate of one base proof.
#[must_use]
pub fn estimate_base(base: &BaseSpec) -> u64 {
    FIXED + base_bytes(base)
}

/// The estimate of one layer whose tables are known.
#[must_use]
pub fn estimate_tables(tables: &[TableReport], fri: &FriConfig) -> u64 {
    let bytes = tables.iter().map(|table| {
        let online = table.lde_cells >> (table.log_height + fri.log_blowup);
        proof_bytes(online + table.preprocessed as u64, table.log_height, fri)
    });
    FIXED + bytes.sum::<u64>()
}

/// Bytes that deriving the keys of a proof of any form takes.
#[must_use]
pub fn derive_any_bytes(spec: &ProofSpec) -> u64 {
    match spec {
        ProofSpec::Chain(chain) => derive_bytes(chain),
        ProofSpec::Tree(tree) => {
            let nested = tree.leaves.iter().map(|leaf| match leaf {
                LeafSpec::Base(_) => 0,
                LeafSpec::Proof(proof) => derive_any_bytes(proof),
            });
            let own = estimate_tree(tree, false).layer_bytes;
            nested.fold(own, u64::max)
        }
    }
}

/// Refuses a tree that would not fit, as [`check_memory`] does a chain.
///
/// Errors: [`ProverError::Memory`] with the estimate.
pub fn check_tree_memory(spec: &TreeSpec, concurrent_pairs: bool) -> Result<Estimate, ProverError> {
    refuse_beyond(estimate_tree(spec, concurrent_pairs))
}

/// Bytes that deriving the keys of a chain takes: the circuits of its layers, and of the base where it
/// has preprocessed columns.
#[must_use]
pub fn derive_bytes(spec: &ChainSpec) -> u64 {
    let estimate = estimate(spec);
    match spec.base.program {
        Program::Keccak { .. } => estimate.layer_bytes,
        Program::Fibonacci { .. } => estimate.peak_bytes,
    }
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

/// The Keccak trace is extended in the memory that it was generated in, other tables beside theirs.
fn base_bytes(base: &BaseSpec) -> u64 {
    let log_height = base.log_height();
    match base.program {
        Program::Keccak { .. } => extended_bytes(KECCAK_COLUMNS, log_height, &base.fri),
        Program::Fibonacci { .. } => proof_bytes(FIBONACCI_COLUMNS, log_height, &base.fri),
    }
}

/// A proof over `columns` in all: traces beside their extensions.
fn proof_bytes(columns: u64, log_height: usize, fri: &FriConfig) -> u64 {
    ((columns * CELL) << log_height) + extended_bytes(columns, log_height, fri)
}

/// For every point of the domain: the extended columns, three trees (twice their leaves), the quotient,
/// the reduced openings and their denominators.
fn extended_bytes(columns: u64, log_height: usize, fri: &FriConfig) -> u64 {
    let trees = 3 * 2 * DIGEST as u64 * CELL;
    let openings = 6 * D as u64 * CELL;
    (columns * CELL + trees + openings) << (log_height + fri.log_blowup)
}

fn layer_bytes(spec: &ChainSpec, layer: usize) -> u64 {
    let log_height = layer_log_height(spec, layer);
    proof_bytes(LAYER_COLUMNS, log_height, spec.fri_of(layer))
}

/// Log of the rows of a layer, from what one query of its child hashes.
fn layer_log_height(spec: &ChainSpec, layer: usize) -> usize {
    let child = spec.fri_of(layer - 1);
    let (columns, log_child, fixed_rows) = match (layer, &spec.base.program) {
        (1, Program::Keccak { .. }) => (KECCAK_COLUMNS, spec.base.log_height(), 28_000),
        (1, Program::Fibonacci { .. }) => (FIBONACCI_COLUMNS, spec.base.log_height(), 2_000),
        (2, _) => (LAYER_COLUMNS, layer_log_height(spec, 1), 2_000),
        _ => (LAYER_COLUMNS, 14, 2_000),
    };
    let log_domain = log_child + child.log_blowup;
    let path = log_domain.saturating_sub(child.cap_height) as u64;
    let folds = log_domain.div_ceil(child.max_log_arity) as u64;
    let fold_leaf = ((D as u64) << child.max_log_arity).div_ceil(RATE as u64);
    let per_query = columns.div_ceil(RATE as u64) + 4 * path + folds * (fold_leaf + path);
    // The arithmetic table holds the constraints, the hash table the queries; both are as tall as the
    // taller of them.
    let rows = (child.num_queries as u64 * per_query).max(fixed_rows);
    rows.next_power_of_two().ilog2() as usize
}
