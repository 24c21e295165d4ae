//! From the shapes of children to a program.
//!
//! One file for each phase of the native verifier, in the same order: transcript, evaluation at ζ,
//! openings, Merkle paths, folding.

mod bits;
pub mod constraints;
mod evaluate;
pub mod expr;
mod fold;
mod merkle;
mod openings;
mod prologue;
mod sponge;
mod statement;
#[cfg(test)]
mod tests;
pub mod transcript;

use std::ops::Range;

use crate::child::ChildShape;
use p3_field::PrimeCharacteristicRing;

use crate::config::F;
use crate::error::CompileError;
use crate::program::regions::FIRST_REGION;
use crate::program::{Addr, Gate, HashRow, Op, ProgramBuilder, audit};
use fold::FoldContext;
use merkle::Query;

/// A run of rows that a filler evaluates by itself, and the addresses that only it writes.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its rows, in order of evaluation.
    pub ops: Vec<Op>,
    /// Its rows of H.
    pub hashes: Range<usize>,
    /// Its rows of E.
    pub gates: Range<usize>,
    /// Its addresses.
    pub addrs: Range<usize>,
}

/// Where a child's part of a program begins, and what it takes from outside.
#[derive(Clone, Debug)]
pub struct ChildBlock {
    /// Transcript, constraints and sums over claimed values.
    pub prologue: Block,
    /// The queries. All have as many rows and addresses.
    pub queries: Vec<Block>,
    /// Whether the slot counts.
    pub present: Addr,
}

/// The program of a layer.
#[derive(Clone, Debug)]
pub struct Program {
    /// Rows of E.
    pub gates: Vec<Gate>,
    /// Rows of H.
    pub hashes: Vec<HashRow>,
    /// How often each address is read where the program fixes it.
    pub reads: Vec<u32>,
    /// The name of each address on the bus.
    pub names: Vec<F>,
    /// Constants and inputs before everything else.
    pub start: Block,
    /// One for each child.
    pub children: Vec<ChildBlock>,
    /// The node digest.
    pub end: Block,
    /// The extension's generator, an input.
    pub generator: Addr,
    /// The node digest.
    pub digest: [Addr; 2],
}

/// Compiles the program that verifies one proof of each shape.
///
/// # Errors
/// If the children do not fit one layer.
pub fn compile(children: &[ChildShape]) -> Result<Program, CompileError> {
    let mut builder = ProgramBuilder::new();
    let mut cuts = Cuts::default();
    let generator = builder.free_input();
    builder.set_generator(generator);
    let present: Vec<Addr> = children.iter().map(|_| builder.boolean_input()).collect();
    let start = cuts.cut(&mut builder);

    let mut contexts = Vec::with_capacity(children.len());
    let mut prologues = Vec::with_capacity(children.len());
    let mut slots = Vec::with_capacity(children.len());
    for (shape, &present) in children.iter().zip(&present) {
        let transcript = prologue::compile_transcript(&mut builder, shape)?;
        evaluate::compile_evaluation(&mut builder, shape, &transcript);
        let openings = openings::compile_openings(&mut builder, shape, &transcript);
        let query = Query { shape, transcript: &transcript, openings: &openings };
        let fold = FoldContext::new(&mut builder, &query);
        slots.push(statement::compile_slot(&mut builder, shape, &transcript, present));
        contexts.push((transcript, openings, fold));
        prologues.push(cuts.cut(&mut builder));
    }
    let digest = statement::compile_node(&mut builder, &slots);
    builder.set_first_row(digest[0], digest[1], generator);
    // Constants of the queries are made before them, so that every query has the same rows.
    builder.constant(F::ONE);
    let end = cuts.cut(&mut builder);

    let mut blocks = Vec::with_capacity(children.len());
    for (i, prologue) in prologues.into_iter().enumerate() {
        let (transcript, openings, fold) = &contexts[i];
        let query = Query { shape: &children[i], transcript, openings };
        let queries = transcript.indices.iter().map(|&sampled| {
            query.compile(&mut builder, sampled, fold);
            cuts.cut(&mut builder)
        });
        let queries = queries.collect();
        blocks.push(ChildBlock { prologue, queries, present: present[i] });
    }
    check_addresses(builder.reads.len())?;
    let program = Program {
        names: builder.names.iter().map(|&name| F::from_u32(name)).collect(),
        gates: builder.gates,
        hashes: builder.hashes,
        reads: builder.reads,
        start,
        children: blocks,
        end,
        generator,
        digest,
    };
    audit(&program.gates, &program.hashes, program.reads.len())?;
    Ok(program)
}

/// Ordinary addresses must not reach into the regions of indexed tables.
fn check_addresses(got: usize) -> Result<(), CompileError> {
    let maximum = FIRST_REGION as usize;
    if got <= maximum { Ok(()) } else { Err(CompileError::Addresses { got, maximum }) }
}

/// Cuts a program into blocks.
#[derive(Default)]
struct Cuts {
    ops: usize,
    hashes: usize,
    gates: usize,
    addrs: usize,
}

impl Cuts {
    /// Everything since the last cut.
    fn cut(&mut self, builder: &mut ProgramBuilder) -> Block {
        let block = Block {
            ops: builder.ops[self.ops..].to_vec(),
            hashes: self.hashes..builder.hashes.len(),
            gates: self.gates..builder.gates.len(),
            addrs: self.addrs..builder.reads.len(),
        };
        *self = Self {
            ops: builder.ops.len(),
            hashes: block.hashes.end,
            gates: block.gates.end,
            addrs: block.addrs.end,
        };
        builder.cut();
        block
    }
}
