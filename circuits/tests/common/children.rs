//! Children of both proof systems: proved, natively verified, and as a layer takes them.

use arbor_circuits::child::{ChildInput, ChildProof, ChildShape};
use arbor_circuits::config::{BatchProof, Cap, F, FriConfig, LayerConfig, UniProof, layer_config};
use p3_air::symbolic::SymbolicAirBuilder;
use p3_air::{Air, DebugConstraintBuilder};
use p3_batch_stark::{ProverData, StarkInstance, prove_batch, verify_batch};
use p3_matrix::dense::RowMajorMatrix;
use p3_uni_stark::{
    PreprocessedVerifierKey, ProverConstraintFolder, VerifierConstraintFolder,
    prove_with_preprocessed, setup_preprocessed, verify_with_preprocessed,
};

use super::airs::{BatchAir, SampleAir};

/// What `p3-uni-stark` proves.
pub trait UniAir:
    Air<SymbolicAirBuilder<F>>
    + for<'a> Air<ProverConstraintFolder<'a, LayerConfig>>
    + for<'a> Air<VerifierConstraintFolder<'a, LayerConfig>>
    + for<'a> Air<DebugConstraintBuilder<'a, F>>
{
}

impl<A> UniAir for A where
    A: Air<SymbolicAirBuilder<F>>
        + for<'a> Air<ProverConstraintFolder<'a, LayerConfig>>
        + for<'a> Air<VerifierConstraintFolder<'a, LayerConfig>>
        + for<'a> Air<DebugConstraintBuilder<'a, F>>
{
}

/// A proof of `p3-uni-stark`.
pub struct UniChild<A> {
    pub air: A,
    pub log_height: usize,
    pub fri: FriConfig,
    pub publics: Vec<Vec<F>>,
    pub proof: UniProof,
    pub key: Option<PreprocessedVerifierKey<LayerConfig>>,
}

impl UniChild<SampleAir> {
    pub fn sample(air: SampleAir, fri: FriConfig) -> Self {
        let (trace, publics) = air.trace();
        Self::prove(air, trace, publics, fri)
    }
}

impl<A: UniAir> UniChild<A> {
    pub fn prove(air: A, trace: RowMajorMatrix<F>, publics: Vec<F>, fri: FriConfig) -> Self {
        let config = layer_config(&fri);
        let log_height = p3_util::log2_strict_usize(trace.values.len() / trace.width);
        let setup = setup_preprocessed(&config, &air, log_height).expect("it fits");
        let (data, key) = setup.unzip();
        let proof = prove_with_preprocessed(&config, &air, trace, &publics, data.as_ref());
        let proof = proof.expect("the prover takes every trace");
        Self { air, log_height, fri, publics: vec![publics], proof, key }
    }

    /// What `p3_uni_stark::verify` says of a proof.
    pub fn verify(&self, proof: &UniProof, publics: &[F], cap: Option<&Cap>) -> Result<(), String> {
        let config = layer_config(&self.fri);
        let key = self.key.as_ref().zip(cap).map(|(key, cap)| PreprocessedVerifierKey {
            width: key.width,
            degree_bits: key.degree_bits,
            commitment: cap.clone(),
        });
        verify_with_preprocessed(&config, &self.air, proof, publics, key.as_ref())
            .map_err(|error| format!("{error:?}"))
    }

    pub fn shape(&self) -> ChildShape {
        ChildShape::uni(&self.air, self.log_height, &self.fri).expect("a supported shape")
    }

    pub fn cap(&self) -> Option<&Cap> {
        self.key.as_ref().map(|key| &key.commitment)
    }

    pub fn input(&self) -> ChildInput<'_> {
        ChildInput {
            proof: ChildProof::Uni(&self.proof),
            public_values: &self.publics,
            preprocessed: self.cap(),
            present: true,
        }
    }

    pub fn verify_own(&self) -> Result<(), String> {
        self.verify(&self.proof, &self.publics[0], self.cap())
    }
}

/// A proof of `p3-batch-stark`.
pub struct BatchChild {
    pub airs: Vec<BatchAir>,
    pub log_heights: Vec<usize>,
    pub fri: FriConfig,
    pub publics: Vec<Vec<F>>,
    pub proof: BatchProof,
    pub data: ProverData<LayerConfig>,
}

impl BatchChild {
    pub fn sample(airs: Vec<SampleAir>, fri: FriConfig) -> Self {
        let (traces, publics): (Vec<_>, _) = airs.iter().map(SampleAir::trace).unzip();
        Self::prove(airs, &traces, publics, fri)
    }

    pub fn prove(
        airs: Vec<SampleAir>,
        traces: &[RowMajorMatrix<F>],
        publics: Vec<Vec<F>>,
        fri: FriConfig,
    ) -> Self {
        let config = layer_config(&fri);
        let log_heights: Vec<usize> = airs.iter().map(|air| air.log_height).collect();
        let airs: Vec<BatchAir> = airs.into_iter().map(BatchAir).collect();
        let data = ProverData::from_airs_and_degrees(&config, &airs, &log_heights);
        let data = data.expect("it fits");
        let traces: Vec<&RowMajorMatrix<F>> = traces.iter().collect();
        let instances = StarkInstance::new_multiple(&airs, &traces, &publics);
        let proof = prove_batch(&config, &instances, &data).expect("the prover takes every trace");
        Self { airs, log_heights, fri, publics, proof, data }
    }

    pub fn shape(&self) -> ChildShape {
        ChildShape::batch(&self.airs, &self.log_heights, &self.fri).expect("a supported shape")
    }

    pub fn cap(&self) -> Option<&Cap> {
        self.data.common.preprocessed.as_ref().map(|preprocessed| &preprocessed.commitment)
    }

    pub fn input(&self) -> ChildInput<'_> {
        ChildInput {
            proof: ChildProof::Batch(&self.proof),
            public_values: &self.publics,
            preprocessed: self.cap(),
            present: true,
        }
    }

    pub fn verify_own(&self) -> Result<(), String> {
        let config = layer_config(&self.fri);
        verify_batch(&config, &self.airs, &self.proof, &self.publics, &self.data.common)
            .map_err(|error| format!("{error:?}"))
    }
}
