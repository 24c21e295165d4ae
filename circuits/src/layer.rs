//! One recursion step: a circuit that verifies proofs, compiled and committed to once, proved often.

use std::fmt::Debug;
use std::sync::Arc;

use p3_batch_stark::{CommonData, ProverData, StarkInstance, prove_batch, verify_batch};
use p3_field::TwoAdicField;
use p3_matrix::dense::RowMajorMatrix;
use p3_util::log2_ceil_usize;

use crate::child::{ChildInput, ChildShape};
use crate::compiler::{Program, compile};
use crate::config::{
    BatchProof, Cap, D, DIGEST, Dft, Digest, F, FriConfig, LayerConfig, layer_config_with,
};
use crate::error::{CompileError, ProveError, VerifyError};
use crate::filler::restore::{Misfit, RestoredChild};
use crate::filler::view::ChildView;
use crate::filler::{Traces, fill};
use crate::program::{Addr, Gate, Role};
use crate::statement::key_digest;
use crate::tables::LayerAir;
use crate::tables::arith::{self, ArithAir, Publics};
use crate::tables::hash::{self, HashAir};
use crate::timed_pcs::PhaseSink;

/// Size of one table, in rows and base-field columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStats {
    /// Name of the table.
    pub name: &'static str,
    /// Rows that are not padding.
    pub rows: usize,
    /// Log of the height.
    pub log_height: usize,
    /// Main columns.
    pub main: usize,
    /// Preprocessed columns.
    pub preprocessed: usize,
    /// Columns of the LogUp trace.
    pub aux: usize,
    /// Columns of the quotient chunks.
    pub quotient: usize,
}

/// A circuit that is compiled and whose preprocessed columns are committed to.
pub struct PreparedLayer {
    program: Program,
    children: Vec<ChildShape>,
    committed: Committed,
    rows: [usize; 2],
}

/// Children with their Merkle paths restored.
#[derive(Debug)]
pub struct Restored<'a>(pub(crate) Vec<RestoredChild<'a>>);

/// Filled tables.
#[derive(Debug)]
pub struct Filled {
    pub(crate) traces: Traces,
    pub(crate) digest: Digest,
}

impl Filled {
    /// The tables and the digest that they state.
    pub const fn parts(&self) -> (&Traces, &Digest) {
        (&self.traces, &self.digest)
    }
}

impl PreparedLayer {
    /// Compiles the circuit that verifies one proof of each shape, and commits to it. Both tables are
    /// padded to one height of at least `2^min_log_height` rows.
    ///
    /// # Errors
    /// If the children or the parameters do not fit.
    pub fn prepare(
        children: Vec<ChildShape>,
        fri: FriConfig,
        min_log_height: usize,
    ) -> Result<Self, CompileError> {
        let mut program = compile(&children)?;
        let (rows, log_height) = heights(&program, &fri, min_log_height)?;
        pad_gates(&mut program.gates, &mut program.reads, log_height);
        let arith = Arc::new(arith::preprocessed_trace(
            &program.gates,
            log_height,
            &program.names,
            &program.reads,
        ));
        let hash = Arc::new(hash::preprocessed_trace(
            &program.hashes,
            log_height,
            &program.names,
            &program.reads,
        ));
        let airs = vec![
            LayerAir::Arith(ArithAir { publics: Publics::Digest, preprocessed: arith }),
            LayerAir::Hash(HashAir { preprocessed: hash }),
        ];
        let committed = Committed::new(airs, &[log_height; 2], fri)?.into_layer();
        Ok(Self { program, children, committed, rows })
    }

    /// The shape of the proofs of the layer that [`Self::prepare`] would prepare: compiles, and commits to
    /// nothing.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub fn shape_of(
        children: &[ChildShape],
        fri: &FriConfig,
        min_log_height: usize,
    ) -> Result<ChildShape, CompileError> {
        let (_, log_height) = heights(&compile(children)?, fri, min_log_height)?;
        let columns = |width| Arc::new(RowMajorMatrix::new(vec![], width));
        let (arith, hash) = (columns(arith::NUM_PREPROCESSED), columns(hash::NUM_PREPROCESSED));
        let airs = [
            LayerAir::Arith(ArithAir { publics: Publics::Digest, preprocessed: arith }),
            LayerAir::Hash(HashAir { preprocessed: hash }),
        ];
        ChildShape::batch(&airs, &[log_height; 2], fri).map(ChildShape::into_layer)
    }

    /// Shape of the proofs that this layer makes, to be wrapped in the next one.
    #[must_use]
    pub fn shape(&self) -> ChildShape {
        self.committed.shape.clone()
    }

    /// Digest of the verifying key.
    pub fn key_digest(&self) -> Digest {
        self.committed.key_digest()
    }

    /// Commitment to the preprocessed columns.
    #[must_use]
    pub const fn preprocessed_cap(&self) -> &Cap {
        self.committed.cap()
    }

    /// FRI parameters of the proofs that this layer makes.
    #[must_use]
    pub fn fri(&self) -> &FriConfig {
        self.committed.shape.fri()
    }

    /// Sizes of the tables.
    #[must_use]
    pub fn tables(&self) -> Vec<TableStats> {
        ["E", "H"]
            .iter()
            .zip(self.rows)
            .enumerate()
            .map(|(i, (name, rows))| self.committed.stats(i, name, rows))
            .collect()
    }

    /// Rows of H whose permutation the native verifier computes too.
    #[must_use]
    pub fn permutations(&self) -> usize {
        self.program.hashes.iter().filter(|row| row.hashes()).count()
    }

    /// The program of the layer.
    #[must_use]
    pub const fn program(&self) -> &Program {
        &self.program
    }

    /// The two tables, E and H.
    #[must_use]
    pub fn airs(&self) -> &[LayerAir] {
        &self.committed.airs
    }

    /// Memory that the prepared circuit keeps, in bytes.
    #[must_use]
    pub fn preprocessed_bytes(&self) -> usize {
        let columns = arith::NUM_PREPROCESSED + hash::NUM_PREPROCESSED;
        let height = 1 << self.committed.shape.log_heights()[0];
        let blowup = 1 << self.fri().log_blowup;
        let tree = 2 * DIGEST * blowup;
        let program = self.program.gates.len() * size_of::<Gate>()
            + self.program.hashes.len() * size_of::<crate::program::HashRow>();
        size_of::<F>() * height * (columns * (1 + blowup) + tree) + program
    }

    /// Checks the shape of every child and restores its Merkle paths.
    ///
    /// # Errors
    /// If a proof has not the shape that the layer was prepared for, or its multiproofs do not fit its
    /// openings.
    pub fn restore<'a>(&self, children: &[ChildInput<'a>]) -> Result<Restored<'a>, ProveError> {
        self.restore_with(children, Misfit::Refuse)
    }

    /// The same, saying what to do with multiproofs that do not fit.
    ///
    /// # Errors
    /// As [`Self::restore`].
    pub fn restore_with<'a>(
        &self,
        children: &[ChildInput<'a>],
        misfit: Misfit,
    ) -> Result<Restored<'a>, ProveError> {
        if children.len() != self.children.len() {
            let (expected, got) = (self.children.len(), children.len());
            return Err(ProveError::ChildCount { expected, got });
        }
        let restored = self.children.iter().zip(children).enumerate().map(|(i, (shape, input))| {
            RestoredChild::new(ChildView::new(shape.clone(), *input, i)?, i, misfit)
        });
        Ok(Restored(restored.collect::<Result<_, _>>()?))
    }

    /// Fills the tables.
    ///
    /// # Errors
    /// None at present: whether the children are valid shows in the tables.
    pub fn fill(&self, restored: &Restored<'_>) -> Result<Filled, ProveError> {
        let height = self.committed.shape.log_heights()[0];
        let traces = fill(&self.program, [height; 2], &restored.0);
        let digest = self.program.digest.map(|addr| limbs(&traces, addr)).concat();
        let digest = std::array::from_fn(|i| digest[i]);
        Ok(Filled { traces, digest })
    }

    /// Proves the filled tables; phases are reported to `sink`.
    ///
    /// # Errors
    /// If the proof system refuses the tables.
    #[allow(clippy::needless_pass_by_value, reason = "the tables are of no use afterwards")]
    pub fn prove(
        &self,
        filled: Filled,
        sink: Arc<dyn PhaseSink>,
    ) -> Result<(BatchProof, Digest), ProveError> {
        let publics = [filled.digest.to_vec(), vec![]];
        let traces = [&filled.traces.arith, &filled.traces.hash];
        let proof = self.committed.prove(&traces, &publics, sink)?;
        Ok((proof, filled.digest))
    }

    /// Verifies a proof of this layer natively.
    ///
    /// # Errors
    /// If it is not accepted.
    pub fn verify(&self, proof: &BatchProof, digest: &Digest) -> Result<(), VerifyError> {
        self.committed.verify(proof, &[digest.to_vec(), vec![]])
    }

    /// The public values of a proof, by instance.
    #[must_use]
    pub fn public_values(digest: &Digest) -> Vec<Vec<F>> {
        vec![digest.to_vec(), vec![]]
    }
}

/// Rows of either table, and the log of the height that both are padded to.
fn heights(
    program: &Program,
    fri: &FriConfig,
    min_log_height: usize,
) -> Result<([usize; 2], usize), CompileError> {
    let rows = [program.gates.len(), program.hashes.len()];
    let least = min_log_height.max(fri.log_final_poly_len + 1);
    let log_height = rows.into_iter().map(log2_ceil_usize).fold(least, usize::max);
    check_height("E and H", log_height, fri)?;
    Ok((rows, log_height))
}

fn limbs(traces: &Traces, addr: Addr) -> [F; D] {
    use p3_field::BasedVectorSpace;
    let value: &[F] = traces.memory[addr.index()].as_basis_coefficients_slice();
    std::array::from_fn(|i| value[i])
}

/// Fills up E with rows that read zero.
pub(crate) fn pad_gates(gates: &mut Vec<Gate>, reads: &mut [u32], log_height: usize) {
    let zero = Addr::ZERO;
    let idle = Gate {
        a: zero,
        b: zero,
        c: zero,
        out: zero,
        q: [p3_field::PrimeCharacteristicRing::ZERO; 5],
        role: Role::Assert,
    };
    let missing = (1 << log_height) - gates.len();
    reads[zero.index()] += 4 * missing as u32;
    gates.resize(1 << log_height, idle);
}

pub(crate) fn check_height(
    table: &'static str,
    log_height: usize,
    fri: &FriConfig,
) -> Result<(), CompileError> {
    let maximum = F::TWO_ADICITY - fri.log_blowup;
    if log_height <= maximum {
        return Ok(());
    }
    Err(CompileError::TooTall { table, log_height, log_blowup: fri.log_blowup, maximum })
}

/// Tables whose preprocessed columns are committed to: what proves and what verifies.
pub(crate) struct Committed {
    pub(crate) airs: Vec<LayerAir>,
    pub(crate) shape: ChildShape,
    key: Digest,
    data: ProverData<LayerConfig>,
    config: LayerConfig,
    dft: Dft,
}

impl Committed {
    pub(crate) fn new(
        airs: Vec<LayerAir>,
        log_heights: &[usize],
        fri: FriConfig,
    ) -> Result<Self, CompileError> {
        let shape = ChildShape::batch(&airs, log_heights, &fri)?;
        let dft = Dft::default();
        let config = layer_config_with(&fri, &dft, Arc::new(crate::timed_pcs::NoPhases));
        let data = ProverData::from_airs_and_degrees(&config, &airs, log_heights)
            .map_err(|error| CompileError::Preprocessed { reason: reason(&error) })?;
        let committed = Self { airs, shape, key: Digest::default(), data, config, dft };
        Ok(committed.with_key())
    }

    fn into_layer(self) -> Self {
        Self { shape: self.shape.into_layer(), ..self }.with_key()
    }

    /// Computes the digest of the key once: it hashes a whole cap, and a plan of many nodes asks for it
    /// at every one.
    fn with_key(self) -> Self {
        Self { key: key_digest(&self.shape.digest(), Some(self.cap())), ..self }
    }

    pub(crate) const fn cap(&self) -> &Cap {
        match &self.data.common.preprocessed {
            Some(preprocessed) => &preprocessed.commitment,
            None => panic!("both tables have preprocessed columns"),
        }
    }

    pub(crate) const fn key_digest(&self) -> Digest {
        self.key
    }

    pub(crate) fn stats(&self, instance: usize, name: &'static str, rows: usize) -> TableStats {
        let shape = &self.shape.instances[instance];
        TableStats {
            name,
            rows,
            log_height: shape.log_height,
            main: shape.main_width,
            preprocessed: shape.preprocessed_width,
            aux: shape.aux_width * D,
            quotient: shape.num_chunks * D,
        }
    }

    pub(crate) fn prove(
        &self,
        traces: &[&RowMajorMatrix<F>],
        publics: &[Vec<F>],
        sink: Arc<dyn PhaseSink>,
    ) -> Result<BatchProof, ProveError> {
        let config = layer_config_with(self.shape.fri(), &self.dft, sink);
        let instances = StarkInstance::new_multiple(&self.airs, traces, publics);
        prove_batch(&config, &instances, &self.data)
            .map_err(|error| ProveError::Prover { reason: reason(&error) })
    }

    /// Checks what the shape fixes, caps above all, and leaves the rest to `verify_batch`.
    pub(crate) fn verify(&self, proof: &BatchProof, publics: &[Vec<F>]) -> Result<(), VerifyError> {
        let input = ChildInput {
            proof: crate::child::ChildProof::Batch(proof),
            public_values: publics,
            preprocessed: Some(self.cap()),
            present: true,
        };
        ChildView::new(self.shape.clone(), input, 0)?;
        let common: &CommonData<LayerConfig> = &self.data.common;
        verify_batch(&self.config, &self.airs, proof, publics, common)
            .map_err(|error| VerifyError::Rejected { reason: reason(&error) })
    }
}

impl From<ProveError> for VerifyError {
    fn from(error: ProveError) -> Self {
        match error {
            ProveError::Shape { what, expected, got, .. } => Self::Shape { what, expected, got },
            other => Self::Rejected { reason: other.to_string() },
        }
    }
}

fn reason(error: &impl Debug) -> String {
    format!("{error:?}")
}
