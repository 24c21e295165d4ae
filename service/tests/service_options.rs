//! Options of memory and of the engine that show in what a server's process has and does.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use common::server::{Server, quick_chain};
use serde_json::{Value, json};

/// Longest time for what happens within seconds.
const LIMIT: Duration = Duration::from_secs(60);

fn keccak(num_hashes: u64, layers: usize) -> Value {
    quick_chain(&json!({"program": "keccak", "num_hashes": num_hashes}), layers)
}

fn tree_of_eight() -> Value {
    json!({
        "base": {"program": "fibonacci", "n": 20},
        "recursion": {"mode": "tree", "arity": 2, "depth": 3},
        "preset": "insecure-test",
    })
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_touched_before_the_server_is_ready() {
    const TOUCHED: u64 = 300_000_000;
    let plain = Server::start().memory("VmHWM");
    assert!(plain < TOUCHED / 2, "{plain} bytes without being asked to");
    let server = Server::builder().env("ARBOR_MEMORY__TOUCH_BYTES", TOUCHED).start();
    for name in ["VmHWM", "VmRSS"] {
        let bytes = server.memory(name);
        assert!(bytes >= TOUCHED, "{name}: {bytes} bytes");
    }
}

/// The most nodes of a job that were proved at a time, by its events.
async fn at_a_time(server: &Server, id: &str) -> i32 {
    let events = server.get(&format!("/v1/jobs/{id}/events")).await.text().await.unwrap();
    let (mut begun, mut most) = (0, 0);
    for line in events.lines() {
        match line {
            "event: node-started" => begun += 1,
            "event: node-finished" => begun -= 1,
            _ => {}
        }
        most = most.max(begun);
    }
    assert_eq!(begun, 0, "{events}");
    most
}

#[tokio::test]
async fn as_many_nodes_are_proved_at_a_time_as_configured() {
    for concurrent in [1, 2] {
        let server = Server::builder().env("ARBOR_ENGINE__CONCURRENT_NODES", concurrent).start();
        let job = server.prove(&tree_of_eight()).await;
        let id = job["id"].as_str().unwrap();
        assert_eq!(at_a_time(&server, id).await, concurrent);
        let tree = server.get_json(&format!("/v1/jobs/{id}/tree")).await;
        let nodes = tree["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), 15);
        for node in nodes {
            assert_eq!((&node["starts"], &node["finishes"]), (&json!(1), &json!(1)), "{node}");
        }
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn memory_is_given_back_after_a_quiet_time() {
    let server = Server::builder().env("ARBOR_MEMORY__IDLE_RELEASE_S", 3).start();
    let idle = server.memory("VmRSS");
    server.prove(&keccak(300, 0)).await;
    // 8192 rows of 2633 columns take 86 MB, and twice as much or more beside them.
    let kept = server.memory("VmRSS");
    assert!(kept > idle + (200 << 20), "{idle} bytes before the job, {kept} after it");
    let ended = Instant::now();
    while server.memory("VmRSS") > idle + (kept - idle) / 3 {
        assert!(ended.elapsed() < LIMIT, "{} of {kept} bytes are kept", server.memory("VmRSS"));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // It proves on.
    server.prove(&keccak(300, 0)).await;
}

#[tokio::test]
async fn circuits_beyond_the_cache_go_with_their_job() {
    const CACHE: u32 = 10_000_000;
    let most = f64::from(CACHE);
    let server = Server::builder().env("ARBOR_MEMORY__CACHE_BYTES", CACHE).start();
    let held = async || server.metric("arbor_cache_bytes").await;
    let fibonacci = quick_chain(&json!({"program": "fibonacci", "n": 20}), 2);
    for job in [&fibonacci, &keccak(1, 1), &tree_of_eight(), &fibonacci] {
        let id = server.submit(job).await;
        let mut peak = 0.0_f64;
        let record = loop {
            peak = peak.max(held().await);
            let record = server.job(&id).await;
            if !record["finished_at_ms"].is_null() {
                break record;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        assert_eq!(record["state"], "succeeded", "{record}");
        assert!(peak > most, "{peak} bytes: nothing had to go");
        let ended = Instant::now();
        while held().await > most {
            assert!(ended.elapsed() < LIMIT, "{} bytes are kept", held().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
