//! `/v1/jobs` and `/v1/jobs:validate`.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::{HeaderName, HeaderValue, LOCATION};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use super::prefer::Wait;
use super::query::{Query, refuse};
use super::wait::wait_for;
use super::{ApiError, Caller, body, etag, run};
use crate::api::{JobList, JobView, Links, Plan, PlanNode, ProblemKind};
use crate::engine::Submission;
use crate::model::{JobFilter, JobId, JobState};
use crate::state::AppState;
use crate::traces::TraceParent;

/// The header that names a submission.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header that says that the submission had been made before.
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Longest name of a submission.
pub(super) const MAX_KEY: usize = 255;
/// Longest name of a label.
pub(super) const MAX_LABEL_NAME: usize = 64;
/// Longest value of a label.
const MAX_LABEL_VALUE: usize = 256;
/// Most labels that jobs are looked for by.
const MAX_LABEL_FILTERS: usize = 32;
/// Jobs on a page, unless asked for otherwise.
const PAGE: u32 = 50;
/// Most jobs on a page.
pub(super) const MAX_PAGE: i64 = 200;

/// Submit a job
///
/// The job is checked, admitted and put into the queue; its proof is made later. With `prefer: wait=N` the
/// answer waits up to N seconds for it. The same `idempotency-key` with the same body gives the same job.
#[utoipa::path(post, path = "/v1/jobs", operation_id = "submit_job", tag = "jobs", request_body = arbor_prover::Job,
    params(
        ("idempotency-key" = Option<String>, Header, description = "A name of this submission, at most 255 visible ASCII characters"),
        ("prefer" = Option<String>, Header, description = "`wait=N`: wait up to N seconds for the end of the job"),
        ("traceparent" = Option<String>, Header, description = "W3C Trace Context; if jobs are traced, the trace of the job has a link to it"),
    ),
    responses(
        (status = 202, description = "Admitted", body = JobView, headers(("location" = String, description = "Path of the job"), ("etag" = String))),
        (status = 200, description = "The job has ended", body = JobView),
        (status = 422, description = "Refused, with the field", body = crate::api::Problem, content_type = "application/problem+json"),
        (status = 429, description = "The queue is full, the quota of the key is reached, or too many requests come", body = crate::api::Problem, content_type = "application/problem+json"),
        (status = 503, description = "No room now", body = crate::api::Problem, content_type = "application/problem+json"),
    ))]
pub(super) async fn submit(
    State(state): State<AppState>,
    caller: Caller,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    Query::of(&parts.uri, &[])?;
    let key = idempotency_key(&parts.headers)?;
    let job = read_job(&state, &parts.headers, body).await?;
    let engine = state.engine()?.clone();
    // The hash is over what the body says, not over how it is written.
    let canonical = serde_json::to_vec(&job).map_err(|_| ApiError::internal())?;
    let idempotency = key.map(|key| (key, *blake3::hash(&canonical).as_bytes()));
    let submission = Submission {
        job,
        idempotency,
        owner: caller.owner(),
        quota: caller.quota(),
        viewer: caller.restricted_to(),
    };
    let parent = TraceParent::of(&parts.headers);
    let submitted = run(async move {
        let submitted = engine.submit(submission).await?;
        if let Some(parent) = parent.filter(|_| submitted.fresh)
            && let Err(error) = engine.link(submitted.record.id, &parent).await
        {
            tracing::warn!(%error, "the trace of a job is not linked");
        }
        Ok(submitted)
    })
    .await?;
    let id = submitted.record.id;
    tracing::info!(job = %id, fresh = submitted.fresh, "submitted");

    // Waiting is a preference: where there is no room for it, the job is admitted all the same.
    let wait = Wait::of(&parts.headers, state.config().server.max_wait_s);
    let place = wait.and_then(|_| state.stream(&caller).ok());
    let record = match (wait, &place) {
        (Some(wait), Some(_)) if !submitted.record.state.is_final() => {
            wait_for(&state, id, wait, |record| record.state.is_final()).await?
        }
        _ => submitted.record,
    };
    let status = if record.state.is_final() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let etag = etag::of_revision(record.revision);
    let view = super::job::view(state.engine()?, record).await?;
    let location = HeaderValue::try_from(Links::of(&view.id).job);
    let mut response = (status, [(axum::http::header::ETAG, etag)], Json(view)).into_response();
    if let Ok(location) = location {
        response.headers_mut().insert(LOCATION, location);
    }
    if !submitted.fresh {
        response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    }
    if let (Some(wait), Some(_)) = (wait, place) {
        wait.applied(&mut response);
    }
    Ok(response)
}

/// Check a job without proving it
///
/// Says which proofs it takes, what memory, time and disk they are expected to need, and how secure the
/// result is. Nothing is stored. Refusals are those of a submission, but for what is short only now: places in
/// the queue, memory, disk, and the quota of the key.
#[utoipa::path(post, path = "/v1/jobs:validate", operation_id = "validate_job", tag = "jobs", request_body = arbor_prover::Job,
    responses(
        (status = 200, description = "It is within the limits of this server", body = Plan),
        (status = 422, description = "Refused, with the field", body = crate::api::Problem, content_type = "application/problem+json"),
    ))]
pub(super) async fn validate(
    State(state): State<AppState>,
    caller: Caller,
    request: Request,
) -> Result<Json<Plan>, ApiError> {
    let (parts, body) = request.into_parts();
    Query::of(&parts.uri, &[])?;
    let job = read_job(&state, &parts.headers, body).await?;
    let engine = state.engine()?.clone();
    let viewer = caller.restricted_to();
    let asked = engine.clone();
    let validation = run(async move { asked.validate(job, viewer.as_deref()).await }).await?;
    let spec = validation.spec;
    let security = engine.security(spec).await?;
    Ok(Json(Plan {
        valid: true,
        nodes: validation.nodes.into_iter().map(PlanNode::from).collect(),
        estimate: validation.sizing,
        security,
    }))
}

/// List jobs
///
/// Newest first, a page at a time.
#[utoipa::path(get, path = "/v1/jobs", operation_id = "list_jobs", tag = "jobs",
    params(
        ("state" = Option<Vec<JobState>>, Query, description = "Only jobs in one of these states; may be repeated"),
        ("program" = Option<String>, Query, description = "Only jobs of this program: `keccak` or `fibonacci`"),
        ("mode" = Option<String>, Query, description = "Only jobs of this mode: `chain` or `tree`"),
        ("label" = Option<Vec<String>>, Query, description = "Only jobs with this label, as `name=value`; may be repeated"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Jobs on a page, 1 to 200; 50 unless given"),
    ),
    responses((status = 200, description = "A page", body = JobList)))]
pub(super) async fn list(
    State(state): State<AppState>,
    caller: Caller,
    uri: Uri,
) -> Result<Json<JobList>, ApiError> {
    let known = ["state", "program", "mode", "label", "cursor", "limit"];
    let query = Query::of(&uri, &known)?;
    let limit = query.number("limit", 1..=MAX_PAGE)?;
    let limit = limit.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(PAGE);
    let cursor = match query.one("cursor")? {
        None => None,
        Some(text) => Some(text.parse::<JobId>().map_err(|_| {
            refuse("cursor", "\"cursor\" must be what `next` of a page said".to_owned())
        })?),
    };
    let filter = filter(&query, &caller)?;
    let page = state.engine()?.jobs(filter, cursor, limit).await?;
    let jobs = page.jobs.into_iter().map(JobView::in_list).collect();
    Ok(Json(JobList { jobs, next: page.next.map(|id| id.to_string()) }))
}

fn filter(query: &Query, caller: &Caller) -> Result<JobFilter, ApiError> {
    let one_of = |name: &'static str, allowed: &[&str]| match query.one(name)? {
        Some(value) if !allowed.contains(&value) => {
            Err(refuse(name, format!("\"{name}\" must be one of: {}", allowed.join(", "))))
        }
        value => Ok(value.map(str::to_owned)),
    };
    let states = query.all("state").flat_map(|value| value.split(','));
    let states = states.map(|name| {
        name.parse::<JobState>().map_err(|_| {
            let names = JobState::ALL.map(JobState::name).join(", ");
            refuse("state", format!("\"state\" must be one of: {names}"))
        })
    });
    if query.all("label").count() > MAX_LABEL_FILTERS {
        let detail = format!("\"label\" may be given {MAX_LABEL_FILTERS} times");
        return Err(refuse("label", detail));
    }
    let labels = query.all("label").map(|label| match label.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(refuse("label", "\"label\" must be name=value".to_owned())),
    });
    Ok(JobFilter {
        states: states.collect::<Result<_, _>>()?,
        program: one_of("program", &["keccak", "fibonacci"])?,
        mode: one_of("mode", &["chain", "tree"])?,
        labels: labels.collect::<Result<_, _>>()?,
        owner: caller.restricted_to(),
    })
}

async fn read_job(
    state: &AppState,
    headers: &HeaderMap,
    body: axum::body::Body,
) -> Result<arbor_prover::Job, ApiError> {
    let server = &state.config().server;
    let time = std::time::Duration::from_secs(server.body_timeout_s);
    // The body is read before its type is judged, so that the answer meets a client that listens.
    let bytes: Bytes = body::read(headers, body, server.max_body_bytes, time).await?;
    body::require_json(headers)?;
    let job = body::job(&bytes)?;
    check_labels(&job)?;
    Ok(job)
}

/// Labels travel in queries: their names are words and their values short.
fn check_labels(job: &arbor_prover::Job) -> Result<(), ApiError> {
    for (name, value) in &job.labels {
        let word = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
        let named = (1..=MAX_LABEL_NAME).contains(&name.len()) && name.bytes().all(word);
        let short =
            value.chars().count() <= MAX_LABEL_VALUE && !value.chars().any(char::is_control);
        if !(named && short) {
            let detail = format!(
                "a label's name is 1 to {MAX_LABEL_NAME} of a-z, A-Z, 0-9, '.', '_', '/' and '-', its \
                 value at most {MAX_LABEL_VALUE} characters without control characters"
            );
            let error = ApiError::new(ProblemKind::ParameterRefused, detail);
            return Err(error.field(format!("labels.{name}")));
        }
    }
    Ok(())
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        visible && (1..=MAX_KEY).contains(&text.len())
    });
    match (text, values.next()) {
        (Some(text), None) => Ok(Some(text.to_owned())),
        _ => {
            let detail = format!("one key of 1 to {MAX_KEY} visible ASCII characters is needed");
            let error = ApiError::new(ProblemKind::InvalidHeader, detail);
            Err(error.field("idempotency-key"))
        }
    }
}
