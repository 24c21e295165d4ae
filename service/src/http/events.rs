//! `/v1/jobs/{id}/events`: server-sent events, replayed from the store.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri};
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::Stream;
use futures::stream;
use serde_json::{Value, json};

use super::owned::OwnJob;
use super::query::Query;
use super::{ApiError, Caller};
use crate::api::ProblemKind;
use crate::model::{Event, JobId};
use crate::state::AppState;
use crate::streams::Place;

/// The header with which a client goes on where it was.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Events that are read from the store at once.
const BATCH: u32 = 128;
/// When a client shall come back after the stream broke.
const RECONNECT: Duration = Duration::from_secs(2);
/// Pause after the engine let go of a job's changes.
const PAUSE: Duration = Duration::from_millis(100);

/// Follow a job
///
/// Server-sent events: `state`, `node-started`, `node-finished` with its report, `progress`. Ids count from 1
/// in each job. All events are kept with the job: the stream begins after `last-event-id` (or `after`), and
/// ends when the job has ended and all was sent. 204 if there is nothing left to send.
#[utoipa::path(get, path = "/v1/jobs/{id}/events", operation_id = "follow_job", tag = "jobs",
    params(
        ("id" = String, Path, description = "Id of the job"),
        ("last-event-id" = Option<i64>, Header, description = "The last event that is known; goes before `after`"),
        ("after" = Option<i64>, Query, description = "The same for clients that cannot set headers"),
    ),
    responses(
        (status = 200, description = "The events", body = crate::api::StreamEvent, content_type = "text/event-stream"),
        (status = 204, description = "The job has ended and every event is known"),
        (status = 404, description = "No such job", body = crate::api::Problem, content_type = "application/problem+json"),
        (status = 503, description = "Too many streams", body = crate::api::Problem, content_type = "application/problem+json"),
    ))]
pub(super) async fn get(
    State(state): State<AppState>,
    OwnJob(record): OwnJob,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = Query::of(&uri, &["after"])?;
    let after = query.number("after", 0..=i64::MAX)?;
    let after = last_event_id(&headers)?.or(after).unwrap_or(0);
    let engine = state.engine()?;
    let id = record.id;
    if record.state.is_final() && engine.events(id, after, 1).await?.is_empty() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let place = state.stream(&caller)?;
    let keep_alive = Duration::from_secs(state.config().server.keep_alive_s);
    let events = follow(state, id, after, place);
    Ok(Sse::new(events)
        .keep_alive(KeepAlive::new().interval(keep_alive).text("keep-alive"))
        .into_response())
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, ApiError> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let id = value.to_str().ok().and_then(|text| text.parse().ok()).filter(|id| *id >= 0);
    match id {
        Some(id) => Ok(Some(id)),
        None => {
            let detail = "last-event-id must be the whole number of an event";
            Err(ApiError::new(ProblemKind::InvalidHeader, detail).field("last-event-id"))
        }
    }
}

/// Where a stream stands.
struct Follower {
    state: AppState,
    id: JobId,
    after: i64,
    batch: std::vec::IntoIter<Event>,
    first: bool,
    _place: Place,
}

fn follow(
    state: AppState,
    id: JobId,
    after: i64,
    place: Place,
) -> impl Stream<Item = Result<SseEvent, Infallible>> {
    let batch = Vec::new().into_iter();
    let follower = Follower { state, id, after, batch, first: true, _place: place };
    stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok(event), follower))
    })
}

impl Follower {
    /// The next event; none at the end of the job, of its record, or of the server.
    async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(event) = self.batch.next() {
                self.after = event.id;
                let sse = write(event);
                return Some(if std::mem::take(&mut self.first) {
                    sse.retry(RECONNECT)
                } else {
                    sse
                });
            }
            self.fill().await?;
        }
    }

    /// Reads more events, or waits for a change. None ends the stream.
    async fn fill(&mut self) -> Option<()> {
        let engine = self.state.engine().ok()?;
        // Both asked for before the events are read: neither a change nor the last event is missed.
        let mut changes = engine.changes(self.id);
        let ended = engine.job(self.id).await.ok()?.state.is_final();
        let events = engine.events(self.id, self.after, BATCH).await.ok()?;
        if !events.is_empty() {
            self.batch = events.into_iter();
            return Some(());
        }
        if ended {
            return None;
        }
        tokio::select! {
            changed = changes.changed() => {
                if changed.is_err() {
                    tokio::time::sleep(PAUSE).await;
                }
                Some(())
            }
            () = self.state.shutdown().cancelled() => None,
        }
    }
}

/// One event on the wire: the engine's details, and when it happened.
fn write(event: Event) -> SseEvent {
    let mut data = match event.data {
        Value::Object(fields) => fields,
        other => serde_json::Map::from_iter([("value".to_owned(), other)]),
    };
    data.insert("at_ms".to_owned(), json!(event.at_ms));
    let sse = SseEvent::default().id(event.id.to_string()).event(event.kind.name());
    // JSON has no line breaks outside of its strings, and none unescaped in them.
    sse.data(Value::Object(data).to_string())
}
