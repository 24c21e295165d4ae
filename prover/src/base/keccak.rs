//! Keccak-f permutations, by `p3-keccak-air` and `p3-uni-stark`.
//!
//! The AIR binds neither the inputs nor their number: a proof says that a table of `2^k` rows holds
//! permutations, and no more. Inputs are drawn from a seed, so that a run can be repeated.

use std::sync::Arc;

use arbor_circuits::child::ChildShape;
use arbor_circuits::config::{
    Dft, Digest, F, FriConfig, UniProof, layer_config, layer_config_with,
};
use arbor_circuits::error::{CompileError, VerifyError};
use arbor_circuits::layer::TableStats;
use arbor_circuits::statement::key_digest;
use arbor_circuits::timed_pcs::PhaseSink;
use p3_field::PrimeField32;
use p3_keccak_air::{
    KeccakAir, KeccakCols, NUM_KECCAK_COLS, NUM_ROUNDS, U64_LIMBS, generate_trace_rows,
};
use p3_matrix::dense::RowMajorMatrix;

use crate::error::ProverError;
use crate::params::Program;
use crate::proof::check_uni_caps;

/// The state of Keccak-f: 25 lanes of 64 bits, `state[x + 5 y]`.
pub type State = [u64; 25];

/// Base columns of the quotient: degree 3 gives two chunks, each a column of the extension.
const QUOTIENT_COLUMNS: usize = 2 * arbor_circuits::config::D;
/// Separates these inputs from every other use of the hash.
const INPUT_CONTEXT: &str = "arbor keccak-f inputs v1";

/// The key of a Keccak table.
pub struct KeccakBase {
    log_height: usize,
    fri: FriConfig,
    shape: ChildShape,
}

impl KeccakBase {
    /// Derives the key of a table of `2^log_height` rows.
    ///
    /// Errors: the circuits' own, if the parameters were not validated.
    pub fn prepare(log_height: usize, fri: FriConfig) -> Result<Self, CompileError> {
        let shape = ChildShape::uni(&KeccakAir {}, log_height, &fri)?;
        Ok(Self { log_height, fri, shape })
    }

    /// What a layer over the proof is compiled from.
    #[must_use]
    pub const fn shape(&self) -> &ChildShape {
        &self.shape
    }

    /// Digest of the verifying key. The AIR has no preprocessed columns: the shape is all of it.
    pub fn key_digest(&self) -> Digest {
        key_digest(&self.shape.digest(), None)
    }

    /// Size of the table.
    #[must_use]
    pub fn table(&self) -> TableStats {
        TableStats {
            name: "keccak",
            rows: 1 << self.log_height,
            log_height: self.log_height,
            main: NUM_KECCAK_COLS,
            preprocessed: 0,
            aux: 0,
            quotient: QUOTIENT_COLUMNS,
        }
    }

    /// The trace of `program`.
    #[must_use]
    pub fn trace(&self, program: &Program) -> RowMajorMatrix<F> {
        let states = match *program {
            Program::Keccak { num_hashes, seed } => inputs(num_hashes as usize, seed),
            Program::Fibonacci { .. } => Vec::new(),
        };
        trace(states, self.log_height, self.fri.log_blowup)
    }

    /// Proves; `sink` is told of the phases.
    ///
    /// Errors: what the proof system says.
    pub fn prove(
        &self,
        trace: RowMajorMatrix<F>,
        sink: Arc<dyn PhaseSink>,
    ) -> Result<UniProof, ProverError> {
        let config = layer_config_with(&self.fri, &Dft::default(), sink);
        p3_uni_stark::prove(&config, &KeccakAir {}, trace, &[])
            .map_err(|error| ProverError::Base { reason: format!("{error:?}") })
    }

    /// Verifies.
    ///
    /// Errors: a height or a cap that is not the key's, or what the proof system says.
    pub fn verify(&self, proof: &UniProof) -> Result<(), VerifyError> {
        if proof.degree_bits != self.log_height {
            return Err(VerifyError::Shape {
                what: "log height of the trace",
                expected: self.log_height,
                got: proof.degree_bits,
            });
        }
        check_uni_caps(proof, self.fri.cap_height)?;
        p3_uni_stark::verify(&layer_config(&self.fri), &KeccakAir {}, proof, &[])
            .map_err(|error| VerifyError::Rejected { reason: format!("{error:?}") })
    }
}

/// Most permutations that a table of `2^log_height` rows holds.
#[must_use]
pub const fn max_permutations(log_height: usize) -> usize {
    (1 << log_height) / NUM_ROUNDS
}

/// The first `num_hashes` states of a seed: the extended output of BLAKE3, keyed for this purpose,
/// over the seed in little-endian bytes, cut into little-endian lanes.
#[must_use]
pub fn inputs(num_hashes: usize, seed: u64) -> Vec<State> {
    let mut hasher = blake3::Hasher::new_derive_key(INPUT_CONTEXT);
    hasher.update(&seed.to_le_bytes());
    let mut stream = hasher.finalize_xof();
    let mut next_lane = || {
        let mut bytes = [0; 8];
        stream.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    };
    (0..num_hashes).map(|_| std::array::from_fn(|_| next_lane())).collect()
}

/// A trace of `2^log_height` rows: permutations of `states`, then of zero. Room for the extension by
/// `2^log_blowup` is reserved.
///
/// Panics if there are more states than the rows hold.
#[must_use]
pub fn trace(mut states: Vec<State>, log_height: usize, log_blowup: usize) -> RowMajorMatrix<F> {
    assert!(states.len() <= max_permutations(log_height), "more permutations than rows hold");
    states.resize(max_permutations(log_height), [0; 25]);
    generate_trace_rows(states, log_blowup)
}

/// What the first `num_hashes` permutations of a trace come to.
///
/// Panics if the trace is shorter.
#[must_use]
pub fn outputs(trace: &RowMajorMatrix<F>, num_hashes: usize) -> Vec<State> {
    (0..num_hashes).map(|i| output(last_row(trace, i))).collect()
}

/// The last of the rows of permutation `index`.
fn last_row(trace: &RowMajorMatrix<F>, index: usize) -> &KeccakCols<F> {
    let row = (index + 1) * NUM_ROUNDS - 1;
    let cells: &[F] = &trace.values[row * NUM_KECCAK_COLS..(row + 1) * NUM_KECCAK_COLS];
    std::borrow::Borrow::borrow(cells)
}

fn output(row: &KeccakCols<F>) -> State {
    std::array::from_fn(|lane| {
        (0..U64_LIMBS).rev().fold(0, |value, limb| {
            let cell = row.a_prime_prime_prime(lane / 5, lane % 5, limb);
            value << 16 | u64::from(cell.as_canonical_u32())
        })
    })
}
