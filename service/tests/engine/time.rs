//! A clock that is set while jobs run, and between two runs.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arbor_service::clock::{Clock, SystemClock};
use arbor_service::engine::Engine;
use arbor_service::model::JobState;

use crate::support::*;

/// The machine's clocks, moved.
struct Moved {
    system: SystemClock,
    wall_ms: Mutex<i64>,
    monotonic: Mutex<Duration>,
}

impl Moved {
    fn new() -> Arc<Self> {
        let (wall_ms, monotonic) = (Mutex::new(0), Mutex::new(Duration::ZERO));
        Arc::new(Self { system: SystemClock::new(), wall_ms, monotonic })
    }

    fn set_wall(&self, by_ms: i64) {
        *self.wall_ms.lock().unwrap() = by_ms;
    }
}

impl Clock for Moved {
    fn wall_ms(&self) -> i64 {
        self.system.wall_ms() + *self.wall_ms.lock().unwrap()
    }

    fn monotonic(&self) -> Duration {
        self.system.monotonic() + *self.monotonic.lock().unwrap()
    }
}

const DAY_MS: i64 = 24 * 3600 * 1000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_goes_backwards_loses_and_doubles_nothing() {
    let mut bench = Bench::new();
    bench.config.retention.every_s = 1;
    let clock = Moved::new();
    let engine = Engine::start(&bench.config, Arc::clone(&clock) as _).await.unwrap();
    let mut job = tree(8, 1);
    job.deadline_s = Some(3600);
    let id = submit(&engine, job).await;
    until(&engine, id, |record| record.nodes_done >= 1).await;
    clock.set_wall(-10 * DAY_MS);
    until(&engine, id, |record| record.nodes_done >= 2).await;
    let other = submit(&engine, fibonacci(20, 0)).await;
    engine.shutdown(Duration::from_millis(500)).await;

    // The next run begins ten days before the last one.
    let engine = Engine::start(&bench.config, Arc::clone(&clock) as _).await.unwrap();
    succeeded(&engine, id).await;
    succeeded(&engine, other).await;
    verify(&engine, id).await;
    let nodes = engine.nodes(id).await.unwrap();
    assert!(nodes.iter().all(|node| node.finishes == 1), "{:?}", counts(&nodes));
    let events = all_events(&engine, id).await;
    assert_eq!(states(&events).last().map(String::as_str), Some("succeeded"));
    let latest = submit(&engine, fibonacci(20, 0)).await;
    succeeded(&engine, latest).await;
    let page = engine.jobs(Default::default(), None, 10).await.unwrap();
    let listed: Vec<_> = page.jobs.iter().map(|job| job.id).collect();
    assert_eq!(listed, [latest, other, id], "in the order of submission");
    // Forwards again, beyond every retention: still nobody's time is over.
    clock.set_wall(30 * DAY_MS);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(engine.job(id).await.unwrap().state, JobState::Succeeded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadlines_are_measured_and_not_read_off_the_wall() {
    let bench = Bench::new();
    let clock = Moved::new();
    let engine = Engine::start(&bench.config, Arc::clone(&clock) as _).await.unwrap();
    let mut job = slow(30);
    job.deadline_s = Some(600);
    let id = submit(&engine, job).await;
    until(&engine, id, |record| record.state == JobState::Running).await;
    clock.set_wall(DAY_MS);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(!engine.job(id).await.unwrap().state.is_final());
    *clock.monotonic.lock().unwrap() = Duration::from_secs(601);
    let start = Instant::now();
    assert_eq!(ended(&engine, id).await.state, JobState::Expired);
    assert!(start.elapsed() < Duration::from_secs(2));
}
