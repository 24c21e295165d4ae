//! What happens to every request: an id, a span, a time limit, headers, and errors of one form.

use std::any::Any;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use metrics::{counter, histogram};
use tracing::{Instrument, info_span};
use uuid::Uuid;

use super::ApiError;
use super::prefer::Wait;
use crate::api::ProblemKind;
use crate::state::AppState;

/// The header with the id of a request, both ways.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id that is taken from a client.
const MAX_REQUEST_ID: usize = 64;
/// Nothing of an answer that is no page may be run or framed.
const POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// The outermost layer: gives the request its id, writes errors, counts and logs.
pub(super) async fn observe(request: Request, next: Next) -> Response {
    let start = Instant::now();
    let id = request_id(request.headers());
    let method = known_method(request.method());
    let route = match request.extensions().get::<MatchedPath>() {
        Some(path) => path.as_str().to_owned(),
        None => "unmatched".to_owned(),
    };
    let span = info_span!("request", request_id = %id, %method, %route);
    let mut response = next.run(request).instrument(span.clone()).await;
    if response.status().is_client_error() || response.status().is_server_error() {
        response = in_one_form(response, &id);
    }
    if let Ok(id) = HeaderValue::try_from(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    let status = response.status().as_u16();
    let seconds = start.elapsed().as_secs_f64();
    span.in_scope(|| {
        let latency_ms = seconds * 1e3;
        // Probes come every few seconds and say nothing.
        if ["/livez", "/readyz", "/metrics"].contains(&route.as_str()) {
            tracing::debug!(status, latency_ms, "answered");
        } else {
            tracing::info!(status, latency_ms, "answered");
        }
    });
    let labels = [("method", method.to_owned()), ("route", route), ("status", status.to_string())];
    counter!("arbor_http_requests_total", &labels).increment(1);
    histogram!("arbor_http_request_seconds", &labels[1..]).record(seconds);
    response
}

/// The client's id if it is a plain word, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    match given {
        Some(id) if (1..=MAX_REQUEST_ID).contains(&id.len()) && id.bytes().all(plain) => {
            id.to_owned()
        }
        _ => Uuid::now_v7().to_string(),
    }
}

/// The method, as long as it is one that exists: a client must not be able to make up label values.
fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// An error as `application/problem+json`, with the headers that the layer which made it set.
fn in_one_form(response: Response, id: &str) -> Response {
    let (parts, _) = response.into_parts();
    let error = parts.extensions.get::<ApiError>().cloned();
    let error = error.unwrap_or_else(|| ApiError::of_status(parts.status));
    let mut written = error.render(id);
    for (name, value) in &parts.headers {
        let of_the_body = [CONTENT_TYPE, CONTENT_LENGTH, CONTENT_ENCODING].contains(name);
        if !of_the_body && !written.headers().contains_key(name) {
            written.headers_mut().append(name, value.clone());
        }
    }
    written
}

/// Refuses heads that are larger than configured. The parser gives up where its memory ends, which is only about
/// there: it takes what comes in one piece.
pub(super) async fn limit_head(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let most = state.config().server.max_header_bytes;
    let got = head_bytes(&request);
    if got > most {
        let detail = format!("the head of the request has {got} bytes, at most {most} are read");
        return ApiError::new(ProblemKind::HeadTooLarge, detail).into_response();
    }
    next.run(request).await
}

/// Bytes of the request line and the header lines, as clients write them.
fn head_bytes(request: &Request) -> usize {
    /// What ends a line.
    const END: usize = "\r\n".len();
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let first = request.method().as_str().len() + target + "  HTTP/1.1".len() + END;
    let line = |(name, value): (&HeaderName, &HeaderValue)| {
        name.as_str().len() + ": ".len() + value.len() + END
    };
    first + request.headers().iter().map(line).sum::<usize>() + END
}

/// Ends requests whose answer does not come. What they began in the background goes on.
pub(super) async fn limit_time(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let config = state.config();
    let own = match request.uri().path() {
        "/v1/verifications" => config.verification.timeout_s,
        _ => Wait::of(request.headers(), config.server.max_wait_s)
            .map_or(0, |wait| wait.duration().as_secs()),
    };
    // The body has its own limit, and so have waiting and verifying: this one is for the rest.
    let server = &config.server;
    let limit = Duration::from_secs(server.request_timeout_s + server.body_timeout_s + own);
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = format!("there was no answer within {} s", limit.as_secs());
            ApiError::new(ProblemKind::Timeout, detail).into_response()
        }
    }
}

/// Headers that keep browsers from doing more with an answer than showing it.
pub(super) async fn security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(POLICY);
    response
}

/// The answer to a request whose handler panicked.
#[expect(clippy::needless_pass_by_value, reason = "the layer that catches panics wants it so")]
pub(super) fn panicked(payload: Box<dyn Any + Send>) -> Response {
    let text = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("of no text");
    tracing::error!(panic = %text, "a handler panicked");
    let mut response = ApiError::internal().into_response();
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}
