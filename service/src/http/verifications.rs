//! `/v1/verifications`: a file in, a verdict out.

use std::time::Duration;

use super::query::{Query, refuse};
use super::{ApiError, body};
use crate::api::{ProblemKind, Verdict, VerdictClass};
use crate::config::MAX_PROVEN_BITS;
use crate::state::AppState;
use crate::verifier::{NoVerdict, Question};
use arbor_prover::security::Policy;
use arbor_prover::{Expected, FailureClass, FormatError, Verified, VerifyFailure};
use axum::Json;
use axum::extract::{Request, State};

/// When to come back if all places are taken, in seconds.
const RETRY_S: u64 = 2;

/// Verify a proof file
///
/// The body is the file, whatever its media type. Nothing but the file is needed: the keys are derived from
/// its parameters. The answer is 200 whenever there is a verdict, also on an invalid proof (`valid` is false,
/// with the reason), on one of weak parameters (`class` is `weak`) and on something that is no proof file at all
/// (`class` is `foreign`). A file that asks for
/// more than this server spends on it gets no verdict but 422 (`over-limit`), one of too many bytes 413.
#[utoipa::path(post, path = "/v1/verifications", operation_id = "verify_proof", tag = "proofs",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    params(
        ("expect" = Option<String>, Query, description = "A JSON object: any part of the statement that the proof must have"),
        ("min_proven_bits" = Option<u32>, Query, description = "Least proven bits of the weakest proof below; 0 accepts what anybody can forge. The server's own minimum unless given"),
    ),
    responses(
        (status = 200, description = "The verdict", body = Verdict),
        (status = 413, description = "The file is too large", body = crate::api::Problem, content_type = "application/problem+json"),
        (status = 422, description = "The file asks for more than the limits allow", body = crate::api::Problem, content_type = "application/problem+json"),
        (status = 503, description = "All places are taken", body = crate::api::Problem, content_type = "application/problem+json"),
        (status = 504, description = "No verdict in time", body = crate::api::Problem, content_type = "application/problem+json"),
    ))]
pub(super) async fn verify(
    State(state): State<AppState>,
    request: Request,
) -> Result<Json<Verdict>, ApiError> {
    let (parts, body) = request.into_parts();
    let query = Query::of(&parts.uri, &["expect", "min_proven_bits"])?;
    let expect = query.one("expect")?.map(Expected::from_json).transpose();
    let expect = expect.map_err(|error| refuse("expect", error.to_string()))?;
    let most = i64::try_from(MAX_PROVEN_BITS).unwrap_or(i64::MAX);
    let bits = query.number("min_proven_bits", 0..=most)?.and_then(|bits| u32::try_from(bits).ok());
    let policy =
        bits.map_or(state.verifier().policy(), |min_proven_bits| Policy { min_proven_bits });
    let config = state.config();
    let engine = state.engine()?;
    body::refuse_form(&parts.headers)?;
    let time = Duration::from_secs(config.server.body_timeout_s);
    // Who sends slowly holds what has come, and no place.
    let mut held = Vec::new();
    let hold = |bytes| {
        let room = state.verifier().hold(bytes);
        held.push(room.ok_or_else(|| ApiError::busy("too many files are being sent", RETRY_S))?);
        Ok(())
    };
    let most = config.verification.max_bytes;
    let file = body::read_counted(&parts.headers, body, most, time, hold).await?;
    let Some(place) = state.verifier().place() else {
        let detail = format!("{} files are being verified", config.verification.concurrent);
        return Err(ApiError::busy(detail, RETRY_S));
    };
    let bytes = file.len() as u64;
    // Jobs that were admitted count on their memory.
    let needed = super::blocking({
        let (state, file) = (state.clone(), file.clone());
        move || state.verifier().memory(&file)
    });
    let memory = engine.reserve(needed.await?)?;
    let question = Question { file, expect, policy };
    match state.verifier().verify(place, question, engine.cache(), memory).await {
        Ok(Ok(verified)) => Ok(Json(valid(verified, bytes))),
        Ok(Err(failure)) => refused(&failure, policy, bytes).map(Json),
        Err(error @ NoVerdict::Timeout { .. }) => {
            Err(ApiError::new(ProblemKind::Timeout, error.to_string()))
        }
        Err(NoVerdict::Lost) => Err(ApiError::internal()),
    }
}

fn valid(verified: Verified, bytes: u64) -> Verdict {
    Verdict {
        valid: true,
        class: VerdictClass::Valid,
        reason: None,
        statement: Some(verified.statement),
        keys: verified.keys,
        node_digest: Some(verified.node_digest),
        min_proven_bits: verified.policy.min_proven_bits,
        security: serde_json::to_value(&verified.security).ok(),
        bytes,
        derive_ms: Some(verified.derive_ms),
        verify_ms: Some(verified.verify_ms),
    }
}

/// A verdict, or that there is none because it would cost too much.
fn refused(failure: &VerifyFailure, policy: Policy, bytes: u64) -> Result<Verdict, ApiError> {
    let reason = failure.to_string();
    let class = match (failure, failure.class()) {
        (VerifyFailure::TooWeak { .. }, _) => VerdictClass::Weak,
        (VerifyFailure::Expectation { .. }, _) => return Err(refuse("expect", reason)),
        (_, FailureClass::Invalid) => VerdictClass::Invalid,
        (_, FailureClass::Usage) => VerdictClass::Foreign,
        (VerifyFailure::Format(FormatError::OverLimit { .. }), FailureClass::Limit) => {
            return Err(ApiError::new(ProblemKind::BodyTooLarge, reason));
        }
        (_, FailureClass::Limit) => return Err(ApiError::new(ProblemKind::OverLimit, reason)),
    };
    Ok(Verdict {
        valid: false,
        class,
        reason: Some(reason),
        statement: None,
        keys: Vec::new(),
        node_digest: None,
        min_proven_bits: policy.min_proven_bits,
        security: None,
        bytes,
        derive_ms: None,
        verify_ms: None,
    })
}
