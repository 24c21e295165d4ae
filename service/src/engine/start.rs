//! The engine begins, and ends.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arbor_prover::tree::{PreparedProof, ProofSpec};
use arbor_prover::{BaseJob, Cache, Job, Observer, Preset, Recursion, Silent, memory};
use sqlx::migrate::MigrateError;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::inner::{Inner, Parts};
use super::provers::Provers;
use super::stop::Reason;
use super::{Engine, EngineError, housekeeping, progress};
use crate::blobs::{self, Blobs};
use crate::clock::{Clock, Times};
use crate::config::Config;
use crate::outbound::SystemResolver;
use crate::queue;
use crate::store::{PLANNING, Store, create_folder, records_file};
use crate::traces::Traces;
use crate::webhooks;

/// File that is locked while a server has the data folder.
const LOCK: &str = "arbor.lock";
/// Of the time that a shutdown may take, the part that is left to hand back what does not end by itself:
/// a fifth, at most two seconds.
const HAND_BACK: (u32, Duration) = (5, Duration::from_secs(2));

/// The longest time for the last spans of traces to be sent at the end.
const LAST_SPANS: Duration = Duration::from_secs(3);

/// What must end with the engine.
pub(super) struct Background {
    pub(super) worker: JoinHandle<()>,
    pub(super) others: Vec<JoinHandle<()>>,
    pub(super) lock: File,
}

/// A data folder that this process alone uses from now on.
pub struct Folder {
    lock: File,
    blobs: Blobs,
}

impl Folder {
    /// Takes the folder at `path`, which is made if it is not there.
    ///
    /// # Errors
    /// [`EngineError::Folder`] if another server has it or it cannot be used.
    pub fn take(path: &Path) -> Result<Self, EngineError> {
        let lock = lock_folder(path)?;
        let blobs =
            blobs::open(&blobs::folder(path)).map_err(|error| folder_error(path, &error))?;
        Ok(Self { lock, blobs })
    }
}

impl Engine {
    /// Takes the data folder that `config` names and starts the engine of it.
    ///
    /// # Errors
    /// Those of [`Folder::take`] and [`Self::start_in`].
    pub async fn start(config: &Config, clock: Arc<dyn Clock>) -> Result<Self, EngineError> {
        Self::start_in(Folder::take(&config.data.dir)?, config, clock).await
    }

    /// Starts the engine of a folder, the one that `config` names: brings the records up to date, puts back into
    /// the queue what the process before had begun, prepares what is to be warm, and begins to take tasks.
    ///
    /// # Errors
    /// [`EngineError::Folder`] if the records cannot be used; refused parameters of a preset; the store's.
    pub async fn start_in(
        folder: Folder,
        config: &Config,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, EngineError> {
        let Folder { lock, blobs } = folder;
        let folder = config.data.dir.clone();
        set_threads(config.engine.threads);
        ignore_file_size_signal();
        let records = records_file(&folder);
        let store = Store::open(&records).await.map_err(|error| records_error(&records, &error))?;
        let provers = Provers::start(config.engine.concurrent_nodes)
            .map_err(|error| folder_error(&folder, &error))?;
        let (notes, written) = mpsc::unbounded_channel();
        let times = Times::start(clock);
        let traces = Traces::start(&config.telemetry, &store, &times)?;
        let inner = Arc::new(Inner::new(Parts {
            config: config.clone(),
            folder,
            times: times.clone(),
            store: store.clone(),
            blobs,
            cache: Arc::new(Cache::with_bytes(config.memory.cache_bytes)),
            provers,
            progress: notes,
            traces,
        }));
        let kept = Arc::downgrade(&inner);
        store.tell_ends(Box::new(move |job| {
            if let Some(inner) = kept.upgrade() {
                inner.works.drop_job(job);
            }
        }));
        recover(&inner).await?;
        warm(&inner).await?;
        let worker = queue::run(
            store.clone(),
            config.engine.clone(),
            Arc::clone(&inner),
            inner.closing.clone(),
        );
        let mut others = housekeeping::spawn(&inner);
        others.push(tokio::spawn(webhooks::run(
            store.clone(),
            times.clone(),
            config.webhooks.clone(),
            Arc::new(SystemResolver),
            inner.closing.clone(),
        )));
        others.push(tokio::spawn(progress::write(store, times, written)));
        let background = Background { worker: tokio::spawn(worker), others, lock };
        Ok(Self { inner, background: Arc::new(tokio::sync::Mutex::new(Some(background))) })
    }

    /// Ends the engine, and returns within `grace`. Submissions are refused and no node is begun from now on.
    /// What is being proved is finished if there is time for it, and handed back otherwise: the next start
    /// goes on with it at once.
    pub async fn shutdown(&self, grace: Duration) {
        let until = Instant::now() + grace;
        self.inner.closing.cancel();
        let Some(mut background) = self.background.lock().await.take() else { return };
        let spare = (grace / HAND_BACK.0).min(HAND_BACK.1);
        if timeout_at(until - spare, &mut background.worker).await.is_err() {
            self.inner.stop_all(Reason::Shutdown);
            let _ = timeout_at(until - spare / 2, &mut background.worker).await;
        }
        self.inner.closed.store(true, Ordering::Release);
        background.worker.abort();
        let rest = async {
            self.hand_back_rest().await;
            // Half of what is left is for closing the records.
            let left = until.saturating_duration_since(Instant::now());
            self.inner.traces.close((left / 2).min(LAST_SPANS)).await;
            background.others.iter().for_each(JoinHandle::abort);
            self.inner.store.close().await;
        };
        let _ = timeout_at(until, rest).await;
        if let Err(error) = background.lock.unlock() {
            tracing::warn!(%error, "the data folder cannot be unlocked");
        }
    }

    /// Nodes that did not stop in time: a phase of theirs takes longer.
    async fn hand_back_rest(&self) {
        let now = self.inner.times.now_ms();
        for (job, position) in self.inner.in_flight() {
            let Ok(Some(seq)) = self.inner.store.seq(job).await else { continue };
            let handed = if position == PLANNING {
                self.inner.store.hand_back_plan(seq).await
            } else {
                self.inner.store.hand_back(seq, position, true, now).await
            };
            if let Err(error) = handed {
                tracing::warn!(%job, %error, "a node cannot be handed back");
            }
        }
    }
}

/// One server at a time: the system drops the lock with the process, whatever ends it.
fn lock_folder(folder: &Path) -> Result<File, EngineError> {
    create_folder(folder).map_err(|error| folder_error(folder, &error))?;
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(LOCK))
        .map_err(|error| folder_error(folder, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(EngineError::Folder {
            path: folder.to_owned(),
            reason: "another server is using it".to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(folder_error(folder, &error)),
    }
}

fn folder_error(folder: &Path, error: &dyn std::fmt::Display) -> EngineError {
    EngineError::Folder { path: folder.to_owned(), reason: error.to_string() }
}

fn records_error(records: &Path, error: &sqlx::Error) -> EngineError {
    let newer = matches!(error, sqlx::Error::Migrate(error)
        if matches!(**error, MigrateError::VersionMissing(_) | MigrateError::VersionTooNew(..)));
    let hint = if newer { " (a newer version of Arbor wrote them)" } else { "" };
    let reason = format!("the records cannot be read: {error}{hint}");
    EngineError::Folder { path: records.to_owned(), reason }
}

/// Bounds the threads that all proofs share. The pool is the process's: where it is there already, it stays.
fn set_threads(threads: usize) {
    if threads > 0
        && let Err(error) = crate::threads::limit(Some(threads))
    {
        tracing::warn!(%error, "engine.threads has no effect");
    }
}

/// A file that becomes larger than the process may make it is an error like that of a full disk, instead of the
/// end of the process.
fn ignore_file_size_signal() {
    #[cfg(target_os = "linux")]
    {
        use tokio::signal::unix::{SignalKind, signal};
        /// SIGXFSZ
        const FILE_SIZE: i32 = 25;
        match signal(SignalKind::from_raw(FILE_SIZE)) {
            // The handler stays for the life of the process.
            Ok(signal) => drop(signal),
            Err(error) => tracing::warn!(%error, "SIGXFSZ cannot be handled"),
        }
    }
}

/// Goes on where the process before has stopped.
async fn recover(inner: &Arc<Inner>) -> Result<(), EngineError> {
    let now = inner.times.now_ms();
    let recovered = inner.store.recover().await?;
    inner.store.settle_cancelling(now).await?;
    let requeued = inner.store.reconcile(&inner.in_flight()).await?;
    for job in inner.store.live().await? {
        let Some(at) = job.deadline_at_ms else { continue };
        // A clock that has gone back does not prolong a deadline beyond what it was.
        let whole = Duration::from_secs(job.job.deadline_s.unwrap_or(0));
        let left = Duration::from_millis(u64::try_from(at - now).unwrap_or(0));
        inner.set_deadline(job.id, left.min(whole));
    }
    if recovered.leases + recovered.nodes + requeued > 0 {
        tracing::info!(
            leases = recovered.leases,
            nodes = recovered.nodes,
            requeued,
            "going on where the process before has stopped"
        );
    }
    Ok(())
}

/// Prepares the usual circuits, and has memory mapped, before anybody waits for it.
async fn warm(inner: &Arc<Inner>) -> Result<(), EngineError> {
    for name in &inner.config.memory.warm {
        let preset = Preset::named(name)?;
        for job in usual_jobs(name) {
            let spec = job.resolve_any(&preset, Vec::new())?;
            let cache = Arc::clone(&inner.cache);
            let prepared = inner.provers.run(move || prepare(&spec, &cache)).await;
            prepared.map_err(|_| EngineError::Panicked)??;
        }
        tracing::info!(preset = %name, circuits = inner.cache.stats().entries, "warm");
    }
    let bytes = inner.config.memory.touch_bytes;
    if bytes > 0 {
        let touched = inner.provers.run(move || memory::touch(bytes)).await;
        touched.map_err(|_| EngineError::Panicked)?;
    }
    Ok(())
}

fn prepare(spec: &ProofSpec, cache: &Cache) -> Result<(), arbor_prover::ProverError> {
    let observer: Arc<dyn Observer> = Arc::new(Silent);
    PreparedProof::prepare(spec, cache, &observer).map(|_| ())
}

/// A chain and a tree of two over each program, of the sizes that a job has that names none.
fn usual_jobs(preset: &str) -> Vec<Job> {
    let bases = [BaseJob::keccak(4, 1), BaseJob::fibonacci(100, 0, 1)];
    let jobs = bases.into_iter().flat_map(|base| {
        let chain = Job { preset: preset.to_owned(), ..Job::chain(base, 3) };
        let tree = Recursion::Tree { arity: 2, depth: Some(1), leaves: None };
        [chain.clone(), Job { recursion: tree, ..chain }]
    });
    jobs.collect()
}
