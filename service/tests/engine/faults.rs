//! What goes wrong on the way, and that nothing is lost or done twice.

use std::fs;
use std::time::Duration;

use arbor_prover::tree::NodeId;
use arbor_prover::{Cache, VerifyOptions, verify_bytes};
use arbor_service::access::Quota;
use arbor_service::engine::EngineError;
use arbor_service::model::{ErrorClass, JobState};

use crate::support::*;

/// A small generator; the seed is printed, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn new() -> Self {
        let seed =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()
                as u64;
        println!("seed {seed}");
        Self(seed | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// As if the process had died: every task of the engine is dropped where it is.
#[test]
fn an_engine_that_vanishes_loses_nothing() {
    let mut random = Random::new();
    for job in [fibonacci(20, 4), tree(8, 1)] {
        let mut bench = Bench::new();
        bench.config.engine.max_attempts = 100;
        let mut id = None;
        let mut vanished = 0;
        loop {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            let engine = runtime.block_on(bench.start());
            let job_id = *id.get_or_insert_with(|| runtime.block_on(submit(&engine, job.clone())));
            if vanished < 6 {
                let pause = Duration::from_millis(random.below(400));
                std::thread::sleep(pause);
                drop(engine);
                runtime.shutdown_timeout(Duration::from_millis(50));
                vanished += 1;
                continue;
            }
            runtime.block_on(async {
                succeeded(&engine, job_id).await;
                verify(&engine, job_id).await;
                let nodes = engine.nodes(job_id).await.unwrap();
                println!("{:?}", counts(&nodes));
                assert!(nodes.iter().all(|node| node.finishes == 1), "{:?}", counts(&nodes));
                let starts: u32 = nodes.iter().map(|node| node.starts).sum();
                assert!(starts as usize <= nodes.len() + vanished, "{:?}", counts(&nodes));
                all_events(&engine, job_id).await;
            });
            break;
        }
    }
}

/// How often the nodes of a job were begun.
async fn starts(engine: &arbor_service::engine::Engine, id: arbor_service::model::JobId) -> u32 {
    engine.nodes(id).await.unwrap().iter().map(|node| node.starts).sum()
}

#[test]
fn a_node_that_kills_the_process_fails_its_job() {
    let mut bench = Bench::new();
    bench.config.engine.max_attempts = 2;
    let mut id = None;
    for round in 0..3 {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let engine = runtime.block_on(bench.start());
        let job_id = *id.get_or_insert_with(|| runtime.block_on(submit(&engine, slow(0))));
        if round < 2 {
            runtime.block_on(async {
                while starts(&engine, job_id).await <= round {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
            drop(engine);
            runtime.shutdown_timeout(Duration::from_millis(50));
            continue;
        }
        runtime.block_on(async {
            let record = ended(&engine, job_id).await;
            let error = record.error.unwrap();
            assert_eq!((record.state, error.class), (JobState::Failed, ErrorClass::Crashed));
            assert_eq!(error.node.as_deref(), Some("0/0"));
            engine.retry(job_id, Quota::default()).await.unwrap();
            succeeded(&engine, job_id).await;
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_proof_of_a_child_is_made_again() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let id = submit(&engine, tree(8, 1)).await;
    until(&engine, id, |record| record.nodes_done >= 3).await;
    engine.delete(id).await.unwrap();
    assert_eq!(ended(&engine, id).await.state, JobState::Cancelled);
    let nodes = engine.nodes(id).await.unwrap();
    let done: Vec<_> = nodes.iter().filter_map(|node| node.hash.clone()).collect();
    engine.shutdown(Duration::from_secs(5)).await;
    damage(&bench.blobs(), &done[0]);
    fs::remove_file(object(&bench.blobs(), &done[1])).unwrap();

    let engine = bench.start().await;
    engine.retry(id, Quota::default()).await.unwrap();
    succeeded(&engine, id).await;
    verify(&engine, id).await;
    let nodes = engine.nodes(id).await.unwrap();
    let finishes: Vec<u32> = nodes.iter().map(|node| node.finishes).collect();
    assert_eq!(finishes, [2, 2, 1, 1, 1, 1, 1, 1, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_proof_file_is_made_again_from_the_root() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let id = submit(&engine, fibonacci(20, 2)).await;
    let record = succeeded(&engine, id).await;
    damage(&bench.blobs(), &record.proof.unwrap().hash);
    let damaged = engine.proof(id, None).await;
    assert!(matches!(damaged, Err(EngineError::Corrupt { .. })), "{damaged:?}");
    succeeded(&engine, id).await;
    verify(&engine, id).await;
    assert_eq!(counts(&engine.nodes(id).await.unwrap()), [(1, 1); 3], "nothing was proved");

    // With the root's own proof gone as well, it is proved again.
    let root = engine.nodes(id).await.unwrap()[2].hash.clone().unwrap();
    let file = engine.job(id).await.unwrap().proof.unwrap().hash;
    damage(&bench.blobs(), &root);
    damage(&bench.blobs(), &file);
    assert!(matches!(engine.proof(id, None).await, Err(EngineError::Corrupt { .. })));
    succeeded(&engine, id).await;
    verify(&engine, id).await;
    let finishes: Vec<u32> =
        engine.nodes(id).await.unwrap().iter().map(|node| node.finishes).collect();
    assert_eq!(finishes, [1, 1, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_are_downloaded_as_proofs_of_their_own() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let id = submit(&engine, tree(2, 2)).await;
    succeeded(&engine, id).await;
    for node in [NodeId { level: 0, index: 2 }, NodeId { level: 1, index: 1 }] {
        let proof = engine.proof(id, Some(node)).await.unwrap();
        let bytes = engine.read(&proof, 0..u64::MAX).await.unwrap();
        assert_eq!(bytes.len() as u64, proof.bytes);
        verify_bytes(&bytes, &VerifyOptions::any_strength(), &Cache::new()).unwrap();
        // Made again, it is what it was, and has the same name.
        assert_eq!(engine.proof(id, Some(node)).await.unwrap().hash, proof.hash);
    }
    let root = engine.proof(id, Some(NodeId { level: 2, index: 0 })).await.unwrap();
    assert_eq!(root.hash, engine.proof(id, None).await.unwrap().hash);
    let none = engine.proof(id, Some(NodeId { level: 7, index: 0 })).await;
    assert!(matches!(none, Err(EngineError::NoSuchNode { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blob_store_that_fails_fails_the_job_and_no_more() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let first = submit(&engine, fibonacci(20, 0)).await;
    succeeded(&engine, first).await;
    // A file where the folder was: nothing can be written or read.
    let away = bench.blobs().with_extension("away");
    fs::rename(bench.blobs(), &away).unwrap();
    fs::write(bench.blobs(), b"").unwrap();
    let id = submit(&engine, fibonacci(20, 1)).await;
    let waiting = submit(&engine, fibonacci(21, 1)).await;
    let record = ended(&engine, id).await;
    let error = record.error.unwrap();
    assert_eq!((record.state, error.class), (JobState::Failed, ErrorClass::Storage));
    until(&engine, waiting, |record| record.state == JobState::Running).await;
    assert!(error.retryable);
    assert!(!engine.health().await.ready);
    // Whoever comes now is told to come back, and what waits does not fail.
    let refused = engine.submit(submission(fibonacci(20, 1))).await;
    assert!(matches!(refused, Err(EngineError::Busy { .. })), "{refused:?}");
    assert_eq!(engine.job(waiting).await.unwrap().state, JobState::Running);

    fs::remove_file(bench.blobs()).unwrap();
    fs::rename(&away, bench.blobs()).unwrap();
    succeeded(&engine, waiting).await;
    engine.retry(id, Quota::default()).await.unwrap();
    succeeded(&engine, id).await;
    verify(&engine, id).await;
    assert!(engine.health().await.ready);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_folder_has_one_server() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let clock = std::sync::Arc::new(arbor_service::clock::SystemClock::new());
    let second = arbor_service::engine::Engine::start(&bench.config, clock).await;
    match second {
        Err(EngineError::Folder { reason, .. }) => assert!(reason.contains("another server")),
        other => panic!("{:?}", other.err()),
    }
    engine.shutdown(Duration::from_secs(5)).await;
    bench.start().await;
}
