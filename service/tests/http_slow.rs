//! Clients that are slow, that come in crowds, or that send heads without an end.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use common::server::{Server, raw, raw_status};

/// Reads what comes until the server closes the connection, for at most `limit`.
fn rest(stream: &mut TcpStream, limit: Duration) -> Vec<u8> {
    stream.set_read_timeout(Some(limit)).unwrap();
    let mut answer = Vec::new();
    // A reset is an end, too.
    let _ = stream.read_to_end(&mut answer);
    answer
}

fn status(answer: &[u8]) -> Option<u16> {
    String::from_utf8_lossy(answer).split(' ').nth(1)?.parse().ok()
}

/// Sends one byte after the other until the server has had enough, for at most `limit`. Gives the time that
/// took.
fn drip(stream: &mut TcpStream, bytes: &[u8], limit: Duration) -> Duration {
    let start = Instant::now();
    for byte in bytes.iter().cycle() {
        if stream.write_all(std::slice::from_ref(byte)).is_err() || start.elapsed() > limit {
            break;
        }
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        match stream.peek(&mut [0]) {
            // An answer, or the end.
            Ok(_) => break,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    start.elapsed()
}

#[test]
fn a_head_that_drips_is_not_waited_for() {
    let server = Server::builder().env("ARBOR_SERVER__HEADER_TIMEOUT_S", 1).start();
    let mut slow: Vec<TcpStream> =
        (0..8).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    std::thread::scope(|scope| {
        for stream in &mut slow {
            scope.spawn(move || {
                stream.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n").unwrap();
                let took = drip(stream, b"x-a: b\r\n", Duration::from_secs(20));
                assert!(took < Duration::from_secs(10), "{took:?}");
                let answer = rest(stream, Duration::from_secs(5));
                assert!(matches!(status(&answer), None | Some(408)), "{answer:?}");
            });
        }
        assert_eq!(raw_status(server.address(), "/livez"), Some(200));
    });
}

#[test]
fn a_body_that_drips_is_answered_with_408() {
    let server = Server::builder().env("ARBOR_SERVER__BODY_TIMEOUT_S", 1).start();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = "POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                content-length: 100000\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let took = drip(&mut stream, b" ", Duration::from_secs(20));
    assert!(took < Duration::from_secs(10), "{took:?}");
    let answer = rest(&mut stream, Duration::from_secs(2));
    assert_eq!(status(&answer), Some(408), "{answer:?}");
    assert!(String::from_utf8_lossy(&answer).contains("/problems/request-timeout"));
}

/// Resident memory of a process in KiB.
fn resident(server: &Server) -> u64 {
    server.memory("VmRSS") >> 10
}

#[test]
fn a_thousand_idle_connections_hinder_nobody() {
    const IDLE: usize = 1000;
    let server = Server::builder().env("ARBOR_SERVER__HEADER_TIMEOUT_S", 120).start();
    let before = resident(&server);
    let open = |n: usize| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        // Half of them have begun to say something.
        if n.is_multiple_of(2) {
            stream.write_all(b"GET /livez HTTP/1.1\r\nhost:").unwrap();
        }
        stream
    };
    let mut idle: Vec<TcpStream> = (0..IDLE).map(open).collect();
    let answered = |address: SocketAddr| {
        let start = Instant::now();
        assert_eq!(raw_status(address, "/v1/jobs"), Some(200));
        start.elapsed()
    };
    let slowest = (0..20).map(|_| answered(server.address())).max().unwrap();
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    let metrics = raw(
        server.address(),
        b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    );
    let metrics = String::from_utf8(metrics.unwrap()).unwrap();
    let count = metrics.lines().find_map(|line| line.strip_prefix("arbor_http_connections "));
    assert!(count.unwrap().parse::<f64>().unwrap() >= IDLE as f64, "{count:?}");
    let grown = resident(&server).saturating_sub(before);
    assert!(grown < 64 << 10, "{grown} KiB for {IDLE} connections");
    // They are whole still.
    let last = idle.last_mut().unwrap();
    last.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    assert_eq!(status(&rest(last, Duration::from_secs(10))), Some(200));
    drop(idle);
    assert_eq!(raw_status(server.address(), "/livez"), Some(200));
}

#[test]
fn heads_without_an_end_are_refused() {
    let server = Server::builder().env("ARBOR_SERVER__MAX_HEADER_BYTES", 8192).start();
    let one_large = format!("x-a: {}\r\n", "b".repeat(64 << 10));
    let many: String = (0..500).map(|n| format!("x-{n}: b\r\n")).collect();
    let long_path = format!("/{}", "a".repeat(64 << 10));
    for (path, headers, statuses) in [
        ("/livez", one_large.as_str(), &[431][..]),
        ("/livez", &many, &[431]),
        (&long_path, "", &[414, 431]),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}");
        let mut stream = TcpStream::connect(server.address()).unwrap();
        // The server may close before all is sent.
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.write_all(b"\r\n");
        let answer = rest(&mut stream, Duration::from_secs(10));
        // Closing with unread bytes may take the answer with it: then there is none, and nothing else.
        let status = status(&answer);
        assert!(status.is_none_or(|status| statuses.contains(&status)), "{status:?}");
    }
    // Without an end at all: memory is not taken.
    let before = resident(&server);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
    let _ = stream.write_all(b"GET /livez HTTP/1.1\r\nx-a: ");
    let mut sent = 0;
    while sent < 32 << 20 && stream.write_all(&[b'b'; 64 << 10]).is_ok() {
        sent += 64 << 10;
    }
    assert!(sent < 32 << 20, "the server reads on");
    assert!(resident(&server).saturating_sub(before) < 16 << 10);
    assert_eq!(raw_status(server.address(), "/livez"), Some(200));
}
