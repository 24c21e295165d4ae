//! Jobs over HTTP, from submission to removal, on a spawned server.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use common::server::Server;
use common::{arbor, assert_code};
use reqwest::StatusCode;
use serde_json::{Value, json};

fn chain(base: &Value, layers: usize) -> Value {
    json!({
        "base": base,
        "recursion": {"mode": "chain", "layers": layers},
        "preset": "insecure-test",
    })
}

fn fibonacci(n: u64, layers: usize) -> Value {
    chain(&json!({"program": "fibonacci", "n": n}), layers)
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
    let job =
        server.prove(&chain(&json!({"program": "keccak", "num_hashes": 2, "seed": 7}), 2)).await;
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

#[tokio::test]
async fn a_submission_is_answered_with_a_path_and_at_once() {
    let server = Server::start();
    let response = server.post("/v1/jobs", &fibonacci(40, 1)).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    assert!(response.headers()["etag"].to_str().unwrap().starts_with('"'));
    assert!(response.headers().get("preference-applied").is_none());
    let job: Value = response.json().await.unwrap();
    assert_eq!(location, format!("/v1/jobs/{}", job["id"].as_str().unwrap()));
    assert_eq!(job["links"]["self"], location);
    assert_eq!(job["job"]["base"]["n"], 40);
    assert!(job["estimate"]["peak_bytes"].as_u64().unwrap() > 1 << 20);
    let job = server.wait(job["id"].as_str().unwrap()).await;
    for link in ["self", "events", "tree", "timings", "proof"] {
        let response = server.get(job["links"][link].as_str().unwrap()).await;
        assert!(response.status().is_success(), "{link}");
    }
}

#[tokio::test]
async fn a_client_may_wait_for_the_end_or_for_a_change() {
    let server = Server::builder().env("ARBOR_SERVER__MAX_WAIT_S", 20).start();
    let post = server.client().post(server.url() + "/v1/jobs").json(&fibonacci(41, 1));
    let response = post.header("prefer", "wait=1000").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["preference-applied"], "wait=20");
    assert_eq!(response.json::<Value>().await.unwrap()["state"], "succeeded");

    let id = server.submit(&long()).await;
    let get = |wait: &str, etag: &str| {
        let request = server.client().get(format!("{}/v1/jobs/{id}", server.url()));
        request.header("prefer", wait).header("if-none-match", etag).send()
    };
    // Every answer that waits for a change brings one.
    let mut etag = server.get(&format!("/v1/jobs/{id}")).await.headers()["etag"].clone();
    for _ in 0..3 {
        let response = get("wait=20", etag.to_str().unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_ne!(response.headers()["etag"], etag);
        etag = response.headers()["etag"].clone();
    }
    // A wait for another version than the present one is none.
    let start = Instant::now();
    assert_eq!(get("wait=20", "\"other\"").await.unwrap().status(), StatusCode::OK);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(server.delete(&format!("/v1/jobs/{id}")).await.status(), StatusCode::ACCEPTED);
    let job = server.wait(&id).await;
    assert_eq!(job["state"], "cancelled");
    // Nothing changes any more: 304, at once.
    let last = server.get(&format!("/v1/jobs/{id}")).await.headers()["etag"].clone();
    let start = Instant::now();
    let response = get("wait=20", last.to_str().unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(response.headers()["etag"], last);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(get("wait=0", "*").await.unwrap().status(), StatusCode::NOT_MODIFIED);
}

#[tokio::test]
async fn waits_and_streams_are_bounded() {
    let server = Server::builder().env("ARBOR_SERVER__MAX_STREAMS", 1).start();
    let id = server.submit(&long()).await;
    let stream = server.get(&format!("/v1/jobs/{id}/events")).await;
    assert_eq!(stream.status(), StatusCode::OK);
    let second = server.get(&format!("/v1/jobs/{id}/events")).await;
    assert_eq!(second.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(second.headers().contains_key("retry-after"));
    assert_eq!(second.json::<Value>().await.unwrap()["type"], "/problems/busy");
    // A submission is a submission, also where it cannot wait.
    let post = server.client().post(server.url() + "/v1/jobs").json(&fibonacci(4, 0));
    let response = post.header("prefer", "wait=20").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    assert!(response.headers().get("preference-applied").is_none());
    // Who leaves makes room.
    drop(stream);
    let deadline = Instant::now() + Duration::from_secs(20);
    while server.get(&format!("/v1/jobs/{id}/events")).await.status() != StatusCode::OK {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn one_key_is_one_job() {
    let server = Server::start();
    let post = |key: &str, body: String| {
        let request = server.client().post(server.url() + "/v1/jobs").body(body);
        request.header("content-type", "application/json").header("idempotency-key", key).send()
    };
    let body = r#"{"base":{"program":"fibonacci","n":42},"preset":"insecure-test"}"#;
    let first = post("k", body.to_owned()).await.unwrap();
    assert!(first.headers().get("idempotency-replayed").is_none());
    let first: Value = first.json().await.unwrap();
    // The same said differently.
    for same in [
        body,
        r#"{ "preset": "insecure-test", "priority": 0, "base": {"n": 42, "program": "fibonacci"} }"#,
    ] {
        let again = post("k", same.to_owned()).await.unwrap();
        assert!(again.status().is_success());
        assert_eq!(again.headers()["idempotency-replayed"], "true");
        assert_eq!(again.json::<Value>().await.unwrap()["id"], first["id"]);
    }
    let other = post("k", body.replace("42", "43")).await.unwrap();
    assert_eq!(other.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let problem: Value = other.json().await.unwrap();
    assert_eq!(problem["type"], "/problems/idempotency-conflict");
    assert_eq!(problem["field"], "idempotency-key");
    let another: Value = post("l", body.to_owned()).await.unwrap().json().await.unwrap();
    assert_ne!(another["id"], first["id"]);
}

#[tokio::test]
async fn a_live_job_is_cancelled_retried_and_a_finished_one_removed() {
    let server = Server::start();
    let id = server.submit(&long()).await;
    let path = format!("/v1/jobs/{id}");
    let retry = || server.client().post(format!("{}{path}/retry", server.url())).send();

    let stale = server.client().delete(server.url() + &path).header("if-match", "\"r0\"");
    let stale = stale.send().await.unwrap();
    assert_eq!(stale.status(), StatusCode::PRECONDITION_FAILED);
    assert!(stale.headers().contains_key("etag"));
    assert_eq!(retry().await.unwrap().status(), StatusCode::CONFLICT);
    let early = server.get(&format!("{path}/proof")).await;
    assert_eq!(early.status(), StatusCode::CONFLICT);
    assert_eq!(early.json::<Value>().await.unwrap()["type"], "/problems/not-finished");

    while server.job(&id).await["progress"]["nodes_done"].as_u64().unwrap() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.delete(&path).await.status(), StatusCode::ACCEPTED);
    assert_eq!(server.wait(&id).await["state"], "cancelled");
    assert_eq!(server.get(&format!("{path}/proof")).await.status(), StatusCode::CONFLICT);

    // What was proved before is kept, and proved once.
    let response = retry().await.unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    assert_eq!(response.headers()["location"], path.as_str());
    let job = server.wait(&id).await;
    assert_eq!(job["state"], "succeeded", "{job}");
    // The node that was being proved when the job was cancelled is begun again.
    assert_complete(&server, &id, 65, 2).await;
    assert_eq!(retry().await.unwrap().status(), StatusCode::CONFLICT);

    assert_eq!(server.delete(&path).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(server.get(&path).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(server.get(&format!("{path}/proof")).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(server.delete(&path).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(retry().await.unwrap().status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_deadline_that_passes_ends_a_job() {
    let server = Server::start();
    let mut job = long();
    job["deadline_s"] = json!(1);
    job["base"]["n"] = json!(1_000);
    let id = server.submit(&job).await;
    let job = server.wait(&id).await;
    assert_eq!(job["state"], "expired", "{job}");
    assert_eq!(job["error"]["class"], "deadline");
    assert!(job["error"]["retryable"].is_boolean());
}

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
        chain(&json!({"program": "keccak", "num_hashes": 11}), 0),
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
