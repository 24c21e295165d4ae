//! Event streams: whole, replayed, alive, and ended.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use common::server::Server;
use futures::StreamExt;
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

fn fibonacci(layers: usize) -> Value {
    json!({
        "base": {"program": "fibonacci", "n": 50},
        "recursion": {"mode": "chain", "layers": layers},
        "preset": "insecure-test",
    })
}

/// One event: id, kind, details.
type Event = (i64, String, Value);

/// The events in a part of a stream that ends with a whole one, comments left out.
fn parse(text: &str) -> Vec<Event> {
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty());
    let events = blocks.filter_map(|block| {
        let field = |name: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.map(str::to_owned)
        };
        let id = field("id")?.parse().unwrap();
        Some((id, field("event").unwrap(), serde_json::from_str(&field("data").unwrap()).unwrap()))
    });
    events.collect()
}

async fn stream(server: &Server, id: &str, last: Option<i64>) -> Response {
    let mut request = server.client().get(format!("{}/v1/jobs/{id}/events", server.url()));
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    request.send().await.unwrap()
}

/// Ids without gaps, a state first and the final one last.
fn assert_whole(events: &[Event], first: i64, state: &str) {
    for (event, id) in events.iter().zip(first..) {
        assert_eq!(event.0, id);
        assert!(event.2["at_ms"].as_i64().unwrap() > 1_700_000_000_000, "{event:?}");
    }
    let (_, kind, data) = events.last().unwrap();
    assert_eq!((kind.as_str(), &data["state"]), ("state", &json!(state)));
}

#[tokio::test]
async fn a_stream_tells_everything_and_ends_with_the_job() {
    let server = Server::start();
    let id = server.submit(&fibonacci(2)).await;
    let response = stream(&server, &id, None).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let events = parse(&response.text().await.unwrap());
    assert_whole(&events, 1, "succeeded");
    assert_eq!((events[0].1.as_str(), &events[0].2["state"]), ("state", &json!("queued")));
    let nodes = |kind: &str| {
        let events = events.iter().filter(|event| event.1 == kind);
        events.map(|event| event.2["node"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(nodes("node-started"), ["0/0", "1/0", "2/0"]);
    assert_eq!(nodes("node-finished"), ["0/0", "1/0", "2/0"]);
    for (_, _, data) in events.iter().filter(|event| event.1 == "node-finished") {
        assert!(data["report"]["timings_ms"]["total"].as_f64().unwrap() > 0.0, "{data}");
    }
    assert!(events.iter().any(|event| event.1 == "progress"));
}

#[tokio::test]
async fn a_stream_goes_on_after_the_last_event_that_is_known() {
    let server = Server::start();
    let job = server.prove(&fibonacci(1)).await;
    let id = job["id"].as_str().unwrap();
    let all = parse(&stream(&server, id, None).await.text().await.unwrap());
    let last = all.last().unwrap().0;
    for after in 0..last {
        let events = parse(&stream(&server, id, Some(after)).await.text().await.unwrap());
        assert_eq!(events, all[usize::try_from(after).unwrap()..], "after {after}");
        let query = server.get(&format!("/v1/jobs/{id}/events?after={after}")).await;
        assert_eq!(parse(&query.text().await.unwrap()), events, "after {after}");
    }
    // The header goes before the query: it is what a browser adds when it comes back.
    let both = server.client().get(format!("{}/v1/jobs/{id}/events?after=0", server.url()));
    let both = both.header("last-event-id", last - 1).send().await.unwrap();
    assert_eq!(parse(&both.text().await.unwrap()), all[all.len() - 1..]);
    // Nothing is left: a browser stops asking.
    for after in [last, last + 1, i64::MAX] {
        assert_eq!(stream(&server, id, Some(after)).await.status(), StatusCode::NO_CONTENT);
    }
    for bad in ["x", "-1", "1.5", "", "99999999999999999999"] {
        let request = server.client().get(format!("{}/v1/jobs/{id}/events", server.url()));
        let response = request.header("last-event-id", bad).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{bad:?}");
        let path = format!("/v1/jobs/{id}/events?after={bad}");
        assert_eq!(server.get(&path).await.status(), StatusCode::BAD_REQUEST, "{bad:?}");
    }
}

#[tokio::test]
async fn a_client_that_drops_in_the_middle_misses_nothing() {
    let server = Server::start();
    let id = server.submit(&fibonacci(20)).await;
    let mut known = 0;
    let mut seen = Vec::new();
    // Three times a few events, then the connection is dropped.
    for _ in 0..3 {
        let mut body = stream(&server, &id, Some(known)).await.bytes_stream();
        let mut text = String::new();
        while parse_whole(&text).len() < 3 {
            match body.next().await {
                Some(chunk) => text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap()),
                None => break,
            }
        }
        seen.extend(parse_whole(&text));
        known = seen.last().map_or(0, |event: &Event| event.0);
    }
    seen.extend(parse(&stream(&server, &id, Some(known)).await.text().await.unwrap()));
    assert_whole(&seen, 1, "succeeded");
    assert_eq!(seen, parse(&stream(&server, &id, None).await.text().await.unwrap()));
    assert_eq!(seen.iter().filter(|event| event.1 == "node-finished").count(), 21);
}

/// The whole events in a text that may end in the middle of one.
fn parse_whole(text: &str) -> Vec<Event> {
    text.rfind("\n\n").map_or(Vec::new(), |end| parse(&text[..end]))
}

#[tokio::test]
async fn a_quiet_stream_stays_alive() {
    let server = Server::builder()
        .env("ARBOR_SERVER__KEEP_ALIVE_S", 1)
        .env("ARBOR_SERVER__WRITE_TIMEOUT_S", 1)
        .env("ARBOR_SERVER__HEADER_TIMEOUT_S", 1)
        .start();
    // The second job waits for the first: nothing happens to it.
    let busy = json!({
        "base": {"program": "keccak", "num_hashes": 1_000},
        "recursion": {"mode": "chain", "layers": 1},
    });
    let busy = server.submit(&busy).await;
    let id = server.submit(&fibonacci(0)).await;
    let mut body = stream(&server, &id, None).await.bytes_stream();
    let start = Instant::now();
    let mut text = String::new();
    while !text.contains(": keep-alive") {
        assert!(start.elapsed() < Duration::from_secs(30), "{text}");
        match body.next().await {
            Some(chunk) => text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap()),
            None => break,
        }
    }
    assert!(text.contains(": keep-alive"), "{text}");
    server.delete(&format!("/v1/jobs/{busy}")).await;
}

#[tokio::test]
async fn a_stream_ends_when_its_job_is_removed_or_the_server_ends() {
    let mut server = Server::start();
    let id = server.submit(&fibonacci(64)).await;
    let mut body = stream(&server, &id, None).await.bytes_stream();
    assert!(body.next().await.is_some());
    let end =
        tokio::spawn(async move { while body.next().await.is_some_and(|chunk| chunk.is_ok()) {} });
    let status = server.terminate(Duration::from_secs(30));
    assert_eq!(status.code(), Some(0), "{}", server.log());
    tokio::time::timeout(Duration::from_secs(5), end).await.unwrap().unwrap();
}
