//! The witness of a layer: memory and rows from child proofs.
//!
//! A filler never decides whether a proof is valid. It evaluates the program forward; what does not
//! fit violates a constraint or leaves the bus unbalanced.

mod block;
#[doc(hidden)]
pub mod deviation;
mod hash;
pub mod replay;
pub mod restore;
pub mod view;

use p3_field::PrimeCharacteristicRing;
use p3_matrix::dense::RowMajorMatrix;
use p3_maybe_rayon::prelude::*;

use crate::compiler::{Block, Program};
use crate::config::{EF, F};
use crate::program::{Access, HashRow};
use crate::tables::arith;
use crate::tables::hash::{NUM_COLS, PERM_COLS, fill_permutations, scratch};
use block::{BlockRun, Inputs};
use deviation::{Deviation, Honest};
use restore::RestoredChild;

/// The filled tables of a layer.
#[derive(Clone, Debug)]
pub struct Traces {
    /// E.
    pub arith: RowMajorMatrix<F>,
    /// H.
    pub hash: RowMajorMatrix<F>,
    /// Every value on the bus, by address.
    pub memory: Vec<EF>,
}

/// Fills both tables, padded to `2^log_heights` rows (E, then H).
#[must_use]
pub fn fill(program: &Program, log_heights: [usize; 2], children: &[RestoredChild<'_>]) -> Traces {
    fill_with(program, log_heights, children, &Honest)
}

/// The same with the lies of a dishonest prover, for tests of soundness.
#[doc(hidden)]
#[must_use]
pub fn fill_with(
    program: &Program,
    log_heights: [usize; 2],
    children: &[RestoredChild<'_>],
    deviation: &dyn Deviation,
) -> Traces {
    let mut memory = EF::zero_vec(program.reads.len());
    let mut hash = F::zero_vec(NUM_COLS << log_heights[1]);
    let mut indexed = vec![];

    let present: Vec<bool> = children.iter().map(|child| child.view.present).collect();
    let mut run = |block: &Block, inputs: Inputs<'_>| {
        let (before, rest) = memory.split_at_mut(block.addrs.start);
        let rows = &mut hash[block.hashes.start * NUM_COLS..block.hashes.end * NUM_COLS];
        let local = &mut rest[..block.addrs.len()];
        let run = BlockRun::new(program, block, before, local, rows, inputs);
        indexed.extend(run.deviate(deviation).run());
    };
    run(&program.start, Inputs::Start { present: &present });
    for (block, child) in program.children.iter().zip(children) {
        run(&block.prologue, Inputs::Prologue { child });
    }
    run(&program.end, Inputs::None);

    indexed.extend(fill_queries(program, &mut memory, &mut hash, children, deviation));
    let mut counts = program.reads.clone();
    for addr in indexed {
        // An index that is none, which only a lie makes, reads nothing that is counted.
        if let Some(count) = counts.get_mut(addr) {
            *count += 1;
        }
    }
    fill_multiplicities(&program.hashes, &counts, &mut hash);
    fill_permutations(&mut hash);
    Traces {
        arith: arith::fill_rows(&program.gates, log_heights[0], &memory),
        hash: RowMajorMatrix::new(hash, NUM_COLS),
        memory,
    }
}

/// Fills all queries of all children in parallel: each writes rows and addresses of its own.
fn fill_queries(
    program: &Program,
    memory: &mut [EF],
    hash: &mut [F],
    children: &[RestoredChild<'_>],
    deviation: &dyn Deviation,
) -> Vec<usize> {
    let (shared, mut own) = memory.split_at_mut(program.end.addrs.end);
    let mut rows = &mut hash[program.end.hashes.end * NUM_COLS..];
    let mut runs = vec![];
    for (block, child) in program.children.iter().zip(children) {
        for (query, block) in block.queries.iter().enumerate() {
            let (local, rest) = own.split_at_mut(block.addrs.len());
            own = rest;
            let (own_rows, rest) = rows.split_at_mut(block.hashes.len() * NUM_COLS);
            rows = rest;
            let inputs = Inputs::Query { child, query };
            let run = BlockRun::new(program, block, shared, local, own_rows, inputs);
            runs.push(run.deviate(deviation));
        }
    }
    let indexed: Vec<Vec<usize>> = runs.into_par_iter().map(BlockRun::run).collect();
    indexed.into_iter().flatten().collect()
}

/// Writes how often each indexed entry is read.
fn fill_multiplicities(rows: &[HashRow], counts: &[u32], hash: &mut [F]) {
    hash.par_chunks_exact_mut(NUM_COLS).zip(rows.par_iter()).for_each(|(cells, row)| {
        for (i, port) in row.ports.iter().enumerate() {
            if let Some(port) = port
                && port.access == Access::WriteIndexed
            {
                cells[PERM_COLS + scratch::MULTIPLICITY + i] =
                    F::from_u32(counts[port.addr.index()]);
            }
        }
    });
}
