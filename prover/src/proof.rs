//! A proof of either proof system, and the lengths that Plonky3 leaves unchecked.

use arbor_circuits::child::ChildProof;
use arbor_circuits::config::{BatchProof, Cap, UniProof};
use arbor_circuits::error::VerifyError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ProverError;

/// The proof that a chain ends with, or one on the way.
pub enum FinalProof {
    /// One of `p3-uni-stark`: a Keccak base proof.
    Uni(UniProof),
    /// One of `p3-batch-stark`: a Fibonacci base proof or a layer.
    Batch(BatchProof),
}

impl FinalProof {
    /// The proof as a layer takes it.
    #[must_use]
    pub const fn as_child(&self) -> ChildProof<'_> {
        match self {
            Self::Uni(proof) => ChildProof::Uni(proof),
            Self::Batch(proof) => ChildProof::Batch(proof),
        }
    }

    /// The proof in postcard's encoding.
    ///
    /// Errors: the encoder's, which has none for these types.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ProverError> {
        match self {
            Self::Uni(proof) => postcard::to_allocvec(proof),
            Self::Batch(proof) => postcard::to_allocvec(proof),
        }
        .map_err(|error| ProverError::Encode { reason: error.to_string() })
    }

    /// Decodes what [`Self::to_bytes`] wrote; `uni` says of which proof system it is.
    ///
    /// Errors: as [`decode`].
    pub fn from_bytes(bytes: &[u8], uni: bool) -> Result<Self, String> {
        if uni { decode(bytes).map(Self::Uni) } else { decode(bytes).map(Self::Batch) }
    }
}

/// Decodes `bytes` to the last one. Allocates in proportion to `bytes`: serde reserves no more than
/// 1 MiB on the word of a length, and every element takes a byte at least.
///
/// Errors: what postcard says, that bytes are left over, or that the value has a shorter encoding:
/// postcard reads numbers with leading zeros, and one proof would have many files.
pub fn decode<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<T, String> {
    let value = match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => value,
        Ok((_, rest)) => return Err(format!("{} bytes after the end of the proof", rest.len())),
        Err(error) => return Err(error.to_string()),
    };
    match postcard::to_allocvec(&value) {
        Ok(encoded) if encoded == bytes => Ok(value),
        Ok(_) => Err("it is not in its shortest encoding".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Checks the length of every cap of a `p3-uni-stark` proof, which Plonky3 0.8 does not.
///
/// Errors: the first cap of another length than `2^cap_height`.
pub fn check_uni_caps(proof: &UniProof, cap_height: usize) -> Result<(), VerifyError> {
    check_cap("roots of the trace cap", &proof.commitments.trace, cap_height)?;
    check_cap("roots of the quotient cap", &proof.commitments.quotient_chunks, cap_height)?;
    for cap in &proof.opening_proof.commit_phase_commits {
        check_cap("roots of the cap of a folding round", cap, cap_height)?;
    }
    Ok(())
}

fn check_cap(what: &'static str, cap: &Cap, cap_height: usize) -> Result<(), VerifyError> {
    let (expected, got) = (1 << cap_height, cap.roots().len());
    if expected == got { Ok(()) } else { Err(VerifyError::Shape { what, expected, got }) }
}
