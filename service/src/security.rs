//! Bits of security of a job, for the API.

use arbor_prover::security::forecast;
use arbor_prover::tree::ProofSpec;
use serde_json::Value;

use crate::engine::EngineError;

/// The figures of a proof with these parameters, each with its regime and with what binds it.
///
/// # Errors
/// Parameters for which no circuit can be built.
pub fn security_of(spec: &ProofSpec) -> Result<Value, EngineError> {
    let report = forecast(spec)?;
    Ok(serde_json::to_value(report).unwrap_or_default())
}
