//! Memory and disk of whole processes: what estimates say, what a server keeps to, and what keeping freed memory
//! mapped is worth.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use common::server::Server;
use common::{arbor, assert_code, command, json, words};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Layers of the chain. The last three verify a layer of their own shape and are alike.
const LAYERS: usize = 5;
const STEADY: usize = 3;

/// Minor faults of each steady layer of a chain with the parameters of production.
fn steady_faults(retain: &str) -> Vec<u64> {
    let folder = TempDir::new().expect("a temporary folder");
    let mut args = words(&format!("prove fibonacci -n 100 --layers {LAYERS} --json --out"));
    args.push(folder.path().join("x.arbor").display().to_string());
    let output = command(args).env("ARBOR_RETAIN_MEMORY", retain).output();
    let report = json(&output.expect("the binary starts"));
    let layers = report["layers"].as_array().expect("reports");
    layers[layers.len() - STEADY..]
        .iter()
        .map(|layer| layer["minor_faults"].as_u64().expect("a number"))
        .collect()
}

#[test]
#[cfg(target_os = "linux")]
fn kept_memory_saves_nine_faults_of_ten() {
    let (given_back, kept) = (steady_faults("0"), steady_faults("1"));
    println!("minor faults of the steady layers: {given_back:?} given back, {kept:?} kept");
    let (given_back, kept): (u64, u64) = (given_back.iter().sum(), kept.iter().sum());
    // Three times 2^13 rows on 2^15 points by 252 columns are 24,000 pages, if none of them is a huge one.
    assert!(given_back > 100, "nothing was given back: {given_back} faults");
    assert!(10 * kept <= given_back, "{kept} faults with memory kept, {given_back} without");
}

/// What `arbor prove` says of itself, without `--plan` and with it.
fn proved_and_planned(line: &str) -> (Value, Value) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("x.arbor");
    let run = |flag: &str, value: Option<&str>| {
        let mut args = words(line);
        args.extend(["--json".to_owned(), flag.to_owned()]);
        args.extend(value.map(str::to_owned));
        let output = arbor(args);
        assert_code(&output, 0);
        json(&output)
    };
    (run("--out", file.to_str()), run("--plan", None))
}

#[test]
#[cfg(target_os = "linux")]
fn no_proof_takes_more_memory_than_its_plan_says() {
    let lines = [
        "prove fibonacci -n 100 --layers 3",
        "prove fibonacci -n 10000 --layers 1",
        "prove keccak -n 100 --layers 1",
        "prove keccak -n 10 --layers 2 --preset insecure-test",
        "prove tree --arity 2 --depth 2 --leaf fibonacci -n 50",
        "prove tree --arity 2 --depth 1 --leaf keccak -n 4 --preset insecure-test",
    ];
    for line in lines {
        let (proved, plan) = proved_and_planned(line);
        let peak = proved["peak_bytes"].as_u64().unwrap();
        let estimate = plan["estimate"]["peak_bytes"].as_u64().unwrap();
        println!("{line}: {} of {} MB", peak / 1_000_000, estimate / 1_000_000);
        assert!(peak <= estimate, "{line}: {peak} bytes, {estimate} expected at most");
        // The process itself is in it with 151 MB, whatever the proof takes.
        let most = peak + peak / 3 + 151_000_000;
        assert!(estimate <= most, "{line}: {peak} bytes, {estimate} expected");
    }
}

fn chain(base: &Value, layers: usize, preset: &str) -> Value {
    json!({"base": base, "recursion": {"mode": "chain", "layers": layers}, "preset": preset})
}

fn tree(base: &Value, arity: usize, depth: usize, preset: &str) -> Value {
    let recursion = json!({"mode": "tree", "arity": arity, "depth": depth});
    json!({"base": base, "recursion": recursion, "preset": preset})
}

fn keccak(num_hashes: u64) -> Value {
    json!({"program": "keccak", "num_hashes": num_hashes})
}

fn fibonacci(n: u64) -> Value {
    json!({"program": "fibonacci", "n": n})
}

/// The most memory that a process has had, looked at all the time because the process begins to count anew with
/// every proof.
struct Watch {
    peak: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Watch {
    fn over(pid: u32) -> Self {
        let (peak, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (seen, ended) = (Arc::clone(&peak), Arc::clone(&stop));
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
                let status = status.unwrap_or_default();
                let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
                seen.fetch_max(kib.unwrap_or(0) << 10, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Self { peak, stop }
    }

    fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Bytes of all proofs of a job, and of its file.
async fn stored_bytes(server: &Server, job: &Value) -> u64 {
    let id = job["id"].as_str().unwrap();
    let tree = server.get_json(&format!("/v1/jobs/{id}/tree")).await;
    let nodes = tree["nodes"].as_array().unwrap();
    let nodes: u64 = nodes.iter().map(|node| node["bytes"].as_u64().unwrap()).sum();
    nodes + job["proof"]["bytes"].as_u64().unwrap()
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn no_job_takes_more_than_it_was_admitted_with() {
    let jobs = [
        chain(&fibonacci(10), 0, "default"),
        chain(&fibonacci(100), 3, "default"),
        chain(&fibonacci(10_000), 2, "proven-100"),
        chain(&keccak(100), 2, "default"),
        chain(&keccak(10), 1, "compact"),
        tree(&fibonacci(50), 2, 2, "default"),
        tree(&fibonacci(50), 8, 1, "default"),
        tree(&keccak(4), 2, 1, "insecure-test"),
    ];
    for job in jobs {
        let server = Server::start();
        let watch = Watch::over(server.pid());
        let done = server.prove(&job).await;
        assert_eq!(done["state"], "succeeded", "{done}");
        let estimate = |name: &str| done["estimate"][name].as_u64().unwrap();
        let (peak, stored) = (watch.peak(), stored_bytes(&server, &done).await);
        println!(
            "{job}: {peak} of {}, {stored} of {}",
            estimate("peak_bytes"),
            estimate("disk_bytes")
        );
        assert!(peak <= estimate("peak_bytes"), "{job}: {peak} bytes of memory");
        assert!(stored <= estimate("disk_bytes"), "{job}: {stored} bytes on disk");
        assert!(2 * estimate("disk_bytes") <= 3 * stored, "{job}: {stored} bytes on disk");
        assert!(estimate("prove_ms") > 0);
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_server_that_has_proved_other_jobs_keeps_to_its_limit() {
    // The first leaves so much memory behind, in pieces, that the second does not fit beside it.
    let jobs = [
        chain(&keccak(10), 2, "proven-100"),
        chain(&keccak(1000), 0, "insecure-test"),
        chain(&fibonacci(100), 3, "default"),
    ];
    let trial = Server::start();
    let mut limit = 0;
    for job in &jobs {
        let plan: Value = trial.post("/v1/jobs:validate", job).await.json().await.unwrap();
        limit = limit.max(plan["estimate"]["peak_bytes"].as_u64().unwrap());
    }
    drop(trial);
    // The largest of them just fits; what the others leave behind must not stand in its way.
    let server = Server::builder().env("ARBOR_MEMORY__LIMIT_BYTES", limit).start();
    let watch = Watch::over(server.pid());
    for job in jobs.iter().chain(&jobs[..1]) {
        assert_eq!(server.prove(job).await["state"], "succeeded", "{job}");
        println!("{job}: {} of {limit}", watch.peak());
        assert!(watch.peak() <= limit, "{job}: {} bytes, the limit is {limit}", watch.peak());
    }
    let larger = server.post("/v1/jobs", &chain(&keccak(3000), 1, "default")).await;
    let larger: Value = larger.json().await.unwrap();
    assert_eq!(larger["type"], "/problems/over-limit", "{larger}");
}
