//! An engine in a folder of its own, and jobs that take no time.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arbor_prover::{BaseJob, Cache, Job, Recursion, VerifyOptions, verify_bytes};
use arbor_service::access::Quota;
use arbor_service::clock::SystemClock;
use arbor_service::config::Config;
use arbor_service::engine::{Engine, Submission};
use arbor_service::model::{Event, EventKind, JobId, JobRecord, JobState, NodeRecord};
use tempfile::TempDir;

/// The longest that a job of these tests may take on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A folder, and what is to be configured for it.
pub(crate) struct Bench {
    _folder: TempDir,
    pub(crate) config: Config,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.data.dir = folder.path().join("data");
        config.data.min_free_bytes = 0;
        Self { _folder: folder, config }
    }

    pub(crate) async fn start(&self) -> Engine {
        Engine::start(&self.config, Arc::new(SystemClock::new())).await.unwrap()
    }

    pub(crate) fn records(&self) -> std::path::PathBuf {
        self.config.data.dir.join("arbor.db")
    }

    pub(crate) fn blobs(&self) -> std::path::PathBuf {
        self.config.data.dir.join("blobs")
    }
}

pub(crate) fn fibonacci(n: u64, layers: usize) -> Job {
    Job { preset: "insecure-test".to_owned(), ..Job::chain(BaseJob::fibonacci(n, 0, 1), layers) }
}

/// A job whose base takes a second or so.
pub(crate) fn slow(layers: usize) -> Job {
    Job { base: Some(BaseJob::keccak(500, 1)), ..fibonacci(20, layers) }
}

pub(crate) fn tree(arity: usize, depth: usize) -> Job {
    let recursion = Recursion::Tree { arity, depth: Some(depth), leaves: None };
    Job { recursion, ..fibonacci(20, 0) }
}

pub(crate) fn submission(job: Job) -> Submission {
    Submission { job, idempotency: None, owner: None, quota: Quota::default(), viewer: None }
}

pub(crate) async fn submit(engine: &Engine, job: Job) -> JobId {
    engine.submit(submission(job)).await.unwrap().record.id
}

/// Waits for a final state.
pub(crate) async fn ended(engine: &Engine, id: JobId) -> JobRecord {
    until(engine, id, |record| record.state.is_final()).await
}

/// Waits until a job is as wanted.
pub(crate) async fn until(
    engine: &Engine,
    id: JobId,
    wanted: impl Fn(&JobRecord) -> bool,
) -> JobRecord {
    let start = Instant::now();
    let mut changes = engine.changes(id);
    loop {
        let record = engine.job(id).await.unwrap();
        if wanted(&record) {
            return record;
        }
        assert!(start.elapsed() < LONG, "took too long: {record:?}");
        let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
    }
}

pub(crate) async fn succeeded(engine: &Engine, id: JobId) -> JobRecord {
    let record = ended(engine, id).await;
    assert_eq!(record.state, JobState::Succeeded, "{:?}", record.error);
    record
}

/// Downloads the proof of a job and verifies it with circuits of its own.
pub(crate) async fn verify(engine: &Engine, id: JobId) {
    let proof = engine.proof(id, None).await.unwrap();
    let bytes = engine.read(&proof, 0..proof.bytes).await.unwrap();
    let verified = verify_bytes(&bytes, &VerifyOptions::any_strength(), &Cache::new()).unwrap();
    let record = engine.job(id).await.unwrap();
    assert_eq!(Some(verified.statement), record.statement);
    assert_eq!(verified.keys, record.keys);
}

pub(crate) async fn all_events(engine: &Engine, id: JobId) -> Vec<Event> {
    let events = engine.events(id, 0, 100_000).await.unwrap();
    for (i, event) in events.iter().enumerate() {
        assert_eq!(event.id, i as i64 + 1, "ids have no gaps");
    }
    assert!(events.windows(2).all(|pair| pair[0].at_ms <= pair[1].at_ms), "times are in order");
    events
}

pub(crate) fn states(events: &[Event]) -> Vec<String> {
    let states = events.iter().filter(|event| event.kind == EventKind::State);
    states.map(|event| event.data["state"].as_str().unwrap().to_owned()).collect()
}

/// Every node was begun and finished as often as given.
pub(crate) fn counts(nodes: &[NodeRecord]) -> Vec<(u32, u32)> {
    nodes.iter().map(|node| (node.starts, node.finishes)).collect()
}

/// Makes an object something else than its name says.
pub(crate) fn damage(blobs: &Path, hash: &str) {
    let path = object(blobs, hash);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

/// The file of an object.
pub(crate) fn object(blobs: &Path, hash: &str) -> std::path::PathBuf {
    blobs.join(&hash[..2]).join(hash)
}
