//! `/metrics`: for Prometheus.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::state::AppState;

/// The text format of Prometheus.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Metrics
///
/// Queue, jobs, layers by phase, memory, faults and requests, in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "server",
    responses((status = 200, description = "The metrics", body = String, content_type = "text/plain")))]
pub(super) async fn get(State(state): State<AppState>) -> Response {
    if let Ok(engine) = state.engine() {
        engine.refresh_metrics().await;
    }
    ([(CONTENT_TYPE, TEXT)], state.metrics().render()).into_response()
}
