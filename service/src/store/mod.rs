//! The records: every line of SQL of the service.
//!
//! One SQLite file in the data folder, in WAL mode, holds jobs, nodes and events, and apalis's queue beside
//! them, so that a node's result and the tasks that it makes possible are one transaction. There is one
//! connection that writes and a small pool that reads: writers wait in line instead of running into each
//! other's locks.
//!
//! A transaction that somebody was told of, or that keeps a proof, is [`Durability::Synced`]: it survives a
//! loss of power. The others (leases, phases, starts) survive the end of the process, and are lost at
//! worst together, without harm: what they say is found out anew.

mod changes;
mod deliveries;
mod ends;
mod events;
mod filter;
mod graph;
mod jobs;
mod keys;
mod leaves;
mod lifecycle;
mod nodes;
mod progress;
mod prune;
mod retry;
mod room;
mod rows;
mod tasks;
mod traces;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{Connection, Sqlite, Transaction};
use tokio::sync::{Notify, watch};

use crate::model::{ErrorClass, JobId, JobState};
use crate::recorder;

pub use deliveries::{Attempt, DueDelivery};
pub use graph::{NewNode, PlannedJob};
pub use jobs::{NewJob, Stored};
pub use keys::{OverQuota, QuotaKind};
pub use leaves::LeafProofRow;
pub use lifecycle::{Begin, Begun, Child, FinishedNode, Root};
pub use nodes::NodeRow;
pub use retry::{Retried, Retry};
pub use room::{NoRoom, Room};
pub use tasks::{PLANNING, QUEUE, Recovered, Task};
pub use traces::TracedJob;

use changes::Changes;
use traces::OnEnd;

/// What a store answers.
pub type Result<T> = std::result::Result<T, sqlx::Error>;

/// Schema of the service, apart from the queue's.
static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");
/// Where it is noted which parts of the schema a file has; apalis keeps its own note.
const MIGRATIONS_TABLE: &str = "_arbor_migrations";
/// File of the records in a data folder.
const RECORDS: &str = "arbor.db";
/// Connections that read.
const READERS: u32 = 4;
/// How long a statement waits for another process that looks at the file.
const BUSY: Duration = Duration::from_secs(10);

/// The file of the records of a data folder.
#[must_use]
pub fn records_file(folder: &Path) -> PathBuf {
    folder.join(RECORDS)
}

/// Makes a data folder, if it is not there, that nobody but its owner can look into: the records hold what signs
/// webhooks.
///
/// # Errors
/// The system's.
pub fn create_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes an empty file, if there is none, that is its owner's alone also where the folder is not. What SQLite puts
/// beside it is as open as the file.
fn create_file(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// The records of one data folder.
#[derive(Clone)]
pub struct Store {
    writer: SqlitePool,
    readers: SqlitePool,
    /// Whether the connection that writes is to sync what it commits.
    syncing: Arc<AtomicBool>,
    changes: Arc<Changes>,
    pushed: Arc<Notify>,
    told: Arc<Notify>,
    ends: Arc<RwLock<Vec<OnEnd>>>,
}

/// What a transaction survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process.
    Process,
    /// A loss of power too: the commit waits for the disk.
    Synced,
}

/// A transaction that writes. Without [`Write::commit`] nothing of it happened.
pub struct Write {
    tx: Transaction<'static, Sqlite>,
    changes: Arc<Changes>,
    pushed: Arc<Notify>,
    changed: Vec<(JobId, i64)>,
    tasks: bool,
    news: Arc<Notify>,
    told: bool,
    ends: Arc<RwLock<Vec<OnEnd>>>,
    ended: Vec<(JobId, JobState, Option<ErrorClass>)>,
}

impl Store {
    /// Opens or creates the file, and brings its schema up to date.
    ///
    /// # Errors
    /// What SQLite says; a file of a later version is refused.
    pub async fn open(path: &Path) -> Result<Self> {
        create_file(path)?;
        let reading =
            SqliteConnectOptions::new().filename(path).foreign_keys(true).busy_timeout(BUSY);
        let writing = reading
            .clone()
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal);
        let syncing = Arc::new(AtomicBool::new(false));
        let synced = Arc::clone(&syncing);
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .min_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            .after_release(move |connection, _| {
                let synced = Arc::clone(&synced);
                Box::pin(async move {
                    // What follows a synced transaction, the queue's included, is not synced by itself.
                    if synced.swap(false, Ordering::Relaxed) {
                        sqlx::query("PRAGMA synchronous = NORMAL")
                            .execute(&mut *connection)
                            .await?;
                    }
                    // When a write fails, SQLite may end the transaction by itself, and sqlx does not know.
                    // Such a connection is of no use any more.
                    Ok(!connection.is_in_transaction())
                })
            })
            .connect_with(writing)
            .await?;
        migrate(&writer).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            .connect_with(reading.pragma("query_only", "ON"))
            .await?;
        let (changes, pushed) = (Arc::new(Changes::default()), Arc::new(Notify::new()));
        let told = Arc::new(Notify::new());
        let ends = Arc::default();
        Ok(Self { writer, readers, syncing, changes, pushed, told, ends })
    }

    /// The connection that writes, for the queue.
    pub(crate) const fn writer(&self) -> &SqlitePool {
        &self.writer
    }

    /// Is notified after tasks were put into the queue.
    pub(crate) fn pushed(&self) -> Arc<Notify> {
        Arc::clone(&self.pushed)
    }

    /// Is notified after messages were written down.
    pub(crate) fn told(&self) -> Arc<Notify> {
        Arc::clone(&self.told)
    }

    /// Begins a transaction that writes, as soon as no other one does.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn write(&self, durability: Durability) -> Result<Write> {
        let tx = match durability {
            Durability::Process => self.writer.begin_with("BEGIN IMMEDIATE").await?,
            Durability::Synced => {
                // There is one such connection: whoever releases it next is the one that syncs.
                let tx = self.writer.begin_with("PRAGMA synchronous = FULL; BEGIN IMMEDIATE").await;
                self.syncing.store(true, Ordering::Relaxed);
                tx?
            }
        };
        let (changes, pushed) = (Arc::clone(&self.changes), Arc::clone(&self.pushed));
        let news = Arc::clone(&self.told);
        let (changed, tasks, told) = (Vec::new(), false, false);
        let (ends, ended) = (Arc::clone(&self.ends), Vec::new());
        Ok(Write { tx, changes, pushed, changed, tasks, news, told, ends, ended })
    }

    /// Changes whenever the job does; holds the last revision that was committed since it was first asked
    /// for, or 0.
    #[must_use]
    pub fn changes(&self, job: JobId) -> watch::Receiver<i64> {
        self.changes.subscribe(job)
    }

    /// Whether the records can be read.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn check(&self) -> Result<()> {
        sqlx::query("SELECT 1 FROM job LIMIT 1").fetch_optional(&self.readers).await.map(|_| ())
    }

    /// Closes the file. What comes later fails.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

impl Write {
    /// Makes it so, tells those who watch the changed jobs, and wakes the queue if there are new tasks, and the
    /// courier if there are new messages.
    ///
    /// # Errors
    /// SQLite's; nothing happened then.
    pub async fn commit(self) -> Result<()> {
        self.tx.commit().await?;
        for (job, revision) in self.changed {
            self.changes.publish(job, revision);
        }
        if self.tasks {
            self.pushed.notify_one();
        }
        if self.told {
            self.news.notify_one();
        }
        let told = self.ends.read().unwrap_or_else(PoisonError::into_inner);
        for &(job, state, class) in &self.ended {
            recorder::job_ended(state, class);
            told.iter().for_each(|told| told(job));
        }
        Ok(())
    }

    fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.tx
    }
}

async fn migrate(pool: &SqlitePool) -> Result<()> {
    let mut own = Migrator { migrations: MIGRATIONS.migrations.clone(), ..Migrator::DEFAULT };
    own.dangerous_set_table_name(MIGRATIONS_TABLE);
    own.run(pool).await?;
    apalis_sqlite::SqliteStorage::<()>::migrations().run(pool).await?;
    // Into the file itself, so that the log beside it begins small.
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(pool).await?;
    Ok(())
}
