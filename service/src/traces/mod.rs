//! Traces of jobs for OpenTelemetry, sent over OTLP.
//!
//! A job is one trace, whatever processes work on it: the id of the trace is the id of the job, and the span of
//! the job has an id that follows from it (`ids`), so that nobody has to remember either. Below it is a span
//! for the plan and one for every node that was proved, each with its phases. A span is sent when it has ended;
//! what was being proved when a process died has none.
//!
//! Spans of an SDK begin and end in one process and under ids of its choosing, and what its queue drops is not
//! told. So the messages of OTLP are built here, from OpenTelemetry's own types, and go the way of everything
//! else that the server sends ([`crate::outbound`]).
//!
//! Nothing here may disturb proving: the engine hands over what it has noted and never waits.

mod assemble;
mod attempt;
mod ids;
mod parent;
mod queue;
mod send;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::clock::Times;
use crate::config::{EndpointError, TelemetryConfig};
use crate::model::JobId;
use crate::store::Store;

pub use attempt::{Attempt, What};
pub use ids::{root_span_id, trace_id};
pub use parent::TraceParent;

use assemble::Message;
use ids::Sampler;
use queue::Queue;

/// The traces of one engine. Cheap to clone; without an endpoint it is nothing, and does nothing.
#[derive(Clone, Default)]
pub struct Traces(Option<Arc<Running>>);

struct Running {
    sampler: Sampler,
    times: Times,
    store: Store,
    messages: UnboundedSender<Message>,
    queue: Arc<Queue>,
    tasks: Mutex<Option<Tasks>>,
}

struct Tasks {
    assemble: JoinHandle<()>,
    send: JoinHandle<()>,
}

impl Traces {
    /// Traces as configured, from now on; the store says which jobs come to an end.
    ///
    /// # Errors
    /// The endpoint cannot be asked, which a valid configuration rules out.
    pub fn start(
        config: &TelemetryConfig,
        store: &Store,
        times: &Times,
    ) -> Result<Self, EndpointError> {
        if !config.enabled() {
            return Ok(Self(None));
        }
        let sender = send::Sender::new(config)?;
        let sampler = Sampler::new(config.sample_ratio);
        let (messages, read) = mpsc::unbounded_channel();
        let queue = Arc::new(Queue::default());
        let ended = messages.clone();
        store.tell_ends(Box::new(move |job| {
            if sampler.takes(job) {
                let _ = ended.send(Message::Ended(job));
            }
        }));
        let tasks = Tasks {
            assemble: tokio::spawn(assemble::run(store.clone(), Arc::clone(&queue), read)),
            send: tokio::spawn(sender.run(Arc::clone(&queue))),
        };
        tracing::info!(endpoint = %config.otlp_endpoint, ratio = config.sample_ratio, "jobs are traced");
        Ok(Self(Some(Arc::new(Running {
            sampler,
            times: times.clone(),
            store: store.clone(),
            messages,
            queue,
            tasks: Mutex::new(Some(tasks)),
        }))))
    }

    /// Whether a job is traced.
    #[must_use]
    pub fn takes(&self, job: JobId) -> bool {
        self.0.as_ref().is_some_and(|running| running.sampler.takes(job))
    }

    /// What a worker is about to do for a job.
    #[must_use]
    pub fn attempt(&self, job: JobId) -> Attempt {
        match &self.0 {
            Some(running) if running.sampler.takes(job) => {
                Attempt::new(job, running.times.clone(), running.messages.clone())
            }
            _ => Attempt::none(),
        }
    }

    /// Links the trace of a job to what its submission is part of.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn link(&self, job: JobId, parent: &TraceParent) -> Result<(), sqlx::Error> {
        match &self.0 {
            Some(running) if running.sampler.takes(job) => {
                running.store.note_trace_parent(job, parent.as_str()).await
            }
            _ => Ok(()),
        }
    }

    /// How often a job had ended before: whose retry it is that a node belongs to.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn run_of(&self, job: JobId) -> Result<u32, sqlx::Error> {
        match &self.0 {
            Some(running) if running.sampler.takes(job) => running.store.ends_before(job).await,
            _ => Ok(0),
        }
    }

    /// Sends what there is, within `limit`; the rest is dropped. To be called while the records can be read.
    pub async fn close(&self, limit: Duration) {
        let Some(running) = &self.0 else { return };
        let Some(mut tasks) = running.tasks.lock().await.take() else { return };
        let until = Instant::now() + limit;
        let _ = running.messages.send(Message::Close);
        // What workers have noted becomes spans first; then no more come, and the sender ends when all are sent.
        if timeout_at(until, &mut tasks.assemble).await.is_err() {
            tasks.assemble.abort();
        }
        running.queue.close();
        if timeout_at(until, &mut tasks.send).await.is_err() {
            tasks.send.abort();
            let _ = tasks.send.await;
        }
        running.queue.drop_rest();
    }
}
