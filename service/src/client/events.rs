//! The events of a job, each of them once, over as many connections as it takes.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::header::ACCEPT;
use reqwest::{Method, Response};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::api::{ANSWER, Client};
use super::error::ClientError;
use super::sse::{SseEvent, SseParser};
use super::wire::{JobEvent, JobView};
use crate::model::{EventKind, JobId};

const ASKED: &str = "an event stream";
/// Longest that a server may ask to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How long to go on.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Connections in a row that bring no event, after which it is over.
    pub tries: u32,
    /// Wait before the second of them; each further wait is twice as long.
    pub first_wait: Duration,
    /// Longest wait.
    pub longest_wait: Duration,
    /// Silence after which a connection counts as lost. A server that lives sends a comment more often.
    pub silence: Duration,
}

impl Default for Patience {
    /// Ten tries in about half a minute; a minute of silence.
    fn default() -> Self {
        Self {
            tries: 10,
            first_wait: Duration::from_millis(250),
            longest_wait: Duration::from_secs(5),
            silence: Duration::from_secs(60),
        }
    }
}

/// The events of one job from the first one on.
#[derive(Debug)]
pub struct EventStream<'a> {
    client: &'a Client,
    id: JobId,
    patience: Patience,
    /// Number of the last event that was given out.
    last: i64,
    connection: Option<Connection>,
    ready: VecDeque<JobEvent>,
    /// Connections in a row that have brought nothing.
    failures: u32,
}

#[derive(Debug)]
struct Connection {
    response: Response,
    parser: SseParser,
}

/// What comes next.
#[derive(Debug)]
enum Next {
    Event(JobEvent),
    /// The server has ended the stream.
    End,
}

impl<'a> EventStream<'a> {
    /// The events of `id`. Nothing is asked before [`Self::until_final`].
    #[must_use]
    pub fn new(client: &'a Client, id: JobId, patience: Patience) -> Self {
        let ready = VecDeque::new();
        Self { client, id, patience, last: 0, connection: None, ready, failures: 0 }
    }

    /// Tells `seen` every event, in order and once, until the job is in a final state; gives the job.
    ///
    /// # Errors
    /// As every request; no such job; nothing new over [`Patience::tries`] connections.
    pub async fn until_final(
        &mut self,
        mut seen: impl FnMut(&JobEvent),
    ) -> Result<(JobView, Value), ClientError> {
        loop {
            match self.next().await {
                Ok(Next::Event(event)) => {
                    self.failures = 0;
                    seen(&event);
                    // A job that was retried has final states in its past: the job itself decides.
                    let ended = event.state().is_some_and(|state| state.is_final());
                    if ended
                        && self.ready.is_empty()
                        && let Some(job) = self.finished().await?
                    {
                        return Ok(job);
                    }
                }
                Ok(Next::End) => {
                    if let Some(job) = self.finished().await? {
                        return Ok(job);
                    }
                    self.lost(None).await?;
                }
                Err(error) if error.is_passing() => self.lost(Some(error)).await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// The job, if nothing will happen to it any more. No answer is no news.
    async fn finished(&mut self) -> Result<Option<(JobView, Value)>, ClientError> {
        match self.client.job(self.id).await {
            Ok((job, raw, _)) if job.state.is_final() => Ok(Some((job, raw))),
            Ok(_) => Ok(None),
            Err(error) if error.is_passing() => {
                self.lost(Some(error)).await?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The next event. Events that were given out before are left out.
    async fn next(&mut self) -> Result<Next, ClientError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if event.id > self.last {
                    self.last = event.id;
                    return Ok(Next::Event(event));
                }
                continue;
            }
            let silent = ClientError::Silent {
                server: self.client.server().to_string(),
                seconds: self.patience.silence.as_secs(),
            };
            let client = self.client;
            let connection = match &mut self.connection {
                Some(connection) => connection,
                empty => empty.insert(connect(client, self.id, self.last).await?),
            };
            let piece = timeout(self.patience.silence, connection.response.chunk()).await;
            match piece.map_err(|_| silent)?.map_err(|source| client.failed(source))? {
                Some(bytes) => {
                    for event in connection.parser.push(&bytes)? {
                        self.ready.extend(read(&event)?);
                    }
                }
                None => return Ok(Next::End),
            }
        }
    }

    /// Waits before the next connection.
    ///
    /// # Errors
    /// `error`, or the end of the stream, once there were too many in a row.
    async fn lost(&mut self, error: Option<ClientError>) -> Result<(), ClientError> {
        let asked = self.connection.take().and_then(|connection| connection.parser.retry());
        self.failures += 1;
        if self.failures >= self.patience.tries {
            let ended = ClientError::Stream { reason: "it ends, and the job does not" };
            let last = Box::new(error.unwrap_or(ended));
            return Err(ClientError::GaveUp { tries: self.failures, last });
        }
        let doubled = self.patience.first_wait * 2_u32.saturating_pow(self.failures.min(16) - 1);
        let retry_after = error.as_ref().and_then(ClientError::retry_after);
        let wait = doubled.min(self.patience.longest_wait);
        let wait = wait.max(asked.or(retry_after).unwrap_or_default().min(LONGEST_WAIT));
        if let (1, Some(error)) = (self.failures, &error) {
            tracing::warn!("{error}; trying again");
        }
        tracing::debug!(?wait, failures = self.failures, "the event stream is opened again");
        sleep(wait).await;
        Ok(())
    }
}

/// Opens the stream after event `last`.
async fn connect(client: &Client, id: JobId, last: i64) -> Result<Connection, ClientError> {
    let mut request = client
        .request(Method::GET, &format!("/v1/jobs/{id}/events"))
        .header(ACCEPT, "text/event-stream");
    if last > 0 {
        request = request.header("last-event-id", last);
    }
    let silent =
        ClientError::Silent { server: client.server().to_string(), seconds: ANSWER.as_secs() };
    let response = timeout(ANSWER, client.send(request, ASKED)).await.map_err(|_| silent)??;
    Ok(Connection { response, parser: SseParser::default() })
}

/// An event of a job; none if the kind is one of a newer server.
fn read(event: &SseEvent) -> Result<Option<JobEvent>, ClientError> {
    let malformed = |reason| ClientError::Stream { reason };
    let kinds =
        [EventKind::State, EventKind::NodeStarted, EventKind::NodeFinished, EventKind::Progress];
    let Some(kind) = kinds.into_iter().find(|kind| kind.name() == event.kind) else {
        return Ok(None);
    };
    let id = event.id.as_deref().and_then(|id| id.parse().ok());
    let id = id.ok_or(malformed("an event has no number"))?;
    let data = serde_json::from_str(&event.data).map_err(|_| malformed("its data is no JSON"))?;
    Ok(Some(JobEvent { id, kind, data }))
}
