//! The records: first write wins, and every schema that was released can be brought up to date.

use arbor_prover::Preset;
use arbor_service::access::Quota;
use arbor_service::model::{JobId, JobState, NodeState, ProofRef, Sizing};
use arbor_service::store::{
    Begin, FinishedNode, NewJob, NewNode, PlannedJob, Room, Root, Store, Stored,
};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection, Executor, Row};

use crate::support::*;

fn new_job() -> NewJob {
    let job = fibonacci(20, 1);
    let spec = job.resolve_any(&Preset::named(&job.preset).unwrap(), Vec::new()).unwrap();
    NewJob {
        id: JobId::new(),
        job,
        spec,
        sizing: Sizing { peak_bytes: 1, prove_ms: 1, disk_bytes: 1 },
        owner: None,
        quota: Quota::default(),
        idempotency: None,
        deadline_at_ms: None,
        now_ms: 1000,
        leaves: Vec::new(),
        room: Room { jobs: 10, disk_bytes: None },
    }
}

fn chain_of_two() -> PlannedJob {
    let node = |id: &str, kind, children| NewNode {
        id: id.to_owned(),
        kind,
        children,
        padding: 0,
        turn: 0,
        leaf: None,
    };
    PlannedJob {
        nodes: vec![node("0/0", "base", vec![]), node("1/0", "layer", vec![0])],
        keys: Vec::new(),
    }
}

fn result(name: &str) -> FinishedNode {
    FinishedNode { hash: name.to_owned(), bytes: 3, report: None, root: None }
}

#[tokio::test]
async fn the_first_result_counts_and_releases_the_parent_once() {
    let bench = Bench::new();
    std::fs::create_dir_all(&bench.config.data.dir).unwrap();
    let store = Store::open(&bench.records()).await.unwrap();
    let new = new_job();
    let Stored::Fresh(_) = store.insert(&new).await.unwrap() else { panic!("not fresh") };
    let planning = store.begin_plan(new.id, 1, 5, 1001).await.unwrap();
    let Begin::Go(planning) = planning else { panic!("{planning:?}") };
    store.planned(new.id, &chain_of_two()).await.unwrap();
    store.planned(new.id, &chain_of_two()).await.unwrap();
    assert_eq!(store.begin_plan(new.id, 1, 5, 1002).await.unwrap(), Begin::Stale);

    // The same task, delivered twice.
    for _ in 0..2 {
        let begun = store.begin(new.id, 0, 1, 5, 1003).await.unwrap();
        assert!(matches!(begun, Begin::Go(_)), "{begun:?}");
    }
    assert!(store.finish(planning.seq, 0, &result("first"), 1004).await.unwrap());
    assert!(!store.finish(planning.seq, 0, &result("second"), 1005).await.unwrap());
    assert_eq!(store.begin(new.id, 0, 1, 5, 1006).await.unwrap(), Begin::Stale);
    let nodes = store.nodes(new.id).await.unwrap();
    assert_eq!(nodes[0].record.hash.as_deref(), Some("first"));
    assert_eq!((nodes[0].record.starts, nodes[0].record.finishes), (2, 1));
    assert_eq!(nodes[1].record.state, NodeState::Ready);
    assert_eq!(store.waiting_tasks().await.unwrap(), 3, "plan, base, and the layer once");

    // A task of an earlier round, and one that comes before its time, do nothing.
    assert_eq!(store.begin(new.id, 1, 0, 5, 1007).await.unwrap(), Begin::Stale);
    let begun = store.begin(new.id, 1, 1, 5, 1008).await.unwrap();
    let Begin::Go(begun) = begun else { panic!("{begun:?}") };
    assert_eq!(begun.children[0].hash, "first");
    let statement = arbor_prover::tree::ProofStatement::new(&new.spec, &mut [Some(1)].into_iter());
    let file = ProofRef { hash: "file".to_owned(), bytes: 4 };
    let root = Some(Root { file, statement, keys: vec!["key".to_owned()] });
    let last = FinishedNode { root, ..result("root") };
    // The clock has gone back: times do not.
    assert!(store.finish(planning.seq, 1, &last, 5).await.unwrap());
    let record = store.job(new.id).await.unwrap().unwrap();
    assert_eq!(record.state, JobState::Succeeded);
    let events = store.events(new.id, 0, 100).await.unwrap();
    assert!(events.windows(2).all(|pair| pair[0].at_ms <= pair[1].at_ms));
    assert_eq!(store.reconcile(&Default::default()).await.unwrap(), 0);
}

#[tokio::test]
async fn the_reconciler_finds_what_has_no_task() {
    let bench = Bench::new();
    std::fs::create_dir_all(&bench.config.data.dir).unwrap();
    let store = Store::open(&bench.records()).await.unwrap();
    let new = new_job();
    store.insert(&new).await.unwrap();
    assert_eq!(store.reconcile(&Default::default()).await.unwrap(), 0);
    let mut other = connect(&bench.records()).await;
    other.execute("DELETE FROM Jobs").await.unwrap();
    assert_eq!(store.reconcile(&Default::default()).await.unwrap(), 1);
    assert_eq!(store.reconcile(&Default::default()).await.unwrap(), 0);
    store.planned(new.id, &chain_of_two()).await.unwrap();
    other.execute("DELETE FROM Jobs").await.unwrap();
    assert_eq!(store.reconcile(&[(new.id, 0)].into_iter().collect()).await.unwrap(), 0);
    assert_eq!(store.reconcile(&Default::default()).await.unwrap(), 1);
}

async fn connect(path: &std::path::Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    // A dump has its tables in the order of their names.
    let options = options.foreign_keys(false);
    SqliteConnection::connect_with(&options).await.unwrap()
}

/// A file as the first version wrote it: its schema, and a job that had succeeded. To be kept as it is; later
/// schemas get fixtures of their own.
const FIRST: &str = include_str!("schema_1.sql");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_of_the_first_schema_are_brought_up_to_date() {
    let bench = Bench::new();
    std::fs::create_dir_all(&bench.config.data.dir).unwrap();
    let mut file = connect(&bench.records()).await;
    sqlx::raw_sql(FIRST).execute(&mut file).await.unwrap();
    file.close().await.unwrap();

    let engine = bench.start().await;
    let page = engine.jobs(Default::default(), None, 10).await.unwrap();
    assert_eq!(page.jobs.len(), 2);
    let waiting = page.jobs[0].id;
    assert_eq!(page.jobs[1].state, JobState::Succeeded);
    assert_eq!(engine.nodes(page.jobs[1].id).await.unwrap().len(), 4);
    all_events(&engine, page.jobs[1].id).await;
    // The one that waited goes on.
    succeeded(&engine, waiting).await;
    verify(&engine, waiting).await;
    let mut file = connect(&bench.records()).await;
    let applied = file.fetch_all("SELECT version FROM _arbor_migrations").await.unwrap();
    assert_eq!(applied[0].get::<i64, _>("version"), 20_261_130_000_001);
}
