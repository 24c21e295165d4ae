//! Bits of security of a job or of a proof, for the API.

use arbor_prover::Cache;
use arbor_prover::tree::ProofSpec;
use serde_json::{Value, json};

/// The figures of a proof with these parameters, each with its regime.
///
/// `naive_bits` is the least of `log_blowup × queries + query grinding` over all proofs below: what most
/// tools print, and no proven level.
#[must_use]
pub fn security_of(spec: &ProofSpec, _cache: &Cache) -> Value {
    json!({ "naive_bits": spec.naive_bits() })
}
