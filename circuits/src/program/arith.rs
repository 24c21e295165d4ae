//! Instructions of the arithmetic table E.

use p3_field::PrimeCharacteristicRing;

use super::builder::Addr;
use crate::config::{EF, F};

/// What a row of E does beside satisfying `q_ab·a·b + q_a·a + q_b·b + q_c·c + q_1 = out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads a, b, c and writes out.
    Compute,
    /// Reads all four: a constraint.
    Assert,
    /// Reads b and out and writes a: a division, or a value that only the gate restricts.
    Quotient,
    /// Writes a value that the filler supplies to port a, reads it again at the other ports as the
    /// gate says. With all coefficients zero the value is free.
    Input,
}

/// One row of E.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Address of port a.
    pub a: Addr,
    /// Address of port b.
    pub b: Addr,
    /// Address of port c.
    pub c: Addr,
    /// Address of port out.
    pub out: Addr,
    /// Coefficients of a·b, a, b, c and 1.
    pub q: [F; 5],
    /// Which ports are written.
    pub role: Role,
}

impl Gate {
    /// The value that the gate gives its `out` port.
    #[inline]
    pub fn eval(&self, a: EF, b: EF, c: EF) -> EF {
        let [q_ab, q_a, q_b, q_c, q_1] = self.q;
        let product = if q_ab == F::ZERO { EF::ZERO } else { a * b * q_ab };
        product + a * q_a + b * q_b + c * q_c + q_1
    }
}
