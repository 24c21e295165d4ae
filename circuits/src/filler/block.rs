//! Evaluates one block of a program.

use p3_field::{BasedVectorSpace, Field, PrimeCharacteristicRing};

use super::deviation::{Deviation, Honest};
use super::restore::RestoredChild;
use crate::compiler::{Block, Program};
use crate::config::{D, EF, F, Perm, WIDTH, permutation};
use crate::program::{Addr, Gate, Op, Role};
use crate::tables::hash::SCRATCH;

/// What a block takes from outside.
#[derive(Clone, Copy)]
pub(super) enum Inputs<'a> {
    /// The presence bits.
    Start { present: &'a [bool] },
    /// A child's transcript.
    Prologue { child: &'a RestoredChild<'a> },
    /// One query of a child.
    Query { child: &'a RestoredChild<'a>, query: usize },
    /// Nothing.
    None,
}

/// The row before, as far as the next one depends on it.
#[derive(Clone, Copy)]
pub(super) struct Before {
    pub input: [F; WIDTH],
    pub output: [F; WIDTH],
    pub scratch: [F; SCRATCH],
}

/// The evaluation of one block.
pub(super) struct BlockRun<'a> {
    pub program: &'a Program,
    pub block: &'a Block,
    pub inputs: Inputs<'a>,
    /// Addresses of earlier blocks.
    shared: &'a [EF],
    /// This block's addresses.
    local: &'a mut [EF],
    /// This block's rows of H.
    pub rows: &'a mut [F],
    pub before: Before,
    /// Elements of the transcript that are absorbed.
    pub absorbed: usize,
    /// A value that began in the row before and ends in this one.
    pub straddling: Option<(Addr, F)>,
    /// Addresses that were read at an index.
    pub indexed: Vec<usize>,
    pub perm: Perm,
    /// Groups of opened values that were concatenated already: tree, group, values.
    pub opened: Option<(u16, u16, Vec<F>)>,
    /// The row of the folding round that is being hashed.
    pub folding: Vec<EF>,
    /// The row of H that is being filled, unless it is one of E.
    pub row: Option<usize>,
    /// The lies that are filled in.
    pub deviation: &'a dyn Deviation,
}

impl<'a> BlockRun<'a> {
    pub(super) fn new(
        program: &'a Program,
        block: &'a Block,
        shared: &'a [EF],
        local: &'a mut [EF],
        rows: &'a mut [F],
        inputs: Inputs<'a>,
    ) -> Self {
        let before = Before {
            input: [F::ZERO; WIDTH],
            output: [F::ZERO; WIDTH],
            scratch: [F::ZERO; SCRATCH],
        };
        Self {
            program,
            block,
            inputs,
            shared,
            local,
            rows,
            before,
            absorbed: 0,
            straddling: None,
            indexed: vec![],
            perm: permutation(),
            opened: None,
            folding: vec![],
            row: None,
            deviation: &Honest,
        }
    }

    /// The same with lies.
    pub(super) fn deviate(self, deviation: &'a dyn Deviation) -> Self {
        Self { deviation, ..self }
    }

    /// Evaluates all rows. Returns the addresses that were read at an index.
    pub(super) fn run(mut self) -> Vec<usize> {
        if let Inputs::Start { present } = self.inputs {
            self.set(
                self.program.generator,
                EF::from_basis_coefficients_fn(|i| F::from_bool(i == 1)),
            );
            for (child, &present) in self.program.children.iter().zip(present) {
                self.set(child.present, EF::from_bool(present));
            }
        }
        for op in &self.block.ops {
            match op {
                Op::Gates(run) => {
                    for gate in &self.program.gates[run.clone()] {
                        self.evaluate(gate);
                    }
                }
                Op::Hashes(run) => {
                    for row in run.clone() {
                        self.row = Some(row);
                        self.fill_hash(row);
                    }
                    self.row = None;
                }
            }
        }
        self.indexed
    }

    /// The value at an address.
    pub(super) fn get(&self, addr: Addr) -> EF {
        let value = match addr.index().checked_sub(self.block.addrs.start) {
            Some(local) => self.local[local],
            None => self.shared[addr.index()],
        };
        match self.row {
            Some(row) => self.deviation.read(row, addr, value),
            None => value,
        }
    }

    /// The same, by limbs.
    pub(super) fn limbs(&self, addr: Addr) -> [F; D] {
        let value = self.get(addr);
        let limbs: &[F] = value.as_basis_coefficients_slice();
        std::array::from_fn(|i| limbs[i])
    }

    /// Writes an address of this block.
    pub(super) fn set(&mut self, addr: Addr, value: EF) {
        let value = self.deviation.write(addr, value);
        self.local[addr.index() - self.block.addrs.start] = value;
    }

    /// The same, by limbs.
    pub(super) fn set_limbs(&mut self, addr: Addr, limbs: [F; D]) {
        self.set(addr, EF::from_basis_coefficients_fn(|i| limbs[i]));
    }

    fn evaluate(&mut self, gate: &Gate) {
        match gate.role {
            Role::Compute => {
                let value = gate.eval(self.get(gate.a), self.get(gate.b), self.get(gate.c));
                self.set(gate.out, value);
            }
            Role::Quotient => {
                let inverse = self.get(gate.b).try_inverse().unwrap_or(EF::ZERO);
                let value = self.get(gate.out) * inverse;
                self.set(gate.a, value);
            }
            Role::Assert | Role::Input => {}
        }
    }
}
