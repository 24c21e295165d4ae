//! `/livez` and `/readyz`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::ApiError;
use crate::api::{ProblemKind, Readiness};
use crate::state::AppState;

/// Is the process alive?
///
/// 200 as long as it answers at all.
#[utoipa::path(get, path = "/livez", operation_id = "livez", tag = "server",
    responses((status = 200, description = "It is", body = String, content_type = "text/plain")))]
pub(super) async fn live() -> &'static str {
    "ok\n"
}

/// Does the server take jobs?
///
/// Not while it prepares circuits, while it shuts down, or when it cannot prove; the reasons are listed.
#[utoipa::path(get, path = "/readyz", operation_id = "readyz", tag = "server",
    responses(
        (status = 200, description = "It does", body = Readiness),
        (status = 503, description = "It does not; the detail has the reasons", body = crate::api::Problem, content_type = "application/problem+json"),
    ))]
pub(super) async fn ready(State(state): State<AppState>) -> Result<Response, ApiError> {
    if state.shutdown().is_cancelled() {
        return Err(ApiError::new(ProblemKind::ShuttingDown, "the server is shutting down"));
    }
    let Ok(engine) = state.engine() else {
        return Err(ApiError::busy("starting: records are opened and circuits prepared", 2));
    };
    let health = engine.health().await;
    if !health.ready {
        let reasons = if health.reasons.is_empty() {
            "the engine is not ready".to_owned()
        } else {
            health.reasons.join("; ")
        };
        return Err(ApiError::busy(reasons, 2));
    }
    let readiness = Readiness { ready: true, reasons: health.reasons };
    Ok((StatusCode::OK, Json(readiness)).into_response())
}
