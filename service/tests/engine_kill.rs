//! The server dies, and its disk fills up, in the middle of jobs.

mod common;

use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use common::server::Server;
use serde_json::{Value, json};

/// How often the server is killed in each kind of job.
const KILLS: u64 = 20;

fn chain() -> Value {
    json!({"preset": "insecure-test", "base": {"program": "fibonacci", "n": 30},
           "recursion": {"mode": "chain", "layers": 3}})
}

fn tree_of_eight() -> Value {
    json!({"preset": "insecure-test", "base": {"program": "fibonacci", "n": 30},
           "recursion": {"mode": "tree", "arity": 2, "depth": 3}})
}

/// Kills the server at random moments of as many jobs. Each job ends with a proof that another process
/// accepts; no finished node is proved again, no event is missing, and the reconciler has nothing to do.
async fn kill_in(job: Value) {
    let mut server = Server::start();
    let start = Instant::now();
    server.prove(&job).await;
    let whole = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    let seed =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    println!("seed {seed}, a job takes {whole} ms");
    let mut random = seed | 1;
    let mut in_the_middle = 0;
    for _ in 0..KILLS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let id = server.submit(&job).await;
        tokio::time::sleep(Duration::from_millis(random % (whole + 1))).await;
        server.kill();
        let killed = Instant::now();
        server.restart();
        let ready = killed.elapsed();
        assert!(ready < Duration::from_secs(10), "ready after {ready:?}");
        // Connections to the server that died are of no use any more.
        let livez = server.url() + "/livez";
        while server.client().get(&livez).send().await.is_err() {}
        let record = server.wait(&id).await;
        assert_eq!(record["state"], "succeeded", "{record}\n{}", server.log());
        let tree = server.get_json(&format!("/v1/jobs/{id}/tree")).await;
        let mut starts = 0;
        for node in tree["nodes"].as_array().expect("nodes") {
            assert_eq!(node["finishes"], 1, "{node}");
            starts += node["starts"].as_u64().expect("a number");
            assert!(node["starts"].as_u64() <= Some(2), "{node}");
        }
        let nodes = tree["nodes"].as_array().map_or(0, Vec::len) as u64;
        assert!(starts <= nodes + 1, "one node at most was begun twice: {tree}");
        in_the_middle += starts - nodes;
        verify(&server, &id).await;
        let metrics = server.get("/metrics").await.text().await.expect("text");
        let reconciled = metrics.lines().find(|line| line.starts_with("arbor_reconciled_total"));
        assert_eq!(reconciled, Some("arbor_reconciled_total 0"));
    }
    println!("{in_the_middle} of {KILLS} kills hit a proof");
}

async fn verify(server: &Server, id: &str) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), server.proof(id).await).expect("written");
    let status = Command::new(env!("CARGO_BIN_EXE_arbor"))
        .arg("verify")
        .arg(file.path())
        .args(["--min-proven-bits", "0"])
        .output()
        .expect("verify runs");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
}

#[tokio::test]
async fn a_chain_survives_kill_9() {
    kill_in(chain()).await;
}

#[tokio::test]
async fn a_tree_survives_kill_9() {
    kill_in(tree_of_eight()).await;
}

/// Bounds the files that a running process may write.
#[cfg(target_os = "linux")]
#[track_caller]
fn limit_files(pid: u32, bytes: &str) {
    let limit = Command::new("prlimit")
        .args(["--pid", &pid.to_string(), &format!("--fsize={bytes}:unlimited")])
        .status();
    match limit {
        Ok(status) => assert!(status.success(), "prlimit must be allowed here: {status}"),
        Err(error) => panic!("prlimit (of util-linux) is needed: {error}"),
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_disk_that_is_full_fails_the_job_and_not_the_server() {
    let server = Server::start();
    limit_files(server.pid(), "2000000");
    // 200 queries of 2633 columns: more than a file may have.
    let large = json!({"preset": "insecure-test", "recursion": {"mode": "chain", "layers": 0},
        "base": {"program": "keccak", "num_hashes": 1, "fri": {"num_queries": 200}}});
    let id = server.submit(&large).await;
    let job = server.wait(&id).await;
    assert_eq!(job["state"], "failed", "{job}");
    assert_eq!(job["error"]["class"], "storage", "{job}");
    assert_eq!(job["error"]["retryable"], true, "{job}");
    let small = server.prove(&chain()).await;
    assert_eq!(small["state"], "succeeded", "what fits is stored");

    limit_files(server.pid(), "unlimited");
    let retried = server.post(&format!("/v1/jobs/{id}/retry"), &json!({})).await;
    assert!(retried.status().is_success(), "{}", retried.status());
    assert_eq!(server.wait(&id).await["state"], "succeeded");
    verify(&server, &id).await;
}

/// Nodes of a job that have a proof.
#[cfg(target_os = "linux")]
async fn nodes_done(server: &Server, id: &str) -> Vec<Value> {
    let tree = server.get_json(&format!("/v1/jobs/{id}/tree")).await;
    let nodes = tree["nodes"].as_array().expect("nodes").iter();
    nodes.filter(|node| node["state"] == "done").cloned().collect()
}

/// Waits for a proof. A job may have failed by the full disk: then it is tried again.
#[cfg(target_os = "linux")]
async fn succeeded_in_the_end(server: &Server, id: &str) {
    let mut job = server.wait(id).await;
    if job["state"] == "failed" {
        assert_eq!(job["error"]["class"], "storage", "{job}");
        let retried = server.post(&format!("/v1/jobs/{id}/retry"), &json!({})).await;
        assert_eq!(retried.status(), 202);
        job = server.wait(id).await;
    }
    assert_eq!(job["state"], "succeeded", "{job}");
    verify(server, id).await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_disk_without_room_for_the_records_loses_nothing() {
    // The log is a file as well, and is to stay below the limit.
    let mut server = Server::builder().env("ARBOR_LOG__FILTER", "warn").start();
    let before = server.prove(&chain()).await;
    let before = before["id"].as_str().expect("an id").to_owned();
    let proof = server.proof(&before).await;
    let long = json!({"preset": "insecure-test", "base": {"program": "fibonacci", "n": 30},
        "recursion": {"mode": "chain", "layers": 40}});
    let id = server.submit(&long).await;
    while nodes_done(&server, &id).await.len() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Less than the records have already.
    limit_files(server.pid(), "20000");
    let (mut admitted, mut refused) = (Vec::new(), 0);
    let start = Instant::now();
    while refused < 5 || !server.log().contains("disk I/O error") {
        let limit = Duration::from_secs(60);
        assert!(start.elapsed() < limit, "the records were written all the same");
        let response = server.post("/v1/jobs", &chain()).await;
        match response.status().as_u16() {
            202 => {
                let job: Value = response.json().await.expect("JSON");
                admitted.push(job["id"].as_str().expect("an id").to_owned());
            }
            503 => {
                assert!(response.headers().contains_key("retry-after"));
                refused += 1;
            }
            status => panic!("{status}: {}", response.text().await.unwrap_or_default()),
        }
        assert_eq!(server.get("/livez").await.status(), 200);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(!server.log().contains("panicked"), "{}", server.log());
    let done = nodes_done(&server, &id).await;

    // The limit ends with the process.
    server.restart();
    assert_eq!(server.proof(&before).await, proof);
    succeeded_in_the_end(&server, &id).await;
    let nodes = nodes_done(&server, &id).await;
    assert_eq!(nodes.len(), 41);
    for node in &nodes {
        assert_eq!(node["finishes"], 1, "{node}");
    }
    // What was written down before is as it was.
    for node in &done {
        assert!(nodes.contains(node), "{node}");
    }
    for id in admitted {
        succeeded_in_the_end(&server, &id).await;
    }
}
