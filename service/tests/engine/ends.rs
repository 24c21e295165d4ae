//! Jobs that are cancelled, expire, fail, are retried or removed; and an engine that ends.

use std::time::{Duration, Instant};

use arbor_service::access::Quota;
use arbor_service::engine::{Deleted, EngineError};
use arbor_service::model::{ErrorClass, EventKind, JobState};

use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_cancelled_between_nodes_and_goes_on_when_retried() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let id = submit(&engine, tree(8, 1)).await;
    until(&engine, id, |record| record.nodes_done >= 2).await;
    assert_eq!(engine.delete(id).await.unwrap(), Deleted::Cancelling);
    let record = ended(&engine, id).await;
    assert_eq!(record.state, JobState::Cancelled);
    assert!(record.nodes_done < record.nodes_total);
    let proof = engine.proof(id, None).await;
    assert!(matches!(proof, Err(EngineError::NotFinished { state: JobState::Cancelled })));

    engine.retry(id, Quota::default()).await.unwrap();
    succeeded(&engine, id).await;
    verify(&engine, id).await;
    let nodes = engine.nodes(id).await.unwrap();
    assert!(nodes.iter().all(|node| node.finishes == 1), "{:?}", counts(&nodes));
    let again = engine.retry(id, Quota::default()).await;
    assert!(matches!(again, Err(EngineError::NotRetryable { state: JobState::Succeeded })));
    let events = all_events(&engine, id).await;
    let states = states(&events);
    assert_eq!(states[..4], ["queued", "running", "cancelling", "cancelled"]);
    assert_eq!(states[4..], ["queued", "running", "succeeded"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_waits_is_cancelled_at_once() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let running = submit(&engine, slow(0)).await;
    until(&engine, running, |record| record.state == JobState::Running).await;
    let waiting = submit(&engine, fibonacci(20, 1)).await;
    assert_eq!(engine.delete(waiting).await.unwrap(), Deleted::Cancelling);
    assert_eq!(engine.job(waiting).await.unwrap().state, JobState::Cancelled);
    assert_eq!(engine.delete(waiting).await.unwrap(), Deleted::Gone);
    assert_eq!(engine.delete(waiting).await.unwrap(), Deleted::Gone);
    let gone = engine.job(waiting).await;
    assert!(matches!(gone, Err(EngineError::NoSuchJob { .. })));
    succeeded(&engine, running).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_expires_at_its_deadline() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let mut job = slow(30);
    job.deadline_s = Some(2);
    let id = submit(&engine, job).await;
    let record = ended(&engine, id).await;
    assert_eq!(record.state, JobState::Expired);
    let error = record.error.unwrap();
    assert_eq!((error.class, error.retryable), (ErrorClass::Deadline, true));
    // What is in the hands of a thread ends too, and the engine goes on.
    let next = submit(&engine, fibonacci(20, 0)).await;
    succeeded(&engine, next).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finished_jobs_are_removed_in_time() {
    let mut bench = Bench::new();
    bench.config.retention.finished_s = 1;
    bench.config.retention.every_s = 1;
    let engine = bench.start().await;
    let id = submit(&engine, fibonacci(20, 1)).await;
    succeeded(&engine, id).await;
    let start = Instant::now();
    while engine.job(id).await.is_ok() {
        assert!(start.elapsed() < LONG);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The proofs go right after the job.
    let blobs = arbor_service::blobs::open(&bench.blobs()).unwrap();
    while !blobs.list().await.unwrap().is_empty() {
        assert!(start.elapsed() < LONG);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_priority_goes_first() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let first = submit(&engine, slow(0)).await;
    until(&engine, first, |record| record.state == JobState::Running).await;
    let low = submit(&engine, arbor_prover::Job { priority: -5, ..fibonacci(20, 0) }).await;
    let plain = submit(&engine, fibonacci(20, 0)).await;
    let high = submit(&engine, arbor_prover::Job { priority: 5, ..fibonacci(20, 0) }).await;
    let mut ends = Vec::new();
    for id in [low, plain, high] {
        ends.push(succeeded(&engine, id).await.finished_at_ms.unwrap());
    }
    assert!(ends[2] <= ends[1] && ends[1] <= ends[0], "{ends:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_hands_back_what_takes_too_long() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let id = submit(&engine, slow(1)).await;
    until(&engine, id, |record| record.state == JobState::Running).await;
    let start = Instant::now();
    engine.shutdown(Duration::from_millis(200)).await;
    assert!(start.elapsed() < Duration::from_millis(600), "{:?}", start.elapsed());
    let late = engine.submit(submission(fibonacci(20, 0))).await;
    assert!(matches!(late, Err(EngineError::ShuttingDown)));

    let engine = bench.start().await;
    let resumed = Instant::now();
    until(&engine, id, |record| record.nodes_done > 0 || record.phase.is_some()).await;
    assert!(resumed.elapsed() < Duration::from_secs(5), "{:?}", resumed.elapsed());
    succeeded(&engine, id).await;
    verify(&engine, id).await;
    let nodes = engine.nodes(id).await.unwrap();
    assert!(nodes.iter().all(|node| node.finishes == 1), "{:?}", counts(&nodes));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_finishes_what_there_is_time_for() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let id = submit(&engine, slow(1)).await;
    until(&engine, id, |record| record.state == JobState::Running).await;
    engine.shutdown(Duration::from_secs(60)).await;
    let engine = bench.start().await;
    succeeded(&engine, id).await;
    let nodes = engine.nodes(id).await.unwrap();
    assert_eq!(counts(&nodes), [(1, 1); 2], "the base was finished, the layer not begun");
    let started = all_events(&engine, id).await;
    let started = started.iter().filter(|event| event.kind == EventKind::NodeStarted);
    assert_eq!(started.count(), 2);
}
