//! Proof files over HTTP: whole, in parts, by node, and what a verifier says of them.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::Duration;

use common::server::Server;
use common::{arbor, assert_code};
use futures::StreamExt;
use reqwest::header::HeaderMap;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

async fn proved(server: &Server) -> String {
    let job = json!({
        "base": {"program": "fibonacci", "n": 50},
        "recursion": {"mode": "chain", "layers": 2},
        "preset": "insecure-test",
    });
    server.prove(&job).await["id"].as_str().unwrap().to_owned()
}

async fn request(
    server: &Server,
    method: Method,
    path: &str,
    headers: &[(&'static str, &str)],
) -> Response {
    let mut request = server.client().request(method, server.url() + path);
    for &(name, value) in headers {
        request = request.header(name, value);
    }
    request.send().await.unwrap()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers[name].to_str().unwrap()
}

#[tokio::test]
async fn a_proof_has_its_hash_for_a_tag_and_never_changes() {
    let server = Server::start();
    let id = proved(&server).await;
    let path = format!("/v1/jobs/{id}/proof");
    let response = server.get(&path).await;
    let head = response.headers().clone();
    let bytes = response.bytes().await.unwrap();
    let hash = blake3::hash(&bytes).to_hex().to_string();
    assert_eq!(text(&head, "etag"), format!("\"{hash}\""));
    assert_eq!(text(&head, "content-length"), bytes.len().to_string());
    assert_eq!(text(&head, "content-type"), "application/octet-stream");
    assert_eq!(text(&head, "accept-ranges"), "bytes");
    assert!(text(&head, "cache-control").contains("immutable"));
    assert_eq!(text(&head, "content-disposition"), format!("attachment; filename=\"{id}.arbor\""));
    let job = server.job(&id).await;
    assert_eq!(job["proof"], json!({"hash": hash, "bytes": bytes.len()}));

    let response = request(&server, Method::HEAD, &path, &[("range", "bytes=0-9")]).await;
    assert_eq!(response.status(), StatusCode::OK);
    for name in ["etag", "content-length", "content-type", "content-disposition", "accept-ranges"] {
        assert_eq!(response.headers()[name], head[name], "{name}");
    }
    assert!(response.bytes().await.unwrap().is_empty());

    let tag = text(&head, "etag");
    for known in [tag, "*", &format!("\"other\", {tag}"), &format!("W/{tag}")] {
        for method in [Method::GET, Method::HEAD] {
            let response = request(&server, method, &path, &[("if-none-match", known)]).await;
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{known}");
            assert_eq!(text(response.headers(), "etag"), tag);
        }
    }
    let response = request(&server, Method::GET, &path, &[("if-none-match", "\"other\"")]).await;
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test]
async fn parts_of_a_proof_add_up_to_it() {
    let server = Server::start();
    let id = proved(&server).await;
    let path = format!("/v1/jobs/{id}/proof");
    let whole = server.proof(&id).await;
    let length = whole.len();
    let part = async |range: &str| request(&server, Method::GET, &path, &[("range", range)]).await;

    let mut joined = Vec::new();
    for start in (0..length).step_by(5_000) {
        let end = (start + 5_000).min(length) - 1;
        let response = part(&format!("bytes={start}-{end}")).await;
        assert_eq!(response.status(), StatusCode::PARTIAL_CONTENT);
        let content_range = text(response.headers(), "content-range").to_owned();
        assert_eq!(content_range, format!("bytes {start}-{end}/{length}"));
        joined.extend(response.bytes().await.unwrap());
    }
    assert_eq!(joined, whole);
    for (range, expected) in [
        (format!("bytes={}-", length - 3), &whole[length - 3..]),
        ("bytes=-7".to_owned(), &whole[length - 7..]),
        (format!("bytes=5-{}", usize::MAX), &whole[5..]),
        (format!("bytes=-{}", u64::MAX), &whole[..]),
    ] {
        let response = part(&range).await;
        assert_eq!(response.status(), StatusCode::PARTIAL_CONTENT, "{range}");
        assert_eq!(response.bytes().await.unwrap(), expected, "{range}");
    }
    for range in ["bytes=5-2", "bytes=x-y", "rows=0-1", "bytes=0-1,4-5", "bytes", "bytes=-"] {
        let response = part(range).await;
        assert_eq!(response.status(), StatusCode::OK, "{range}");
        assert_eq!(response.bytes().await.unwrap(), whole, "{range}");
    }
    for range in [format!("bytes={length}-"), "bytes=-0".to_owned(), format!("bytes={}-", u64::MAX)]
    {
        let response = part(&range).await;
        assert_eq!(response.status(), StatusCode::RANGE_NOT_SATISFIABLE, "{range}");
        assert_eq!(text(response.headers(), "content-range"), format!("bytes */{length}"));
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["type"], "/problems/range-not-satisfiable");
    }
}

#[tokio::test]
async fn a_part_of_another_version_is_not_mixed_in() {
    let server = Server::start();
    let id = proved(&server).await;
    let path = format!("/v1/jobs/{id}/proof");
    let tag = text(server.get(&path).await.headers(), "etag").to_owned();
    let get = async |version: &str| {
        let headers = [("range", "bytes=0-9"), ("if-range", version)];
        request(&server, Method::GET, &path, &headers).await.status()
    };
    assert_eq!(get(&tag).await, StatusCode::PARTIAL_CONTENT);
    for other in ["\"other\"", &format!("W/{tag}"), "Wed, 21 Oct 2026 07:28:00 GMT"] {
        assert_eq!(get(other).await, StatusCode::OK, "{other}");
    }
}

#[tokio::test]
async fn nodes_have_proof_files_of_their_own() {
    let server = Server::start();
    let id = proved(&server).await;
    let folder = tempfile::TempDir::new().unwrap();
    for (node, layers) in [("0/0", 0), ("1/0", 1), ("2/0", 2)] {
        let response = server.get(&format!("/v1/jobs/{id}/proof/{node}")).await;
        assert_eq!(response.status(), StatusCode::OK, "{node}");
        let name = format!("filename=\"{id}-{}.arbor\"", node.replace('/', "-"));
        assert!(text(response.headers(), "content-disposition").ends_with(&name));
        let file = folder.path().join("node.arbor");
        std::fs::write(&file, response.bytes().await.unwrap()).unwrap();
        let output = arbor(["--json", "verify", "--min-proven-bits", "0", file.to_str().unwrap()]);
        assert_code(&output, 0);
        let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(verdict["proof"]["statement"]["layers"], layers, "{node}");
    }
    for node in ["3/0", "0/1", "x/0", "0/-1", "0/01", "0/99999999999999999999", "0/0.", "0/%00"] {
        let response = server.get(&format!("/v1/jobs/{id}/proof/{node}")).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{node}");
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["type"], "/problems/no-such-node", "{node}");
    }
}

async fn verdict(server: &Server, query: &str, file: Vec<u8>) -> Value {
    let request = server.client().post(format!("{}/v1/verifications{query}", server.url()));
    let response = request.body(file).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response.json().await.unwrap()
}

#[tokio::test]
async fn a_verdict_says_what_was_proved_or_why_not() {
    let server = Server::start();
    let id = proved(&server).await;
    let file = server.proof(&id).await;
    let job = server.job(&id).await;
    let weak = verdict(&server, "", file.clone()).await;
    assert_eq!((&weak["valid"], &weak["class"]), (&json!(false), &json!("weak")));
    assert_eq!(weak["min_proven_bits"], 60);
    assert!(weak["reason"].as_str().unwrap().contains("60 proven bits"), "{weak}");
    let any = "?min_proven_bits=0";
    let valid = verdict(&server, any, file.clone()).await;
    assert_eq!((&valid["valid"], &valid["class"]), (&json!(true), &json!("valid")));
    assert_eq!((&valid["statement"], &valid["keys"]), (&job["statement"], &job["keys"]));
    assert_eq!(valid["bytes"], file.len());
    assert_eq!(valid["reason"], Value::Null);
    for figure in ["naive", "conjectured", "proven"] {
        assert!(valid["security"][figure]["bits"].as_f64().unwrap() > 0.0, "{valid}");
        assert!(valid["security"][figure]["regime"].is_string(), "{valid}");
    }
    assert!(valid["verify_ms"].as_f64().unwrap() > 0.0);

    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = file.clone();
        change(&mut file);
        file
    };
    // The checksum does not help a forger: it is made anew.
    let forged = |at: usize| {
        let mut file = changed(&|file| file[at] ^= 1);
        let end = file.len() - 32;
        let sum = blake3::hash(&file[..end]);
        file[end..].copy_from_slice(sum.as_bytes());
        file
    };
    for (file, class) in [
        (changed(&|file| *file.last_mut().unwrap() ^= 1), "invalid"),
        (changed(&|file| file.truncate(file.len() / 2)), "invalid"),
        (changed(&|file| file.push(0)), "invalid"),
        (forged(file.len() - 40), "invalid"),
        (forged(file.len() - 10_000), "invalid"),
        (changed(&|file| file[8] ^= 1), "foreign"),
        (b"hello".to_vec(), "foreign"),
        (Vec::new(), "foreign"),
        (vec![0; 1 << 20], "foreign"),
    ] {
        let verdict = verdict(&server, any, file).await;
        assert_eq!(
            (&verdict["valid"], &verdict["class"]),
            (&json!(false), &json!(class)),
            "{verdict}"
        );
        assert!(!verdict["reason"].as_str().unwrap().is_empty());
        assert_eq!((&verdict["statement"], &verdict["security"]), (&Value::Null, &Value::Null));
    }
}

#[tokio::test]
async fn a_verdict_compares_with_what_is_expected() {
    let server = Server::start();
    let id = proved(&server).await;
    let file = server.proof(&id).await;
    let expect = |value: Value| {
        format!(
            "?min_proven_bits=0&expect={}",
            form_urlencoded::byte_serialize(value.to_string().as_bytes()).collect::<String>()
        )
    };
    let same =
        verdict(&server, &expect(json!({"base": {"n": 50}, "layers": 2})), file.clone()).await;
    assert_eq!(same["valid"], true);
    let other = verdict(&server, &expect(json!({"base": {"n": 51}})), file.clone()).await;
    assert_eq!((&other["valid"], &other["class"]), (&json!(false), &json!("invalid")));
    assert!(other["reason"].as_str().unwrap().contains("base.n = 50"), "{other}");
    for (value, part) in [(json!({"foo": 1}), "foo"), (json!([]), "object")] {
        let path = format!("/v1/verifications{}", expect(value));
        let request = server.client().post(server.url() + &path).body(file.clone());
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["field"], "expect");
        assert!(problem["detail"].as_str().unwrap().contains(part), "{problem}");
    }
}

#[tokio::test]
async fn limits_of_verification_are_kept() {
    let server = Server::builder()
        .env("ARBOR_VERIFICATION__MAX_BYTES", 100_000)
        .env("ARBOR_VERIFICATION__MAX_ROWS", 1 << 9)
        .env("ARBOR_VERIFICATION__CONCURRENT", 1)
        .start();
    let post =
        |body: Vec<u8>| server.client().post(server.url() + "/v1/verifications").body(body).send();
    let response = post(vec![0; 100_001]).await.unwrap();
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(response.json::<Value>().await.unwrap()["type"], "/problems/body-too-large");
    let job = json!({
        "base": {"program": "fibonacci", "n": 1000},
        "recursion": {"mode": "chain", "layers": 0},
        "preset": "insecure-test",
    });
    let id = server.prove(&job).await["id"].as_str().unwrap().to_owned();
    let response = post(server.proof(&id).await).await.unwrap();
    assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let problem: Value = response.json().await.unwrap();
    assert_eq!(problem["type"], "/problems/over-limit");
    assert!(problem["detail"].as_str().unwrap().contains("512"), "{problem}");

    // Who sends slowly keeps nobody else from being answered.
    let slow_body = |bytes: usize| {
        let (send, receive) = tokio::sync::mpsc::channel::<Result<Vec<u8>, std::io::Error>>(1);
        let rest = futures::stream::unfold(receive, |mut receive| async {
            Some((receive.recv().await?, receive))
        });
        let first = futures::stream::once(async move { Ok(vec![1; bytes]) });
        (send, reqwest::Body::wrap_stream(first.chain(rest)))
    };
    let (send, body) = slow_body(3);
    let slow = server.client().post(server.url() + "/v1/verifications").body(body).send();
    let slow = tokio::spawn(slow);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(post(b"hello".to_vec()).await.unwrap().status(), StatusCode::OK);
    // There is memory for 16 files at a time.
    let mut senders = Vec::new();
    let mut answers = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (send, body) = slow_body(99_000);
        senders.push(send);
        answers.spawn(server.client().post(server.url() + "/v1/verifications").body(body).send());
    }
    let refused = answers.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    drop(senders);
    while answers.join_next().await.is_some() {}
    drop(send);
    let answer: Value = slow.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(answer["class"], "foreign");
    assert_eq!(post(b"hello".to_vec()).await.unwrap().status(), StatusCode::OK);
}
