//! Lists, plans and limits.

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{fibonacci, quick_chain};
use crate::common::server::Server;

#[tokio::test]
async fn lists_are_filtered_and_paged() {
    let server = Server::start();
    let mut ids = Vec::new();
    for i in 0..5 {
        let mut job = fibonacci(i, 0);
        job["labels"] = json!({"kind": if i % 2 == 0 { "even" } else { "odd" }, "batch": "a=b c"});
        ids.push(server.submit(&job).await);
    }
    let tree = json!({
        "base": {"program": "keccak", "num_hashes": 1},
        "recursion": {"mode": "tree", "arity": 2, "depth": 1},
        "preset": "insecure-test",
    });
    ids.push(server.submit(&tree).await);
    for id in &ids {
        server.wait(id).await;
    }
    ids.reverse();

    let list = async |query: &str| {
        let page = server.get_json(&format!("/v1/jobs{query}")).await;
        let jobs = page["jobs"].as_array().unwrap().iter();
        (
            jobs.map(|job| job["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>(),
            page["next"].clone(),
        )
    };
    assert_eq!(list("").await, (ids.clone(), Value::Null));
    let mut seen = Vec::new();
    let mut next = String::new();
    loop {
        let (page, cursor) = list(&format!("?limit=2{next}")).await;
        assert!(page.len() <= 2);
        seen.extend(page);
        let Some(cursor) = cursor.as_str() else { break };
        next = format!("&cursor={cursor}");
    }
    assert_eq!(seen, ids);
    assert_eq!(list("?mode=tree").await.0, ids[..1]);
    assert_eq!(list("?program=keccak").await.0, ids[..1]);
    assert_eq!(list("?program=fibonacci&mode=chain").await.0, ids[1..]);
    assert_eq!(list("?label=kind%3Deven").await.0.len(), 3);
    assert_eq!(list("?label=kind=odd&label=batch=a%3Db%20c").await.0.len(), 2);
    assert!(list("?label=kind=odd&label=kind=even").await.0.is_empty());
    let many = format!("/v1/jobs?{}", vec!["label=a=b"; 1000].join("&"));
    let many = server.get(&many).await;
    assert_eq!(many.status(), 400);
    assert_eq!(many.json::<Value>().await.unwrap()["field"], "label");
    assert_eq!(list("?state=succeeded").await.0.len(), 6);
    assert!(list("?state=queued&state=failed,running").await.0.is_empty());
}

#[tokio::test]
async fn a_plan_is_told_without_proving() {
    let server = Server::start();
    let job = json!({
        "base": {"program": "fibonacci", "n": 20},
        "recursion": {"mode": "tree", "arity": 2, "depth": 2},
        "preset": "insecure-test",
    });
    let response = server.post("/v1/jobs:validate", &job).await;
    assert_eq!(response.status(), StatusCode::OK);
    let plan: Value = response.json().await.unwrap();
    assert_eq!(plan["valid"], true);
    let nodes = plan["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 7);
    assert_eq!(nodes[6]["children"], json!([nodes[4]["id"], nodes[5]["id"]]));
    for figure in ["peak_bytes", "prove_ms", "disk_bytes"] {
        assert!(plan["estimate"][figure].as_u64().unwrap() > 0, "{figure}");
    }
    assert!(plan["security"]["proven"]["bits"].as_f64().unwrap() > 0.0, "{plan}");
    let page = server.get_json("/v1/jobs").await;
    assert_eq!(page["jobs"], json!([]));
}

#[tokio::test]
async fn limits_of_the_server_are_named() {
    let server = Server::builder()
        .env("ARBOR_LIMITS__MAX_N", 100)
        .env("ARBOR_LIMITS__MAX_NUM_HASHES", 10)
        .env("ARBOR_LIMITS__MAX_LAYERS", 2)
        .env("ARBOR_LIMITS__MAX_DEPTH", 2)
        .env("ARBOR_LIMITS__MAX_LEAVES", 4)
        .env("ARBOR_LIMITS__MAX_LABELS", 1)
        .env("ARBOR_LIMITS__MAX_DEADLINE_S", 60)
        .start();
    let tree = |arity: u64, depth: u64| {
        json!({
            "base": {"program": "fibonacci", "n": 1},
            "recursion": {"mode": "tree", "arity": arity, "depth": depth},
            "preset": "insecure-test",
        })
    };
    let mut labels = fibonacci(1, 0);
    labels["labels"] = json!({"a": "1", "b": "2"});
    let mut deadline = fibonacci(1, 0);
    deadline["deadline_s"] = json!(61);
    for job in [
        fibonacci(101, 0),
        quick_chain(&json!({"program": "keccak", "num_hashes": 11}), 0),
        fibonacci(1, 3),
        tree(2, 3),
        tree(8, 1),
        labels,
        deadline,
    ] {
        for path in ["/v1/jobs", "/v1/jobs:validate"] {
            let response = server.post(path, &job).await;
            assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY, "{job}");
            let problem: Value = response.json().await.unwrap();
            assert_eq!(problem["type"], "/problems/over-limit", "{job}: {problem}");
            assert!(problem["detail"].as_str().unwrap().contains("at most"), "{problem}");
        }
    }
    assert_eq!(server.prove(&tree(2, 2)).await["state"], "succeeded");
}
