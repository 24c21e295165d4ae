//! `submit`, `get`, `cancel` and `health` against a real server.

mod common;

use std::io::Write;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use common::server::Server;
use common::{arbor, assert_code, assert_refused, command, json, stderr, stdout, words};
use serde_json::Value;
use tempfile::TempDir;

/// A job that takes a few milliseconds.
const QUICK: &str = "fibonacci -n 5 --layers 1 --preset insecure-test";
/// A job that takes some seconds.
const SLOW: &str = "fibonacci -n 1000 --layers 60";

/// Runs the client against `server`.
fn on(server: &Server, line: &str) -> std::process::Output {
    let output = command(words(line)).env("ARBOR_SERVER", server.url()).output();
    output.expect("the binary starts")
}

/// Submits a job and gives its id.
#[track_caller]
fn submit(server: &Server, line: &str) -> String {
    let said = json(&on(server, &format!("submit {line} --json")));
    said["id"].as_str().expect("an id").to_owned()
}

/// A port of this machine on which nobody listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}", listener.local_addr().expect("an address"))
}

#[test]
fn a_job_is_submitted_followed_and_its_proof_verified_elsewhere() {
    let server = Server::start();
    let output = on(&server, &format!("submit {QUICK}"));
    assert_code(&output, 0);
    let text = stdout(&output);
    let id = text.lines().next().and_then(|line| line.split(' ').nth(1)).expect("an id").to_owned();
    assert!(text.contains(&format!("location /v1/jobs/{id}")), "{text}");
    assert!(text.contains(&format!("next: arbor watch {id} --server {}", server.url())), "{text}");

    let watched = on(&server, &format!("watch {id}"));
    assert_code(&watched, 0);
    assert!(stdout(&watched).contains(&format!("job {id} succeeded, 2 of 2 proofs")));
    // By its URL, whatever server the environment names.
    let elsewhere = command(["get", &format!("{}/v1/jobs/{id}", server.url()), "--json"])
        .env("ARBOR_SERVER", nobody())
        .output();
    let job = json(&elsewhere.expect("the binary starts"));
    assert_eq!(job["state"], "succeeded");

    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("x.arbor").display().to_string();
    let got = on(&server, &format!("get {id} --out {file}"));
    assert_code(&got, 0);
    assert!(stdout(&got).contains("next: arbor verify"), "{}", stdout(&got));
    // The parameters are those of tests.
    let verify = |file: &str| arbor(["verify", "--min-proven-bits", "0", file, "--json"]);
    assert_code(&verify(&file), 0);
    let base = on(&server, &format!("get {id} --node 0/0 --out {file} --json"));
    assert!(json(&base)["bytes"].as_u64() > Some(0));
    let verified = json(&verify(&file));
    assert_eq!(verified["proof"]["statement"]["layers"], 0, "{verified}");
}

#[test]
fn timings_and_nodes_are_tables_json_or_csv() {
    let server = Server::start();
    let ended = json(&on(&server, &format!("submit {QUICK} --wait --json")));
    let id = ended["id"].as_str().expect("an id");
    let timings = json(&on(&server, &format!("get {id} --timings --json")));
    assert_eq!(timings["layers"].as_array().map(Vec::len), Some(2), "{timings}");
    let table = stdout(&on(&server, &format!("get {id} --timings")));
    assert!(table.contains("total ms") && table.contains("base"), "{table}");
    let csv = stdout(&on(&server, &format!("get {id} --timings --csv")));
    let columns = |line: &str| line.split(',').count();
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(lines[0].contains("total") && columns(lines[0]) == columns(lines[2]), "{csv}");
    let nodes = json(&on(&server, &format!("get {id} --tree --json")));
    assert_eq!(nodes["nodes"][1]["children"][0], "0/0", "{nodes}");
    let table = stdout(&on(&server, &format!("get {id} --tree")));
    assert!(table.contains("1/0") && table.contains("done"), "{table}");
}

#[test]
fn finished_jobs_become_leaves() {
    let server = Server::start();
    let folder = TempDir::new().expect("a temporary folder");
    let leaf = |n: u32| {
        let line = format!("fibonacci -n {n} --layers 1 --preset insecure-test --wait");
        submit(&server, &line)
    };
    let file = folder.path().join("x.arbor").display().to_string();
    let (first, second) = (leaf(5), leaf(6));
    let line = format!(
        "submit tree --arity 2 {first} {}/v1/jobs/{second} --preset insecure-test --out {file}",
        server.url()
    );
    assert_code(&on(&server, &line), 0);
    let verified = json(&arbor(["verify", "--min-proven-bits", "0", &file, "--json"]));
    let statement = &verified["proof"]["statement"];
    assert_eq!(statement["leaves"].as_array().map(Vec::len), Some(2), "{statement}");
}

#[test]
fn a_key_gives_the_same_job_and_no_other() {
    let server = Server::start();
    let first = submit(&server, &format!("{QUICK} --idempotency-key k"));
    assert_eq!(submit(&server, &format!("{QUICK} --idempotency-key k")), first);
    assert_ne!(submit(&server, QUICK), first);
    let other = on(&server, "submit fibonacci -n 6 --idempotency-key k");
    assert_refused(&other, 2, &["the server refuses", "idempotency"]);
}

#[test]
fn priority_deadline_and_labels_reach_the_server() {
    let server = Server::start();
    let line =
        format!("submit {QUICK} --priority -3 --deadline-s 60 --label a=b --label c=d=e --json");
    let job = json(&on(&server, &line))["job"]["job"].clone();
    assert_eq!((&job["priority"], &job["deadline_s"]), (&Value::from(-3), &Value::from(60)));
    assert_eq!(
        (&job["labels"]["a"], &job["labels"]["c"]),
        (&Value::from("b"), &Value::from("d=e"))
    );
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("job.json");
    let text = r#"{"base": {"program": "fibonacci", "n": 7}, "recursion": {"mode": "chain", "layers": 0},
        "preset": "insecure-test", "labels": {"from": "file"}}"#;
    std::fs::write(&file, text).expect("the job is written");
    let line = format!("submit --job {} --fri-less", file.display());
    assert_code(&on(&server, &line), 2);
    let output =
        on(&server, &format!("submit --job {} -n 8 --num-queries 9 --json", file.display()));
    assert!(!stderr(&output).contains("no effect"), "{}", stderr(&output));
    let job = json(&output)["job"]["job"].clone();
    assert_eq!(job["base"]["n"], 8);
    assert_eq!(job["fri"]["num_queries"], 9);
    assert_eq!(job["labels"]["from"], "file");
}

#[test]
fn what_the_server_refuses_is_one_line_that_names_the_field() {
    let server = Server::start();
    let cases = [
        ("submit fibonacci --log-blowup 9", 2, "log_blowup"),
        ("submit fibonacci -a 4000000000", 2, "a"),
        ("submit keccak -n 150000", 3, "num_hashes"),
        ("submit fibonacci --preset nowhere", 2, "preset"),
        ("submit tree --arity 9 --depth 1", 2, "arity"),
        ("submit tree --arity 2 01890a5d-ac96-774b-bcce-b302099a8057", 2, "leaves"),
        ("get 01890a5d-ac96-774b-bcce-b302099a8057", 2, "no job"),
        ("watch 01890a5d-ac96-774b-bcce-b302099a8057", 2, "no job"),
        ("cancel 01890a5d-ac96-774b-bcce-b302099a8057", 2, "no job"),
        ("get 01890a5d-ac96-774b-bcce-b302099a8057 --out x", 2, "no job"),
    ];
    for (line, code, says) in cases {
        let output = on(&server, line);
        assert_refused(&output, code, &["the server refuses", says, "request "]);
    }
}

#[test]
fn what_cannot_be_asked_is_refused_before_it_is() {
    let nobody = nobody();
    let preset = concat!(env!("CARGO_MANIFEST_DIR"), "/../configs/presets/default.toml");
    let with_file = format!("submit fibonacci --preset {preset} --server {nobody}");
    let cases = [
        ("submit fibonacci --server nowhere", "--server nowhere"),
        ("submit fibonacci --server ftp://127.0.0.1", "expected https://HOST[:PORT] or http://"),
        ("get 17 --server http://127.0.0.1:1", "\"17\" is no job"),
        ("get ../../etc/passwd", "is no job"),
        ("submit tree --arity 2 17", "\"17\" is no job"),
        ("submit fibonacci --out /nowhere/x.arbor", "/nowhere/x.arbor"),
        ("submit keccak -a 1", "-a does not go with keccak"),
        ("submit", "keccak|fibonacci is missing"),
        ("submit fibonacci --label a=1 --label a=2", "--label a: expected each name once"),
        (
            "submit fibonacci --threads 2",
            "--threads does not go with a command that proves nothing",
        ),
        (&with_file, "--preset FILE does not go with submit"),
    ];
    for (line, says) in cases {
        assert_refused(&arbor(words(line)), 2, &[says]);
    }
    let id = "01890a5d-ac96-774b-bcce-b302099a8057";
    for line in ["submit fibonacci", &format!("get {id}"), &format!("watch {id}")] {
        if line.starts_with("watch") {
            continue; // It waits for the server to come back: see client_watch.rs.
        }
        let output = arbor(words(&format!("{line} --server {nobody}")));
        assert_refused(&output, 2, &[&nobody, "cannot be reached"]);
    }
    for line in ["--csv", "--node 1/0", "--timings --tree", "--out x --tree", "--node 1 --out x"] {
        assert_code(&arbor(words(&format!("get {id} {line}"))), 2);
    }
}

#[test]
fn a_live_job_is_cancelled_and_an_ended_one_only_removed_when_asked() {
    let server = Server::start();
    let id = submit(&server, SLOW);
    assert_refused(&on(&server, &format!("get {id} --out {id}.arbor")), 2, &["not there yet"]);
    let cancelled = json(&on(&server, &format!("cancel {id} --json")));
    assert_eq!(cancelled["outcome"], "cancelling");
    let watched = on(&server, &format!("watch {id}"));
    assert_code(&watched, 1);
    assert!(
        stderr(&watched).contains(&format!("arbor: job {id} cancelled")),
        "{}",
        stderr(&watched)
    );
    let again = on(&server, &format!("cancel {id}"));
    assert_code(&again, 0);
    assert!(stdout(&again).contains("is cancelled already"), "{}", stdout(&again));
    assert_code(&on(&server, &format!("get {id}")), 0);
    assert_eq!(json(&on(&server, &format!("cancel {id} --remove --json")))["outcome"], "removed");
    assert_refused(&on(&server, &format!("get {id}")), 2, &["no job"]);
}

#[test]
fn a_job_that_expires_ends_with_1() {
    let server = Server::start();
    let output = on(&server, &format!("submit {SLOW} --deadline-s 1 --wait"));
    assert_code(&output, 1);
    assert!(stderr(&output).contains(" expired"), "{}", stderr(&output));
}

#[test]
fn health_is_0_or_1_and_comes_in_time() {
    let server = Server::start();
    let healthy = on(&server, "health");
    assert_code(&healthy, 0);
    assert_eq!(stdout(&healthy), "ready\n");
    assert_eq!(json(&on(&server, "health --json"))["ready"], true);

    assert_refused(
        &arbor(["health", "--server", &nobody()]),
        1,
        &["not ready", "cannot be reached"],
    );
    let said = arbor(["health", "--json", "--server", &nobody()]);
    assert_code(&said, 1);
    assert!(stdout(&said).contains("\"ready\": false"), "{}", stdout(&said));

    // One that takes the connection and says nothing, and one that says something else.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let start = Instant::now();
    let output = arbor(["health", "--timeout-ms", "300", "--server", &url]);
    assert_refused(&output, 1, &["timed out"]);
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    let other = std::thread::spawn(move || {
        let (mut socket, _) = silent.accept().expect("the connection above");
        let _ = socket.write_all(b"late");
        let (mut socket, _) = silent.accept().expect("a connection");
        socket.write_all(b"HTTP/1.1 404 \x1b[2J\r\ncontent-length: 0\r\n\r\n").expect("it is read");
        std::thread::sleep(Duration::from_millis(200));
    });
    let output = arbor(["health", "--server", &url]);
    assert_refused(&output, 1, &["not ready"]);
    assert!(!stderr(&output).contains('\u{1b}'));
    other.join().expect("no panic");
}
