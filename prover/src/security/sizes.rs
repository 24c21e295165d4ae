//! What the soundness of a proof depends on besides its parameters.

use arbor_circuits::child::{ChildShape, System};
use serde::Serialize;

/// Sizes of one proof, read off what its verifier is compiled from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Values that are opened, by the log height of their trace, tallest first. All columns of a batch
    /// are in it, those of the quotient and of the lookups included.
    pub openings: Vec<Openings>,
    /// The folding rounds, in order.
    pub rounds: Vec<Round>,
    /// Constraints of all tables together, those of the lookups included.
    pub constraints: usize,
    /// Most chunks that a quotient is cut into; constraints have at most one degree more.
    pub quotient_chunks: usize,
    /// Most out-of-domain points at which one column is opened.
    pub points: usize,
    /// Fractions in the LogUp sums of all rows of all tables; 0 without lookups.
    pub fractions: u64,
    /// Width of the widest message on a bus; 0 without lookups.
    pub message_width: usize,
}

/// Values that the batching challenge combines into one codeword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Openings {
    /// Log of the rows of the trace.
    pub log_height: usize,
    /// Base-field columns times the points at which each is opened.
    pub count: usize,
}

/// One folding round of FRI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Round {
    /// Log of the points before the round.
    pub log_domain: usize,
    /// Log of the points that are merged into one.
    pub log_arity: usize,
    /// Whether the codeword of a shorter trace joins after it.
    pub joins: bool,
}

impl Round {
    /// Degree of the curve in the folding challenge β: `Σ_{j<arity} βʲ·f_j`, and `β^arity` times the
    /// codeword that joins (`p3_fri::verifier`).
    #[must_use]
    pub const fn degree(&self) -> usize {
        (1 << self.log_arity) - 1 + self.joins as usize
    }
}

impl Sizes {
    /// The sizes of proofs of this shape.
    #[must_use]
    pub fn of(shape: &ChildShape) -> Self {
        let openings = openings(shape);
        let heights: Vec<usize> =
            openings.iter().map(|o| o.log_height + shape.fri().log_blowup).collect();
        let matrices = shape.trees.iter().flat_map(|tree| &tree.matrices);
        let fractions = shape.instances.iter().map(|i| (i.fractions as u64) << i.log_height);
        let lookups = shape.system == System::Batch && shape.num_lookup_instances() > 0;
        Self {
            rounds: rounds(shape, &heights),
            openings,
            constraints: shape.instances.iter().map(|i| i.constraints.len()).sum(),
            quotient_chunks: shape.instances.iter().map(|i| i.num_chunks).max().unwrap_or(1),
            points: matrices.map(arbor_circuits::child::Matrix::num_points).max().unwrap_or(1),
            fractions: fractions.sum(),
            message_width: if lookups { shape.buses.1 } else { 0 },
        }
    }

    /// Log of the rows of the tallest trace.
    #[must_use]
    pub fn log_max_height(&self) -> usize {
        self.openings.first().map_or(0, |openings| openings.log_height)
    }

    /// Log of the rows of the shortest trace.
    #[must_use]
    pub fn log_min_height(&self) -> usize {
        self.openings.last().map_or(0, |openings| openings.log_height)
    }

    /// Values that are opened, over all heights.
    #[must_use]
    pub fn num_openings(&self) -> usize {
        self.openings.iter().map(|openings| openings.count).sum()
    }
}

/// Columns times points for each height: `p3_fri` draws one batching challenge and numbers its powers
/// from zero for each height. The same count as `p3_batch_stark::num_batched_openings` and
/// `p3_uni_stark::num_batched_openings`, taken from the matrices themselves.
fn openings(shape: &ChildShape) -> Vec<Openings> {
    let mut openings: Vec<Openings> = Vec::new();
    for matrix in shape.trees.iter().flat_map(|tree| &tree.matrices) {
        let count = matrix.width * matrix.num_points();
        match openings.iter_mut().find(|known| known.log_height == matrix.log_height) {
            Some(known) => known.count += count,
            None => openings.push(Openings { log_height: matrix.log_height, count }),
        }
    }
    openings.sort_unstable_by_key(|openings| std::cmp::Reverse(openings.log_height));
    openings
}

fn rounds(shape: &ChildShape, heights: &[usize]) -> Vec<Round> {
    let mut log_domain = shape.log_max_height;
    let rounds = shape.log_arities.iter().map(|&log_arity| {
        let before = log_domain;
        log_domain -= log_arity;
        Round { log_domain: before, log_arity, joins: heights.contains(&log_domain) }
    });
    rounds.collect()
}
