//! Traces, from a spawned server to collectors on this machine that take spans, refuse them, stall or are not
//! there.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod collector;
#[path = "../common/mod.rs"]
mod common;
mod tree;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use collector::{Answer, Collector, attribute};
use common::server::{Builder, Server};
use common::{arbor, stderr, stdout};
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};
use tree::{Trace, failure, hex};

/// Longest time for spans to arrive.
const PATIENCE: Duration = Duration::from_secs(60);
/// A secret, which must be nowhere but in requests to the collector.
const SECRET: &str = "c0ffee-5ec2e7";
/// What a submission may be part of.
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn traced(endpoint: &str) -> Builder {
    Server::builder().arg("--otlp-endpoint").arg(endpoint)
}

fn chain(layers: usize) -> Value {
    json!({"preset": "insecure-test", "base": {"program": "fibonacci", "n": 30},
           "recursion": {"mode": "chain", "layers": layers}})
}

fn tree_of_four() -> Value {
    json!({"preset": "insecure-test", "base": {"program": "fibonacci", "n": 30},
           "recursion": {"mode": "tree", "arity": 2, "depth": 2}})
}

/// A job that takes more than a second.
fn slow() -> Value {
    json!({"preset": "insecure-test", "base": {"program": "keccak", "num_hashes": 600},
           "recursion": {"mode": "chain", "layers": 1}})
}

/// The trace of a job, once its root is there.
async fn trace(collector: &Collector, job: &str) -> Trace {
    let has_root = |spans: &[Span]| {
        Trace::of(job, spans).spans.iter().any(|span| span.parent_span_id.is_empty())
    };
    Trace::of(job, &collector.wait_for(has_root).await)
}

/// The trace of a job that succeeded: one root, each node of its plan once with its phases, nothing else but the
/// plan.
async fn check_success(server: &Server, collector: &Collector, job: &str) -> Trace {
    let trace = trace(collector, job).await;
    trace.check_shape();
    let root = trace.root();
    assert_eq!((root.name.as_str(), failure(root)), ("job", None));
    assert_eq!(attribute(&root.attributes, "arbor.job.state"), "succeeded");
    let timings = server.get_json(&format!("/v1/jobs/{job}/timings")).await;
    let reports = timings["layers"].as_array().unwrap();
    let nodes = trace.nodes();
    assert_eq!(nodes.len(), reports.len());
    for report in reports {
        let [node] = nodes[report["id"].as_str().unwrap()][..] else { panic!("{nodes:#?}") };
        assert_eq!(failure(node), None);
        assert_eq!(node.parent_span_id, root.span_id);
        assert_eq!(node.name, report["kind"].as_str().unwrap());
        trace.check_phases(node, report);
    }
    let progress = &server.job(job).await["progress"];
    assert_eq!(attribute(&root.attributes, "arbor.nodes"), progress["nodes_total"].to_string());
    let names: BTreeSet<_> = trace.children(root).iter().map(|span| span.name.as_str()).collect();
    assert!(names.contains("plan"), "{names:?}");
    assert_eq!(trace.children(root).len(), reports.len() + 1);
    trace
}

async fn metric(server: &Server, name: &str) -> Option<u64> {
    let text = server.get("/metrics").await.text().await.unwrap();
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

/// Waits until a job is so.
async fn until(server: &Server, id: &str, so: impl Fn(&Value) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !so(&server.job(id).await) {
        assert!(Instant::now() < deadline, "{}", server.log());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until a metric has a value.
async fn metric_is(server: &Server, name: &str, value: u64) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = metric(server, name).await;
        if now == Some(value) {
            return;
        }
        assert!(Instant::now() < deadline, "{name} is {now:?}, not {value}\n{}", server.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_is_one_trace_and_its_collector_is_told_who_asks() {
    let collector = Collector::start(&[]).await;
    let mut server = Server::builder()
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())
        .env("OTEL_EXPORTER_OTLP_HEADERS", format!("authorization=Bearer%20{SECRET},x-tenant=t1"))
        .env("OTEL_SERVICE_NAME", "prover-7")
        .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.name=no")
        .env("RUST_LOG", "trace")
        .start();
    let post = server.client().post(server.url() + "/v1/jobs").json(&chain(2));
    let answer = post.header("traceparent", PARENT).send().await.unwrap();
    let id = answer.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(server.wait(&id).await["state"], "succeeded");
    let trace = check_success(&server, &collector, &id).await;

    let root = trace.root();
    let said = |key: &str| attribute(&root.attributes, key);
    assert_eq!(said("arbor.job.id"), id);
    assert_eq!(
        (said("arbor.job.program"), said("arbor.job.recursion")),
        ("fibonacci".into(), "chain".into())
    );
    assert_eq!(
        (said("arbor.job.preset"), said("arbor.job.layers")),
        ("insecure-test".into(), "2".into())
    );
    let states: Vec<_> = root.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(states, ["queued", "running", "succeeded"]);
    let [link] = &root.links[..] else { panic!("{:#?}", root.links) };
    assert_eq!(format!("00-{}-{}-01", hex(&link.trace_id), hex(&link.span_id)), PARENT);

    for headers in collector.headers() {
        assert_eq!(headers["authorization"], format!("Bearer {SECRET}"));
        assert_eq!(headers["x-tenant"], "t1");
    }
    for resource in collector.resources() {
        assert_eq!(attribute(&resource, "service.name"), "prover-7");
        assert_eq!(attribute(&resource, "deployment.environment.name"), "test");
    }
    let sent = collector.spans().len() as u64;
    metric_is(&server, "arbor_trace_spans_sent_total", sent).await;
    assert!(server.terminate(Duration::from_secs(20)).success());
    assert!(!server.log().contains(SECRET));
    // What the collector takes was not traced itself.
    assert_eq!(collector.spans().len() as u64, sent);
}

#[tokio::test]
async fn a_tree_is_one_trace_and_has_links_to_those_of_its_leaves() {
    let collector = Collector::start(&[]).await;
    let server = traced(&(collector.url() + "/v1/traces")).start();
    let tree = server.prove(&tree_of_four()).await;
    let first = tree["id"].as_str().unwrap();
    let trace = check_success(&server, &collector, first).await;
    assert_eq!(trace.nodes().len(), 7);
    assert_eq!(attribute(&trace.root().attributes, "arbor.job.leaves"), "4");
    assert!(trace.root().links.is_empty());

    let leaves = json!([{"job": first}, {"program": "fibonacci", "n": 5}]);
    let above = json!({"preset": "insecure-test",
        "recursion": {"mode": "tree", "arity": 2, "leaves": leaves}});
    let above = server.prove(&above).await;
    let id = above["id"].as_str().unwrap();
    let other = check_success(&server, &collector, id).await;
    let [link] = &other.root().links[..] else { panic!("{:#?}", other.root().links) };
    assert_eq!((&link.trace_id, &link.span_id), (&trace.root().trace_id, &trace.root().span_id));
}

#[tokio::test]
async fn a_job_whose_server_is_killed_is_still_one_trace() {
    let collector = Collector::start(&[]).await;
    let mut server = traced(&collector.url()).start();
    let id = server.submit(&chain(8)).await;
    let proved = |spans: &[Span]| Trace::of(&id, spans).nodes().len() >= 3;
    let before = Trace::of(&id, &collector.wait_for(proved).await).nodes().len();
    server.restart();
    assert_eq!(server.wait(&id).await["state"], "succeeded");
    let trace = trace(&collector, &id).await;
    trace.check_shape();
    assert_eq!(attribute(&trace.root().attributes, "arbor.job.state"), "succeeded");
    assert!(collector.spans().iter().all(|span| span.trace_id == trace.root().trace_id));
    let nodes = trace.nodes();
    for spans in nodes.values() {
        assert_eq!((spans.len(), failure(spans[0])), (1, None), "{spans:#?}");
        assert_eq!(spans[0].parent_span_id, trace.root().span_id);
    }
    // The span of one node may have been on its way when the process died.
    assert!(before >= 3 && nodes.len() >= 8, "{before} {}", nodes.len());
}

#[tokio::test]
async fn a_retry_is_a_span_of_its_own_below_the_first() {
    let collector = Collector::start(&[]).await;
    let server = traced(&collector.url()).start();
    let id = server.submit(&slow()).await;
    until(&server, &id, |job| job["state"] == "running").await;
    server.delete(&format!("/v1/jobs/{id}")).await;
    assert_eq!(server.wait(&id).await["state"], "cancelled");
    let cancelled = trace(&collector, &id).await;
    cancelled.check_shape();
    assert_eq!(failure(cancelled.root()), Some("cancelled"));
    assert_eq!(attribute(&cancelled.root().attributes, "arbor.job.state"), "cancelled");
    let nodes = cancelled.nodes();
    assert_eq!(failure(nodes["0/0"][0]), Some("the job was cancelled"));

    let retried = server.post(&format!("/v1/jobs/{id}/retry"), &json!({})).await;
    assert!(retried.status().is_success());
    assert_eq!(server.wait(&id).await["state"], "succeeded");
    let again =
        |spans: &[Span]| Trace::of(&id, spans).spans.iter().any(|span| span.name == "job again");
    let whole = Trace::of(&id, &collector.wait_for(again).await);
    let again = whole.children(whole.root()).into_iter().find(|span| span.name == "job again");
    let again = again.unwrap();
    assert_eq!(
        (attribute(&again.attributes, "arbor.job.retry"), failure(again)),
        ("1".into(), None)
    );
    let timings = server.get_json(&format!("/v1/jobs/{id}/timings")).await;
    for report in timings["layers"].as_array().unwrap() {
        let node = report["id"].as_str().unwrap();
        let proved: Vec<_> =
            whole.nodes()[node].iter().copied().filter(|span| failure(span).is_none()).collect();
        let [proved] = proved[..] else { panic!("{node}: {proved:#?}") };
        assert_eq!(proved.parent_span_id, again.span_id);
        whole.check_phases(proved, report);
    }
}

#[tokio::test]
async fn a_deadline_shows_and_what_still_ran_lies_within() {
    let collector = Collector::start(&[]).await;
    let server = traced(&collector.url()).start();
    let mut job = slow();
    job["deadline_s"] = json!(1);
    let id = server.submit(&job).await;
    assert_eq!(server.wait(&id).await["state"], "expired");
    let trace = trace(&collector, &id).await;
    trace.check_shape();
    assert_eq!(failure(trace.root()), Some("the deadline has passed"));
    assert_eq!(attribute(&trace.root().attributes, "arbor.job.state"), "expired");
    for span in trace.nodes().into_values().flatten() {
        assert_eq!(failure(span), Some("the deadline has passed"));
    }
}

#[tokio::test]
async fn a_collector_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    let collector =
        Collector::start(&[Answer::Status(503), Answer::Status(429), Answer::AllBut(2)]).await;
    let server = traced(&collector.url()).start();
    let id = server.prove(&chain(1)).await["id"].as_str().unwrap().to_owned();
    check_success(&server, &collector, &id).await;
    let refused = "arbor_trace_spans_dropped_total{reason=\"refused\"}";
    metric_is(&server, refused, 2).await;
    let came = collector.spans().len() as u64;
    metric_is(&server, "arbor_trace_spans_sent_total", came - 2).await;
    assert_eq!(server.log().matches("spans of traces").count(), 1, "{}", server.log());

    let refusing = Collector::start(&[Answer::Status(401); 500]).await;
    let server = traced(&refusing.url()).start();
    server.prove(&chain(1)).await;
    // The root, the plan with one phase or more, a base with seven and a layer with eight.
    let deadline = Instant::now() + PATIENCE;
    while metric(&server, refused).await < Some(18) {
        assert!(Instant::now() < deadline, "{}", server.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(metric(&server, "arbor_trace_spans_sent_total").await, Some(0));
    assert_eq!(server.log().matches("spans of traces").count(), 1, "{}", server.log());
    assert!(server.log().contains("401"), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_stalls_or_is_down_delays_neither_jobs_nor_the_end() {
    let stalling = Collector::stalling().await;
    for endpoint in [stalling.url(), Collector::down().await] {
        let mut server = traced(&endpoint)
            .env("ARBOR_TELEMETRY__OTLP_TIMEOUT_MS", 600_000)
            .env("ARBOR_SERVER__SHUTDOWN_GRACE_S", 8)
            .start();
        let start = Instant::now();
        server.prove(&chain(3)).await;
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
        assert_eq!(metric(&server, "arbor_trace_spans_sent_total").await, Some(0));
        let start = Instant::now();
        assert!(server.terminate(Duration::from_secs(8)).success());
        println!("{endpoint}: ended after {:?}", start.elapsed());
        assert!(server.log().contains("spans of traces"), "{}", server.log());
        // What was not sent is no reason for the job not to be there.
        assert!(server.log().contains("ended"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_there_is_at_the_end_is_sent() {
    let collector = Collector::start(&[]).await;
    let mut server = traced(&collector.url()).start();
    let id = server.submit(&slow()).await;
    until(&server, &id, |job| job["progress"]["nodes_done"] != 0).await;
    assert!(server.terminate(Duration::from_secs(60)).success());
    // The base was proved; what came after it was finished or handed back, and says so.
    let trace = Trace::of(&id, &collector.spans());
    assert_eq!(failure(trace.nodes()["0/0"][0]), None);
    let dropped = server.log().contains("spans of traces are dropped");
    assert!(!dropped, "{}", server.log());
}

#[tokio::test]
async fn without_an_endpoint_or_a_share_nothing_is_sent() {
    let collector = Collector::start(&[]).await;
    let off = Server::start();
    off.prove(&chain(0)).await;
    assert_eq!(metric(&off, "arbor_trace_spans_sent_total").await, Some(0));
    assert!(!off.log().contains("traced"), "{}", off.log());
    for (name, value) in [
        ("ARBOR_TELEMETRY__SAMPLE_RATIO", "0"),
        ("OTEL_TRACES_SAMPLER", "always_off"),
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_TRACES_EXPORTER", "none"),
    ] {
        let server = Server::builder()
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())
            .env(name, value)
            .start();
        server.prove(&chain(0)).await;
        assert_eq!(metric(&server, "arbor_trace_spans_sent_total").await, Some(0), "{name}");
    }
    assert!(collector.headers().is_empty());
}

#[test]
fn what_cannot_be_done_is_refused_by_name_and_secrets_are_not_shown() {
    for (name, value, says) in [
        (
            "OTEL_EXPORTER_OTLP_PROTOCOL",
            "grpc",
            "telemetry.otlp_protocol (from OTEL_EXPORTER_OTLP_PROTOCOL)",
        ),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", "OTEL_EXPORTER_OTLP_COMPRESSION"),
        ("ARBOR_TELEMETRY__OTLP_ENDPOINT", "grpc://h:4317", "telemetry.otlp_endpoint"),
    ] {
        let (status, log) = Server::builder()
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
            .env(name, value)
            .fail();
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(log.contains(says) && log.lines().count() == 1, "{log}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("service.toml");
    std::fs::write(
        &file,
        format!(
            "[telemetry]\notlp_endpoint = \"https://c\"\notlp_headers = [\"api-key={SECRET}\"]\n"
        ),
    )
    .unwrap();
    for format in [&[][..], &["--json"]] {
        let words = ["config", "check", "--config", file.to_str().unwrap()];
        let output = arbor(format.iter().chain(&words));
        common::assert_code(&output, 0);
        let shown = stdout(&output) + &stderr(&output);
        assert!(shown.contains("api-key=<hidden>"), "{shown}");
        assert!(!shown.contains(SECRET), "{shown}");
    }
}
