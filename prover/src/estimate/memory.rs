//! Memory of proofs and circuits, from their shapes.
//!
//! Each figure is a sum over what the prover holds at the same time. What it leaves out (short-lived buffers, and
//! holes between what the allocator keeps mapped) is in the shares that are added.

use arbor_circuits::config::{D, DIGEST};

use super::outlook::Outlook;
use super::sketch::{CELL, Columns, Kind, Matrix, Sketch};
use crate::params::BaseSpec;

/// Bytes that the process takes without any proof, and that its threads keep of small memory: measured 40 MB for
/// a server, and 35 to 95 MB of holes.
pub const PROCESS_BYTES: u64 = 144 << 20;
/// Bytes of a circuit beside its tables: constraints of its own and of its children's tables.
const CIRCUIT: u64 = 6 << 20;
/// Bytes that a row of a layer's circuit keeps beside its columns: gates, rows of hashes, names, counts.
const LAYER_ROW: u64 = 600;
/// The same of a Fibonacci circuit.
const FIBONACCI_ROW: u64 = 160;
/// Bytes of a digest.
const HASH: u64 = DIGEST as u64 * CELL;
/// Bytes for every point of a domain that the openings take: the points, denominators at two of them, reduced
/// openings, folded codewords with their trees.
const OPENING_POINT: u64 = 5 * D as u64 * CELL;

/// Bytes of columns, one value of each.
fn row(tree: &[Matrix]) -> u64 {
    tree.iter().map(|&(width, _)| width as u64 * CELL).sum()
}

/// Bytes of a Merkle tree for each of its leaves.
const TREE: u64 = 2 * HASH;

/// Bytes that proving takes beside the circuits.
pub(super) fn work_bytes(sketch: &Sketch) -> u64 {
    let Columns { main, quotient, logup, .. } = sketch.columns();
    let trees = [main, quotient, logup].into_iter().filter(|tree| !tree.is_empty());
    let point = trees.map(|tree| row(tree) + TREE).sum::<u64>() + OPENING_POINT;
    let extended = point << sketch.log_domain();
    match sketch.kind {
        // The trace is extended in the memory that it was generated in.
        Kind::Keccak => extended + extended / 16,
        // Traces are beside their extensions, and so are the values on the bus.
        _ => {
            let traces = (row(main) + row(logup) + D as u64 * CELL) << sketch.log_height;
            let bytes = extended + traces;
            bytes + bytes / 8
        }
    }
}

/// Bytes that a prepared circuit for proofs of this shape keeps.
pub(super) fn circuit_bytes(sketch: &Sketch) -> u64 {
    let Columns { preprocessed, .. } = sketch.columns();
    let program = match sketch.kind {
        Kind::Keccak => return CIRCUIT,
        Kind::Fibonacci => FIBONACCI_ROW,
        Kind::Layer => LAYER_ROW,
    };
    let traces = (row(preprocessed) + program) << sketch.log_height;
    let extended = (row(preprocessed) + TREE) << sketch.log_domain();
    CIRCUIT + traces + extended
}

/// Bytes that the prepared circuit of a base computation keeps.
#[must_use]
pub fn base_circuit_bytes(base: &BaseSpec) -> u64 {
    circuit_bytes(&Sketch::base(base))
}

impl Outlook {
    /// Bytes that all circuits keep.
    pub(super) fn circuits_bytes(&self) -> u64 {
        let bases = self.base_circuits.iter().map(base_circuit_bytes).sum::<u64>();
        let layers = self.layer_circuits.iter().map(|circuit| circuit_bytes(&circuit.sketch));
        bases + layers.sum::<u64>()
    }

    /// Bytes that preparing all circuits takes: columns are extended beside the circuit that they come from.
    pub(super) fn preparing_bytes(&self) -> u64 {
        self.circuits_bytes() + self.largest_circuit_bytes() / 2
    }

    /// Bytes of the largest circuit with its proof; nothing is derived for a Keccak table.
    pub(super) fn largest_bytes(&self) -> u64 {
        let bases = self.base_circuits.iter().map(Sketch::base);
        let layers = self.layer_circuits.iter().map(|circuit| circuit.sketch);
        let bytes = |sketch: Sketch| match sketch.kind {
            Kind::Keccak => circuit_bytes(&sketch),
            _ => circuit_bytes(&sketch) + work_bytes(&sketch),
        };
        bases.chain(layers).map(bytes).max().unwrap_or(0)
    }

    /// Bytes that the largest circuit keeps.
    pub(super) fn largest_circuit_bytes(&self) -> u64 {
        let bases = self.base_circuits.iter().map(base_circuit_bytes);
        let layers = self.layer_circuits.iter().map(|circuit| circuit_bytes(&circuit.sketch));
        bases.chain(layers).max().unwrap_or(0)
    }

    /// Bytes that the most expensive base proof takes, beside circuits.
    pub(super) fn base_work(&self) -> u64 {
        self.bases.iter().map(work_bytes).max().unwrap_or(0)
    }

    /// Bytes that the most expensive layer takes, beside circuits.
    pub(super) fn layer_work(&self) -> u64 {
        self.layers.iter().map(work_bytes).max().unwrap_or(0)
    }
}
