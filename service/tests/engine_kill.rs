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

/// Bounds the files that a running process may write; false where the tool for it is missing.
fn limit_files(pid: u32, bytes: &str) -> bool {
    let limit = Command::new("prlimit")
        .args(["--pid", &pid.to_string(), &format!("--fsize={bytes}:unlimited")])
        .status();
    limit.is_ok_and(|status| status.success())
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_disk_that_is_full_fails_the_job_and_not_the_server() {
    let server = Server::start();
    if !limit_files(server.pid(), "2000000") {
        println!("prlimit is not there, or not allowed");
        return;
    }
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

    assert!(limit_files(server.pid(), "unlimited"));
    let retried = server.post(&format!("/v1/jobs/{id}/retry"), &json!({})).await;
    assert!(retried.status().is_success(), "{}", retried.status());
    assert_eq!(server.wait(&id).await["state"], "succeeded");
    verify(&server, &id).await;
}
