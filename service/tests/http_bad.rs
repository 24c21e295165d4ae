//! What a server says to requests that make no sense: always an error of one form, never a failure of its own.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use common::server::{Server, raw};
use reqwest::{Method, Response, StatusCode};
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

#[tokio::test]
async fn numbers_that_are_no_whole_numbers_name_their_field() {
    let server = server();
    let numbers =
        ["/base/n", "/base/a", "/base/fri/log_blowup", "/recursion/layers", "/fri/num_queries"];
    let numbers = numbers.into_iter().chain(["/final/fri/query_pow_bits", "/deadline_s"]);
    for pointer in numbers {
        let field = pointer[1..].replace('/', ".");
        let values = [
            "-1",
            "1.5",
            "1e3",
            "1e300",
            "99999999999999999999",
            "\"5\"",
            "null",
            "true",
            "[]",
            "{}",
            "[1]",
        ];
        for value in values {
            let got = refused(&server, with(pointer, value)).await;
            assert_eq!(got, (422, "invalid-body".into(), Some(field.clone())), "{field} = {value}");
        }
        for value in ["1e999", "-", "01", "+1", "0x1", "NaN", "Infinity", "1.", ".5", "'1'"] {
            let (status, kind, _) = refused(&server, with(pointer, value)).await;
            assert_eq!((status, kind.as_str()), (400, "invalid-json"), "{field} = {value}");
        }
        let (status, kind, got) = refused(&server, with(pointer, "18446744073709551615")).await;
        assert_eq!((status, got.as_ref()), (422, Some(&field)), "{kind}");
        assert!(["parameter-refused", "over-limit"].contains(&kind.as_str()), "{field}: {kind}");
    }
    for value in ["1.5", "\"5\"", "null", "9223372036854775808"] {
        let got = refused(&server, with("/priority", value)).await;
        assert_eq!(got, (422, "invalid-body".into(), Some("priority".into())), "{value}");
    }
}

#[tokio::test]
async fn wrong_types_name_their_field() {
    let server = server();
    let places = [
        ("/base", "base"),
        ("/recursion", "recursion"),
        ("/preset", "preset"),
        ("/fri", "fri"),
        ("/final", "final"),
        ("/final/fri", "final.fri"),
        ("/base/fri", "base.fri"),
        ("/base/program", "base.program"),
        ("/recursion/mode", "recursion.mode"),
        ("/labels", "labels"),
        ("/labels/k", "labels.k"),
    ];
    for (pointer, field) in places {
        for value in ["null", "5", "true", "[]", "[\"keccak\", 5]", "1.5"] {
            let (status, kind, got) = refused(&server, with(pointer, value)).await;
            // A name that is no string is no JSON of a name to the parser.
            let name = ["base.program", "recursion.mode"].contains(&field);
            let one_of = [(422, "invalid-body"), (400, "invalid-json")];
            assert!(
                one_of[..1 + usize::from(name)].contains(&(status, kind.as_str())),
                "{field} = {value}"
            );
            // A place inside an array that should not be there is named more precisely.
            let got = got.unwrap_or_default();
            assert!(
                got == field || got.starts_with(&format!("{field}[")),
                "{field} = {value}: {got}"
            );
        }
    }
    for text in ["[]", "5", "null", "\"x\"", "true", "[{\"program\":\"fibonacci\"}]"] {
        let (status, kind, _) = refused(&server, text).await;
        assert_eq!((status, kind.as_str()), (422, "invalid-body"), "{text}");
    }
}

#[tokio::test]
async fn unknown_duplicate_and_missing_fields_are_named() {
    let server = server();
    let cases = [
        (r#"{"bse":{}}"#, "bse"),
        (r#"{"base":{"program":"fibonacci","m":5}}"#, "base.m"),
        (r#"{"base":{"program":"fibonacci","num_hashes":5}}"#, "base.num_hashes"),
        (r#"{"base":{"program":"keccak","n":5}}"#, "base.n"),
        (r#"{"base":{"program":"keccak","job":"x"}}"#, "base.job"),
        (r#"{"base":{"n":5}}"#, "base.program"),
        (r#"{"base":{"program":"fibonacci","fri":{"queries":5}}}"#, "base.fri.queries"),
        (r#"{"base":{"program":"fibonacci","n":5,"n":6}}"#, "base.n"),
        (r#"{"base":{"program":"fibonacci","program":"keccak"}}"#, "base.program"),
        (r#"{"base":{"program":"keccak"},"base":{"program":"fibonacci"}}"#, "base"),
        (r#"{"base":{"program":"keccak"},"preset":"default","preset":"default"}"#, "preset"),
        (
            r#"{"base":{"program":"keccak"},"fri":{"cap_height":1,"cap_height":1}}"#,
            "fri.cap_height",
        ),
        (r#"{"base":{"program":"keccak"},"labels":{"a":"1","a":"1"}}"#, "labels.a"),
        (
            r#"{"base":{"program":"keccak"},"recursion":{"mode":"chain","depth":1}}"#,
            "recursion.depth",
        ),
        (
            r#"{"base":{"program":"keccak"},"recursion":{"mode":"tree","depth":1}}"#,
            "recursion.arity",
        ),
        (r#"{"base":{"program":"keccak"},"recursion":{"layers":1}}"#, "recursion.mode"),
        (
            r#"{"base":{"program":"keccak"},"recursion":{"mode":"tree","mode":"chain"}}"#,
            "recursion.mode",
        ),
        (
            r#"{"recursion":{"mode":"tree","arity":2,"leaves":[{"program":"keccak"},{"program":"keccak","n":1}]}}"#,
            "recursion.leaves[1].n",
        ),
        (
            r#"{"recursion":{"mode":"tree","arity":2,"leaves":[{"program":"keccak"},{"job":"x","seed":1}]}}"#,
            "recursion.leaves[1].seed",
        ),
        (
            r#"{"recursion":{"mode":"tree","arity":2,"leaves":[{"program":"keccak"},{}]}}"#,
            "recursion.leaves[1].program",
        ),
    ];
    for (text, field) in cases {
        let got = refused(&server, text).await;
        assert_eq!(got, (422, "invalid-body".into(), Some(field.into())), "{text}");
    }
}

#[tokio::test]
async fn parameters_that_nothing_can_be_proved_for_are_named() {
    let server = server();
    let tree = |rest: &str| {
        format!(
            r#"{{"base":{{"program":"fibonacci"}},"preset":"insecure-test","recursion":{{"mode":"tree",{rest}}}}}"#
        )
    };
    let leaf = |leaf: &str| {
        format!(
            r#"{{"preset":"insecure-test","recursion":{{"mode":"tree","arity":2,"leaves":[{{"program":"keccak"}},{leaf}]}}}}"#
        )
    };
    let cases = [
        (with("/base/a", "2130706433"), "parameter-refused", "base.a"),
        (with("/base/fri/log_blowup", "9"), "parameter-refused", "base.fri.log_blowup"),
        (with("/recursion/layers", "65"), "parameter-refused", "recursion.layers"),
        (with("/preset", "\"fast\""), "parameter-refused", "preset"),
        (with("/preset", "\"../../etc/passwd\""), "parameter-refused", "preset"),
        (with("/labels", "{\"a b\":\"c\"}"), "parameter-refused", "labels.a b"),
        (with("/labels", "{\"a\":\"\\u0000\"}"), "parameter-refused", "labels.a"),
        (with("/recursion/layers", "0"), "parameter-refused", "final.fri"),
        (with("/deadline_s", "99999999999"), "over-limit", "deadline_s"),
        (r#"{}"#.to_owned(), "parameter-refused", "base"),
        (tree(r#""arity":1,"depth":1"#), "parameter-refused", "recursion.arity"),
        (tree(r#""arity":9,"depth":1"#), "parameter-refused", "recursion.arity"),
        (tree(r#""arity":8,"depth":9"#), "parameter-refused", "recursion.depth"),
        (tree(r#""arity":2,"depth":0"#), "parameter-refused", "recursion.depth"),
        (tree(r#""arity":2"#), "parameter-refused", "recursion"),
        (leaf(r#"{"job":"../../etc/passwd"}"#), "leaf-refused", "recursion.leaves[1].job"),
        (
            leaf(r#"{"job":"01980000-0000-7000-8000-000000000000"}"#),
            "leaf-refused",
            "recursion.leaves[1].job",
        ),
    ];
    for (text, kind, field) in cases {
        assert_eq!(
            refused(&server, text.clone()).await,
            (422, kind.into(), Some(field.into())),
            "{text}"
        );
    }
}

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
