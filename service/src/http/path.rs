//! Ids in paths. What cannot be an id names nothing: 404.

use arbor_prover::tree::NodeId;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::ApiError;
use crate::api::ProblemKind;
use crate::model::JobId;

/// The job that a path names.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobPath(pub(super) JobId);

/// The job and the node that a path names.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodePath(pub(super) JobId, pub(super) NodeId);

impl<S: Send + Sync> FromRequestParts<S> for JobPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(id) = path.map_err(|_| no_such_job())?;
        job(&id).map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for NodePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<(String, String, String)>::from_request_parts(parts, state).await;
        let Path((id, level, index)) = path.map_err(|_| no_such_job())?;
        let id = job(&id)?;
        match (number(&level), number(&index)) {
            (Some(level), Some(index)) => Ok(Self(id, NodeId { level, index })),
            _ => {
                let detail = "a node is named level/index, both whole numbers";
                Err(ApiError::new(ProblemKind::NoSuchNode, detail).field("node"))
            }
        }
    }
}

/// Only the way in which ids are written by the server names a job: one job, one path.
fn job(text: &str) -> Result<JobId, ApiError> {
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
