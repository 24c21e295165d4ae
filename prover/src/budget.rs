//! What deriving the keys of a file may cost, counted circuit by circuit before each is prepared.
//!
//! The parameters of a file bound the tables of a single proof, not how many different circuits a tree
//! of finished proofs needs. So every distinct circuit is charged with what it will keep in memory, from
//! the exact shapes of its children, and the derivation stops at the first that would go beyond. Time
//! follows memory: nearly all of it goes into extending and hashing what is kept.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arbor_circuits::child::{ChildShape, Inner};
use arbor_circuits::config::{D, DIGEST, FriConfig, RATE};

use crate::key::{CircuitKey, LayerKey};
use crate::observer::Observer;
use crate::params::{BaseSpec, Program};

/// Bytes of a base-field element.
const CELL: u64 = 4;
/// Preprocessed columns of the two tables of a layer.
const LAYER_PREPROCESSED: u64 = 51;
/// Bytes of the program that one row of a layer keeps: a gate and a row of hashes.
const PROGRAM_ROW: u64 = 256;
/// Rows of arithmetic that one constraint of a child takes at most, on average.
const ROWS_PER_CONSTRAINT: u64 = 10;

/// Bytes of the shape of a Keccak table: its constraints.
const KECCAK_SHAPE: u64 = 1 << 20;

/// Log of the rows of a layer over one proof of each of `children`: an upper bound, from what each
/// query opens, hashes and folds.
#[must_use]
pub fn log_rows(children: &[ChildShape], fri: &FriConfig, min_log_height: usize) -> usize {
    let (arith, hash) = children
        .iter()
        .map(|child| rows(child))
        .fold((0, 0), |(arith, hash), (a, h)| (arith + a, hash + h));
    let log_rows = arith.max(hash).next_power_of_two().ilog2() as usize;
    log_rows.max(min_log_height).max(fri.log_final_poly_len + 1)
}

/// Bytes that a layer of `2^log_rows` rows keeps: columns, their extension, its tree, the program.
#[must_use]
pub fn kept_bytes(log_rows: usize, fri: &FriConfig) -> u64 {
    let extended = LAYER_PREPROCESSED * CELL + 2 * DIGEST as u64 * CELL;
    ((LAYER_PREPROCESSED * CELL + PROGRAM_ROW) << log_rows)
        + (extended << (log_rows + fri.log_blowup))
}

/// Rows of arithmetic and of hashes that verifying one proof takes at most.
fn rows(child: &Inner) -> (u64, u64) {
    let fri = &child.fri;
    let cap = 1u64 << fri.cap_height;
    let rounds = child.log_arities.len() as u64;
    let matrices = || child.trees.iter().flat_map(|tree| &tree.matrices);
    let opened: u64 = matrices().map(|m| (m.width * m.num_points()) as u64).sum();
    let constraints: u64 = child.instances.iter().map(|i| i.constraints.len() as u64).sum();
    let final_poly = 1u64 << fri.log_final_poly_len;
    let path = child.log_max_height.saturating_sub(fri.cap_height) as u64;
    let leaves: u64 = matrices().map(|m| m.width.div_ceil(RATE) as u64 + 2).sum();
    let fold_leaves: u64 =
        child.log_arities.iter().map(|&arity| (D << arity).div_ceil(RATE) as u64 + 3).sum();
    let paths = (child.trees.len() as u64 + rounds) * (path + 2);
    let observed = (opened + final_poly) * D as u64 / RATE as u64;
    let queries = fri.num_queries as u64;
    let hash = cap * (child.trees.len() as u64 + rounds)
        + observed
        + queries * (leaves + paths + fold_leaves + 4)
        + 256;
    let points = matrices().count() as u64;
    let arith = constraints * ROWS_PER_CONSTRAINT
        + 3 * opened
        + queries * (4 * points + final_poly + 12 * rounds + 16)
        + 1_000;
    (arith, hash)
}

/// Tells `observer` what a layer is about to need.
pub(crate) fn needs_layer(
    observer: &dyn Observer,
    children: &[ChildShape],
    fri: &FriConfig,
    min_log_height: usize,
) {
    let bytes = kept_bytes(log_rows(children, fri, min_log_height), fri);
    let key = LayerKey::new(children, *fri, min_log_height);
    observer.needs(CircuitKey::Layer(key), bytes);
}

/// Tells `observer` what a base computation is about to need: of a Keccak table, nothing is committed to.
pub(crate) fn needs_base(observer: &dyn Observer, base: &BaseSpec) {
    let bytes = match base.program {
        Program::Keccak { .. } => KECCAK_SHAPE,
        Program::Fibonacci { .. } => kept_bytes(base.log_height(), &base.fri),
    };
    observer.needs(CircuitKey::Base(base.without_inputs()), bytes);
}

/// Counts what the circuits of one derivation keep, and stops it where that exceeds a limit.
pub(crate) struct Budget {
    limit: u64,
    needed: AtomicU64,
    exceeded: AtomicBool,
    seen: Mutex<HashSet<CircuitKey>>,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            needed: AtomicU64::new(0),
            exceeded: AtomicBool::new(false),
            seen: Mutex::new(HashSet::new()),
        }
    }

    /// The bytes that would have been needed, if they are more than the limit.
    pub(crate) fn excess(&self) -> Option<u64> {
        self.exceeded.load(Ordering::Relaxed).then(|| self.needed.load(Ordering::Relaxed))
    }
}

impl Observer for Budget {
    fn needs(&self, circuit: CircuitKey, bytes: u64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.insert(circuit) {
            let before = self.needed.load(Ordering::Relaxed);
            let needed = before.saturating_add(bytes);
            self.needed.store(needed, Ordering::Relaxed);
            if needed > self.limit {
                self.exceeded.store(true, Ordering::Relaxed);
            }
        }
    }

    fn cancelled(&self) -> bool {
        self.exceeded.load(Ordering::Relaxed)
    }
}
