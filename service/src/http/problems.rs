//! `/problems/{kind}`: what the `type` of an error means.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use serde_json::{Value, json};

use super::ApiError;
use crate::api::ProblemKind;

/// What a kind of error means
///
/// The `type` of every error is such a path.
#[utoipa::path(get, path = "/problems/{kind}", operation_id = "explain_problem", tag = "server",
    params(("kind" = String, Path, description = "Last part of the type")),
    responses(
        (status = 200, description = "The kind", body = Object),
        (status = 404, description = "No such kind", body = crate::api::Problem, content_type = "application/problem+json"),
    ))]
pub(super) async fn get(
    kind: Result<Path<String>, PathRejection>,
) -> Result<Json<Value>, ApiError> {
    let slug = kind.map(|Path(slug)| slug).unwrap_or_default();
    match ProblemKind::ALL.iter().find(|kind| kind.slug() == slug) {
        Some(kind) => Ok(Json(json!({
            "type": kind.path(),
            "title": kind.title(),
            "status": kind.status().as_u16(),
            "explanation": kind.explanation().trim(),
        }))),
        None => Err(ApiError::new(ProblemKind::NotFound, "there is no such kind of error")),
    }
}
