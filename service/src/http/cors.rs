//! Pages of other origins: none, unless `access.cors_origins` names them.

use std::time::Duration;

use axum::http::header::{
    ACCEPT_RANGES, AUTHORIZATION, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderName,
    IF_MATCH, IF_NONE_MATCH, LOCATION, ORIGIN, RANGE, RETRY_AFTER,
};
use axum::http::{HeaderValue, Method};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::config::AccessConfig;

/// How long a browser may remember the answer to its question.
const MAX_AGE: Duration = Duration::from_secs(600);

/// Tells browsers which origins may use this server. No credentials of theirs are let through: a key is sent by
/// the page itself. None where no other origin may: their questions are then answered like any other request.
pub(super) fn layer(access: &AccessConfig) -> Option<CorsLayer> {
    let origins =
        access.cors_origins.iter().filter_map(|origin| HeaderValue::try_from(origin).ok());
    let origins: Vec<HeaderValue> = origins.collect();
    if origins.is_empty() {
        return None;
    }
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::DELETE])
        .allow_headers([
            AUTHORIZATION,
            CONTENT_TYPE,
            IF_MATCH,
            IF_NONE_MATCH,
            RANGE,
            HeaderName::from_static("idempotency-key"),
            HeaderName::from_static("last-event-id"),
            HeaderName::from_static("prefer"),
            HeaderName::from_static("x-request-id"),
        ])
        .expose_headers([
            ACCEPT_RANGES,
            CONTENT_RANGE,
            ETAG,
            LOCATION,
            RETRY_AFTER,
            HeaderName::from_static("idempotency-replayed"),
            HeaderName::from_static("preference-applied"),
            HeaderName::from_static("x-request-id"),
        ])
        .max_age(MAX_AGE);
    Some(layer)
}

/// Whether the page that sent a request is of an origin that may.
pub(super) fn allows(access: &AccessConfig, headers: &HeaderMap) -> bool {
    let origin = headers.get(ORIGIN).map(HeaderValue::as_bytes);
    origin.is_some_and(|origin| access.cors_origins.iter().any(|known| known.as_bytes() == origin))
}
