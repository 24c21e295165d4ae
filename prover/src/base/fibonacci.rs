//! An element of a Fibonacci sequence modulo p, by a circuit of the arithmetic table.
//!
//! Public values: a, b, n and the result, where F(0) = a, F(1) = b. All four are bound: a, b and the
//! result by the additions between them, n because it is asserted to be the constant for which the
//! circuit was built.

use arbor_circuits::child::ChildShape;
use arbor_circuits::circuit::{Circuit, CircuitBuilder, PreparedCircuit, shape_of};
use arbor_circuits::config::{F, FriConfig};
use arbor_circuits::error::CompileError;
use p3_field::{PrimeCharacteristicRing, PrimeField32};

use crate::fri::min_log_height;

/// a, b, n and the result.
const NUM_PUBLICS: usize = 4;
/// Length from which on the circuit of the next element has one row more.
const REGULAR_FROM: u64 = 4;

/// The circuit of a Fibonacci sequence of one length, with its key.
pub struct FibonacciBase {
    circuit: PreparedCircuit,
}

impl FibonacciBase {
    /// Builds the circuit for `n` and commits to its preprocessed columns.
    ///
    /// Errors: the circuits' own, if the parameters were not validated.
    pub fn prepare(n: u64, fri: FriConfig) -> Result<Self, CompileError> {
        let circuit = PreparedCircuit::prepare(build(n, &fri)?, fri)?;
        Ok(Self { circuit })
    }

    /// Shape of the proofs, without building a circuit of their size or committing to anything: from some
    /// length on, every element takes one row more.
    ///
    /// Errors: as [`Self::prepare`].
    pub fn shape_of(n: u64, fri: &FriConfig) -> Result<ChildShape, CompileError> {
        let short = build(n.min(REGULAR_FROM), fri)?;
        let more = n.saturating_sub(REGULAR_FROM);
        let rows = more.saturating_add(short.rows() as u64).checked_next_power_of_two();
        let log_height = rows.map_or(u64::BITS, u64::ilog2) as usize;
        shape_of(NUM_PUBLICS, log_height.max(min_log_height(fri)), fri)
    }

    /// The circuit with its key.
    #[must_use]
    pub const fn circuit(&self) -> &PreparedCircuit {
        &self.circuit
    }
}

/// The public values if element `n` is `result`.
#[must_use]
pub fn public_values(n: u64, a: u64, b: u64, result: u32) -> Vec<F> {
    vec![F::from_u64(a), F::from_u64(b), F::from_u64(n), F::from_u32(result)]
}

/// Element `n`, computed one addition after the other.
#[must_use]
pub fn element(n: u64, a: u64, b: u64) -> u32 {
    let start = (F::from_u64(a), F::from_u64(b));
    let (element, _) = (0..n).fold(start, |(x, y), _| (y, x + y));
    element.as_canonical_u32()
}

/// One addition a row: `n` steps from (F(0), F(1)) to (F(n), F(n + 1)), less the addition that only
/// the element after the last would need.
fn build(n: u64, fri: &FriConfig) -> Result<Circuit, CompileError> {
    let mut circuit = CircuitBuilder::new(NUM_PUBLICS);
    let (a, b, n_var, result) =
        (circuit.public(0), circuit.public(1), circuit.public(2), circuit.public(3));
    let n_constant = circuit.constant(F::from_u64(n));
    circuit.assert_eq(n_var, n_constant);
    let (mut x, mut y) = (a, b);
    for _ in 1..n {
        (x, y) = (y, circuit.add(x, y));
    }
    let element = if n == 0 { a } else { y };
    circuit.assert_eq(element, result);
    circuit.build(min_log_height(fri))
}
