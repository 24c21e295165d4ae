//! Who asks.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::access::{KeyRecord, Quota, Role};
use crate::model::JobRecord;

/// Who sent a request: the owner of a valid key, put into the request's extensions by the layer that checked it.
/// Where there are no keys everybody is the same nobody, who may see all jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    key: Option<Arc<KeyRecord>>,
}

impl Caller {
    /// The owner of this key.
    #[must_use]
    pub fn of(key: KeyRecord) -> Self {
        Self { key: Some(Arc::new(key)) }
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> Option<&KeyRecord> {
        self.key.as_deref()
    }

    /// To whom the jobs that it submits belong.
    #[must_use]
    pub fn owner(&self) -> Option<String> {
        self.key.as_ref().map(|key| key.name.clone())
    }

    /// How much it may use.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.key.as_ref().map(|key| key.quota).unwrap_or_default()
    }

    /// Whose jobs it sees; none: everybody's.
    #[must_use]
    pub fn restricted_to(&self) -> Option<String> {
        let key = self.key.as_ref().filter(|key| key.role != Role::Admin);
        key.map(|key| key.name.clone())
    }

    /// Whether a job is one that it sees.
    #[must_use]
    pub fn sees(&self, job: &JobRecord) -> bool {
        let restricted = self.restricted_to();
        restricted.is_none() || restricted == job.owner
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
