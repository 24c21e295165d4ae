//! What a server says to requests that make no sense: always an error of one form, never a failure of its own.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod bodies;
mod fields;
mod requests;

use common::server::Server;
use reqwest::Response;
use serde_json::{Value, json};

fn server() -> Server {
    Server::builder().env("ARBOR_SERVER__BODY_TIMEOUT_S", 2).start()
}

/// The one form of every error.
async fn problem(response: Response, what: &str) -> Value {
    let status = response.status();
    let head = response.headers().clone();
    let body: Value = response.json().await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(status.as_u16() < 500, "{what}: {status} {body}");
    assert_eq!(head["content-type"], "application/problem+json", "{what}: {body}");
    assert_eq!(body["status"], status.as_u16(), "{what}");
    assert_eq!(body["request_id"], head["x-request-id"].to_str().unwrap(), "{what}");
    for part in ["type", "title", "detail"] {
        assert!(body[part].as_str().is_some_and(|text| !text.is_empty()), "{what}: {body}");
    }
    body
}

/// Posts text as a job and gives status, kind and field of the refusal.
async fn refused(server: &Server, body: impl Into<Vec<u8>>) -> (u16, String, Option<String>) {
    let body = body.into();
    let what = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
    let request = server.client().post(server.url() + "/v1/jobs").body(body);
    let response = request.header("content-type", "application/json").send().await.unwrap();
    let problem = problem(response, &what).await;
    let kind = problem["type"].as_str().unwrap().strip_prefix("/problems/").unwrap().to_owned();
    let field = problem["field"].as_str().map(str::to_owned);
    (problem["status"].as_u64().unwrap() as u16, kind, field)
}

/// A job with `text` in place of one value.
fn with(pointer: &str, text: &str) -> String {
    let mut job = json!({
        "base": {"program": "fibonacci", "n": 5, "a": 0, "b": 1, "fri": {"log_blowup": 2}},
        "recursion": {"mode": "chain", "layers": 1},
        "preset": "insecure-test",
        "fri": {"num_queries": 2},
        "final": {"fri": {"query_pow_bits": 1}},
        "priority": 0,
        "deadline_s": 60,
        "labels": {"k": "v"},
    });
    *job.pointer_mut(pointer).unwrap() = json!("PLACE");
    job.to_string().replace("\"PLACE\"", text)
}
