//! A server of one's own: a spawned `arbor serve` on a free port of this machine, and a client for it.

// Every test target compiles this module and uses a part of it.
#![allow(dead_code, missing_docs, unreachable_pub)]

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::{Client, ClientBuilder, Response, StatusCode};
use serde_json::Value;
use tempfile::TempDir;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Longest time for a server to listen and be ready.
const START: Duration = Duration::from_secs(60);
/// Longest time for a job of a test.
const JOB: Duration = Duration::from_secs(240);

/// What a server is started with.
#[derive(Clone)]
pub struct Builder {
    arguments: Vec<OsString>,
    environment: Vec<(String, String)>,
    data: Option<PathBuf>,
    listen: Option<String>,
    uid: Option<u32>,
}

/// A client for the servers of tests, which speak no TLS: it trusts nobody.
pub fn http_client() -> Client {
    client_builder().build().expect("a client")
}

/// The same, to be configured.
pub fn client_builder() -> ClientBuilder {
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring's versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Client::builder().tls_backend_preconfigured(tls)
}

/// A chain whose parameters cost nothing and protect nothing.
pub fn quick_chain(base: &Value, layers: usize) -> Value {
    serde_json::json!({
        "base": base,
        "recursion": {"mode": "chain", "layers": layers},
        "preset": "insecure-test",
    })
}

impl Builder {
    /// One more argument of `arbor serve`.
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// One more variable of its environment.
    #[allow(clippy::needless_pass_by_value, reason = "reads better where it is called")]
    pub fn env(mut self, name: &str, value: impl ToString) -> Self {
        self.environment.push((name.to_owned(), value.to_string()));
        self
    }

    /// Another address than a free port of this machine alone, for servers that do not start.
    pub fn listen_on(mut self, address: &str) -> Self {
        self.listen = Some(address.to_owned());
        self
    }

    /// A data folder that outlives the server; else it has one of its own.
    pub fn data_dir(mut self, folder: &Path) -> Self {
        self.data = Some(folder.to_owned());
        self
    }

    /// Another user than that of the test, which must be root to do so.
    pub fn uid(mut self, uid: u32) -> Self {
        self.uid = Some(uid);
        self
    }

    /// Gives a folder to the server's user.
    #[track_caller]
    fn give(&self, folder: &Path) {
        #[cfg(unix)]
        if let Some(uid) = self.uid
            && let Err(error) = std::os::unix::fs::chown(folder, Some(uid), Some(uid))
        {
            panic!("{} cannot be given to the user {uid}: {error}", folder.display());
        }
    }

    /// The command, to be changed further and spawned by [`Self::spawn`].
    fn command(&self, own: &Path, data: &Path, port: u16) -> Command {
        let log = std::fs::File::options().create(true).append(true).open(own.join("log"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_arbor"));
        let listen = self.listen.clone().unwrap_or_else(|| format!("127.0.0.1:{port}"));
        command
            .args(["serve", "--listen", &listen, "--data-dir"])
            .arg(data)
            .args(&self.arguments)
            .env_remove("RUST_LOG")
            .env_remove("ARBOR_SERVER")
            .env_remove("ARBOR_API_KEY")
            .env_remove("ARBOR_CA_FILE")
            .env_remove("ARBOR_ALLOW_HTTP")
            .env_remove("ARBOR_RETAIN_MEMORY")
            .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT")
            .env_remove("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
            .env("ARBOR_DATA__MIN_FREE_BYTES", (64 << 20).to_string())
            .env("ARBOR_ENGINE__THREADS", "2")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            // No configuration file lies here.
            .current_dir(own)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.expect("the log can be written"));
        #[cfg(unix)]
        if let Some(uid) = self.uid {
            std::os::unix::process::CommandExt::uid(&mut command, uid);
            std::os::unix::process::CommandExt::gid(&mut command, uid);
        }
        command
    }

    /// Starts it and waits until it is ready.
    #[track_caller]
    pub fn start(self) -> Server {
        let mut server = self.listen();
        server.wait_ready();
        server
    }

    /// Starts it and waits until it listens.
    #[track_caller]
    pub fn listen(self) -> Server {
        let own = TempDir::new().expect("a temporary folder");
        self.give(own.path());
        let data = self.data.clone().unwrap_or_else(|| own.path().join("data"));
        let client = client_builder().timeout(JOB).build().expect("a client");
        let (child, address) = self.spawn(own.path(), &data, 0);
        Server { builder: self, child, address, own, data, client }
    }

    #[track_caller]
    fn spawn(&self, own: &Path, data: &Path, port: u16) -> (Child, SocketAddr) {
        let child = self.command(own, data, port).spawn();
        let mut child = child.unwrap_or_else(|error| match self.uid {
            Some(uid) => panic!("the server does not start as the user {uid}: {error}"),
            None => panic!("the server does not start: {error}"),
        });
        let stdout = child.stdout.take().expect("standard output is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("standard output can be read");
        let address = line.trim().strip_prefix("listening on http://");
        match address.and_then(|address| address.parse().ok()) {
            Some(address) => (child, address),
            None => {
                let status = child.wait();
                let log = std::fs::read_to_string(own.join("log")).unwrap_or_default();
                panic!("the server does not listen: {status:?} {line:?}\n{log}");
            }
        }
    }

    /// Runs it where it is expected not to start: its end and its standard error.
    #[track_caller]
    pub fn fail(self) -> (ExitStatus, String) {
        let own = TempDir::new().expect("a temporary folder");
        self.give(own.path());
        let data = self.data.clone().unwrap_or_else(|| own.path().join("data"));
        let mut child = self.command(own.path(), &data, 0).spawn().expect("the server starts");
        let deadline = Instant::now() + START;
        let status = loop {
            if let Some(status) = child.try_wait().expect("its end can be waited for") {
                break status;
            }
            if Instant::now() > deadline {
                let _ = child.kill();
                panic!("the server started, which it should not");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        (status, std::fs::read_to_string(own.path().join("log")).unwrap_or_default())
    }
}

/// A running server. It is killed when dropped.
pub struct Server {
    builder: Builder,
    child: Child,
    address: SocketAddr,
    own: TempDir,
    data: PathBuf,
    client: Client,
}

impl Server {
    /// A server to be configured.
    pub fn builder() -> Builder {
        let (arguments, environment) = (Vec::new(), Vec::new());
        Builder { arguments, environment, data: None, listen: None, uid: None }
    }

    /// A ready server with its defaults.
    #[track_caller]
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its data folder.
    pub fn data_dir(&self) -> &Path {
        &self.data
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.own.path().join("log")).unwrap_or_default()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the system says of the memory of its process, in bytes: `VmRSS` is what it has, `VmHWM` the most that it
    /// had since it last began to count, which it does with every proof.
    #[track_caller]
    pub fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("the process is there, and so is /proc");
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or_else(|| panic!("{name} is not in\n{status}")) << 10
    }

    /// A client that keeps its connections.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Waits until `/readyz` says 200.
    #[track_caller]
    pub fn wait_ready(&mut self) {
        let deadline = Instant::now() + START;
        loop {
            let status = raw_status(self.address, "/readyz");
            if status == Some(200) {
                return;
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                panic!("the server ended with {status}\n{}", self.log());
            }
            assert!(Instant::now() < deadline, "not ready ({status:?})\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// `kill -9`, and its end.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Kills it and starts it again, at the same address and on the same data.
    #[track_caller]
    pub fn restart(&mut self) {
        self.kill();
        let (own, data, port) = (self.own.path(), &self.data, self.address.port());
        (self.child, self.address) = self.builder.spawn(own, data, port);
        // Connections to the process that is gone are of no use any more.
        self.client = client_builder().timeout(JOB).build().expect("a client");
        self.wait_ready();
    }

    /// Sends a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([format!("-{name}"), self.child.id().to_string()])
            .status()
            .expect("kill runs");
        assert!(status.success(), "kill -{name}");
    }

    /// SIGTERM, and how it ends within `limit`.
    #[track_caller]
    pub fn terminate(&mut self, limit: Duration) -> ExitStatus {
        self.signal("TERM");
        self.wait_exit(limit)
    }

    /// How it ends within `limit`.
    #[track_caller]
    pub fn wait_exit(&mut self, limit: Duration) -> ExitStatus {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait().expect("its end can be waited for") {
                return status;
            }
            assert!(Instant::now() < deadline, "still running after {limit:?}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub async fn get(&self, path: &str) -> Response {
        self.client.get(self.url() + path).send().await.expect("an answer")
    }

    pub async fn get_json(&self, path: &str) -> Value {
        let response = self.get(path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.json().await.expect("JSON")
    }

    pub async fn delete(&self, path: &str) -> Response {
        self.client.delete(self.url() + path).send().await.expect("an answer")
    }

    pub async fn post(&self, path: &str, body: &Value) -> Response {
        self.client.post(self.url() + path).json(body).send().await.expect("an answer")
    }

    /// The value of a metric that has no labels.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").await.text().await.expect("text");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value = line.unwrap_or_else(|| panic!("{name} is not in\n{text}"));
        value.parse().expect("a number")
    }

    /// Submits a job that is admitted, and gives its id.
    #[track_caller]
    pub fn submit(&self, job: &Value) -> impl Future<Output = String> {
        let request = self.client.post(self.url() + "/v1/jobs").json(job).send();
        async move {
            let response = request.await.expect("an answer");
            let status = response.status();
            let body: Value = response.json().await.expect("JSON");
            assert!(status.is_success(), "{status}: {body}");
            body["id"].as_str().expect("an id").to_owned()
        }
    }

    pub async fn job(&self, id: &str) -> Value {
        self.get_json(&format!("/v1/jobs/{id}")).await
    }

    /// Waits for the end of a job, whatever it is.
    pub async fn wait(&self, id: &str) -> Value {
        let deadline = Instant::now() + JOB;
        loop {
            let request = self.client.get(format!("{}/v1/jobs/{id}", self.url()));
            let response = request.header("prefer", "wait=10").send().await.expect("an answer");
            let job: Value = response.json().await.expect("JSON");
            let state = job["state"].as_str().unwrap_or("none");
            if ["succeeded", "failed", "cancelled", "expired"].contains(&state) {
                return job;
            }
            assert!(Instant::now() < deadline, "{job}\n{}", self.log());
        }
    }

    /// Submits a job and waits for its proof.
    pub async fn prove(&self, job: &Value) -> Value {
        let id = self.submit(job).await;
        let job = self.wait(&id).await;
        assert_eq!(job["state"], "succeeded", "{job}\n{}", self.log());
        job
    }

    /// The proof file of a job.
    pub async fn proof(&self, id: &str) -> Vec<u8> {
        let response = self.get(&format!("/v1/jobs/{id}/proof")).await;
        assert_eq!(response.status(), StatusCode::OK);
        response.bytes().await.expect("a whole body").to_vec()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("--- log of the server\n{}", self.log());
        }
    }
}

/// The status that a plain request gets, without any client between.
pub fn raw_status(address: SocketAddr, path: &str) -> Option<u16> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let answer = raw(address, request.as_bytes()).ok()?;
    let text = String::from_utf8_lossy(&answer);
    text.split(' ').nth(1)?.parse().ok()
}

/// Sends bytes as they are and reads until the server closes.
pub fn raw(address: SocketAddr, request: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}
