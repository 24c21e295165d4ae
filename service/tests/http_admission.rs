//! What is taken and what is not where there is less room than there was: memory, and the disk, which those share
//! that were taken before.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use common::server::{Server, quick_chain};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longest time for what happens within seconds.
const LIMIT: Duration = Duration::from_secs(60);

async fn retry(server: &Server, id: &str) -> Response {
    server.post(&format!("/v1/jobs/{id}/retry"), &json!({})).await
}

/// A refusal because the disk is too small now.
async fn assert_disk_is_short(refused: Response) {
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=600).contains(&wait), "{wait}");
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["type"], "/problems/busy", "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("disk"), "{problem}");
}

#[tokio::test]
async fn a_job_that_does_not_fit_any_more_fails_and_is_not_taken_again() {
    /// Of the next server, in bytes.
    const MEMORY: u64 = 500_000_000;
    let data = TempDir::new().unwrap();
    let mut server = Server::builder().data_dir(data.path()).start();
    let id = server.submit(&quick_chain(&json!({"program": "keccak", "num_hashes": 600}), 0)).await;
    let estimate = server.job(&id).await["estimate"]["peak_bytes"].as_u64().unwrap();
    assert!(estimate > MEMORY, "{estimate} bytes fit");
    // Killed in the middle of its only proof.
    let start = Instant::now();
    loop {
        let tree = server.get_json(&format!("/v1/jobs/{id}/tree")).await;
        if tree["nodes"].as_array().unwrap().iter().any(|node| node["starts"] == 1) {
            break;
        }
        assert!(start.elapsed() < LIMIT, "{tree}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.kill();
    drop(server);

    let smaller =
        Server::builder().data_dir(data.path()).env("ARBOR_MEMORY__LIMIT_BYTES", MEMORY).start();
    let job = smaller.wait(&id).await;
    assert_eq!(job["state"], "failed", "{job}");
    assert_eq!(job["error"]["class"], "resources", "{job}");
    assert_eq!(job["error"]["retryable"], false, "{job}");
    let refused = retry(&smaller, &id).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["type"], "/problems/over-limit", "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("memory"), "{problem}");
    assert_eq!(smaller.job(&id).await["state"], "failed");
    drop(smaller);

    // Where there is as much as before it is taken.
    let server = Server::builder().data_dir(data.path()).start();
    assert_eq!(retry(&server, &id).await.status(), StatusCode::ACCEPTED);
    assert_eq!(server.wait(&id).await["state"], "succeeded");
}

#[tokio::test]
async fn a_retry_needs_room_on_the_disk() {
    let data = TempDir::new().unwrap();
    let server = Server::builder().data_dir(data.path()).start();
    let id = server.submit(&quick_chain(&json!({"program": "fibonacci", "n": 100}), 64)).await;
    let start = Instant::now();
    while server.job(&id).await["progress"]["nodes_done"].as_u64().unwrap() < 1 {
        assert!(start.elapsed() < LIMIT);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.delete(&format!("/v1/jobs/{id}")).await.status(), StatusCode::ACCEPTED);
    assert_eq!(server.wait(&id).await["state"], "cancelled");
    drop(server);

    // No disk has as much.
    let full = Server::builder()
        .data_dir(data.path())
        .env("ARBOR_DATA__MIN_FREE_BYTES", 1_000_000_000_000_000_u64)
        .listen();
    // It has started, although it is not ready.
    let start = Instant::now();
    while full.get("/v1/jobs").await.status() != StatusCode::OK {
        assert!(start.elapsed() < LIMIT, "{}", full.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let ready = full.get("/readyz").await;
    assert_eq!(ready.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(ready.text().await.unwrap().contains("disk"));
    assert_disk_is_short(retry(&full, &id).await).await;
    assert_eq!(full.job(&id).await["state"], "cancelled");
    drop(full);

    let server = Server::builder().data_dir(data.path()).start();
    assert_eq!(retry(&server, &id).await.status(), StatusCode::ACCEPTED);
    assert_eq!(server.wait(&id).await["state"], "succeeded");
}

#[tokio::test]
async fn room_on_the_disk_is_promised_once() {
    /// What may be written, in bytes: so much that it makes no difference what others write meanwhile.
    const ROOM: u64 = 2_000_000_000;
    let data = TempDir::new().unwrap();
    let available = || fs4::available_space(data.path()).unwrap();
    let kept_free = available().saturating_sub(ROOM);
    let server = Server::builder()
        .data_dir(data.path())
        .env("ARBOR_DATA__MIN_FREE_BYTES", kept_free)
        .start();
    // 2047 proofs, of which hardly any is made before all of these have come.
    let large = json!({
        "base": {"program": "fibonacci", "n": 1000},
        "recursion": {"mode": "tree", "arity": 2, "depth": 10},
    });
    let (mut admitted, mut promised, mut room) = (Vec::new(), 0, 0);
    let refused = loop {
        room = room.max(available().saturating_sub(kept_free));
        let response = server.post("/v1/jobs", &large).await;
        if response.status() != StatusCode::ACCEPTED {
            break response;
        }
        let job: Value = response.json().await.unwrap();
        let bytes = job["estimate"]["disk_bytes"].as_u64().unwrap();
        promised += bytes;
        admitted.push(job["id"].as_str().unwrap().to_owned());
        assert!(promised <= room + bytes, "{promised} bytes are promised, there are {room}");
    };
    assert_disk_is_short(refused).await;
    assert!(admitted.len() >= 2, "{promised} bytes are promised, there are {room}");

    // Who is cancelled leaves the room to others.
    for id in &admitted {
        let cancelled = server.delete(&format!("/v1/jobs/{id}")).await;
        assert_eq!(cancelled.status(), StatusCode::ACCEPTED);
    }
    for id in &admitted {
        assert_eq!(server.wait(id).await["state"], "cancelled");
    }
    server.submit(&large).await;
}
