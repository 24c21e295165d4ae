//! Jobs of every form, proved and verified elsewhere.

use serde_json::{Value, json};

use super::{assert_complete, fibonacci, quick_chain, verify_apart};
use crate::common::server::Server;

#[tokio::test]
async fn a_fibonacci_chain_is_proved_and_verified_elsewhere() {
    let server = Server::start();
    let job = server.prove(&fibonacci(50, 3)).await;
    let id = job["id"].as_str().unwrap();
    assert_eq!(job["progress"], json!({"nodes_done": 4, "nodes_total": 4}));
    assert_eq!(job["layers"].as_array().unwrap().len(), 4);
    assert_eq!(job["keys"].as_array().unwrap().len(), 4);
    assert_eq!((&job["error"], &job["phase"]), (&Value::Null, &Value::Null));
    for time in ["created_at_ms", "started_at_ms", "finished_at_ms"] {
        assert!(job[time].as_i64().unwrap() > 1_700_000_000_000, "{time}");
    }
    let statement = verify_apart(&server, id).await;
    assert_eq!(statement, job["statement"]);
    // F(50) = 12586269025.
    assert_eq!(statement["base"]["result"], 12_586_269_025_u64 % 2_130_706_433);
    assert_complete(&server, id, 4, 1).await;
}

#[tokio::test]
async fn a_keccak_chain_is_proved_and_verified_elsewhere() {
    let server = Server::start();
    let job = server
        .prove(&quick_chain(&json!({"program": "keccak", "num_hashes": 2, "seed": 7}), 2))
        .await;
    let id = job["id"].as_str().unwrap();
    let statement = verify_apart(&server, id).await;
    assert_eq!(statement["base"]["claimed"], json!({"num_hashes": 2, "seed": 7}));
    assert_eq!(statement["base"]["inputs_bound"], false);
    assert_complete(&server, id, 3, 1).await;
}

#[tokio::test]
async fn trees_of_two_and_of_eight_are_proved_and_verified_elsewhere() {
    let server = Server::start();
    for (arity, depth, nodes) in [(2, 2, 7), (8, 1, 9)] {
        let job = server
            .prove(&json!({
                "base": {"program": "fibonacci", "n": 20},
                "recursion": {"mode": "tree", "arity": arity, "depth": depth},
                "preset": "insecure-test",
            }))
            .await;
        let id = job["id"].as_str().unwrap();
        let statement = verify_apart(&server, id).await;
        let leaves = statement["leaves"].as_array().unwrap();
        assert_eq!(leaves.len(), usize::pow(arity, depth));
        for (i, leaf) in leaves.iter().enumerate() {
            assert_eq!(
                (&leaf["position"], &leaf["statement"]["base"]["a"]),
                (&json!(i), &json!(i))
            );
        }
        assert_complete(&server, id, nodes, 1).await;
    }
}

#[tokio::test]
async fn a_finished_job_becomes_a_leaf_of_another() {
    let server = Server::start();
    let leaf = server.prove(&fibonacci(30, 1)).await;
    let tree = json!({
        "recursion": {"mode": "tree", "arity": 2, "leaves": [
            {"job": leaf["id"]}, {"program": "keccak", "num_hashes": 1}, {"job": leaf["id"]},
        ]},
        "preset": "insecure-test",
    });
    let job = server.prove(&tree).await;
    let statement = verify_apart(&server, job["id"].as_str().unwrap()).await;
    let leaves = statement["leaves"].as_array().unwrap();
    assert_eq!(leaves.len(), 3);
    assert_eq!(leaves[0]["statement"]["base"]["n"], 30);
    assert_eq!(leaves[1]["statement"]["base"]["program"], "keccak");
    assert_eq!(leaves[2]["statement"], leaves[0]["statement"]);
    assert_eq!(statement["padding"].as_array().unwrap().len(), 1);
}
