//! Many submissions at once.

use std::collections::HashSet;

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{assert_complete, fibonacci};
use crate::common::server::Server;

/// Jobs that are posted at once, and jobs that the server takes.
const POSTS: u64 = 200;
const PLACES: usize = 120;
/// Most memory in which they are proved.
const MEMORY: u64 = 512 << 20;

#[tokio::test]
#[cfg(target_os = "linux")]
async fn two_hundred_posts_at_once_are_taken_or_told_to_come_back() {
    let server = Server::builder().env("ARBOR_LIMITS__MAX_QUEUED", PLACES).start();
    // Half a minute of small proofs, so that nobody leaves while the others come.
    let blocker = json!({
        "base": {"program": "fibonacci", "n": 1000},
        "recursion": {"mode": "tree", "arity": 2, "depth": 8},
        "preset": "insecure-test",
    });
    let blocker = server.submit(&blocker).await;
    let posts = (0..POSTS).map(|n| {
        let request = server.client().post(server.url() + "/v1/jobs");
        tokio::spawn(request.json(&fibonacci(10 + n % 7, 0)).send())
    });
    let (mut taken, mut refused) = (HashSet::new(), 0);
    for post in posts.collect::<Vec<_>>() {
        let response = post.await.unwrap().unwrap();
        match response.status() {
            StatusCode::ACCEPTED => {
                let job: Value = response.json().await.unwrap();
                assert!(taken.insert(job["id"].as_str().unwrap().to_owned()), "{job}");
            }
            StatusCode::TOO_MANY_REQUESTS => {
                let wait: u64 =
                    response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
                assert!((1..=600).contains(&wait), "{wait}");
                let problem: Value = response.json().await.unwrap();
                assert_eq!(problem["type"], "/problems/queue-full", "{problem}");
                refused += 1;
            }
            status => panic!("{status}: {}", response.text().await.unwrap()),
        }
    }
    // Exactly as many as there were places beside the first.
    assert_eq!((taken.len(), refused), (PLACES - 1, POSTS as usize + 1 - PLACES));
    assert_eq!(server.delete(&format!("/v1/jobs/{blocker}")).await.status(), StatusCode::ACCEPTED);
    assert_eq!(server.wait(&blocker).await["state"], "cancelled");

    for id in &taken {
        let job = server.wait(id).await;
        assert_eq!(job["state"], "succeeded", "{job}");
        let memory = server.memory("VmHWM");
        assert!(memory < MEMORY, "{} MiB", memory >> 20);
    }
    assert_eq!(server.get("/readyz").await.status(), StatusCode::OK);
    assert_eq!(server.prove(&fibonacci(20, 0)).await["state"], "succeeded");
}

#[tokio::test]
async fn fifty_posts_at_once_with_one_key_are_one_job() {
    let server = Server::start();
    // Every second one waits for the proof.
    let waits = |n: u64| n.is_multiple_of(2);
    let posts = (0..50).map(|n| {
        let request = server.client().post(server.url() + "/v1/jobs").json(&fibonacci(50, 2));
        let request = request.header("idempotency-key", "one-of-fifty");
        tokio::spawn(if waits(n) { request.header("prefer", "wait=20") } else { request }.send())
    });
    let (mut ids, mut fresh) = (HashSet::new(), 0);
    for (n, post) in (0..).zip(posts.collect::<Vec<_>>()) {
        let response = post.await.unwrap().unwrap();
        let head = response.headers().clone();
        match head.get("idempotency-replayed") {
            Some(replayed) => assert_eq!(replayed, "true"),
            None => fresh += 1,
        }
        assert_eq!(head.contains_key("preference-applied"), waits(n), "{head:?}");
        let status = response.status();
        let job: Value = response.json().await.unwrap();
        assert!([StatusCode::OK, StatusCode::ACCEPTED].contains(&status), "{status}: {job}");
        assert_eq!(status == StatusCode::OK, job["state"] == "succeeded", "{status}: {job}");
        ids.insert(job["id"].as_str().unwrap().to_owned());
    }
    assert_eq!((ids.len(), fresh), (1, 1));
    let id = ids.into_iter().next().unwrap();
    assert_eq!(server.wait(&id).await["state"], "succeeded");
    assert_complete(&server, &id, 3, 1).await;
    let list = server.get_json("/v1/jobs").await;
    assert_eq!(list["jobs"].as_array().unwrap().len(), 1, "{list}");
}
