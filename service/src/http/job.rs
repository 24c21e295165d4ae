//! `/v1/jobs/{id}` and its retry.

use axum::Json;
use axum::extract::State;
use axum::http::header::{ETAG, HeaderValue, IF_MATCH, IF_NONE_MATCH, LOCATION};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};

use super::owned::{OwnJob, OwnJobIfAny};
use super::prefer::Wait;
use super::query::Query;
use super::wait::wait_for;
use super::{ApiError, Caller, etag, run};
use crate::api::{JobView, Links, ProblemKind};
use crate::engine::{Deleted, Engine};
use crate::model::JobRecord;
use crate::state::AppState;

/// Most nodes whose reports a job shows by itself: the longest chain, and trees of 64 leaves at eight a node. The
/// description of [`JobView::layers`] says it too.
pub(super) const MAX_REPORTS: u32 = 73;

/// Look at a job
///
/// State, phase, progress, the reports of its proofs, and the error if it failed. With `prefer: wait=N` the
/// answer waits up to N seconds: for a change if `if-none-match` has the `etag` that is known, else for the
/// end of the job.
#[utoipa::path(get, path = "/v1/jobs/{id}", operation_id = "get_job", tag = "jobs",
    params(
        ("id" = String, Path, description = "Id of the job"),
        ("if-none-match" = Option<String>, Header, description = "The `etag` that is known"),
        ("prefer" = Option<String>, Header, description = "`wait=N`"),
    ),
    responses(
        (status = 200, description = "The job", body = JobView, headers(("etag" = String))),
        (status = 304, description = "Nothing has changed"),
        (status = 404, description = "No such job", body = crate::api::Problem, content_type = "application/problem+json"),
    ))]
pub(super) async fn get(
    State(state): State<AppState>,
    OwnJob(mut record): OwnJob,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Query::of(&uri, &[])?;
    let engine = state.engine()?;
    let id = record.id;
    let known = |revision| etag::matches(&headers, IF_NONE_MATCH, &etag::of_revision(revision));
    let wait = Wait::of(&headers, state.config().server.max_wait_s);
    let conditional = known(record.revision).is_some();
    let waits = if conditional { known(record.revision) == Some(true) } else { true };
    if let Some(wait) = wait
        && waits
        && !record.state.is_final()
    {
        let _place = state.stream(&caller)?;
        record = wait_for(&state, id, wait, |record| {
            record.state.is_final() || (conditional && known(record.revision) == Some(false))
        })
        .await?;
    }
    let tag = etag::of_revision(record.revision);
    let mut response = if known(record.revision) == Some(true) {
        (StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response()
    } else {
        ([(ETAG, tag)], Json(view(engine, record).await?)).into_response()
    };
    if let Some(wait) = wait {
        wait.applied(&mut response);
    }
    Ok(response)
}

/// A job with the reports of its nodes, unless they are too many: what one `etag` stands for everywhere.
pub(super) async fn view(engine: &Engine, record: JobRecord) -> Result<JobView, ApiError> {
    let (id, nodes) = (record.id, record.nodes_total);
    let mut view = JobView::from(record);
    view.layers = match nodes {
        0 => Some(Vec::new()),
        1..=MAX_REPORTS => {
            let nodes = engine.nodes(id).await?;
            Some(nodes.into_iter().filter_map(|node| node.report).collect())
        }
        _ => None,
    };
    Ok(view)
}

/// Cancel or remove a job
///
/// A live job is cancelled: the node that is being proved is finished first. A finished one is removed with
/// its proofs. With `if-match` nothing happens unless the job still has this `etag`.
#[utoipa::path(delete, path = "/v1/jobs/{id}", operation_id = "delete_job", tag = "jobs",
    params(
        ("id" = String, Path, description = "Id of the job"),
        ("if-match" = Option<String>, Header, description = "The `etag` that is known"),
    ),
    responses(
        (status = 202, description = "It will be cancelled"),
        (status = 204, description = "It is gone, or never was"),
        (status = 412, description = "The job has changed", body = crate::api::Problem, content_type = "application/problem+json"),
    ))]
pub(super) async fn delete(
    State(state): State<AppState>,
    OwnJobIfAny(id, record): OwnJobIfAny,
    uri: Uri,
    headers: HeaderMap,
) -> Result<StatusCode, ApiError> {
    Query::of(&uri, &[])?;
    let engine = state.engine()?.clone();
    let Some(record) = record else { return Ok(StatusCode::NO_CONTENT) };
    let tag = etag::of_revision(record.revision);
    if etag::matches(&headers, IF_MATCH, &tag) == Some(false) {
        let detail = format!("the job is {} now", record.state);
        let error = ApiError::new(ProblemKind::PreconditionFailed, detail);
        return Err(error.header(ETAG, tag));
    }
    match run(async move { engine.delete(id).await }).await? {
        Deleted::Cancelling => Ok(StatusCode::ACCEPTED),
        Deleted::Gone => Ok(StatusCode::NO_CONTENT),
    }
}

/// Try a job again
///
/// Only a failed, cancelled or expired job; what it has proved is kept. It counts as a submission of its owner,
/// within the quota of the key that asks.
#[utoipa::path(post, path = "/v1/jobs/{id}/retry", operation_id = "retry_job", tag = "jobs",
    params(("id" = String, Path, description = "Id of the job")),
    responses(
        (status = 202, description = "Back in the queue", body = JobView),
        (status = 404, description = "No such job", body = crate::api::Problem, content_type = "application/problem+json"),
        (status = 409, description = "The job is in another state", body = crate::api::Problem, content_type = "application/problem+json"),
        (status = 422, description = "The job is larger than this server takes now", body = crate::api::Problem, content_type = "application/problem+json"),
        (status = 429, description = "The queue is full, the quota of the key is reached, or too many requests come", body = crate::api::Problem, content_type = "application/problem+json"),
    ))]
pub(super) async fn retry(
    State(state): State<AppState>,
    OwnJob(job): OwnJob,
    caller: Caller,
    uri: Uri,
) -> Result<Response, ApiError> {
    Query::of(&uri, &[])?;
    let engine = state.engine()?.clone();
    let (id, quota) = (job.id, caller.quota());
    let record = run(async move { engine.retry(id, quota).await }).await?;
    let tag = etag::of_revision(record.revision);
    let view = view(state.engine()?, record).await?;
    let location = HeaderValue::try_from(Links::of(&view.id).job);
    let mut response = (StatusCode::ACCEPTED, [(ETAG, tag)], Json(view)).into_response();
    if let Ok(location) = location {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}
