//! Chains and trees, from the submission to the proof.

use std::time::{Duration, Instant};

use arbor_prover::job::{FinishedJob, Leaf};
use arbor_prover::{BaseJob, Job, Recursion};
use arbor_service::engine::EngineError;
use arbor_service::model::{EventKind, JobId, NodeState};

use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_comes_to_its_proof() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let id = submit(&engine, fibonacci(20, 3)).await;
    let record = succeeded(&engine, id).await;
    assert_eq!((record.nodes_done, record.nodes_total), (4, 4));
    assert!(record.started_at_ms.is_some() && record.finished_at_ms.is_some());
    verify(&engine, id).await;
    let nodes = engine.nodes(id).await.unwrap();
    assert_eq!(counts(&nodes), [(1, 1); 4]);
    for (layer, node) in nodes.iter().enumerate() {
        assert_eq!(node.id, format!("{layer}/0"));
        assert_eq!(node.state, NodeState::Done);
        assert!(node.report.as_ref().is_some_and(|report| report.timings_ms.total > 0.0));
    }
    let events = all_events(&engine, id).await;
    assert_eq!(states(&events), ["queued", "running", "succeeded"]);
    assert_eq!(events.last().map(|event| event.kind), Some(EventKind::State));
    let finished = events.iter().filter(|event| event.kind == EventKind::NodeFinished);
    assert!(finished.clone().all(|event| event.data["report"].is_object()));
    assert_eq!(finished.count(), 4);
    engine.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_base_proof_alone() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let keccak = Job { base: Some(BaseJob::keccak(1, 7)), ..fibonacci(20, 0) };
    for job in [fibonacci(20, 0), keccak] {
        let id = submit(&engine, job).await;
        assert_eq!(succeeded(&engine, id).await.nodes_total, 1);
        verify(&engine, id).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trees_are_proved_subtree_by_subtree() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let id = submit(&engine, tree(2, 2)).await;
    succeeded(&engine, id).await;
    verify(&engine, id).await;
    let nodes = engine.nodes(id).await.unwrap();
    assert_eq!(counts(&nodes), [(1, 1); 7]);
    let events = all_events(&engine, id).await;
    let begun: Vec<&str> = events
        .iter()
        .filter(|event| event.kind == EventKind::NodeStarted)
        .map(|event| event.data["node"].as_str().unwrap())
        .collect();
    assert_eq!(begun, ["0/0", "0/1", "1/0", "0/2", "0/3", "1/1", "2/0"]);

    let id = submit(&engine, tree(8, 1)).await;
    assert_eq!(succeeded(&engine, id).await.nodes_total, 9);
    verify(&engine, id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_proof_of_another_job_is_a_leaf() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let below = submit(&engine, fibonacci(20, 1)).await;
    let leaf = |id: JobId| Leaf::Finished(FinishedJob { job: id.to_string() });
    let over = |id: JobId| Job {
        base: None,
        recursion: Recursion::Tree {
            arity: 2,
            depth: None,
            leaves: Some(vec![leaf(id), Leaf::Base(BaseJob::fibonacci(20, 3, 4))]),
        },
        ..fibonacci(20, 0)
    };
    let early = engine.submit(submission(over(below))).await;
    assert!(matches!(early, Err(EngineError::LeafJob { leaf: 0, .. })) || early.is_ok());
    let unknown = engine.submit(submission(over(JobId::new()))).await;
    assert!(matches!(unknown, Err(EngineError::LeafJob { leaf: 0, .. })));

    succeeded(&engine, below).await;
    let id = submit(&engine, over(below)).await;
    // The other job goes; its proof stays as long as somebody refers to it.
    engine.delete(below).await.unwrap();
    succeeded(&engine, id).await;
    verify(&engine, id).await;
    let nodes = engine.nodes(id).await.unwrap();
    assert!(nodes.iter().any(|node| node.kind == "finished" && node.starts == 0));
    engine.delete(id).await.unwrap();
    let left = walk(&bench.blobs());
    assert!(early.is_ok() || left.is_empty(), "every proof is gone: {left:?}");
}

/// Files below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    files
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn little_time_passes_beside_proving() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let first = submit(&engine, fibonacci(20, 3)).await;
    succeeded(&engine, first).await;
    let start = Instant::now();
    let id = submit(&engine, fibonacci(20, 3)).await;
    succeeded(&engine, id).await;
    let took = start.elapsed().as_secs_f64() * 1e3;
    let nodes = engine.nodes(id).await.unwrap();
    let proving: f64 = nodes
        .iter()
        .filter_map(|node| node.report.as_ref())
        .map(|report| report.timings_ms.total + report.timings_ms.verify)
        .sum();
    println!("{took:.1} ms from the submission, {proving:.1} ms of them proving");
    assert!(took - proving < 500.0, "{took} ms, of which {proving} ms were proving");
}
