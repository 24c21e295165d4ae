//! `/v1/jobs/{id}/webhooks`: how the messages about a job fared.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;

use super::ApiError;
use super::owned::OwnJob;
use super::query::Query;
use crate::api::DeliveryList;
use crate::state::AppState;

/// The messages about a job
///
/// Every message to the job's webhook, how often it was sent and why it was not taken, in order.
#[utoipa::path(get, path = "/v1/jobs/{id}/webhooks", operation_id = "get_webhooks", tag = "jobs",
    params(("id" = String, Path, description = "Id of the job")),
    responses(
        (status = 200, description = "The messages", body = DeliveryList),
        (status = 404, description = "No such job", body = crate::api::Problem, content_type = "application/problem+json"),
    ))]
pub(super) async fn get(
    State(state): State<AppState>,
    OwnJob(job): OwnJob,
    uri: Uri,
) -> Result<Json<DeliveryList>, ApiError> {
    Query::of(&uri, &[])?;
    let engine = state.engine()?;
    Ok(Json(DeliveryList { deliveries: engine.deliveries(job.id).await? }))
}
