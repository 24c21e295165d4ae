//! Circuits of the arithmetic table alone: the public face of E.

use std::sync::Arc;

use p3_field::PrimeCharacteristicRing;
use p3_matrix::dense::RowMajorMatrix;
use p3_util::log2_ceil_usize;

use crate::child::ChildShape;
use crate::config::{BatchProof, Cap, Digest, EF, F, FriConfig};
use crate::error::{CompileError, ProveError, VerifyError};
use crate::layer::{Committed, TableStats, check_height, pad_gates};
use crate::program::{Addr, Gate, ProgramBuilder, Role};
use crate::tables::LayerAir;
use crate::tables::arith::{self, ArithAir, Publics};
use crate::timed_pcs::PhaseSink;

/// Most public values of a circuit: one for each port a, b and c of the first and the last row.
pub const MAX_PUBLICS: usize = 6;

/// A value of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Var(Addr);

/// Builds a circuit over the base field: one row an operation.
///
/// ```
/// use arbor_circuits::circuit::CircuitBuilder;
///
/// // x·y + x = z, all three public
/// let mut builder = CircuitBuilder::new(3);
/// let [x, y, z] = [0, 1, 2].map(|i| builder.public(i));
/// let sum = builder.mul_add(x, y, x);
/// builder.assert_eq(sum, z);
/// let circuit = builder.build(8)?;
/// # Ok::<(), arbor_circuits::error::CompileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CircuitBuilder {
    program: ProgramBuilder,
    publics: Vec<Addr>,
}

/// A circuit, padded to its height.
#[derive(Clone, Debug)]
pub struct Circuit {
    gates: Vec<Gate>,
    reads: Vec<u32>,
    publics: Vec<Addr>,
    rows: usize,
    log_height: usize,
}

/// A circuit with its preprocessed columns committed to.
pub struct PreparedCircuit {
    circuit: Circuit,
    committed: Committed,
}

impl CircuitBuilder {
    /// A circuit with this many public values, six at most.
    #[must_use]
    pub fn new(num_publics: usize) -> Self {
        let mut program = ProgramBuilder::new();
        let publics = (0..num_publics).map(|_| program.free_input()).collect();
        Self { program, publics }
    }

    /// Public value `i`.
    ///
    /// # Panics
    /// If the circuit has fewer.
    #[must_use]
    pub fn public(&self, i: usize) -> Var {
        Var(self.publics[i])
    }

    /// A constant.
    pub fn constant(&mut self, value: F) -> Var {
        Var(self.program.constant(value))
    }

    /// `a + b`.
    pub fn add(&mut self, a: Var, b: Var) -> Var {
        Var(self.program.add(a.0, b.0))
    }

    /// `a − b`.
    pub fn sub(&mut self, a: Var, b: Var) -> Var {
        Var(self.program.sub(a.0, b.0))
    }

    /// `a·b`.
    pub fn mul(&mut self, a: Var, b: Var) -> Var {
        Var(self.program.mul(a.0, b.0))
    }

    /// `a·b + c`.
    pub fn mul_add(&mut self, a: Var, b: Var, c: Var) -> Var {
        Var(self.program.mul_add(a.0, b.0, c.0))
    }

    /// `1/a`; a circuit in which a is zero has no proof.
    pub fn inverse(&mut self, a: Var) -> Var {
        Var(self.program.inverse(a.0))
    }

    /// `q_ab·a·b + q_a·a + q_b·b + q_c·c + q_1`, the whole of one row, with `q` in that order.
    pub fn gate(&mut self, a: Var, b: Var, c: Var, q: [F; 5]) -> Var {
        Var(self.program.gate(a.0, b.0, c.0, q))
    }

    /// Requires `a = b`.
    pub fn assert_eq(&mut self, a: Var, b: Var) {
        self.program.assert_eq(a.0, b.0);
    }

    /// Pads to a power of two of at least `2^min_log_height` rows.
    ///
    /// # Errors
    /// If there are more than [`MAX_PUBLICS`] public values.
    pub fn build(mut self, min_log_height: usize) -> Result<Circuit, CompileError> {
        if self.publics.len() > MAX_PUBLICS {
            return Err(CompileError::Unsupported {
                parameter: "public values",
                got: self.publics.len(),
                allowed: format!("at most {MAX_PUBLICS}"),
            });
        }
        let port = |i: usize| self.publics.get(i).copied().unwrap_or(Addr::ZERO);
        self.program.set_first_row(port(0), port(1), port(2));
        // The last row holds the rest of the public values; the table may end with it.
        let q = [F::ZERO; 5];
        let (a, b, c) = (port(3), port(4), port(5));
        let last = Gate { a, b, c, out: Addr::ZERO, q, role: Role::Assert };
        self.program.push(last);
        let ProgramBuilder { mut gates, mut reads, .. } = self.program;
        let rows = gates.len();
        let log_height = log2_ceil_usize(rows).max(min_log_height);
        let last = gates.pop().expect("pushed above");
        pad_gates(&mut gates, &mut reads, log_height);
        // The row at the end takes the place of one row of padding.
        let idle = gates.pop().expect("padding makes room for one row at least");
        assert_eq!(idle.role, Role::Assert);
        reads[Addr::ZERO.index()] -= 4;
        gates.push(last);
        Ok(Circuit { gates, reads, publics: self.publics, rows, log_height })
    }
}

/// The shape of the proofs of any circuit with this many public values and `2^log_height` rows: neither a
/// circuit nor a commitment is needed for it.
///
/// # Errors
/// As [`PreparedCircuit::prepare`].
pub fn shape_of(
    num_publics: usize,
    log_height: usize,
    fri: &FriConfig,
) -> Result<ChildShape, CompileError> {
    check_height("E", log_height, fri)?;
    let preprocessed = Arc::new(RowMajorMatrix::new(vec![], arith::NUM_PREPROCESSED));
    let air = LayerAir::Arith(ArithAir { publics: Publics::Scalars(num_publics), preprocessed });
    ChildShape::batch(&[air], &[log_height], fri)
}

impl Circuit {
    /// Rows that are not padding.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Evaluates the circuit.
    fn evaluate(&self, public_values: &[F]) -> Vec<EF> {
        let mut memory = EF::zero_vec(self.reads.len());
        for (addr, &value) in self.publics.iter().zip(public_values) {
            memory[addr.index()] = value.into();
        }
        for gate in &self.gates {
            let [a, b, c] = [gate.a, gate.b, gate.c].map(|addr| memory[addr.index()]);
            match gate.role {
                Role::Compute => memory[gate.out.index()] = gate.eval(a, b, c),
                Role::Quotient => {
                    let inverse = p3_field::Field::try_inverse(&b).unwrap_or(EF::ZERO);
                    memory[gate.a.index()] = memory[gate.out.index()] * inverse;
                }
                Role::Assert | Role::Input => {}
            }
        }
        memory
    }
}

impl PreparedCircuit {
    /// Commits to the preprocessed columns.
    ///
    /// # Errors
    /// If the circuit does not fit the parameters.
    pub fn prepare(circuit: Circuit, fri: FriConfig) -> Result<Self, CompileError> {
        check_height("E", circuit.log_height, &fri)?;
        let names: Vec<F> = (0..circuit.reads.len()).map(F::from_usize).collect();
        let preprocessed =
            arith::preprocessed_trace(&circuit.gates, circuit.log_height, &names, &circuit.reads);
        let publics = Publics::Scalars(circuit.publics.len());
        let air = ArithAir { publics, preprocessed: Arc::new(preprocessed) };
        let committed = Committed::new(vec![LayerAir::Arith(air)], &[circuit.log_height], fri)?;
        Ok(Self { circuit, committed })
    }

    /// Shape of the proofs, to be wrapped in a layer.
    #[must_use]
    pub fn shape(&self) -> ChildShape {
        self.committed.shape.clone()
    }

    /// Commitment to the preprocessed columns.
    #[must_use]
    pub const fn preprocessed_cap(&self) -> &Cap {
        self.committed.cap()
    }

    /// Digest of the verifying key.
    pub fn key_digest(&self) -> Digest {
        self.committed.key_digest()
    }

    /// Sizes of the table.
    #[must_use]
    pub fn tables(&self) -> Vec<TableStats> {
        vec![self.committed.stats(0, "E", self.circuit.rows)]
    }

    /// Evaluates the circuit and fills its table.
    ///
    /// # Errors
    /// If the number of public values is not that of the circuit.
    pub fn fill(&self, public_values: &[F]) -> Result<RowMajorMatrix<F>, ProveError> {
        let (expected, got) = (self.circuit.publics.len(), public_values.len());
        if expected != got {
            return Err(ProveError::Shape { child: 0, what: "public values", expected, got });
        }
        let memory = self.circuit.evaluate(public_values);
        Ok(arith::fill_rows(&self.circuit.gates, self.circuit.log_height, &memory))
    }

    /// Proves a filled table; phases are reported to `sink`.
    ///
    /// # Errors
    /// If the proof system refuses the table.
    #[allow(clippy::needless_pass_by_value, reason = "the table is of no use afterwards")]
    pub fn prove(
        &self,
        trace: RowMajorMatrix<F>,
        public_values: &[F],
        sink: Arc<dyn PhaseSink>,
    ) -> Result<BatchProof, ProveError> {
        self.committed.prove(&[&trace], &[public_values.to_vec()], sink)
    }

    /// Verifies a proof natively.
    ///
    /// # Errors
    /// If it is not accepted.
    pub fn verify(&self, proof: &BatchProof, public_values: &[F]) -> Result<(), VerifyError> {
        self.committed.verify(proof, &[public_values.to_vec()])
    }
}
