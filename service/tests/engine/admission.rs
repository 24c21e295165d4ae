//! What is taken, what is not, and what is taken once.

use std::collections::HashSet;

use arbor_prover::{BaseJob, Job};
use arbor_service::access::Quota;
use arbor_service::engine::{EngineError, Submission};
use arbor_service::model::{JobFilter, JobState, NodeState};

use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_posts_with_one_key_are_one_job() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let submission = |hash: u8| Submission {
        job: fibonacci(20, 0),
        idempotency: Some(("key".to_owned(), [hash; 32])),
        owner: None,
        quota: Quota::default(),
        viewer: None,
    };
    let posts = (0..50).map(|_| {
        let (engine, submission) = (engine.clone(), submission(1));
        tokio::spawn(async move { engine.submit(submission).await.unwrap() })
    });
    let mut ids = HashSet::new();
    let mut fresh = 0;
    for post in posts.collect::<Vec<_>>() {
        let submitted = post.await.unwrap();
        ids.insert(submitted.record.id);
        fresh += usize::from(submitted.fresh);
    }
    assert_eq!((ids.len(), fresh), (1, 1));
    let other = engine.submit(submission(2)).await;
    assert!(matches!(other, Err(EngineError::IdempotencyConflict)));
    let id = ids.into_iter().next().unwrap();
    succeeded(&engine, id).await;
    assert!(!engine.submit(submission(1)).await.unwrap().fresh);
    // The key lives as long as the job.
    engine.delete(id).await.unwrap();
    assert!(engine.submit(submission(2)).await.unwrap().fresh);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_large_is_refused_by_name() {
    let mut bench = Bench::new();
    bench.config.limits.max_n = 1000;
    bench.config.limits.max_num_hashes = 10;
    bench.config.limits.max_layers = 3;
    bench.config.limits.max_depth = 2;
    bench.config.limits.max_leaves = 6;
    bench.config.limits.max_labels = 1;
    bench.config.limits.max_deadline_s = 100;
    let engine = bench.start().await;
    let labels = [("a", "1"), ("b", "2")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let cases = [
        ("base.n", fibonacci(1001, 0)),
        ("base.num_hashes", Job { base: Some(BaseJob::keccak(11, 1)), ..fibonacci(1, 0) }),
        ("recursion.layers", fibonacci(20, 4)),
        ("recursion.depth", tree(2, 3)),
        ("leaves", tree(8, 1)),
        ("labels", Job { labels: labels.into_iter().collect(), ..fibonacci(20, 0) }),
        ("deadline_s", Job { deadline_s: Some(101), ..fibonacci(20, 0) }),
    ];
    for (field, job) in cases {
        match engine.validate(job.clone(), None).await {
            Err(EngineError::TooLarge { what, .. }) => assert_eq!(what, field),
            other => panic!("{field}: {:?}", other.err()),
        }
        let submitted = engine.submit(submission(job)).await;
        assert!(matches!(submitted, Err(EngineError::TooLarge { .. })), "{field}");
    }
    let refused =
        engine.validate(Job { preset: "none".to_owned(), ..fibonacci(20, 0) }, None).await;
    assert!(matches!(refused, Err(EngineError::Param(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_is_refused_and_what_fits_is_not_killed() {
    let mut bench = Bench::new();
    bench.config.memory.limit_bytes = 400 << 20;
    bench.config.memory.cache_bytes = 64 << 20;
    let engine = bench.start().await;
    let large = Job { base: Some(BaseJob::keccak(5_000, 1)), ..fibonacci(20, 1) };
    let large = engine.submit(submission(large)).await;
    assert!(matches!(large, Err(EngineError::TooLarge { limit, .. }) if limit == 400));
    let id = submit(&engine, fibonacci(20, 2)).await;
    succeeded(&engine, id).await;
    assert!(engine.reserve(1 << 30).is_err());
    let held = engine.reserve(150 << 20).unwrap();
    let busy = engine.reserve(150 << 20);
    assert!(matches!(busy, Err(EngineError::Busy { queue: false, .. })));
    drop((held, engine.reserve(150 << 20).is_ok()));
    assert!(engine.reserve(150 << 20).is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_and_a_full_disk_say_when_to_come_back() {
    let mut bench = Bench::new();
    bench.config.limits.max_queued = 2;
    let engine = bench.start().await;
    let first = submit(&engine, slow(1)).await;
    let second = submit(&engine, fibonacci(20, 0)).await;
    match engine.submit(submission(fibonacci(20, 0))).await {
        Err(EngineError::Busy { queue, retry_after_s, .. }) => assert!(queue && retry_after_s > 0),
        other => panic!("{:?}", other.err()),
    }
    succeeded(&engine, first).await;
    succeeded(&engine, second).await;
    submit(&engine, fibonacci(20, 0)).await;
    engine.shutdown(std::time::Duration::from_secs(10)).await;

    bench.config.data.min_free_bytes = 1 << 60;
    let engine = bench.start().await;
    match engine.submit(submission(fibonacci(20, 0))).await {
        Err(EngineError::Busy { queue, retry_after_s, .. }) => assert!(!queue && retry_after_s > 0),
        other => panic!("{:?}", other.err()),
    }
    assert!(!engine.health().await.ready);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_jobs_at_once_all_end() {
    let mut bench = Bench::new();
    bench.config.limits.max_queued = 150;
    let engine = bench.start().await;
    let posts = (0..200).map(|i| {
        let engine = engine.clone();
        tokio::spawn(async move { engine.submit(submission(fibonacci(10 + i % 7, 0))).await })
    });
    let (mut taken, mut refused) = (Vec::new(), 0);
    for post in posts.collect::<Vec<_>>() {
        match post.await.unwrap() {
            Ok(submitted) => taken.push(submitted.record.id),
            Err(EngineError::Busy { queue: true, .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(taken.len() + refused, 200);
    for id in taken {
        succeeded(&engine, id).await;
        assert_eq!(counts(&engine.nodes(id).await.unwrap()), [(1, 1)]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_what_is_done() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let mixed = Job {
        base: None,
        recursion: arbor_prover::Recursion::Tree {
            arity: 2,
            depth: None,
            leaves: Some(
                [BaseJob::keccak(1, 1), BaseJob::fibonacci(20, 0, 1), BaseJob::fibonacci(20, 1, 1)]
                    .map(arbor_prover::Leaf::Base)
                    .to_vec(),
            ),
        },
        ..fibonacci(20, 0)
    };
    for job in [fibonacci(20, 2), tree(2, 2), mixed] {
        let validation = engine.validate(job.clone(), None).await.unwrap();
        assert!(validation.sizing.peak_bytes > 0 && validation.sizing.disk_bytes > 0);
        let id = submit(&engine, job).await;
        let record = succeeded(&engine, id).await;
        assert_eq!(record.spec, validation.spec);
        let nodes = engine.nodes(id).await.unwrap();
        let planned = validation.nodes.iter().map(|n| (&n.id, &n.kind, &n.children, n.padding));
        let done = nodes.iter().map(|n| (&n.id, &n.kind, &n.children, n.padding));
        assert_eq!(planned.collect::<Vec<_>>(), done.collect::<Vec<_>>());
        assert!(nodes.iter().all(|node| node.state == NodeState::Done));
        let stored: u64 = nodes.iter().filter_map(|node| node.bytes).sum();
        assert!(stored + record.proof.unwrap().bytes <= validation.sizing.disk_bytes);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_have_pages_and_filters() {
    let bench = Bench::new();
    let engine = bench.start().await;
    let mut ids = Vec::new();
    for i in 0..5 {
        let labels = [("parity".to_owned(), (i % 2).to_string())].into_iter().collect();
        ids.push(submit(&engine, Job { labels, ..fibonacci(20, 0) }).await);
    }
    ids.push(submit(&engine, tree(2, 1)).await);
    for &id in &ids {
        succeeded(&engine, id).await;
    }
    ids.reverse();
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let page = engine.jobs(JobFilter::default(), cursor, 4).await.unwrap();
        seen.extend(page.jobs.iter().map(|job| job.id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, ids);
    let count = async |filter: JobFilter| engine.jobs(filter, None, 100).await.unwrap().jobs.len();
    let odd = vec![("parity".to_owned(), "1".to_owned())];
    assert_eq!(count(JobFilter { labels: odd, ..JobFilter::default() }).await, 2);
    let of = |mode: &str| JobFilter { mode: Some(mode.to_owned()), ..JobFilter::default() };
    assert_eq!((count(of("tree")).await, count(of("chain")).await), (1, 5));
    let program = |name: &str| JobFilter { program: Some(name.to_owned()), ..JobFilter::default() };
    assert_eq!((count(program("fibonacci")).await, count(program("keccak")).await), (6, 0));
    assert_eq!(count(program("%")).await, 0);
    let states = vec![JobState::Failed, JobState::Queued];
    assert_eq!(count(JobFilter { states, ..JobFilter::default() }).await, 0);
}
