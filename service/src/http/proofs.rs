//! `/v1/jobs/{id}/proof` and `/v1/jobs/{id}/proof/{level}/{index}`: proof files.

use std::ops::Range;

use arbor_prover::tree::NodeId;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
    ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH,
};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;

use super::owned::{OwnJob, OwnNode};
use super::query::Query;
use super::range::{Wanted, wanted};
use super::{ApiError, etag};
use crate::api::ProblemKind;
use crate::engine::{Engine, EngineError, StoredProof};
use crate::model::JobRecord;
use crate::state::AppState;

/// Bytes that are read at once.
const CHUNK: u64 = 256 << 10;
/// A file never changes under its tag.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("private, max-age=31536000, immutable");

/// Download the proof of a job
///
/// The file that `arbor verify` reads. Its `etag` is the BLAKE3 of its bytes; one range of bytes may be asked
/// for, so that a download can go on where it broke off.
#[utoipa::path(get, path = "/v1/jobs/{id}/proof", operation_id = "download_proof", tag = "proofs",
    params(
        ("id" = String, Path, description = "Id of the job"),
        ("range" = Option<String>, Header, description = "`bytes=first-last`"),
        ("if-range" = Option<String>, Header, description = "The `etag` of which the range is wanted"),
        ("if-none-match" = Option<String>, Header, description = "The `etag` that is known"),
    ),
    responses(
        (status = 200, description = "The file", body = Vec<u8>, content_type = "application/octet-stream", headers(("etag" = String), ("content-disposition" = String))),
        (status = 206, description = "A part of the file", body = Vec<u8>, content_type = "application/octet-stream", headers(("etag" = String), ("content-range" = String))),
        (status = 304, description = "The file is known", headers(("etag" = String))),
        (status = 404, description = "No such job", body = crate::api::Problem, content_type = "application/problem+json"),
        (status = 409, description = "There is no proof yet", body = crate::api::Problem, content_type = "application/problem+json"),
        (status = 416, description = "The range lies outside of the file", body = crate::api::Problem, content_type = "application/problem+json", headers(("content-range" = String))),
    ))]
pub(super) async fn job(
    State(state): State<AppState>,
    OwnJob(job): OwnJob,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Query::of(&uri, &[])?;
    let file = Wish { job, node: None, head: method == Method::HEAD };
    serve(&state, &file, &headers).await
}

/// Download the proof of a node
///
/// As the proof of the job, for a node whose proof stands by itself.
#[utoipa::path(get, path = "/v1/jobs/{id}/proof/{level}/{index}", operation_id = "download_node_proof", tag = "proofs",
    params(
        ("id" = String, Path, description = "Id of the job"),
        ("level" = usize, Path, description = "First part of the node's id"),
        ("index" = usize, Path, description = "Second part of the node's id"),
        ("range" = Option<String>, Header, description = "`bytes=first-last`"),
        ("if-range" = Option<String>, Header, description = "The `etag` of which the range is wanted"),
        ("if-none-match" = Option<String>, Header, description = "The `etag` that is known"),
    ),
    responses(
        (status = 200, description = "The file", body = Vec<u8>, content_type = "application/octet-stream", headers(("etag" = String), ("content-disposition" = String))),
        (status = 206, description = "A part of the file", body = Vec<u8>, content_type = "application/octet-stream", headers(("etag" = String), ("content-range" = String))),
        (status = 304, description = "The file is known", headers(("etag" = String))),
        (status = 404, description = "No such job or node", body = crate::api::Problem, content_type = "application/problem+json"),
        (status = 409, description = "There is no proof yet", body = crate::api::Problem, content_type = "application/problem+json"),
        (status = 416, description = "The range lies outside of the file", body = crate::api::Problem, content_type = "application/problem+json", headers(("content-range" = String))),
    ))]
pub(super) async fn node(
    State(state): State<AppState>,
    OwnNode(job, node): OwnNode,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Query::of(&uri, &[])?;
    let file = Wish { job, node: Some(node), head: method == Method::HEAD };
    serve(&state, &file, &headers).await
}

/// What is asked for.
struct Wish {
    job: JobRecord,
    node: Option<NodeId>,
    head: bool,
}

impl Wish {
    /// A name for the file on the client's side.
    fn file_name(&self) -> String {
        match self.node {
            None => format!("{}.arbor", self.job.id),
            Some(NodeId { level, index }) => format!("{}-{level}-{index}.arbor", self.job.id),
        }
    }
}

async fn serve(state: &AppState, wish: &Wish, headers: &HeaderMap) -> Result<Response, ApiError> {
    let engine = state.engine()?;
    let proof = engine.proof(wish.job.id, wish.node).await?;
    let tag = etag::of_hash(&proof.hash);
    let mut fixed = HeaderMap::new();
    fixed.insert(ETAG, tag.clone());
    fixed.insert(CACHE_CONTROL, IMMUTABLE);
    fixed.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if etag::matches(headers, IF_NONE_MATCH, &tag) == Some(true) {
        return Ok((StatusCode::NOT_MODIFIED, fixed).into_response());
    }
    let length = proof.bytes;
    // A range is defined for GET alone.
    let (status, range) = match wanted(headers, length, &tag) {
        _ if wish.head => (StatusCode::OK, 0..length),
        Wanted::All => (StatusCode::OK, 0..length),
        Wanted::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        Wanted::Nothing => {
            let detail = format!("the file has {length} bytes");
            let error = ApiError::new(ProblemKind::RangeNotSatisfiable, detail).field("range");
            return Err(error.header(CONTENT_RANGE, text(&format!("bytes */{length}"))));
        }
    };
    if status == StatusCode::PARTIAL_CONTENT {
        let content_range = format!("bytes {}-{}/{length}", range.start, range.end - 1);
        fixed.insert(CONTENT_RANGE, text(&content_range));
    }
    let name = wish.file_name();
    fixed.insert(CONTENT_DISPOSITION, text(&format!("attachment; filename=\"{name}\"")));
    fixed.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    fixed.insert(CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
    let body = if wish.head { Body::empty() } else { chunks(engine.clone(), proof, range).await? };
    Ok((status, fixed, body).into_response())
}

/// The bytes in `range`, chunk by chunk. The first is read before anything is answered, so that a file that
/// cannot be read is an error and not an answer that breaks off.
async fn chunks(
    engine: Engine,
    proof: StoredProof,
    range: Range<u64>,
) -> Result<Body, EngineError> {
    let first = read(&engine, &proof, &range).await?;
    let rest = range.start + first.len() as u64..range.end;
    let state = Some((engine, proof, rest, Some(first)));
    let chunks = stream::unfold(state, |state| async move {
        let (engine, proof, rest, first) = state?;
        if let Some(first) = first {
            return Some((Ok(first), Some((engine, proof, rest, None))));
        }
        if rest.is_empty() {
            return None;
        }
        match read(&engine, &proof, &rest).await {
            Ok(chunk) => {
                let rest = rest.start + chunk.len() as u64..rest.end;
                Some((Ok(chunk), Some((engine, proof, rest, None))))
            }
            Err(error) => {
                tracing::error!(error = ?error, "a download breaks off");
                Some((Err(error), None))
            }
        }
    });
    Ok(Body::from_stream(chunks))
}

async fn read(
    engine: &Engine,
    proof: &StoredProof,
    range: &Range<u64>,
) -> Result<Bytes, EngineError> {
    let end = range.end.min(range.start.saturating_add(CHUNK));
    engine.read(proof, range.start..end).await
}

/// A header from text of ours, which is ASCII.
fn text(text: &str) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}
