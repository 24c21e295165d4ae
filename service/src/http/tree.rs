//! `/v1/jobs/{id}/tree`: which proof verifies which.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;

use super::ApiError;
use super::owned::OwnJob;
use super::query::Query;
use crate::api::{TreeNode, TreeView};
use crate::state::AppState;

/// The nodes of a job
///
/// Every proof of its plan, chains included, children before parents.
#[utoipa::path(get, path = "/v1/jobs/{id}/tree", operation_id = "get_tree", tag = "jobs",
    params(("id" = String, Path, description = "Id of the job")),
    responses(
        (status = 200, description = "The nodes", body = TreeView),
        (status = 404, description = "No such job", body = crate::api::Problem, content_type = "application/problem+json"),
    ))]
pub(super) async fn get(
    State(state): State<AppState>,
    OwnJob(job): OwnJob,
    uri: Uri,
) -> Result<Json<TreeView>, ApiError> {
    Query::of(&uri, &[])?;
    let engine = state.engine()?;
    let nodes = engine.nodes(job.id).await?.into_iter().map(TreeNode::from).collect();
    Ok(Json(TreeView { job: job.id.to_string(), nodes }))
}
