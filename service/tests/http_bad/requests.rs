//! Paths, methods, queries, headers, and what is no request.

use reqwest::{Method, StatusCode};

use super::{problem, server};
use crate::common::server::raw;

#[tokio::test]
async fn paths_that_name_nothing_are_not_found() {
    let server = server();
    let id = "01980000-0000-7000-8000-000000000000";
    let ids = ["..%2f..%2fetc%2fpasswd", "%00", "%ff", "x", "0", "'", "a%20b", "%F0%9F%92%A9"];
    let braces = format!("%7B{id}%7D");
    let urn = format!("urn:uuid:{id}");
    let simple = id.replace('-', "");
    let long = "x".repeat(4_000);
    let ids = ids.into_iter().chain([braces.as_str(), &urn, &simple, &long, id]);
    for id in ids {
        for rest in ["", "/events", "/tree", "/timings", "/proof", "/proof/0/0"] {
            let path = format!("/v1/jobs/{id}{rest}");
            let problem = problem(server.get(&path).await, &path).await;
            assert_eq!(problem["type"], "/problems/no-such-job", "{path}: {problem}");
        }
        let path = format!("/v1/jobs/{id}/retry");
        let response = server.client().post(server.url() + &path).send().await.unwrap();
        assert_eq!(problem(response, &path).await["type"], "/problems/no-such-job", "{path}");
    }
    for path in
        ["/v1", "/v1/", "/v1/job", "/v2/jobs", "/v1/jobs/", "/.env", "/v1/jobs/x/y", "/docs/x"]
            .into_iter()
            .chain(["/docs/..%2f..%2fetc%2fpasswd", "/problems/x", "/problems/%ff", "/v1/jobs:x"])
    {
        let problem = problem(server.get(path).await, path).await;
        assert!(
            ["/problems/not-found", "/problems/no-such-job"]
                .contains(&problem["type"].as_str().unwrap())
        );
    }
    // A removed job and one that never was look the same.
    let response = server.delete(&format!("/v1/jobs/{id}")).await;
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    let response = server.delete("/v1/jobs/..%2f..").await;
    assert_eq!(problem(response, "delete").await["type"], "/problems/no-such-job");
}

#[tokio::test]
async fn other_methods_are_refused_with_those_that_are_taken() {
    let server = server();
    for (method, path, allowed) in [
        (Method::PUT, "/v1/jobs", &["GET", "POST"][..]),
        (Method::DELETE, "/v1/jobs", &["GET", "POST"]),
        (Method::GET, "/v1/jobs:validate", &["POST"]),
        (Method::GET, "/v1/verifications", &["POST"]),
        (Method::POST, "/v1/presets", &["GET"]),
        (Method::PATCH, "/v1/jobs/x", &["GET", "DELETE"]),
        (Method::POST, "/livez", &["GET"]),
        (Method::from_bytes(b"BREW").unwrap(), "/v1/capabilities", &["GET"]),
    ] {
        let request = server.client().request(method.clone(), server.url() + path);
        let response = request.send().await.unwrap();
        let allow = response.headers()["allow"].to_str().unwrap().to_owned();
        let problem = problem(response, path).await;
        assert_eq!(problem["type"], "/problems/method-not-allowed", "{method} {path}");
        for name in allowed {
            assert!(allow.contains(name), "{method} {path}: {allow}");
        }
    }
}

#[tokio::test]
async fn query_parameters_are_known_and_have_bounds() {
    let server = server();
    for (path, field) in [
        ("/v1/jobs?limit=0", "limit"),
        ("/v1/jobs?limit=201", "limit"),
        ("/v1/jobs?limit=-1", "limit"),
        ("/v1/jobs?limit=1.5", "limit"),
        ("/v1/jobs?limit=99999999999999999999", "limit"),
        ("/v1/jobs?limit=", "limit"),
        ("/v1/jobs?limit=1&limit=2", "limit"),
        ("/v1/jobs?cursor=x", "cursor"),
        ("/v1/jobs?cursor=..%2f..", "cursor"),
        ("/v1/jobs?state=done", "state"),
        ("/v1/jobs?state=queued,", "state"),
        ("/v1/jobs?program=sha", "program"),
        ("/v1/jobs?mode=ring", "mode"),
        ("/v1/jobs?label=x", "label"),
        ("/v1/jobs?order=asc", "order"),
        ("/v1/jobs?%ff=1", "\u{fffd}"),
        ("/v1/presets?x", "x"),
        ("/v1/capabilities?x=1", "x"),
    ] {
        let problem = problem(server.get(path).await, path).await;
        assert_eq!(problem["type"], "/problems/invalid-query", "{path}");
        assert_eq!(problem["field"], field, "{path}");
    }
    let response = server.client().post(server.url() + "/v1/verifications?expect=[]").body("x");
    let problem = problem(response.send().await.unwrap(), "expect").await;
    assert_eq!(problem["field"], "expect");
}

#[tokio::test]
async fn headers_that_make_no_sense_are_refused_or_ignored() {
    let server = server();
    let long = "k".repeat(256);
    for key in ["", "a b", "\u{fc}", long.as_str()] {
        let request = server.client().post(server.url() + "/v1/jobs").body("{}");
        let request = request.header("content-type", "application/json");
        let request = request.header("idempotency-key", key.as_bytes());
        let problem = problem(request.send().await.unwrap(), key).await;
        assert_eq!(problem["type"], "/problems/invalid-header", "{key:?}");
        assert_eq!(problem["field"], "idempotency-key");
    }
    for id in ["a b", "<script>", "x\u{fc}", &"x".repeat(65), ""] {
        let request = server.client().get(server.url() + "/livez");
        let response = request.header("x-request-id", id.as_bytes()).send().await.unwrap();
        let given = response.headers()["x-request-id"].to_str().unwrap().to_owned();
        assert!(given != id && given.len() == 36, "{id:?}: {given}");
    }
    let request = server.client().get(server.url() + "/nowhere");
    let response = request.header("x-request-id", "my-id.7_A").send().await.unwrap();
    assert_eq!(response.headers()["x-request-id"], "my-id.7_A");
    assert_eq!(problem(response, "own id").await["request_id"], "my-id.7_A");
}

#[tokio::test]
async fn pages_of_other_origins_and_names_that_point_here_are_kept_away() {
    let server = server();
    let port = server.address().port();
    let post = |name: &str, value: String| {
        let request = server.client().post(server.url() + "/v1/jobs:validate").body("{}");
        request.header("content-type", "application/json").header(name, value).send()
    };
    for (name, value) in [
        ("origin", "https://example.org".to_owned()),
        ("origin", "null".to_owned()),
        ("origin", format!("http://127.0.0.1:{}", port.wrapping_add(1))),
        ("sec-fetch-site", "cross-site".to_owned()),
    ] {
        let response = post(name, value.clone()).await.unwrap();
        assert!(response.headers().get("access-control-allow-origin").is_none());
        assert_eq!(problem(response, &value).await["type"], "/problems/cross-origin", "{value}");
    }
    let own = post("origin", format!("http://127.0.0.1:{port}")).await.unwrap();
    assert_eq!(problem(own, "own origin").await["type"], "/problems/parameter-refused");
    let response = server.client().get(server.url() + "/v1/jobs");
    let response = response.header("host", "evil.example").send().await.unwrap();
    assert_eq!(problem(response, "host").await["type"], "/problems/misdirected");
    for host in ["localhost", "localhost:1", "127.0.0.1", "[::1]:5"] {
        let response = server.client().get(server.url() + "/v1/jobs");
        let response = response.header("host", host).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{host}");
    }
}

#[tokio::test]
async fn a_request_names_one_host() {
    let server = server();
    for hosts in
        ["", "host: localhost\r\nhost: evil.example\r\n", "host: localhost\r\nhost: localhost\r\n"]
    {
        let request = format!("GET /v1/jobs HTTP/1.1\r\n{hosts}connection: close\r\n\r\n");
        let address = server.address();
        let answer = tokio::task::spawn_blocking(move || raw(address, request.as_bytes()));
        let answer = String::from_utf8_lossy(&answer.await.unwrap().unwrap()).into_owned();
        assert!(answer.starts_with("HTTP/1.1 400"), "{hosts:?}: {answer}");
        assert!(answer.contains("\"field\":\"host\""), "{hosts:?}: {answer}");
    }
}

#[tokio::test]
async fn what_is_no_http_ends_a_connection_and_not_the_server() {
    let server = server();
    let long = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "a".repeat(100_000));
    let many: String = (0..200).map(|i| format!("x-{i}: y\r\n")).collect();
    let many = format!("GET /livez HTTP/1.1\r\nhost: localhost\r\n{many}\r\n");
    let two = "POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}";
    let requests: Vec<Vec<u8>> = vec![
        b"hello\r\n\r\n".to_vec(),
        vec![0xff; 1000],
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        long.into_bytes(),
        many.into_bytes(),
        two.as_bytes().to_vec(),
    ];
    for request in requests {
        let address = server.address();
        let sent = request.clone();
        let answer = tokio::task::spawn_blocking(move || raw(address, &sent)).await.unwrap();
        // The server may close before everything is sent: that is an answer, too.
        let answer = String::from_utf8_lossy(&answer.unwrap_or_default()).into_owned();
        let shown = String::from_utf8_lossy(&request[..request.len().min(60)]).into_owned();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{shown:?}: {answer}");
    }
    assert_eq!(server.get("/livez").await.status(), StatusCode::OK);
}

/// A head as large as the option is read, a larger one is not, however it is made up.
#[test]
fn heads_beyond_the_option_are_refused_and_others_are_not() {
    let server = server();
    let ask = |query: usize, headers: &[usize]| {
        let headers = headers.iter().enumerate();
        let headers: String =
            headers.map(|(n, bytes)| format!("x-{n}: {}\r\n", "b".repeat(*bytes))).collect();
        let query = "a".repeat(query);
        let start = format!("GET /livez?{query} HTTP/1.1\r\nhost: localhost\r\n");
        let request = format!("{start}connection: close\r\n{headers}\r\n");
        let answer = raw(server.address(), request.as_bytes()).unwrap_or_default();
        String::from_utf8_lossy(&answer).into_owned()
    };
    // Of 32 KiB, which is the default, in one header, in many, and with the path.
    for (query, headers) in [(0, &[30_000][..]), (0, &[10_000; 3]), (15_000, &[15_000])] {
        let answer = ask(query, headers);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{query} {headers:?}: {answer}");
    }
    for (query, headers) in [(0, &[33_000][..]), (0, &[11_000; 3]), (16_500, &[16_500])] {
        // Where a head comes in pieces the parser may give up by itself, without words.
        let told = (0..10).any(|_| {
            let answer = ask(query, headers);
            let refused = answer.is_empty() || answer.starts_with("HTTP/1.1 431 ");
            assert!(refused, "{query} {headers:?}: {answer}");
            answer.contains("/problems/head-too-large")
        });
        assert!(told, "{query} {headers:?}");
    }
}

#[tokio::test]
async fn every_error_has_headers_that_keep_browsers_quiet() {
    let server = server();
    for path in ["/nowhere", "/v1/jobs", "/livez", "/docs/"] {
        let response = server.get(path).await;
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
        ] {
            assert_eq!(response.headers()[name], value, "{path}");
        }
        let policy = response.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
    }
}
