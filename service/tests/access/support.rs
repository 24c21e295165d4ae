//! Keys, and requests with them.

use std::path::Path;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common;
use crate::common::arbor;
use crate::common::server::{Builder, Server, http_client};

/// The id of no job.
pub(crate) const NO_JOB: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// Runs `arbor keys` on a data folder.
pub(crate) fn keys(data: &Path, line: &str) -> Value {
    let words = common::words(line);
    let data = ["--data-dir".to_owned(), data.display().to_string()];
    common::json(&arbor(
        ["--json".to_owned(), "keys".to_owned()].into_iter().chain(words).chain(data),
    ))
}

/// Makes a key and gives its text.
pub(crate) fn make(data: &Path, line: &str) -> String {
    let made = keys(data, &format!("create {line}"));
    made["key"].as_str().unwrap().to_owned()
}

pub(crate) fn id_of(key: &str) -> &str {
    key.split('_').nth(1).unwrap()
}

/// Requests with one key, or with none.
pub(crate) struct As<'a> {
    pub(crate) server: &'a Server,
    pub(crate) key: Option<&'a str>,
}

impl As<'_> {
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = http_client().request(method, self.server.url() + path);
        match self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    pub(crate) async fn send(&self, method: Method, path: &str) -> Response {
        self.request(method, path).send().await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.send(Method::GET, path).await
    }

    pub(crate) async fn submit(&self, job: &Value) -> Response {
        self.request(Method::POST, "/v1/jobs").json(job).send().await.unwrap()
    }
}

pub(crate) fn as_key<'a>(server: &'a Server, key: &'a str) -> As<'a> {
    As { server, key: Some(key) }
}

pub(crate) fn quick() -> Value {
    json!({
        "base": {"program": "fibonacci", "n": 5},
        "recursion": {"mode": "chain", "layers": 0},
        "preset": "insecure-test",
    })
}

pub(crate) fn long() -> Value {
    json!({
        "base": {"program": "fibonacci", "n": 5},
        "recursion": {"mode": "chain", "layers": 64},
        "preset": "insecure-test",
    })
}

/// A job of 511 proofs, so that those that come next wait. It is to be cancelled.
pub(crate) fn slow() -> Value {
    json!({
        "base": {"program": "fibonacci", "n": 1000},
        "recursion": {"mode": "tree", "arity": 2, "depth": 8},
    })
}

/// A problem of this kind, and its body.
#[track_caller]
pub(crate) fn problem(response: Response, status: u16, slug: &str) -> impl Future<Output = Value> {
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let slug = slug.to_owned();
    async move {
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["type"], format!("/problems/{slug}"), "{body}");
        body
    }
}

pub(crate) fn server_with(data: &TempDir) -> Builder {
    Server::builder().data_dir(data.path()).env("ARBOR_ACCESS__REQUESTS_PER_SECOND", 0)
}

/// Submits a job that is admitted, and gives its id.
pub(crate) async fn submitted(caller: &As<'_>, job: &Value) -> String {
    let response = caller.submit(job).await;
    assert_eq!(response.status(), 202);
    let job: Value = response.json().await.unwrap();
    job["id"].as_str().unwrap().to_owned()
}

/// Waits until a job is in this state.
pub(crate) async fn until(caller: &As<'_>, id: &str, state: &str) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
    loop {
        let job: Value = caller.get(&format!("/v1/jobs/{id}")).await.json().await.unwrap();
        if job["state"] == state {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "{job}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

pub(crate) async fn wait(caller: &As<'_>, id: &str) -> Value {
    loop {
        let request = caller.request(Method::GET, &format!("/v1/jobs/{id}"));
        let job: Value =
            request.header("prefer", "wait=10").send().await.unwrap().json().await.unwrap();
        if job["finished_at_ms"].is_i64() {
            return job;
        }
        assert!(job["id"] == id, "{job}");
    }
}

#[track_caller]
pub(crate) fn retry_after(response: &Response) -> u64 {
    response.headers()["retry-after"].to_str().unwrap().parse().unwrap()
}
