//! Errors as RFC 9457 wants them.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of every error: `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// What kind of error it is: stable, for programs. `GET` of this path explains it.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in a few words.
    pub title: String,
    /// Status of the answer.
    pub status: u16,
    /// What is wrong with this request.
    pub detail: String,
    /// The field, parameter or header that is wrong, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The request, as in the header `x-request-id` and in the logs.
    pub request_id: String,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident = $slug:literal, $status:ident, $title:literal;)+) => {
        /// Every kind of error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ProblemKind { $($(#[doc = $doc])+ $name,)+ }

        impl ProblemKind {
            /// Every kind, in the order of their status.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The last part of the type.
            #[must_use]
            pub const fn slug(self) -> &'static str {
                match self { $(Self::$name => $slug,)+ }
            }

            /// The kind in a few words.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)+ }
            }

            /// Status of the answer.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)+ }
            }

            /// What it means and what helps.
            #[must_use]
            pub const fn explanation(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc, " "),+),)+ }
            }
        }
    };
}

kinds! {
    /// The request cannot be read at all.
    BadRequest = "bad-request", BAD_REQUEST, "Bad request";
    /// The body is not JSON in UTF-8, or is nested too deeply. The detail has line and column.
    InvalidJson = "invalid-json", BAD_REQUEST, "The body is not valid JSON";
    /// A part of the query is unknown, is given twice, or has a value that it cannot have.
    InvalidQuery = "invalid-query", BAD_REQUEST, "A query parameter is refused";
    /// A header has a value that it cannot have.
    InvalidHeader = "invalid-header", BAD_REQUEST, "A header is refused";
    /// The request needs an API key, as `authorization: Bearer arbor_…`, and has none that is valid.
    Unauthorized = "unauthorized", UNAUTHORIZED, "An API key is needed";
    /// The key is valid, but its role does not allow this.
    Forbidden = "forbidden", FORBIDDEN, "The key does not allow this";
    /// A web page of another origin sent the request. Pages elsewhere are not served.
    CrossOrigin = "cross-origin", FORBIDDEN, "Requests of other origins are refused";
    /// There is nothing at this path.
    NotFound = "not-found", NOT_FOUND, "There is no such path";
    /// There is no job of this id, or no more: finished jobs are removed after the retention time.
    NoSuchJob = "no-such-job", NOT_FOUND, "There is no such job";
    /// The plan of the job has no such node, or the node has no proof file that stands by itself.
    NoSuchNode = "no-such-node", NOT_FOUND, "There is no such node";
    /// The path takes other methods; the header `allow` names them.
    MethodNotAllowed = "method-not-allowed", METHOD_NOT_ALLOWED, "The path takes other methods";
    /// The body did not come in time.
    RequestTimeout = "request-timeout", REQUEST_TIMEOUT, "The request took too long to arrive";
    /// There is no proof yet; the state of the job says whether there will be.
    NotFinished = "not-finished", CONFLICT, "There is no proof, or not yet";
    /// Only failed, cancelled and expired jobs can be retried.
    NotRetryable = "not-retryable", CONFLICT, "The job cannot be retried";
    /// The job changed since the `etag` in `if-match`.
    PreconditionFailed = "precondition-failed", PRECONDITION_FAILED, "The job has changed";
    /// The body has more bytes than this server reads.
    BodyTooLarge = "body-too-large", PAYLOAD_TOO_LARGE, "The body is too large";
    /// The path or the query is too long.
    UriTooLong = "uri-too-long", URI_TOO_LONG, "The address is too long";
    /// The body must be sent as `application/json`, and not compressed.
    UnsupportedMediaType = "unsupported-media-type", UNSUPPORTED_MEDIA_TYPE,
        "The body has another media type";
    /// No part of the requested range is in the file; `content-range` has its length.
    RangeNotSatisfiable = "range-not-satisfiable", RANGE_NOT_SATISFIABLE,
        "The range lies outside of the file";
    /// The request came for another server.
    Misdirected = "misdirected", MISDIRECTED_REQUEST, "The request is for another server";
    /// The body is JSON, but not what is asked for: a field is unknown, missing, given twice, or of the
    /// wrong type.
    InvalidBody = "invalid-body", UNPROCESSABLE_ENTITY, "The body does not fit";
    /// A parameter has a value for which nothing can be proved. The detail has what would be allowed.
    ParameterRefused = "parameter-refused", UNPROCESSABLE_ENTITY, "A parameter is refused";
    /// More than this server is configured to take, whatever its load.
    OverLimit = "over-limit", UNPROCESSABLE_ENTITY, "More than this server takes";
    /// The same `idempotency-key` came with another body before.
    IdempotencyConflict = "idempotency-conflict", UNPROCESSABLE_ENTITY,
        "The idempotency key was used before";
    /// A leaf names a job that is not there or has no proof.
    LeafRefused = "leaf-refused", UNPROCESSABLE_ENTITY, "A leaf is refused";
    /// The queue is full. Come back after `retry-after` seconds.
    QueueFull = "queue-full", TOO_MANY_REQUESTS, "The queue is full";
    /// The quota of the key is reached. Come back after `retry-after` seconds.
    QuotaReached = "quota-reached", TOO_MANY_REQUESTS, "The quota of the key is reached";
    /// Too many requests came with this key, or from this address. Come back after `retry-after` seconds.
    RateLimited = "rate-limited", TOO_MANY_REQUESTS, "Too many requests";
    /// The head of the request is too large.
    HeadTooLarge = "head-too-large", REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large";
    /// An error of ours. The request id finds its cause in the logs.
    Internal = "internal", INTERNAL_SERVER_ERROR, "An error of the server";
    /// Memory, disk, connections or time are short. Come back after `retry-after` seconds.
    Busy = "busy", SERVICE_UNAVAILABLE, "The server is busy";
    /// Records or proofs cannot be read or written at the moment.
    StorageUnavailable = "storage-unavailable", SERVICE_UNAVAILABLE, "The storage is not available";
    /// A stored proof is damaged and is made again.
    ProofDamaged = "proof-damaged", SERVICE_UNAVAILABLE, "The stored proof is damaged";
    /// The server is ending.
    ShuttingDown = "shutting-down", SERVICE_UNAVAILABLE, "The server is shutting down";
    /// The answer was not ready in time.
    Timeout = "timeout", GATEWAY_TIMEOUT, "The answer took too long";
}

impl ProblemKind {
    /// The type: a path of this server, which explains it.
    #[must_use]
    pub fn path(self) -> String {
        format!("/problems/{}", self.slug())
    }

    /// The kind for a status that some other layer gave.
    #[must_use]
    pub fn of_status(status: StatusCode) -> Self {
        let same = |kind: &&Self| kind.status() == status;
        match status {
            StatusCode::BAD_REQUEST => Self::BadRequest,
            StatusCode::UNPROCESSABLE_ENTITY => Self::InvalidBody,
            status if status.is_client_error() => {
                *Self::ALL.iter().find(same).unwrap_or(&Self::BadRequest)
            }
            _ => *Self::ALL.iter().find(same).unwrap_or(&Self::Internal),
        }
    }
}
