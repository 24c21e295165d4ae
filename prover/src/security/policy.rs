//! What a verifier accepts.

use std::fmt;

use serde::Serialize;

use super::report::{Figure, SecurityReport};

/// Proven bits that a verifier asks for unless it is told otherwise: what the preset `default` and
/// everything stronger has, for every size and tree, and what nobody should go below.
pub const DEFAULT_MIN_PROVEN_BITS: u32 = 60;

/// How secure a proof must be to be accepted. A file says which parameters it was proved with; that they
/// are good enough is the verifier's to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Least proven bits of the weakest proof below, the base included.
    pub min_proven_bits: u32,
}

impl Policy {
    /// Accepts proofs that anybody can forge. For tests, and for looking at a proof.
    pub const ANY_STRENGTH: Self = Self { min_proven_bits: 0 };

    /// The figure that is not enough, if one is not.
    ///
    /// Errors: the proven figure of `report`, if it is below the minimum.
    pub fn check(self, report: &SecurityReport) -> Result<(), Figure> {
        if report.proven.bits >= f64::from(self.min_proven_bits) {
            Ok(())
        } else {
            Err(report.proven.clone())
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self { min_proven_bits: DEFAULT_MIN_PROVEN_BITS }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.min_proven_bits {
            0 => f.write_str("proofs of any strength"),
            bits => write!(f, "at least {bits} proven bits"),
        }
    }
}
