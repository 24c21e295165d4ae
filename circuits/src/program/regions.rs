//! Ranges of bus addresses that are read at `base + rest`.
//!
//! `rest` is a sampled index minus a path's bits times their weights: an integer, and of magnitude at
//! most 2^bits for an index of that many bits. A region of 2^{bits + 1} addresses around its base
//! that holds nothing but the entries at multiples of 2^step therefore cannot be left by any choice
//! of bits, and inside it only the true `rest` meets an entry.

use p3_field::PrimeField32;

use crate::config::F;
use crate::error::CompileError;

/// Ordinary addresses stay below this.
pub(crate) const FIRST_REGION: u64 = 1 << 24;

/// Hands out regions.
#[derive(Clone, Debug)]
pub struct Regions {
    next: u64,
}

impl Default for Regions {
    fn default() -> Self {
        Self { next: FIRST_REGION }
    }
}

impl Regions {
    /// The base of a fresh region for indices of `bits` bits.
    ///
    /// # Errors
    /// If the field has no addresses left.
    pub fn alloc(&mut self, bits: usize) -> Result<u32, CompileError> {
        let radius = 1_u64 << bits;
        let base = self.next + radius;
        self.next = base + radius + 2;
        if self.next >= u64::from(F::ORDER_U32) {
            return Err(CompileError::Unsupported {
                parameter: "children",
                got: bits,
                allowed: "so many proofs of this height do not fit one layer".into(),
            });
        }
        Ok(base as u32)
    }
}
