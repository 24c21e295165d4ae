//! Where a dishonest prover departs from the program.
//!
//! Tests of soundness fill tables with lies that the rest of the witness agrees with: a lie is told at
//! one place, and what follows from it is filled as if it were true.

use crate::config::{EF, F, WIDTH};
use crate::program::Addr;
use crate::tables::hash::SCRATCH;

/// What is filled in place of the truth. The default is the truth.
pub trait Deviation: Sync {
    /// What the row `row` of H takes to be at `addr`. (Rows of E show the memory, whatever they are
    /// told.)
    fn read(&self, row: usize, addr: Addr, value: EF) -> EF {
        let _ = (row, addr);
        value
    }

    /// What is taken to be at `addr` from now on by all that read it, in place of what its row writes.
    fn write(&self, addr: Addr, value: EF) -> EF {
        let _ = addr;
        value
    }

    /// Changes the input and the shared columns of the row `row` of H before they are permuted, served
    /// by the windows and carried on.
    fn row(&self, row: usize, input: &mut [F; WIDTH], scratch: &mut [F; SCRATCH]) {
        let _ = (row, input, scratch);
    }
}

/// No departure: what every prover but those of the tests does.
#[derive(Clone, Copy, Debug)]
pub struct Honest;

impl Deviation for Honest {}
