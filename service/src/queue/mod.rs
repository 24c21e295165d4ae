//! The queue: apalis on the file of the records.
//!
//! One worker takes one task at a time for each node that may be proved at the same time, renews its lease
//! by heartbeats, and notes the end of each task. It is woken when a task was committed, and looks by itself
//! only now and then.

mod wake;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use apalis::prelude::{
    BackendExt, BoxDynError, Data, WorkerBuilder, WorkerBuilderExt, WorkerContext,
};
use apalis_sqlite::{Config, SqliteStorage};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;
use uuid::Uuid;

use crate::config::EngineConfig;
use crate::store::{QUEUE, Store, Task};
use wake::Wake;

/// Time between the end of a worker that failed and the next one.
const RESTART: Duration = Duration::from_millis(500);
/// The same when one after the other fails.
const LONGEST_RESTART: Duration = Duration::from_secs(5);

/// How often a worker that stops is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Looks at a worker without a task after which it has ended.
const QUIET_LOOKS: u32 = 10;

/// What is done with a task. An error says that the records could not be written: the task is begun again.
pub trait Handler: Send + Sync + 'static {
    /// Does it.
    fn handle(
        self: Arc<Self>,
        task: Task,
    ) -> Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send>>;
}

/// A task could not be brought to an end because the records could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the records cannot be written: {0}")]
pub struct HandlerError(#[from] pub sqlx::Error);

/// Takes tasks until `stop`, and returns when the last one that was begun has ended. A worker that fails,
/// because the records could not be read or written, is replaced by another.
pub async fn run<H: Handler>(
    store: Store,
    config: EngineConfig,
    handler: Arc<H>,
    stop: CancellationToken,
) {
    let mut pause = RESTART;
    while !stop.is_cancelled() {
        let began = Instant::now();
        let name = format!("arbor-{}", Uuid::new_v4());
        if let Err(error) = work(&store, &config, &name, Arc::clone(&handler), &stop).await {
            tracing::error!(%error, "the worker failed; another one takes over");
        }
        if stop.is_cancelled() {
            break;
        }
        pause = if began.elapsed() > LONGEST_RESTART {
            RESTART
        } else {
            (2 * pause).min(LONGEST_RESTART)
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => break,
        }
        // What the failed worker had leased goes back at once: there is no other one.
        while let Err(error) = store.release_leases().await {
            tracing::warn!(%error, "leases of the failed worker cannot be given up");
            tokio::select! {
                () = tokio::time::sleep(LONGEST_RESTART) => {}
                () = stop.cancelled() => return,
            }
        }
    }
}

async fn work<H: Handler>(
    store: &Store,
    config: &EngineConfig,
    name: &str,
    handler: Arc<H>,
    stop: &CancellationToken,
) -> Result<(), BoxDynError> {
    let heartbeat = Duration::from_millis(config.heartbeat_ms);
    let lease = Config::default()
        .queue(QUEUE)
        .batch_size(1)
        // The lease is enough: it is renewed and given up whether a task is said to run or to be taken.
        .lock_tasks(false)
        .heartbeat_interval(heartbeat)
        .missed_heartbeats(config.missed_heartbeats as usize);
    let backend = SqliteStorage::<Task>::new(store.writer())
        .with_config(lease)
        .poll_with_stream(Wake::new(store.pushed()));
    let context = WorkerContext::new(name);
    let busy = Arc::new(Busy::default());
    let worker = WorkerBuilder::new(&context)
        .backend(backend)
        .concurrency(config.concurrent_nodes.max(1))
        .data(handler)
        .data(Arc::clone(&busy))
        .build(handle::<H>);
    let stopped = async {
        stop.cancelled().await;
        // A worker that has not begun yet cannot be stopped yet.
        while context.stop().is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        busy.quiet().await;
    };
    tokio::select! {
        ended = worker.run() => Ok(ended?),
        () = stopped => Ok(()),
    }
}

/// Tasks that are being done.
///
/// A worker that is told to stop just when it takes a task may never look at that task again, and wait for its
/// end for ever. So tasks go on by themselves once they have begun, and when nothing has been done for a while
/// there is nothing to wait for.
#[derive(Debug, Default)]
struct Busy(AtomicUsize);

/// Counts one task as long as it is being done.
struct OneTask(Arc<Busy>);

impl Busy {
    fn one(self: &Arc<Self>) -> OneTask {
        self.0.fetch_add(1, Ordering::AcqRel);
        OneTask(Arc::clone(self))
    }

    /// Returns when nothing has been done for a while.
    async fn quiet(&self) {
        let mut idle = 0;
        while idle < QUIET_LOOKS {
            tokio::time::sleep(LOOK).await;
            idle = if self.0.load(Ordering::Acquire) == 0 { idle + 1 } else { 0 };
        }
    }
}

impl Drop for OneTask {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

async fn handle<H: Handler>(
    task: Task,
    handler: Data<Arc<H>>,
    busy: Data<Arc<Busy>>,
) -> Result<(), BoxDynError> {
    let (one, handler) = (busy.one(), Arc::clone(&handler));
    let done = async move {
        let _one = one;
        handler.handle(task).await
    };
    // It ends with the worker that it belongs to.
    let done = AbortOnDropHandle::new(tokio::spawn(done.in_current_span()));
    let result = done.await?;
    if result.is_err() {
        // The task is taken again at once; the disk needs a moment.
        tokio::time::sleep(RESTART).await;
    }
    Ok(result?)
}
