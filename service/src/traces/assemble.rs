//! Brings together what workers noted and what the records say.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

use super::attempt::Notes;
use super::queue::{Queue, Why};
use super::spans;
use crate::model::JobId;
use crate::store::Store;

/// Pauses between attempts to read the records.
const PATIENCE: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(500), Duration::from_secs(2)];

/// What the engine says.
pub(super) enum Message {
    /// A worker has taken something of this job.
    Opened(JobId),
    /// It is done with it; with its notes, if there was anything to do.
    Closed(JobId, Option<Box<Notes>>),
    /// The job has come to an end.
    Ended(JobId),
    /// No more will come.
    Close,
}

/// A job that workers have something of.
#[derive(Default)]
struct Open {
    workers: usize,
    latest_ns: u64,
    ended: bool,
}

/// Makes spans of messages until there are no more.
pub(super) async fn run(store: Store, queue: Arc<Queue>, mut messages: UnboundedReceiver<Message>) {
    let mut jobs: HashMap<JobId, Open> = HashMap::new();
    while let Some(message) = messages.recv().await {
        match message {
            Message::Opened(job) => jobs.entry(job).or_default().workers += 1,
            Message::Closed(job, notes) => {
                let open = jobs.entry(job).or_default();
                open.workers = open.workers.saturating_sub(1);
                if let Some(notes) = notes {
                    open.latest_ns = open.latest_ns.max(notes.end_ns);
                    queue.push(spans::of_attempt(job, &notes));
                }
                if open.workers == 0 {
                    let (ended, latest_ns) = (open.ended, open.latest_ns);
                    jobs.remove(&job);
                    if ended {
                        root(&store, &queue, job, latest_ns).await;
                    }
                }
            }
            // The span of the job holds those of its nodes, so it waits for them: the record may have ended
            // before a worker has stopped.
            Message::Ended(job) => match jobs.get_mut(&job) {
                Some(open) => open.ended = true,
                None => root(&store, &queue, job, 0).await,
            },
            Message::Close => messages.close(),
        }
    }
    for (job, open) in jobs {
        if open.ended {
            root(&store, &queue, job, open.latest_ns).await;
        }
    }
}

async fn root(store: &Store, queue: &Queue, job: JobId, latest_ns: u64) {
    let mut waits = PATIENCE.iter();
    let traced = loop {
        match (store.traced_job(job).await, waits.next()) {
            (Ok(traced), _) => break traced,
            (Err(_), Some(wait)) => tokio::time::sleep(*wait).await,
            (Err(error), None) => {
                return queue.dropped(1, Why::Records, &error.to_string());
            }
        }
    };
    match traced.and_then(|traced| spans::of_job(&traced, latest_ns)) {
        Some(span) => queue.push(vec![span]),
        None => queue.dropped(1, Why::Records, "the job was removed, or has begun again"),
    }
}
