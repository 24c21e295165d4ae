//! Who asks. Nobody is told apart yet: there are no keys.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::engine::EngineError;
use crate::http::ApiError;
use crate::model::{JobId, JobRecord};

/// Who sent a request. A layer that checks keys puts it into the request's extensions; without one
/// everybody is the same nobody, to whom all jobs belong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The key's owner.
    pub owner: Option<String>,
}

impl Caller {
    /// Lets the caller see its own jobs alone; another's looks as if it were not there.
    ///
    /// # Errors
    /// No such job.
    pub fn own(&self, id: JobId, record: JobRecord) -> Result<JobRecord, ApiError> {
        if self.owner.is_none() || self.owner == record.owner {
            Ok(record)
        } else {
            Err(EngineError::NoSuchJob { id }.into())
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
