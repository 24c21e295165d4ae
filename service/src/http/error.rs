//! The one error of every route, and how others become it.

use std::borrow::Cow;

use arbor_prover::{ParamError, ProverError};
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use axum::response::{IntoResponse, Response};

use crate::api::{Problem, ProblemKind};
use crate::engine::EngineError;

/// Media type of every error.
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");
/// Longest detail, in characters: it may quote what the client sent.
const MAX_DETAIL: usize = 500;
/// When to come back after a failure that passes by itself, in seconds.
const SOON_S: u64 = 5;

/// An error on its way to the client. The body is written by the outermost layer, which knows the
/// request's id.
#[derive(Clone, Debug)]
pub struct ApiError {
    kind: ProblemKind,
    detail: Cow<'static, str>,
    field: Option<Cow<'static, str>>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiError {
    /// An error of this kind; `detail` says what is wrong with this request.
    #[must_use]
    pub fn new(kind: ProblemKind, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, detail: detail.into(), field: None, headers: Vec::new() }
    }

    /// The same, with the field, parameter or header that is wrong.
    #[must_use]
    pub fn field(mut self, field: impl Into<Cow<'static, str>>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// The same, with a header of the answer.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Something is short that will not always be.
    #[must_use]
    pub fn busy(detail: impl Into<Cow<'static, str>>, retry_after_s: u64) -> Self {
        Self::new(ProblemKind::Busy, detail).retry_after(retry_after_s)
    }

    /// An error of ours. What it was is in the logs.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(ProblemKind::Internal, "the logs have the cause, under the id of this request")
    }

    /// What kind of error it is.
    #[must_use]
    pub const fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// When to come back.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// The error of a status that another layer answered with.
    pub(super) fn of_status(status: axum::http::StatusCode) -> Self {
        let kind = ProblemKind::of_status(status);
        Self::new(kind, kind.explanation().trim())
    }

    /// Writes the body.
    pub(super) fn render(&self, request_id: &str) -> Response {
        let problem = Problem {
            kind: self.kind.path(),
            title: self.kind.title().to_owned(),
            status: self.kind.status().as_u16(),
            detail: self.detail.chars().take(MAX_DETAIL).collect(),
            field: self.field.as_ref().map(|field| field.chars().take(MAX_DETAIL).collect()),
            request_id: request_id.to_owned(),
        };
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = (self.kind.status(), body).into_response();
        response.headers_mut().insert(CONTENT_TYPE, PROBLEM_JSON);
        for (name, value) in &self.headers {
            response.headers_mut().insert(name, value.clone());
        }
        response
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.kind.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        use ProblemKind as K;
        let text = error.to_string();
        match error {
            EngineError::Param(error) => error.into(),
            EngineError::Prover(error) => error.into(),
            EngineError::NoSuchJob { .. } => Self::new(K::NoSuchJob, text),
            EngineError::NoSuchNode { .. } => Self::new(K::NoSuchNode, text),
            EngineError::NotFinished { .. } => Self::new(K::NotFinished, text),
            EngineError::NotRetryable { .. } => Self::new(K::NotRetryable, text),
            EngineError::IdempotencyConflict => {
                Self::new(K::IdempotencyConflict, text).field("idempotency-key")
            }
            EngineError::LeafJob { leaf, .. } => {
                Self::new(K::LeafRefused, text).field(format!("recursion.leaves[{leaf}].job"))
            }
            EngineError::TooLarge { what, .. } => {
                let is_field = !what.contains(' ');
                let error = Self::new(K::OverLimit, text);
                if is_field { error.field(what) } else { error }
            }
            EngineError::Busy { retry_after_s, queue, .. } => {
                let kind = if queue { K::QueueFull } else { K::Busy };
                Self::new(kind, text).retry_after(retry_after_s)
            }
            EngineError::Webhook { .. } => {
                Self::new(K::ParameterRefused, text).field("webhook.url")
            }
            EngineError::Quota { retry_after_s: Some(seconds), .. } => {
                Self::new(K::QuotaReached, text).retry_after(seconds)
            }
            EngineError::Quota { retry_after_s: None, .. } => Self::new(K::OverLimit, text),
            EngineError::ShuttingDown => Self::new(K::ShuttingDown, text).retry_after(SOON_S),
            EngineError::Corrupt { .. } => {
                tracing::error!(error = %text, "a stored proof is damaged");
                Self::new(K::ProofDamaged, text).retry_after(SOON_S)
            }
            error => {
                tracing::error!(error = ?error, "the storage failed");
                Self::new(K::StorageUnavailable, text).retry_after(SOON_S)
            }
        }
    }
}

impl From<ParamError> for ApiError {
    fn from(error: ParamError) -> Self {
        let detail = error.to_string();
        let field: Option<Cow<'static, str>> = match error {
            ParamError::Refused { parameter, .. } => Some(parameter.into()),
            ParamError::BeyondTwoAdicity { parameter, .. } | ParamError::Missing { parameter } => {
                Some(parameter.into())
            }
            ParamError::NotAChain | ParamError::NotATree => Some("recursion.mode".into()),
            ParamError::TreeLeaves => Some("recursion".into()),
            ParamError::UnusedBase => Some("base".into()),
            ParamError::LeafJob { leaf, .. } => {
                Some(format!("recursion.leaves[{leaf}].job").into())
            }
            ParamError::NoLastLayer => Some("final.fri".into()),
            ParamError::UnknownPreset { .. } => Some("preset".into()),
            _ => None,
        };
        let error = Self::new(ProblemKind::ParameterRefused, detail);
        match field {
            Some(field) => error.field(field),
            None => error,
        }
    }
}

impl From<ProverError> for ApiError {
    fn from(error: ProverError) -> Self {
        let detail = error.to_string();
        match error {
            ProverError::Param(error) => error.into(),
            ProverError::Compile { .. } | ProverError::Unsettled { .. } => {
                Self::new(ProblemKind::ParameterRefused, detail)
            }
            ProverError::Memory { .. } => Self::busy(detail, SOON_S),
            error => {
                tracing::error!(error = ?error, "the prover failed");
                Self::internal()
            }
        }
    }
}
