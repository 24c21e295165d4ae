//! The computations at the bottom of a chain.

pub mod fibonacci;
pub mod keccak;

use std::sync::Arc;

use arbor_circuits::child::ChildShape;
use arbor_circuits::config::{Cap, Digest, F};
use arbor_circuits::error::{CompileError, VerifyError};
use arbor_circuits::layer::TableStats;
use arbor_circuits::timed_pcs::PhaseSink;
use p3_matrix::dense::RowMajorMatrix;

use crate::error::ProverError;
use crate::params::{BaseSpec, Program};
use crate::proof::FinalProof;
use fibonacci::FibonacciBase;
use keccak::KeccakBase;

impl Program {
    /// What the computation comes to, if its statement says so.
    #[must_use]
    pub fn result(&self) -> Option<u32> {
        match *self {
            Self::Keccak { .. } => None,
            Self::Fibonacci { n, a, b } => Some(fibonacci::element(n, a, b)),
        }
    }

    /// Public values of the base proof if the computation comes to `result`.
    #[must_use]
    pub fn public_values(&self, result: Option<u32>) -> Vec<F> {
        match *self {
            Self::Keccak { .. } => Vec::new(),
            Self::Fibonacci { n, a, b } => {
                fibonacci::public_values(n, a, b, result.unwrap_or_default())
            }
        }
    }
}

/// The key of a base computation: its size and its parameters, without inputs.
#[expect(clippy::large_enum_variant, reason = "there is one for each chain")]
pub enum PreparedBase {
    /// Keccak-f permutations.
    Keccak(KeccakBase),
    /// An element of a Fibonacci sequence.
    Fibonacci(FibonacciBase),
}

impl PreparedBase {
    /// Derives the key; of a Fibonacci sequence this commits to a table of its length.
    ///
    /// Errors: the circuits' own, if `spec` was not validated.
    pub fn prepare(spec: &BaseSpec) -> Result<Self, CompileError> {
        match spec.program {
            Program::Keccak { .. } => {
                KeccakBase::prepare(spec.log_height(), spec.fri).map(Self::Keccak)
            }
            Program::Fibonacci { n, .. } => {
                FibonacciBase::prepare(n, spec.fri).map(Self::Fibonacci)
            }
        }
    }

    /// What [`Self::shape`] will be, without committing to anything.
    ///
    /// Errors: as [`Self::prepare`].
    pub fn shape_of(spec: &BaseSpec) -> Result<ChildShape, CompileError> {
        match spec.program {
            Program::Keccak { .. } => {
                KeccakBase::prepare(spec.log_height(), spec.fri).map(|base| base.shape().clone())
            }
            Program::Fibonacci { n, .. } => FibonacciBase::shape_of(n, &spec.fri),
        }
    }

    /// What a layer over the proof is compiled from.
    #[must_use]
    pub fn shape(&self) -> ChildShape {
        match self {
            Self::Keccak(base) => base.shape().clone(),
            Self::Fibonacci(base) => base.circuit().shape(),
        }
    }

    /// Digest of the verifying key.
    pub fn key_digest(&self) -> Digest {
        match self {
            Self::Keccak(base) => base.key_digest(),
            Self::Fibonacci(base) => base.circuit().key_digest(),
        }
    }

    /// Commitment to the preprocessed columns, if there are any.
    #[must_use]
    pub fn preprocessed_cap(&self) -> Option<&Cap> {
        match self {
            Self::Keccak(_) => None,
            Self::Fibonacci(base) => Some(base.circuit().preprocessed_cap()),
        }
    }

    /// Sizes.
    #[must_use]
    pub fn tables(&self) -> Vec<TableStats> {
        match self {
            Self::Keccak(base) => vec![base.table()],
            Self::Fibonacci(base) => base.circuit().tables(),
        }
    }

    /// Whether the proof has lookups.
    #[must_use]
    pub const fn has_lookups(&self) -> bool {
        matches!(self, Self::Fibonacci(_))
    }

    /// Generates the trace of `program`, which must have the size that was prepared for.
    ///
    /// Errors: the circuits' own.
    pub fn trace(
        &self,
        program: &Program,
        public_values: &[F],
    ) -> Result<RowMajorMatrix<F>, ProverError> {
        match self {
            Self::Keccak(base) => Ok(base.trace(program)),
            Self::Fibonacci(base) => base
                .circuit()
                .fill(public_values)
                .map_err(|source| ProverError::Prove { layer: 0, source }),
        }
    }

    /// Proves; `sink` is told of the phases.
    ///
    /// Errors: what the proof system says.
    pub fn prove(
        &self,
        trace: RowMajorMatrix<F>,
        public_values: &[F],
        sink: Arc<dyn PhaseSink>,
    ) -> Result<FinalProof, ProverError> {
        match self {
            Self::Keccak(base) => base.prove(trace, sink).map(FinalProof::Uni),
            Self::Fibonacci(base) => base
                .circuit()
                .prove(trace, public_values, sink)
                .map(FinalProof::Batch)
                .map_err(|source| ProverError::Prove { layer: 0, source }),
        }
    }

    /// Verifies.
    ///
    /// Errors: a shape that is not the key's, or what the proof system says.
    pub fn verify(&self, proof: &FinalProof, public_values: &[F]) -> Result<(), VerifyError> {
        match (self, proof) {
            (Self::Keccak(_), FinalProof::Uni(_)) if !public_values.is_empty() => {
                Err(VerifyError::Shape {
                    what: "public values",
                    expected: 0,
                    got: public_values.len(),
                })
            }
            (Self::Keccak(base), FinalProof::Uni(proof)) => base.verify(proof),
            (Self::Fibonacci(base), FinalProof::Batch(proof)) => {
                base.circuit().verify(proof, public_values)
            }
            _ => Err(VerifyError::Rejected {
                reason: "the proof is of the other proof system".to_owned(),
            }),
        }
    }
}
