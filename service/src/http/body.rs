//! Reads bodies: bounded in bytes and time, and JSON strictly.

use std::time::Duration;

use arbor_prover::Job;
use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use axum::http::{HeaderMap, HeaderValue};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use serde_json::error::Category;
use tokio::time::{Instant, timeout, timeout_at};

use super::error::ApiError;
use crate::api::ProblemKind;

/// How long the rest of a refused body is still read and thrown away: a client that is writing would
/// otherwise see its connection break instead of the answer.
const LINGER: Duration = Duration::from_secs(10);
/// Most bytes that are thrown away like this.
const LINGER_BYTES: usize = 256 << 20;

/// Reads a body of at most `most` bytes within `time`.
///
/// # Errors
/// Encoded, too large, too slow, or broken off.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    most: usize,
    time: Duration,
) -> Result<Bytes, ApiError> {
    read_counted(headers, body, most, time, |_| Ok(())).await
}

/// As [`read`], with `count` told of all bytes that came, and asked whether they may stay.
///
/// # Errors
/// As [`read`], and those of `count`.
pub(super) async fn read_counted(
    headers: &HeaderMap,
    body: Body,
    most: usize,
    time: Duration,
    mut count: impl FnMut(usize) -> Result<(), ApiError>,
) -> Result<Bytes, ApiError> {
    if let Some(coding) = headers.get(CONTENT_ENCODING).filter(|coding| *coding != "identity") {
        linger(body);
        let coding = coding.to_str().unwrap_or("unreadable");
        let detail = format!("content-encoding is {coding}, bodies are read as they are");
        let error = ApiError::new(ProblemKind::UnsupportedMediaType, detail);
        let identity = HeaderValue::from_static("identity");
        return Err(error.field("content-encoding").header(ACCEPT_ENCODING, identity));
    }
    let too_large = || {
        let detail = format!("at most {most} bytes are read");
        ApiError::new(ProblemKind::BodyTooLarge, detail)
    };
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > most as u64) {
        // Who asks before sending gets the answer instead of the word to go on.
        if !headers.contains_key(EXPECT) {
            linger(body);
        }
        return Err(too_large());
    }
    let deadline = Instant::now() + time;
    let mut frames = body.into_data_stream();
    let mut bytes = BytesMut::new();
    loop {
        let frame = timeout_at(deadline, frames.next()).await.map_err(|_| {
            let detail = format!("the body did not arrive within {} s", time.as_secs());
            ApiError::new(ProblemKind::RequestTimeout, detail)
        })?;
        match frame {
            None => return Ok(bytes.freeze()),
            Some(Ok(frame)) if bytes.len() + frame.len() <= most => {
                if let Err(error) = count(frame.len()) {
                    linger(Body::from_stream(frames));
                    return Err(error);
                }
                bytes.extend_from_slice(&frame);
            }
            Some(Ok(_)) => {
                linger(Body::from_stream(frames));
                return Err(too_large());
            }
            Some(Err(error)) => {
                tracing::debug!(%error, "a body broke off");
                let detail = "the body broke off, or its encoding is wrong";
                return Err(ApiError::new(ProblemKind::BadRequest, detail));
            }
        }
    }
}

/// Throws the rest away in the background.
fn linger(body: Body) {
    tokio::spawn(timeout(LINGER, async move {
        let mut frames = body.into_data_stream();
        let mut left = LINGER_BYTES;
        while let Some(Ok(frame)) = frames.next().await {
            match left.checked_sub(frame.len()) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    }));
}

/// Refuses bodies that are not declared as JSON. A form of a web page cannot declare that.
///
/// # Errors
/// Any other media type, or none.
pub(super) fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let given = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("unreadable"));
    let (essence, parameters) =
        given.unwrap_or_default().split_once(';').unwrap_or((given.unwrap_or_default(), ""));
    let charset = parameters.trim();
    let utf8 = charset.is_empty()
        || charset.split_once('=').is_some_and(|(name, value)| {
            name.trim().eq_ignore_ascii_case("charset")
                && value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        });
    if essence.trim().eq_ignore_ascii_case("application/json") && utf8 {
        return Ok(());
    }
    let detail = match given {
        Some(given) => format!("content-type is {given}, application/json is needed"),
        None => "content-type is missing, application/json is needed".to_owned(),
    };
    Err(ApiError::new(ProblemKind::UnsupportedMediaType, detail).field("content-type"))
}

/// Refuses the form that browsers and `curl --form` make of a file: its parts are no file.
///
/// # Errors
/// That media type.
pub(super) fn refuse_form(headers: &HeaderMap) -> Result<(), ApiError> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !given.trim_start().to_ascii_lowercase().starts_with("multipart/") {
        return Ok(());
    }
    let detail = "the body must be the file itself, not a form with it (curl: --data-binary @FILE)";
    Err(ApiError::new(ProblemKind::UnsupportedMediaType, detail).field("content-type"))
}

/// Reads a job.
///
/// # Errors
/// It is not JSON in UTF-8, or not a job; with the field.
pub(super) fn job(bytes: &[u8]) -> Result<Job, ApiError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let detail = format!("the body is not UTF-8 from byte {} on", error.valid_up_to());
        ApiError::new(ProblemKind::InvalidJson, detail)
    })?;
    let mut json = serde_json::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let job = Job::read(serde_path_to_error::Deserializer::new(&mut json, &mut track));
    let job = job.map_err(|error| {
        let detail = error.to_string();
        match error.classify() {
            Category::Data => located(ProblemKind::InvalidBody, &track.path().to_string(), detail),
            _ => located(ProblemKind::InvalidJson, &track.path().to_string(), detail),
        }
    })?;
    json.end().map_err(|error| ApiError::new(ProblemKind::InvalidJson, error.to_string()))?;
    Ok(job)
}

/// What serde says about fields that are not there or should not be ends in the field's name, while the
/// path ends in the object around it.
fn located(kind: ProblemKind, path: &str, detail: String) -> ApiError {
    let quoted = ["unknown field `", "duplicate field `", "missing field `"]
        .iter()
        .find_map(|prefix| detail.strip_prefix(prefix)?.split('`').next());
    let field = match (path, quoted) {
        // Where nothing could be read the path is unknown.
        ("." | "?", None) => None,
        (".", Some(name)) => Some(name.to_owned()),
        (path, None) => Some(path.to_owned()),
        (path, Some(name)) if path == name || path.ends_with(&format!(".{name}")) => {
            Some(path.to_owned())
        }
        (path, Some(name)) => Some(format!("{path}.{name}")),
    };
    let error = ApiError::new(kind, detail);
    match field {
        Some(field) => error.field(field),
        None => error,
    }
}
