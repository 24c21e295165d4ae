//! A receiver of webhooks on this machine.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// How one message is answered; when there are no more of these, with 200.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Status(u16),
    Redirect(u16, String),
    /// Not at all.
    Stall,
}

/// A message as it came.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) path: String,
    pub(crate) id: String,
    pub(crate) timestamp: String,
    pub(crate) signature: String,
    pub(crate) body: Vec<u8>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    messages: Mutex<Vec<Message>>,
    answers: Mutex<std::collections::VecDeque<Answer>>,
}

/// It ends when it is dropped.
pub(crate) struct Receiver {
    address: SocketAddr,
    seen: Arc<Seen>,
    task: JoinHandle<()>,
}

impl Receiver {
    pub(crate) async fn start(address: &str, answers: Vec<Answer>) -> Self {
        Self::listen(address, answers, None).await
    }

    /// One that speaks TLS, with a certificate for 127.0.0.1 that signs itself and guards nothing.
    pub(crate) async fn start_tls(address: &str) -> Self {
        let certificate = CertificateDer::from_pem_slice(include_bytes!("receiver.crt")).unwrap();
        let key = PrivateKeyDer::from_pem_slice(include_bytes!("receiver.key")).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        Self::listen(address, Vec::new(), Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    async fn listen(address: &str, answers: Vec<Answer>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen { answers: Mutex::new(answers.into()), ..Seen::default() });
        let task = tokio::spawn({
            let seen = Arc::clone(&seen);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    seen.connections.fetch_add(1, Ordering::SeqCst);
                    let (seen, tls) = (Arc::clone(&seen), tls.clone());
                    tokio::spawn(async move {
                        match tls {
                            None => serve(stream, &seen).await,
                            Some(tls) => match tls.accept(stream).await {
                                Ok(stream) => serve(stream, &seen).await,
                                Err(_) => None,
                            },
                        }
                    });
                }
            }
        });
        Self { address, seen, task }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn messages(&self) -> Vec<Message> {
        self.seen.messages.lock().unwrap().clone()
    }

    pub(crate) async fn wait_for(&self, messages: usize) {
        let deadline = Instant::now() + super::PATIENCE;
        while self.messages().len() < messages {
            assert!(Instant::now() < deadline, "{:?}", self.messages());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends it, and gives its address, where nobody listens any more.
    pub(crate) async fn stop(mut self) -> SocketAddr {
        self.task.abort();
        let _ = (&mut self.task).await;
        self.address
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One request of one connection. None if it is no message.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, seen: &Seen) -> Option<()> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).ok()?;
    let header = |name: &str| -> Option<String> {
        let mut lines = text.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let length: usize = header("content-length")?.parse().ok()?;
    let mut body = bytes[head + 4..].to_vec();
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    assert!(text.starts_with("POST "), "{text}");
    assert_eq!(header("content-type")?, "application/json");
    seen.messages.lock().unwrap().push(Message {
        path: text.split(' ').nth(1)?.to_owned(),
        id: header("webhook-id")?,
        timestamp: header("webhook-timestamp")?,
        signature: header("webhook-signature")?,
        body,
    });
    let answer = seen.answers.lock().unwrap().pop_front().unwrap_or(Answer::Status(200));
    let answer = match answer {
        Answer::Status(status) => format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n"),
        Answer::Redirect(status, to) => {
            format!("HTTP/1.1 {status} x\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
        }
        Answer::Stall => {
            // Until the other side gives up.
            let _ = stream.read_u8().await;
            return None;
        }
    };
    stream.write_all(answer.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}
