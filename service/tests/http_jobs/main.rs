//! Jobs over HTTP, from submission to removal, on a spawned server.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod crowds;
mod life;
mod lists;
mod proofs;

use common::server::{Server, quick_chain};
use common::{arbor, assert_code};
use serde_json::{Value, json};

fn fibonacci(n: u64, layers: usize) -> Value {
    quick_chain(&json!({"program": "fibonacci", "n": n}), layers)
}

/// A job that takes a while: seconds, layer by layer.
fn long() -> Value {
    fibonacci(100, 64)
}

/// The proof of a job, verified by a process of its own that knows nothing but the file.
async fn verify_apart(server: &Server, id: &str) -> Value {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("proof.arbor");
    std::fs::write(&file, server.proof(id).await).unwrap();
    let output = arbor(["--json", "verify", "--min-proven-bits", "0", file.to_str().unwrap()]);
    assert_code(&output, 0);
    let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdict["valid"], true);
    verdict["proof"]["statement"].clone()
}

/// Every node is done, was proved once, begun at most `starts` times, and has a whole report.
async fn assert_complete(server: &Server, id: &str, nodes: usize, starts: u64) {
    let tree = server.get_json(&format!("/v1/jobs/{id}/tree")).await;
    let tree = tree["nodes"].as_array().unwrap();
    assert_eq!(tree.len(), nodes);
    for node in tree {
        assert_eq!(node["state"], "done", "{node}");
        assert_eq!(node["finishes"], 1, "{node}");
        assert!((1..=starts).contains(&node["starts"].as_u64().unwrap()), "{node}");
        assert_eq!(node["hash"].as_str().unwrap().len(), 64);
    }
    let timings = server.get_json(&format!("/v1/jobs/{id}/timings")).await;
    assert_eq!(timings["nodes"], nodes);
    let layers = timings["layers"].as_array().unwrap();
    assert_eq!(layers.len(), nodes);
    let mut sum = 0.0;
    for (layer, node) in layers.iter().zip(tree) {
        assert_eq!(layer["id"], node["id"]);
        let times = layer["timings_ms"].as_object().unwrap();
        assert_eq!(times.len(), 9, "{layer}");
        for phase in ["commit", "quotient", "open", "verify", "total"] {
            assert!(times[phase].as_f64().unwrap() > 0.0, "{phase}: {layer}");
        }
        if layer["kind"] != "base" {
            for phase in ["restore", "fill", "logup"] {
                assert!(times[phase].as_f64().unwrap() > 0.0, "{phase}: {layer}");
            }
            assert!(layer["permutations"].as_u64().unwrap() > 0);
        }
        assert!(layer["queries"].as_u64().unwrap() > 0);
        assert!(layer["proof_bytes"].as_u64().unwrap() > 1_000);
        assert!(layer["peak_bytes"].as_u64().unwrap() > 1 << 20);
        assert!(!layer["tables"].as_array().unwrap().is_empty());
        sum += times["total"].as_f64().unwrap();
    }
    assert!((timings["sum_ms"]["total"].as_f64().unwrap() - sum).abs() < 1e-6 * sum);
    let csv = server.get(&format!("/v1/jobs/{id}/timings?format=csv")).await;
    assert_eq!(csv.headers()["content-type"], "text/csv; charset=utf-8");
    let csv = csv.text().await.unwrap();
    let columns = csv.lines().next().unwrap().split(',').count();
    assert_eq!(csv.lines().count(), nodes + 1, "{csv}");
    assert!(csv.lines().all(|line| line.split(',').count() == columns), "{csv}");
}
