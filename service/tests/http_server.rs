//! The server itself: health, what it says of itself, how it starts and how it ends.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use common::arbor;
use common::server::{Server, raw};
use reqwest::StatusCode;
use serde_json::{Value, json};

fn long() -> Value {
    json!({
        "base": {"program": "fibonacci", "n": 100},
        "recursion": {"mode": "chain", "layers": 64},
        "preset": "insecure-test",
    })
}

#[tokio::test]
async fn a_server_says_what_it_is() {
    let server = Server::start();
    assert_eq!(server.get("/livez").await.text().await.unwrap(), "ok\n");
    assert_eq!(server.get_json("/readyz").await["ready"], true);
    let capabilities = server.get_json("/v1/capabilities").await;
    assert_eq!(capabilities["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(capabilities["plonky3"], "0.8.0");
    assert_eq!(capabilities["threads"], 2);
    let names = |list: &str| {
        let items = capabilities[list].as_array().unwrap().iter();
        items.map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("programs"), ["keccak", "fibonacci"]);
    assert_eq!(names("modes"), ["chain", "tree"]);
    assert_eq!(capabilities["limits"]["arity"], json!([2, 8]));
    let presets = server.get_json("/v1/presets").await;
    let presets = presets["presets"].as_array().unwrap();
    let known: Vec<_> = presets.iter().map(|preset| preset["name"].clone()).collect();
    assert_eq!(json!(known), capabilities["presets"]);
    let insecure = presets.iter().find(|preset| preset["name"] == "insecure-test").unwrap();
    assert_eq!(
        (&insecure["insecure"], &insecure["layer"]["num_queries"]),
        (&json!(true), &json!(3))
    );
    let kind = server.get_json("/problems/queue-full").await;
    assert_eq!((&kind["status"], &kind["type"]), (&json!(429), &json!("/problems/queue-full")));
}

#[tokio::test]
async fn the_description_is_served_with_a_page_that_needs_nothing_else() {
    let server = Server::start();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../openapi.json");
    let committed: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(server.get_json("/openapi.json").await, committed);
    let page = server.get("/docs").await;
    assert_eq!(page.url().path(), "/docs/");
    assert_eq!(page.headers()["content-type"], "text/html");
    let page = page.text().await.unwrap();
    assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
    let sources = page.split("src=\"").skip(1).chain(page.split("href=\"").skip(1));
    let mut found = 0;
    for source in sources {
        let file = source.split('"').next().unwrap().trim_start_matches("./");
        let response = server.get(&format!("/docs/{file}")).await;
        assert_eq!(response.status(), StatusCode::OK, "{file}");
        found += 1;
    }
    assert!(found >= 5, "{page}");
    let script = server.get("/docs/swagger-initializer.js").await.text().await.unwrap();
    assert!(script.contains("/openapi.json") && !script.contains("https://"), "{script}");
}

#[tokio::test]
async fn requests_and_jobs_are_counted() {
    let server = Server::start();
    let job = json!({
        "base": {"program": "fibonacci", "n": 5},
        "recursion": {"mode": "chain", "layers": 1},
        "preset": "insecure-test",
    });
    server.prove(&job).await;
    server.get("/nowhere").await;
    let response = server.get("/metrics").await;
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/plain"));
    let text = response.text().await.unwrap();
    let value = |name: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name} is not in\n{text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(
        value("arbor_http_requests_total{method=\"POST\",route=\"/v1/jobs\",status=\"202\"}"),
        1.0
    );
    assert_eq!(
        value("arbor_http_requests_total{method=\"GET\",route=\"unmatched\",status=\"404\"}"),
        1.0
    );
    assert_eq!(value("arbor_http_request_seconds_count{route=\"unmatched\",status=\"404\"}"), 1.0);
    assert!(text.contains("arbor_http_request_seconds_bucket{"), "{text}");
    assert_eq!(value("arbor_jobs{state=\"succeeded\"}"), 1.0);
    assert!(value("arbor_http_connections") >= 1.0);
    // No method that a client makes up becomes a label.
    let request = server.client().request("BREW".parse().unwrap(), server.url() + "/livez");
    request.send().await.unwrap();
    let text = server.get("/metrics").await.text().await.unwrap();
    assert!(text.contains("method=\"other\"") && !text.contains("BREW"));
}

#[tokio::test]
async fn logs_name_the_request_and_hold_no_body() {
    let server = Server::builder().arg("--log-format").arg("json").start();
    let request = server.client().get(server.url() + "/v1/jobs?limit=x");
    request.header("x-request-id", "my-request").send().await.unwrap();
    let line = server.log().lines().find(|line| line.contains("my-request")).map(str::to_owned);
    let line: Value = serde_json::from_str(&line.expect("the request is logged")).unwrap();
    assert_eq!(line["span"]["request_id"], "my-request");
    assert_eq!((&line["span"]["route"], &line["status"]), (&json!("/v1/jobs"), &json!(400)));
    assert!(server.log().lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

#[tokio::test]
async fn sigterm_ends_in_order_and_nothing_is_lost() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut server = Server::builder().data_dir(folder.path()).start();
    let id = server.submit(&long()).await;
    while server.job(&id).await["progress"]["nodes_done"].as_u64().unwrap() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let nodes = async |server: &Server| {
        let tree = server.get_json(&format!("/v1/jobs/{id}/tree")).await;
        tree["nodes"].as_array().unwrap().clone()
    };
    let before = nodes(&server).await;
    // A wait ends with the server.
    let wait = server.client().get(format!("{}/v1/jobs/{id}", server.url()));
    let wait = tokio::spawn(wait.header("prefer", "wait=60").send());
    tokio::time::sleep(Duration::from_millis(100)).await;
    let start = Instant::now();
    assert_eq!(server.terminate(Duration::from_secs(20)).code(), Some(0), "{}", server.log());
    assert!(start.elapsed() < Duration::from_secs(15));
    assert_eq!(wait.await.unwrap().unwrap().status(), StatusCode::OK);
    assert!(!server.log().contains("ERROR"), "{}", server.log());
    drop(server);

    let server = Server::builder().data_dir(folder.path()).start();
    let job = server.wait(&id).await;
    assert_eq!(job["state"], "succeeded");
    // What was done is not begun again; the one that was handed back may be.
    let mut begun_again = 0;
    for (node, before) in nodes(&server).await.iter().zip(&before) {
        assert_eq!((&node["state"], &node["finishes"]), (&json!("done"), &json!(1)), "{node}");
        let starts = node["starts"].as_u64().unwrap();
        let most = if before["state"] == "done" { 1 } else { 2 };
        assert!((1..=most).contains(&starts), "{node}, before the signal {before}");
        begun_again += starts - 1;
    }
    assert!(begun_again <= 1, "{begun_again} nodes were begun twice");
}

#[tokio::test]
async fn a_second_signal_ends_at_once() {
    let mut server = Server::start();
    // A base proof that takes a while.
    let job = json!({
        "base": {"program": "keccak", "num_hashes": 1_000},
        "recursion": {"mode": "chain", "layers": 0},
    });
    let id = server.submit(&job).await;
    while server.job(&id).await["state"] != "running" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.signal("INT");
    let deadline = Instant::now() + Duration::from_secs(10);
    while !server.log().contains("shutting down") {
        assert!(Instant::now() < deadline, "{}", server.log());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.signal("INT");
    let start = Instant::now();
    assert_eq!(server.wait_exit(Duration::from_secs(10)).code(), Some(130), "{}", server.log());
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn an_address_that_others_reach_is_refused_unless_asked_for() {
    let folder = tempfile::TempDir::new().unwrap();
    let data = folder.path().join("data");
    for command in [&["serve"][..], &["config", "check"]] {
        let output = common::command(command)
            .args(["--listen", "0.0.0.0:0", "--data-dir"])
            .arg(&data)
            .output()
            .unwrap();
        common::assert_refused(&output, 2, &["server.listen", "0.0.0.0:0", "--allow-remote"]);
    }
    assert!(!data.exists());
    let output = arbor(["config", "check", "--listen", "0.0.0.0:0", "--allow-remote"]);
    common::assert_code(&output, 0);
    assert!(common::stdout(&output).contains("allow_remote = true"));
}

#[test]
fn a_configuration_is_printed_as_it_is_resolved() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("x.toml");
    std::fs::write(&file, "[limits]\nmax_layers = 7\n").unwrap();
    let output = common::command(["config", "check", "--warm", "blowup8", "--config"])
        .arg(&file)
        .env("ARBOR_LIMITS__MAX_DEPTH", "3")
        .output()
        .unwrap();
    common::assert_code(&output, 0);
    let printed = common::stdout(&output);
    for line in ["max_layers = 7", "max_depth = 3", "warm = [\"blowup8\"]", "[verification]"] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    std::fs::write(&file, printed).unwrap();
    let again = common::command(["--json", "config", "check", "--config"]).arg(&file).output();
    let again: Value = serde_json::from_slice(&again.unwrap().stdout).unwrap();
    assert_eq!(again["limits"]["max_layers"], 7);
    assert_eq!(again["memory"]["warm"], json!(["blowup8"]));
    std::fs::write(&file, "[limits]\nmax_layer = 7\n").unwrap();
    let output = common::command(["config", "check", "--config"]).arg(&file).output().unwrap();
    common::assert_refused(&output, 2, &["limits.max_layer", "x.toml", "max_layers"]);
}

#[test]
fn a_taken_address_and_a_taken_folder_are_named() {
    let folder = tempfile::TempDir::new().unwrap();
    let server = Server::builder().data_dir(folder.path()).start();
    let output = common::command(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path())
        .output()
        .unwrap();
    // Nor does it say that it listens.
    common::assert_refused(&output, 2, &[folder.path().to_str().unwrap(), "another server"]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let output = common::command(["serve", "--listen", &address, "--data-dir"])
        .arg(folder.path().join("other"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains(&address));
    assert!(!folder.path().join("other").exists());
    drop(server);
}

#[test]
fn connections_that_say_nothing_are_closed() {
    let server = Server::builder().env("ARBOR_SERVER__HEADER_TIMEOUT_S", 1).start();
    for start in
        ["", "GET /livez HTTP/1.1\r\nhost: loc", "GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n"]
    {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(start.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // The end of the stream, and not the time-out of this test.
        stream.read_to_end(&mut answer).unwrap();
    }
}

#[test]
fn further_connections_wait_for_their_turn() {
    let server = Server::builder().env("ARBOR_SERVER__MAX_CONNECTIONS", 1).start();
    let first = TcpStream::connect(server.address()).unwrap();
    let mut second = TcpStream::connect(server.address()).unwrap();
    second
        .write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    second.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut byte = [0];
    assert!(second.read(&mut byte).is_err(), "the first connection holds the only place");
    drop(first);
    second.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(second.read(&mut byte).unwrap(), 1);
    let request = b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    drop(second);
    assert!(raw(server.address(), request).unwrap().starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn circuits_are_warm_before_the_server_is_ready() {
    let server = Server::builder().arg("--warm").arg("insecure-test").listen();
    assert_eq!(server.get("/livez").await.status(), StatusCode::OK);
    let mut not_ready = 0;
    loop {
        let response = server.get("/readyz").await;
        if response.status() == StatusCode::OK {
            break;
        }
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key("retry-after"));
        let problem: Value = response.json().await.unwrap();
        assert!(problem["detail"].as_str().unwrap().contains("starting"), "{problem}");
        // What needs no engine is there already, the rest says so.
        assert_eq!(server.get("/docs/").await.status(), StatusCode::OK);
        let jobs = server.get("/v1/jobs").await.status();
        assert!([StatusCode::SERVICE_UNAVAILABLE, StatusCode::OK].contains(&jobs));
        not_ready += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(not_ready > 0, "it was ready before it was warm");
}
