//! The dashboard shows metrics that a server has.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use common::server::Server;
use serde_json::{Value, json};

/// Every expression of a dashboard.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("expr").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| expressions(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

/// Names of metrics in a text.
fn names(text: &str) -> impl Iterator<Item = String> {
    let word = |c: char| !(c.is_ascii_lowercase() || c == '_');
    text.split(word).filter(|name| name.starts_with("arbor_")).map(str::to_owned)
}

#[tokio::test]
async fn every_metric_of_the_dashboard_is_there_after_one_job() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../configs/grafana/arbor.json");
    let dashboard: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let mut found = Vec::new();
    expressions(&dashboard, &mut found);
    assert!(found.len() >= 20);
    let server = Server::start();
    let job = json!({
        "base": {"program": "fibonacci", "n": 5},
        "recursion": {"mode": "chain", "layers": 1},
        "preset": "insecure-test",
    });
    server.prove(&job).await;
    let text = server.get("/metrics").await.text().await.unwrap();
    let there: BTreeSet<String> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| names(line).next())
        .collect();
    for expression in found {
        assert!(names(&expression).next().is_some(), "{expression}");
        for name in names(&expression) {
            assert!(there.contains(&name), "{name} of {expression} is not in\n{text}");
        }
    }
    // Labels that the dashboard sums by are there, too.
    for label in [
        "state=\"running\"",
        "phase=\"total\"",
        "reason=\"quota\"",
        "reason=\"storage\"",
        "kind=\"layer\"",
        "class=\"crashed\"",
    ] {
        assert!(text.contains(label), "{label} is not in\n{text}");
    }
}

#[tokio::test]
async fn every_metric_says_what_it_is() {
    let server = Server::start();
    let ended = |text: &str, state: &str, class: &str| {
        let labels = format!("arbor_jobs_ended_total{{state=\"{state}\",class=\"{class}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&labels));
        line.unwrap_or_else(|| panic!("{labels} is not in\n{text}")).to_owned()
    };
    let metrics = async || server.get("/metrics").await.text().await.unwrap();
    let before = metrics().await;
    assert_eq!(ended(&before, "succeeded", "none"), "0");
    let job = json!({
        "base": {"program": "fibonacci", "n": 5},
        "recursion": {"mode": "chain", "layers": 1},
        "preset": "insecure-test",
    });
    server.prove(&job).await;
    let mut text = metrics().await;
    // Whoever watches a job may know a moment before its end is counted.
    for _ in 0..100 {
        if ended(&text, "succeeded", "none") != "0" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        text = metrics().await;
    }
    assert_eq!(ended(&text, "succeeded", "none"), "1");
    assert_eq!(ended(&text, "failed", "internal"), "0");
    let of = |kind: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(kind));
        lines.filter_map(|line| names(line).next()).collect::<BTreeSet<_>>()
    };
    let kinds = of("# TYPE ");
    assert!(kinds.len() > 20, "{text}");
    assert_eq!(&kinds - &of("# HELP "), BTreeSet::new());
}
