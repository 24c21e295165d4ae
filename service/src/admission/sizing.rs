//! What a job is expected to take, before anything of it is done.

use arbor_prover::estimate::{
    PROCESS_BYTES, derive_any_bytes, derive_base_bytes, estimate_any, proofs_bytes, prove_ms,
};
use arbor_prover::tree::ProofSpec;

use crate::model::Sizing;

/// What a job is expected to take.
#[must_use]
pub fn sizing(spec: &ProofSpec) -> Sizing {
    Sizing {
        peak_bytes: estimate_any(spec).peak_bytes,
        prove_ms: prove_ms(spec).ceil() as u64,
        disk_bytes: proofs_bytes(spec),
    }
}

/// Memory that proving a node takes beside what the process takes anyway, by its kind: the circuits of the job are
/// in it, whether they are prepared already or not.
#[must_use]
pub fn node_bytes(spec: &ProofSpec, kind: &str) -> u64 {
    let estimate = estimate_any(spec);
    let bytes = if kind == "base" { estimate.base_bytes } else { estimate.layer_bytes };
    bytes.saturating_sub(PROCESS_BYTES)
}

/// Memory that planning takes beside what the process takes anyway: of a chain the key of its base, of a tree all
/// circuits.
#[must_use]
pub fn plan_bytes(spec: &ProofSpec) -> u64 {
    match spec {
        ProofSpec::Chain(chain) => derive_base_bytes(&chain.base),
        ProofSpec::Tree(_) => derive_any_bytes(spec),
    }
}
