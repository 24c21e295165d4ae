//! A proxy on loopback that breaks connections off where a test wants it, and remembers what was asked.

// Every test target compiles this module and uses a part of it.
#![allow(dead_code, missing_docs, unreachable_pub)]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What happens to the answer of one request.
#[derive(Clone, Copy)]
pub enum Fault {
    /// It breaks off after so many bytes, the head included.
    CutAfter(usize),
    /// The byte at this place, counted from the head on, is another one.
    Flip(usize),
}

pub struct Proxy {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// In front of `server`, which is `http://HOST:PORT`. The first requests whose first line contains
    /// `path` meet the faults, one each.
    pub fn start(server: &str, path: &'static str, faults: Vec<Fault>) -> Self {
        let upstream = server.strip_prefix("http://").expect("http").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        let left = Arc::new(Mutex::new(faults));
        // The thread ends with the test's process.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (upstream, seen, left) =
                    (upstream.clone(), Arc::clone(&seen), Arc::clone(&left));
                thread::spawn(move || serve(client, &upstream, path, &seen, &left));
            }
        });
        Self { address, heads }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Heads of the requests whose first line contains `path`, in lower case, in order.
    pub fn heads(&self, path: &str) -> Vec<String> {
        let heads = self.heads.lock().expect("no panic");
        heads
            .iter()
            .filter(|head| head.lines().next().is_some_and(|line| line.contains(path)))
            .cloned()
            .collect()
    }
}

/// One request: its connection ends with the answer, so that every request is seen.
fn serve(
    mut client: TcpStream,
    upstream: &str,
    path: &str,
    seen: &Mutex<Vec<String>>,
    left: &Mutex<Vec<Fault>>,
) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if !matches!(client.read(&mut byte), Ok(1)) {
            return;
        }
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).to_lowercase();
    let first = text.lines().next().unwrap_or_default().to_owned();
    seen.lock().expect("no panic").push(text);
    let fault = if first.contains(path) {
        let mut left = left.lock().expect("no panic");
        if left.is_empty() { None } else { Some(left.remove(0)) }
    } else {
        None
    };
    head.truncate(head.len() - 2);
    head.extend_from_slice(b"connection: close\r\n\r\n");
    let Ok(mut server) = TcpStream::connect(upstream) else { return };
    if server.write_all(&head).is_err() {
        return;
    }
    let (Ok(mut body), Ok(mut to)) = (client.try_clone(), server.try_clone()) else { return };
    thread::spawn(move || std::io::copy(&mut body, &mut to));
    let _ = match fault {
        None => std::io::copy(&mut server, &mut client),
        Some(Fault::CutAfter(bytes)) => {
            std::io::copy(&mut (&mut server).take(bytes as u64), &mut client)
        }
        Some(Fault::Flip(place)) => {
            let mut before = vec![0; place + 1];
            let filled = server.read_exact(&mut before);
            before[place] ^= 1;
            filled
                .and_then(|()| client.write_all(&before))
                .and_then(|()| std::io::copy(&mut server, &mut client))
        }
    };
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}
