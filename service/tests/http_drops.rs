//! Clients that leave in the middle of an answer: what was kept for them is given back.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use common::server::{Server, raw};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Time in which a server notices that a client has left. None of its own times is as short here.
const NOTICED: Duration = Duration::from_secs(30);

/// Asks for a path and takes little more than the head of the answer: the head, and the connection, on which the
/// rest waits.
async fn begin(server: &Server, path: &str) -> (String, TcpStream) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(server.address()).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    loop {
        let mut part = [0; 256];
        let read = stream.read(&mut part).await.unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend(&part[..read]);
        let text = String::from_utf8_lossy(&answer);
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            return (head.to_owned(), stream);
        }
    }
}

/// Open connections, the one on which this is asked included. It is not kept.
fn connections(server: &Server) -> u64 {
    let request = b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let answer = String::from_utf8(raw(server.address(), request).unwrap()).unwrap();
    let count = answer.lines().find_map(|line| line.strip_prefix("arbor_http_connections "));
    count.unwrap().parse().unwrap()
}

/// A server that waits for clients longer than these tests do.
fn patient(most_streams: usize) -> Server {
    Server::builder()
        .env("ARBOR_SERVER__MAX_STREAMS", most_streams)
        .env("ARBOR_SERVER__KEEP_ALIVE_S", 300)
        .env("ARBOR_SERVER__WRITE_TIMEOUT_S", 300)
        .env("ARBOR_SERVER__HEADER_TIMEOUT_S", 300)
        .start()
}

#[tokio::test]
async fn downloads_that_break_off_leave_nothing_behind() {
    let server = patient(256);
    // 500 queries of 2633 columns: more than systems take off a server's hands in advance.
    let large = json!({
        "base": {"program": "keccak", "num_hashes": 1, "fri": {"num_queries": 500}},
        "recursion": {"mode": "chain", "layers": 0},
        "preset": "insecure-test",
    });
    let job = server.prove(&large).await;
    let bytes = job["proof"]["bytes"].as_u64().unwrap();
    assert!(bytes > 5_000_000, "{bytes} bytes");
    let path = format!("/v1/jobs/{}/proof", job["id"].as_str().unwrap());
    let live = connections(&server);
    for _ in 0..3 {
        let mut open = Vec::new();
        for _ in 0..10 {
            let (head, stream) = begin(&server, &path).await;
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            assert!(head.contains(&format!("content-length: {bytes}")), "{head}");
            open.push(stream);
        }
        assert!(connections(&server) >= live + 10);
        drop(open);
        let left = Instant::now();
        while connections(&server) > live {
            assert!(left.elapsed() < NOTICED, "{} are open", connections(&server));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let whole = server.get(&path).await;
    let tag = whole.headers()["etag"].to_str().unwrap().to_owned();
    let whole = whole.bytes().await.unwrap();
    assert_eq!(whole.len() as u64, bytes);
    assert_eq!(tag, format!("\"{}\"", blake3::hash(&whole).to_hex()));
}

#[tokio::test]
async fn an_event_stream_that_breaks_off_gives_its_place_back() {
    let server = patient(1);
    // The second job waits for the first: nothing happens to it, so nothing is written to who follows it.
    let busy = json!({
        "base": {"program": "fibonacci", "n": 1000},
        "recursion": {"mode": "tree", "arity": 2, "depth": 8},
    });
    server.submit(&busy).await;
    let quiet = json!({"base": {"program": "fibonacci", "n": 5}, "preset": "insecure-test"});
    let path = format!("/v1/jobs/{}/events", server.submit(&quiet).await);
    for _ in 0..10 {
        let left = Instant::now();
        let open = loop {
            let (head, stream) = begin(&server, &path).await;
            if head.starts_with("HTTP/1.1 200 ") {
                break stream;
            }
            assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
            assert!(left.elapsed() < NOTICED, "the place is still taken");
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let (head, _) = begin(&server, &path).await;
        assert!(head.starts_with("HTTP/1.1 503 "), "there is one place: {head}");
        drop(open);
    }
}
