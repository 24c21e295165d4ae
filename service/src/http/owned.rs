//! Jobs that a caller may see, by the id in the path.
//!
//! The id alone is private to this file: a route gets at a job of its path through one of these extractors, and so
//! never without the question whose it is. Another's job looks as if it were not there.

use arbor_prover::tree::NodeId;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::{ApiError, Caller};
use crate::api::ProblemKind;
use crate::engine::EngineError;
use crate::model::{JobId, JobRecord};
use crate::state::AppState;

/// The job that a path names; 404 if the caller sees none.
#[derive(Clone, Debug)]
pub(super) struct OwnJob(pub(super) JobRecord);

/// The job and the node that a path names, as [`OwnJob`].
#[derive(Clone, Debug)]
pub(super) struct OwnNode(pub(super) JobRecord, pub(super) NodeId);

/// The id that a path names, with the job if the caller sees one.
#[derive(Clone, Debug)]
pub(super) struct OwnJobIfAny(pub(super) JobId, pub(super) Option<JobRecord>);

impl FromRequestParts<AppState> for OwnJob {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let OwnJobIfAny(id, job) = OwnJobIfAny::from_request_parts(parts, state).await?;
        job.map(Self).ok_or_else(|| EngineError::NoSuchJob { id }.into())
    }
}

impl FromRequestParts<AppState> for OwnJobIfAny {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(id) = path.map_err(|_| no_such_job())?;
        let id = job_id(&id)?;
        Ok(Self(id, find(parts, state, id).await?))
    }
}

impl FromRequestParts<AppState> for OwnNode {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let path = Path::<(String, String, String)>::from_request_parts(parts, state).await;
        let Path((id, level, index)) = path.map_err(|_| no_such_job())?;
        let id = job_id(&id)?;
        let (Some(level), Some(index)) = (number(&level), number(&index)) else {
            let detail = "a node is named level/index, both whole numbers";
            return Err(ApiError::new(ProblemKind::NoSuchNode, detail).field("node"));
        };
        let job = find(parts, state, id).await?.ok_or(EngineError::NoSuchJob { id })?;
        Ok(Self(job, NodeId { level, index }))
    }
}

async fn find(
    parts: &mut Parts,
    state: &AppState,
    id: JobId,
) -> Result<Option<JobRecord>, ApiError> {
    let Ok(caller) = Caller::from_request_parts(parts, state).await;
    match state.engine()?.job(id).await {
        Ok(job) => Ok(Some(job).filter(|job| caller.sees(job))),
        Err(EngineError::NoSuchJob { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Only the way in which ids are written by the server names a job: one job, one path.
fn job_id(text: &str) -> Result<JobId, ApiError> {
    let id: JobId = text.parse().map_err(|_| no_such_job())?;
    if id.to_string() == text { Ok(id) } else { Err(no_such_job()) }
}

fn number(text: &str) -> Option<usize> {
    let number: usize = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

fn no_such_job() -> ApiError {
    ApiError::new(ProblemKind::NoSuchJob, "no job has such an id").field("id")
}
