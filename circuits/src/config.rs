//! The only place that names the field, its extension, the hash and the commitment scheme.
//!
//! Everything else in the workspace is concrete over these aliases.

use std::sync::Arc;

use p3_challenger::DuplexChallenger;
use p3_commit::ExtensionMmcs;
use p3_dft::Radix2DitParallel;
use p3_field::Field;
use p3_field::extension::BinomialExtensionField;
use p3_fri::{FriParameters, TwoAdicFriPcs};
use p3_koala_bear::{KoalaBear, Poseidon2KoalaBear, default_koalabear_poseidon2_16};
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{MerkleCap, PaddingFreeSponge, TruncatedPermutation};
use p3_uni_stark::StarkConfig;
use serde::{Deserialize, Serialize};

use crate::timed_pcs::{NoPhases, PhaseSink, TimedPcs};

/// The base field: p = 2³¹ − 2²⁴ + 1.
pub type F = KoalaBear;
/// The challenge field, of degree [`D`] over [`F`].
pub type EF = BinomialExtensionField<F, D>;
/// Degree of the challenge field.
pub const D: usize = 4;
/// Width of the Poseidon2 permutation, in field elements.
pub const WIDTH: usize = 16;
/// Rate of the sponge and of the challenger, in field elements.
pub const RATE: usize = 8;
/// Length of a digest, in field elements.
pub const DIGEST: usize = 8;

/// The permutation behind every hash and every challenger.
pub type Perm = Poseidon2KoalaBear<WIDTH>;
/// The hash of the rows of a Merkle leaf.
pub type Hash = PaddingFreeSponge<Perm, WIDTH, RATE, DIGEST>;
/// The two-to-one compression of a Merkle tree.
pub type Compress = TruncatedPermutation<Perm, 2, DIGEST, WIDTH>;
/// Merkle trees over base-field matrices.
pub type ValMmcs =
    MerkleTreeMmcs<<F as Field>::Packing, <F as Field>::Packing, Hash, Compress, 2, DIGEST>;
/// Merkle trees over FRI codewords.
pub type ChallengeMmcs = ExtensionMmcs<F, EF, ValMmcs>;
/// The Fiat-Shamir challenger.
pub type Challenger = DuplexChallenger<F, Perm, WIDTH, RATE>;
/// The discrete Fourier transform.
pub type Dft = Radix2DitParallel<F>;
/// FRI as Plonky3 has it.
pub type FriPcs = TwoAdicFriPcs<F, Dft, ValMmcs, ChallengeMmcs>;
/// FRI that says when a phase ends.
pub type Pcs = TimedPcs<FriPcs>;
/// The configuration of every proof in this workspace, base proofs and layers alike.
pub type LayerConfig = StarkConfig<Pcs, EF, Challenger>;
/// A digest: eight field elements, about 124 bits of collision resistance.
pub type Digest = [F; DIGEST];
/// A Merkle cap: the digests of one level of a tree.
pub type Cap = MerkleCap<F, Digest>;
/// A proof of `p3-uni-stark`.
pub type UniProof = p3_uni_stark::Proof<LayerConfig>;
/// A proof of `p3-batch-stark`.
pub type BatchProof = p3_batch_stark::BatchProof<LayerConfig>;

/// FRI parameters and grinding sites of one proof, after every default has been resolved.
///
/// Units: all `log_` fields are base-2 logarithms, all `_pow_bits` fields are bits of grinding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FriConfig {
    /// Inverse of the code rate.
    pub log_blowup: usize,
    /// Most points that one folding round may merge.
    pub max_log_arity: usize,
    /// Coefficients of the final polynomial.
    pub log_final_poly_len: usize,
    /// Level of each Merkle tree that is sent instead of its root.
    pub cap_height: usize,
    /// Points at which the proximity test looks.
    pub num_queries: usize,
    /// Grinding before the challenge that batches the openings.
    pub batch_pow_bits: usize,
    /// Grinding before the lookup challenges.
    pub lookup_pow_bits: usize,
    /// Grinding before the out-of-domain point.
    pub ood_pow_bits: usize,
    /// Grinding before each folding challenge.
    pub commit_pow_bits: usize,
    /// Grinding before the query indices.
    pub query_pow_bits: usize,
}

impl FriConfig {
    /// Log of the height at which folding stops.
    #[must_use]
    pub const fn log_final_height(&self) -> usize {
        self.log_blowup + self.log_final_poly_len
    }

    /// `log_blowup × queries + query grinding`: what most tools print as security, and no more than
    /// that (its conjecture was refuted in its up-to-capacity form, eprint 2025/2010).
    #[must_use]
    pub const fn naive_bits(&self) -> usize {
        self.log_blowup * self.num_queries + self.query_pow_bits
    }
}

/// The permutation with Plonky3's published constants.
#[must_use]
pub fn permutation() -> Perm {
    default_koalabear_poseidon2_16()
}

/// A challenger in its initial state.
#[must_use]
pub fn challenger() -> Challenger {
    Challenger::new(permutation())
}

/// The Merkle tree scheme with caps of `cap_height`.
#[must_use]
pub fn val_mmcs(cap_height: usize) -> ValMmcs {
    let perm = permutation();
    ValMmcs::new(Hash::new(perm.clone()), Compress::new(perm), cap_height)
}

/// A proof configuration whose phases nobody listens to.
#[must_use]
pub fn layer_config(fri: &FriConfig) -> LayerConfig {
    layer_config_with(fri, &Dft::default(), Arc::new(NoPhases))
}

/// A proof configuration that reports its phases to `sink` and shares the twiddles of `dft`.
#[must_use]
pub fn layer_config_with(fri: &FriConfig, dft: &Dft, sink: Arc<dyn PhaseSink>) -> LayerConfig {
    let mmcs = val_mmcs(fri.cap_height);
    let params = FriParameters {
        log_blowup: fri.log_blowup,
        log_final_poly_len: fri.log_final_poly_len,
        max_log_arity: fri.max_log_arity,
        num_queries: fri.num_queries,
        batch_proof_of_work_bits: fri.batch_pow_bits,
        commit_proof_of_work_bits: fri.commit_pow_bits,
        query_proof_of_work_bits: fri.query_pow_bits,
        mmcs: ChallengeMmcs::new(mmcs.clone()),
    };
    let pcs = TimedPcs::new(FriPcs::new(dft.clone(), mmcs, params), sink);
    StarkConfig::new(pcs, challenger())
        .with_lookup_proof_of_work_bits(fri.lookup_pow_bits)
        .with_ood_proof_of_work_bits(fri.ood_pow_bits)
}
