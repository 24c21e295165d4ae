//! The sections of the configuration, option by option.

use std::net::SocketAddr;
use std::path::PathBuf;

use ipnet::IpNet;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

/// The listener and what a request may take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// Address and port; port 0 takes a free one.
    #[serde(deserialize_with = "listen")]
    pub listen: SocketAddr,
    /// Whether an address that other machines can reach is allowed although the data folder has no API
    /// key: whoever reaches it may submit, read and remove everything then.
    pub allow_remote: bool,
    /// Host names beside `localhost` for which a server on a loopback address answers: those of a proxy
    /// before it. Also for a server on another address, as long as it has no API keys.
    pub allowed_hosts: Vec<String>,
    /// Connections at a time; further ones wait in the system's backlog.
    pub max_connections: usize,
    /// Time for the head of a request, also of an idle connection's next one, in seconds.
    pub header_timeout_s: u64,
    /// Largest head of a request, in bytes.
    pub max_header_bytes: usize,
    /// Time for the body of a request, in seconds.
    pub body_timeout_s: u64,
    /// Time in which a client must take the next bytes of an answer, in seconds.
    pub write_timeout_s: u64,
    /// Largest body of a job, in bytes.
    pub max_body_bytes: usize,
    /// Time for a request whose answer is not a stream, in seconds.
    pub request_timeout_s: u64,
    /// Longest long poll and `Prefer: wait`, in seconds.
    pub max_wait_s: u64,
    /// Silence after which an event stream sends a comment, in seconds.
    pub keep_alive_s: u64,
    /// Event streams and long polls at a time.
    pub max_streams: usize,
    /// Of these, most for the keys of one name.
    pub max_streams_per_name: usize,
    /// Time that a shutdown waits for the running node, in seconds.
    pub shutdown_grace_s: u64,
}

/// Reads an address to listen on.
///
/// # Errors
/// What would have been understood: names are not looked up, they may stand for more than one address.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected IP:PORT, as in 127.0.0.1:8080 or [::1]:8080";
    text.parse().map_err(|_| format!("\"{text}\" is no address: {expected}"))
}

fn listen<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    parse_listen(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Who may ask, and how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessConfig {
    /// Requests a second with one key, or from one address without one; 0 does not limit.
    pub requests_per_second: u32,
    /// Requests that may come at once after a quiet time.
    pub burst: u32,
    /// Origins whose web pages may use this server, as `https://host`; none unless named.
    pub cors_origins: Vec<String>,
    /// Who sees the metrics.
    pub metrics: MetricsAccess,
}

/// Who sees the metrics, on a server that has keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricsAccess {
    /// Everybody who asks a loopback address by a local name, else whoever has a key.
    #[default]
    Local,
    /// Everybody.
    Open,
    /// Whoever has a key.
    Key,
}

/// Where everything is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataConfig {
    /// Folder of records and proofs; one server at a time uses it.
    pub dir: PathBuf,
    /// Free space below which no job is admitted, in bytes.
    pub min_free_bytes: u64,
}

/// Queue and workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineConfig {
    /// Threads that prove; 0 is one a core.
    pub threads: usize,
    /// Nodes that are proved at a time.
    pub concurrent_nodes: usize,
    /// Time between two heartbeats of a worker, in milliseconds.
    pub heartbeat_ms: u64,
    /// Heartbeats that a worker may miss before its node is given to another.
    pub missed_heartbeats: u32,
    /// How often one node is begun before its job fails.
    pub max_attempts: u32,
    /// Time between two rounds of the reconciler, in seconds.
    pub reconcile_s: u64,
}

/// What a job may ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Most Keccak permutations of a base.
    pub max_num_hashes: u64,
    /// Largest Fibonacci index.
    pub max_n: u64,
    /// Most layers of a chain.
    pub max_layers: usize,
    /// Most levels of a tree.
    pub max_depth: usize,
    /// Most leaves of a tree.
    pub max_leaves: usize,
    /// Most jobs that wait or run.
    pub max_queued: usize,
    /// Most labels of a job.
    pub max_labels: usize,
    /// Longest deadline, in seconds.
    pub max_deadline_s: u64,
}

/// Memory and prepared circuits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryConfig {
    /// Memory that the process may use, in bytes; 0 takes the limit of the container or of the machine.
    pub limit_bytes: u64,
    /// Prepared circuits that are kept, in bytes.
    pub cache_bytes: u64,
    /// Quiet time after which freed memory is given back, in seconds; 0 keeps it for ever.
    pub idle_release_s: u64,
    /// Presets that are prepared before the server is ready.
    pub warm: Vec<String>,
    /// Memory that is touched before the server is ready, in bytes.
    pub touch_bytes: u64,
}

/// When finished jobs are removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionConfig {
    /// Time after which a finished job and its proofs are removed, in seconds; 0 keeps them.
    pub finished_s: u64,
    /// Time between two rounds of removal, in seconds.
    pub every_s: u64,
}

/// `POST /v1/verifications`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VerificationConfig {
    /// Largest proof file, in bytes.
    pub max_bytes: usize,
    /// Verifications at a time; further ones are refused with 503.
    pub concurrent: usize,
    /// Threads that all verifications share.
    pub threads: usize,
    /// Time after which the client is told to ask for less, in seconds.
    pub timeout_s: u64,
    /// Most rows of a base whose key is derived.
    pub max_rows: usize,
    /// Most leaves of a proof.
    pub max_leaves: usize,
    /// Most memory to derive keys, in bytes.
    pub max_derive_bytes: u64,
    /// Least proven bits of a proof that is called valid; 0 accepts parameters for tests.
    pub min_proven_bits: u32,
}

/// News of jobs to those who want to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebhooksConfig {
    /// Whether messages may go over http, where everybody on the way can read them.
    pub allow_http: bool,
    /// Whether messages may go to addresses of inner networks and of this machine.
    pub allow_private: bool,
    /// Networks that messages may go to although they are not of the open internet.
    pub allow_addresses: Vec<IpNet>,
    /// How often a message is sent before it is given up.
    pub max_attempts: u32,
    /// Pause after the first attempt, in milliseconds; it doubles with each further one.
    pub first_delay_ms: u64,
    /// Longest pause, in seconds.
    pub max_delay_s: u64,
    /// Time for a receiver to answer, in seconds.
    pub timeout_s: u64,
    /// Messages that are sent at a time.
    pub concurrent: usize,
    /// Messages that are sent to one host at a time.
    pub concurrent_per_receiver: usize,
}

/// Logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// How lines are written.
    pub format: LogFormat,
    /// Filter, as in `RUST_LOG`, which goes before it.
    pub filter: String,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}
