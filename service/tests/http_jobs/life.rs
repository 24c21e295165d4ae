//! From a submission to the end of a job.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{assert_complete, fibonacci, long};
use crate::common::server::Server;

#[tokio::test]
async fn a_submission_is_answered_with_a_path_and_at_once() {
    let server = Server::start();
    let response = server.post("/v1/jobs", &fibonacci(40, 1)).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    assert!(response.headers()["etag"].to_str().unwrap().starts_with('"'));
    assert!(response.headers().get("preference-applied").is_none());
    let job: Value = response.json().await.unwrap();
    assert_eq!(location, format!("/v1/jobs/{}", job["id"].as_str().unwrap()));
    assert_eq!(job["links"]["self"], location);
    assert_eq!(job["job"]["base"]["n"], 40);
    assert!(job["estimate"]["peak_bytes"].as_u64().unwrap() > 1 << 20);
    let job = server.wait(job["id"].as_str().unwrap()).await;
    for link in ["self", "events", "tree", "timings", "proof"] {
        let response = server.get(job["links"][link].as_str().unwrap()).await;
        assert!(response.status().is_success(), "{link}");
    }
}

#[tokio::test]
async fn a_client_may_wait_for_the_end_or_for_a_change() {
    let server = Server::builder().env("ARBOR_SERVER__MAX_WAIT_S", 20).start();
    let post = server.client().post(server.url() + "/v1/jobs").json(&fibonacci(41, 1));
    let response = post.header("prefer", "wait=1000").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["preference-applied"], "wait=20");
    assert_eq!(response.json::<Value>().await.unwrap()["state"], "succeeded");

    let id = server.submit(&long()).await;
    let get = |wait: &str, etag: &str| {
        let request = server.client().get(format!("{}/v1/jobs/{id}", server.url()));
        request.header("prefer", wait).header("if-none-match", etag).send()
    };
    // Every answer that waits for a change brings one.
    let mut etag = server.get(&format!("/v1/jobs/{id}")).await.headers()["etag"].clone();
    for _ in 0..3 {
        let response = get("wait=20", etag.to_str().unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_ne!(response.headers()["etag"], etag);
        etag = response.headers()["etag"].clone();
    }
    // A wait for another version than the present one is none.
    let start = Instant::now();
    assert_eq!(get("wait=20", "\"other\"").await.unwrap().status(), StatusCode::OK);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(server.delete(&format!("/v1/jobs/{id}")).await.status(), StatusCode::ACCEPTED);
    let job = server.wait(&id).await;
    assert_eq!(job["state"], "cancelled");
    // Nothing changes any more: 304, at once.
    let last = server.get(&format!("/v1/jobs/{id}")).await.headers()["etag"].clone();
    let start = Instant::now();
    let response = get("wait=20", last.to_str().unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(response.headers()["etag"], last);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(get("wait=0", "*").await.unwrap().status(), StatusCode::NOT_MODIFIED);
}

#[tokio::test]
async fn waits_and_streams_are_bounded() {
    let server = Server::builder().env("ARBOR_SERVER__MAX_STREAMS", 1).start();
    let id = server.submit(&long()).await;
    let stream = server.get(&format!("/v1/jobs/{id}/events")).await;
    assert_eq!(stream.status(), StatusCode::OK);
    let second = server.get(&format!("/v1/jobs/{id}/events")).await;
    assert_eq!(second.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(second.headers().contains_key("retry-after"));
    assert_eq!(second.json::<Value>().await.unwrap()["type"], "/problems/busy");
    // A submission is a submission, also where it cannot wait.
    let post = server.client().post(server.url() + "/v1/jobs").json(&fibonacci(4, 0));
    let response = post.header("prefer", "wait=20").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    assert!(response.headers().get("preference-applied").is_none());
    // Who leaves makes room.
    drop(stream);
    let deadline = Instant::now() + Duration::from_secs(20);
    while server.get(&format!("/v1/jobs/{id}/events")).await.status() != StatusCode::OK {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn one_key_is_one_job() {
    let server = Server::start();
    let post = |key: &str, body: String| {
        let request = server.client().post(server.url() + "/v1/jobs").body(body);
        request.header("content-type", "application/json").header("idempotency-key", key).send()
    };
    let body = r#"{"base":{"program":"fibonacci","n":42},"preset":"insecure-test"}"#;
    let first = post("k", body.to_owned()).await.unwrap();
    assert!(first.headers().get("idempotency-replayed").is_none());
    let first: Value = first.json().await.unwrap();
    // The same said differently.
    for same in [
        body,
        r#"{ "preset": "insecure-test", "priority": 0, "base": {"n": 42, "program": "fibonacci"} }"#,
    ] {
        let again = post("k", same.to_owned()).await.unwrap();
        assert!(again.status().is_success());
        assert_eq!(again.headers()["idempotency-replayed"], "true");
        assert_eq!(again.json::<Value>().await.unwrap()["id"], first["id"]);
    }
    let other = post("k", body.replace("42", "43")).await.unwrap();
    assert_eq!(other.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let problem: Value = other.json().await.unwrap();
    assert_eq!(problem["type"], "/problems/idempotency-conflict");
    assert_eq!(problem["field"], "idempotency-key");
    let another: Value = post("l", body.to_owned()).await.unwrap().json().await.unwrap();
    assert_ne!(another["id"], first["id"]);
}

#[tokio::test]
async fn a_live_job_is_cancelled_retried_and_a_finished_one_removed() {
    let server = Server::start();
    let id = server.submit(&long()).await;
    let path = format!("/v1/jobs/{id}");
    let retry = || server.client().post(format!("{}{path}/retry", server.url())).send();

    let stale = server.client().delete(server.url() + &path).header("if-match", "\"r0\"");
    let stale = stale.send().await.unwrap();
    assert_eq!(stale.status(), StatusCode::PRECONDITION_FAILED);
    assert!(stale.headers().contains_key("etag"));
    assert_eq!(retry().await.unwrap().status(), StatusCode::CONFLICT);
    let early = server.get(&format!("{path}/proof")).await;
    assert_eq!(early.status(), StatusCode::CONFLICT);
    assert_eq!(early.json::<Value>().await.unwrap()["type"], "/problems/not-finished");

    while server.job(&id).await["progress"]["nodes_done"].as_u64().unwrap() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.delete(&path).await.status(), StatusCode::ACCEPTED);
    assert_eq!(server.wait(&id).await["state"], "cancelled");
    assert_eq!(server.get(&format!("{path}/proof")).await.status(), StatusCode::CONFLICT);

    // What was proved before is kept, and proved once.
    let response = retry().await.unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    assert_eq!(response.headers()["location"], path.as_str());
    let job = server.wait(&id).await;
    assert_eq!(job["state"], "succeeded", "{job}");
    // The node that was being proved when the job was cancelled is begun again.
    assert_complete(&server, &id, 65, 2).await;
    assert_eq!(retry().await.unwrap().status(), StatusCode::CONFLICT);

    assert_eq!(server.delete(&path).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(server.get(&path).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(server.get(&format!("{path}/proof")).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(server.delete(&path).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(retry().await.unwrap().status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_deadline_that_passes_ends_a_job() {
    let server = Server::start();
    let mut job = long();
    job["deadline_s"] = json!(1);
    job["base"]["n"] = json!(1_000);
    let id = server.submit(&job).await;
    let job = server.wait(&id).await;
    assert_eq!(job["state"], "expired", "{job}");
    assert_eq!(job["error"]["class"], "deadline");
    assert!(job["error"]["retryable"].is_boolean());
}
