//! Bodies that are no job.

use serde_json::{Value, json};

use super::{problem, refused, server, with};
use crate::common::server::{Server, raw};

#[tokio::test]
async fn bytes_that_are_no_json_are_refused() {
    let server = server();
    let deep = |open: &str, n: usize| open.repeat(n);
    let cases: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"{".to_vec(),
        b"{} {}".to_vec(),
        b"{\"base\":}".to_vec(),
        b"{'base':{}}".to_vec(),
        b"{\"base\":{\"program\":\"fibonacci\",}}".to_vec(),
        b"\xff\xfe{}".to_vec(),
        b"{\"preset\":\"\xc3\x28\"}".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        b"{\"preset\":\"\x00\"}".to_vec(),
        b"{\"preset\":\"\\ud800\"}".to_vec(),
        vec![0; 1000],
    ];
    for bytes in cases {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let (status, kind, _) = refused(&server, bytes).await;
        assert_eq!((status, kind.as_str()), (400, "invalid-json"), "{shown:?}");
    }
    for text in [
        deep("[", 100_000),
        deep("{\"base\":", 100_000),
        format!("{{\"labels\":{}", deep("{\"a\":", 50_000)),
        format!("{{\"recursion\":{{\"mode\":\"tree\",\"arity\":2,\"leaves\":{}", deep("[", 90_000)),
    ] {
        let (status, kind, _) = refused(&server, text).await;
        assert!([(400, "invalid-json"), (422, "invalid-body")].contains(&(status, kind.as_str())));
    }
}

#[tokio::test]
async fn only_json_is_taken_as_json() {
    let server = server();
    let job = with("/base/n", "5");
    for kind in
        [None, Some("text/plain"), Some("application/x-www-form-urlencoded")].into_iter().chain([
            Some("application/json; charset=latin1"),
            Some("application/jsonx"),
            Some("multipart/form-data"),
        ])
    {
        for path in ["/v1/jobs", "/v1/jobs:validate"] {
            let mut request = server.client().post(server.url() + path).body(job.clone());
            if let Some(kind) = kind {
                request = request.header("content-type", kind);
            }
            let problem = problem(request.send().await.unwrap(), &format!("{kind:?}")).await;
            assert_eq!(problem["type"], "/problems/unsupported-media-type", "{kind:?}");
            assert_eq!(problem["field"], "content-type");
        }
    }
}

#[tokio::test]
async fn compressed_bodies_are_refused_by_name() {
    let server = server();
    for path in ["/v1/jobs", "/v1/jobs:validate", "/v1/verifications"] {
        let post = |coding: &'static str| {
            let request = server.client().post(server.url() + path).body(with("/base/n", "5"));
            let request = request.header("content-type", "application/json");
            request.header("content-encoding", coding).send()
        };
        let response = post("gzip").await.unwrap();
        assert_eq!(response.headers()["accept-encoding"], "identity");
        let problem = problem(response, path).await;
        assert_eq!(problem["type"], "/problems/unsupported-media-type", "{problem}");
        assert_eq!(problem["field"], "content-encoding");
        assert!(post("identity").await.unwrap().status().is_success(), "{path}");
    }
}

#[tokio::test]
async fn a_body_of_100_megabytes_is_refused_and_the_client_hears_it() {
    let server = server();
    let big = vec![b' '; 100 << 20];
    for path in ["/v1/jobs", "/v1/jobs:validate", "/v1/verifications"] {
        let request = server.client().post(server.url() + path).body(big.clone());
        let response = request.header("content-type", "application/json").send().await.unwrap();
        assert_eq!(problem(response, path).await["type"], "/problems/body-too-large");
    }
    // Without an announced length, too.
    let chunks = (0..1600).map(|_| Ok::<_, std::io::Error>(vec![b' '; 64 << 10]));
    let body = reqwest::Body::wrap_stream(futures::stream::iter(chunks));
    let request = server.client().post(server.url() + "/v1/jobs").body(body);
    let response = request.header("content-type", "application/json").send().await.unwrap();
    assert_eq!(problem(response, "chunked").await["type"], "/problems/body-too-large");
}

#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let server = server();
    let head = "POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                content-length: 100\r\nconnection: close\r\n\r\n{";
    let address = server.address();
    let answer = tokio::task::spawn_blocking(move || raw(address, head.as_bytes())).await.unwrap();
    let answer = String::from_utf8(answer.unwrap()).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(
        answer.contains("application/problem+json") && answer.contains("request-timeout"),
        "{answer}"
    );
}

/// What a preset promises takes compiled circuits; what is too large is refused before there are any.
#[tokio::test]
async fn a_promise_for_a_job_that_is_too_large_is_refused_before_anything_is_compiled() {
    let server = Server::builder().env("ARBOR_MEMORY__LIMIT_BYTES", 500_000_000).start();
    let leaf = |i: u64| {
        json!({"program": "keccak", "num_hashes": 2, "fri": {"num_queries": 440 + i,
        "log_blowup": 1, "max_log_arity": 1}})
    };
    let job = json!({"preset": "proven-100", "fri": {"num_queries": 511, "log_blowup": 1},
        "recursion": {"mode": "tree", "arity": 8, "leaves": (0..60).map(leaf).collect::<Vec<_>>()}});
    for path in ["/v1/jobs", "/v1/jobs:validate"] {
        let response = server.post(path, &job).await;
        assert_eq!(response.status(), 422);
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["type"], "/problems/over-limit", "{problem}");
        assert!(problem["detail"].as_str().unwrap().starts_with("memory in MiB"), "{problem}");
    }
}
