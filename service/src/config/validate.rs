//! What each option may be.

use arbor_prover::Preset;
use arbor_prover::params::MAX_LAYERS;
use tracing_subscriber::EnvFilter;

use super::load::Origins;
use super::{Config, ConfigError, Origin, telemetry};
use crate::access::folder_has_keys;

/// Most levels that a tree of two to a node can have.
const MAX_DEPTH: u64 = 12;
/// A day, the longest of every time-out, in seconds.
const DAY_S: u64 = 24 * 3600;
/// A hundred years, the longest of every retention and deadline, in seconds.
const CENTURY_S: u64 = 100 * 366 * DAY_S;
/// Largest head of a request that is configurable: the parser keeps it in memory for each connection.
const MAX_HEADER_BYTES: u64 = 1 << 20;
/// Most proven bits that can be asked for: the digests have no more against collisions.
pub(crate) const MAX_PROVEN_BITS: u64 = 128;
/// Least head that the parser works with.
const MIN_HEADER_BYTES: u64 = 8 << 10;

/// Refuses what makes no sense.
///
/// # Errors
/// The first option, with its origin.
pub(super) fn validate(config: &Config, origins: &Origins) -> Result<(), ConfigError> {
    let check = Check { origins };
    server(config, &check)?;
    access(config, &check)?;
    webhooks(config, &check)?;
    engine(config, &check)?;
    limits(config, &check)?;
    memory(config, &check)?;
    verification(config, &check)?;
    telemetry::validate(&config.telemetry, &check)?;
    let retention = &config.retention;
    check.within("retention.finished_s", retention.finished_s, 0, CENTURY_S)?;
    check.within("retention.every_s", retention.every_s, 1, DAY_S)?;
    EnvFilter::try_new(&config.log.filter)
        .map(|_| ())
        .map_err(|error| check.refuse("log.filter", format!("\"{}\": {error}", config.log.filter)))
}

fn server(config: &Config, check: &Check<'_>) -> Result<(), ConfigError> {
    let server = &config.server;
    let closed = server.listen.ip().is_loopback() || server.allow_remote;
    if !closed && !folder_has_keys(&config.data.dir) {
        return Err(check.refuse(
            "server.listen",
            format!(
                "{} can be reached from other machines, and {} has no API keys: whoever reaches it \
                 may submit, read and remove everything. Make a key with `arbor keys create`, listen on \
                 127.0.0.1, or say --allow-remote (server.allow_remote = true) if something else keeps \
                 strangers out",
                server.listen,
                config.data.dir.display()
            ),
        ));
    }
    for host in &server.allowed_hosts {
        if !is_host(host) {
            let reason = format!("\"{host}\" is no host name, such as proofs.example.org");
            return Err(check.refuse("server.allowed_hosts", reason));
        }
    }
    check.within("server.max_connections", server.max_connections as u64, 1, 1 << 20)?;
    check.within("server.header_timeout_s", server.header_timeout_s, 1, DAY_S)?;
    let head = server.max_header_bytes as u64;
    check.within("server.max_header_bytes", head, MIN_HEADER_BYTES, MAX_HEADER_BYTES)?;
    check.within("server.max_body_bytes", server.max_body_bytes as u64, 1 << 10, 64 << 20)?;
    check.within("server.body_timeout_s", server.body_timeout_s, 1, DAY_S)?;
    check.within("server.write_timeout_s", server.write_timeout_s, 1, DAY_S)?;
    check.within("server.request_timeout_s", server.request_timeout_s, 1, DAY_S)?;
    check.within("server.max_wait_s", server.max_wait_s, 0, DAY_S)?;
    check.within("server.keep_alive_s", server.keep_alive_s, 1, DAY_S)?;
    check.within("server.max_streams", server.max_streams as u64, 1, 1 << 20)?;
    let share = server.max_streams_per_name as u64;
    check.within("server.max_streams_per_name", share, 1, 1 << 20)?;
    check.within("server.shutdown_grace_s", server.shutdown_grace_s, 1, DAY_S)
}

fn access(config: &Config, check: &Check<'_>) -> Result<(), ConfigError> {
    let access = &config.access;
    check.within("access.requests_per_second", access.requests_per_second.into(), 0, 1_000_000)?;
    check.within("access.burst", access.burst.into(), 1, 1_000_000)?;
    for origin in &access.cors_origins {
        if !is_origin(origin) {
            let reason = format!("\"{origin}\" is no origin, such as https://example.org");
            return Err(check.refuse("access.cors_origins", reason));
        }
    }
    Ok(())
}

/// Whether a text is a host as requests name it, without scheme, port or path.
fn is_host(text: &str) -> bool {
    let authority = text.parse::<axum::http::uri::Authority>();
    authority.is_ok_and(|authority| authority.host() == text)
}

/// Whether a text is what browsers send as `origin`: scheme, host in lower case, and port if it is not the
/// scheme's.
fn is_origin(text: &str) -> bool {
    let url = reqwest::Url::parse(text);
    url.is_ok_and(|url| {
        ["http", "https"].contains(&url.scheme()) && url.origin().ascii_serialization() == text
    })
}

fn webhooks(config: &Config, check: &Check<'_>) -> Result<(), ConfigError> {
    let webhooks = &config.webhooks;
    check.within("webhooks.max_attempts", webhooks.max_attempts.into(), 1, 1_000)?;
    check.within("webhooks.first_delay_ms", webhooks.first_delay_ms, 1, DAY_S * 1_000)?;
    check.within("webhooks.max_delay_s", webhooks.max_delay_s, 1, DAY_S)?;
    check.within("webhooks.timeout_s", webhooks.timeout_s, 1, DAY_S)?;
    check.within("webhooks.concurrent", webhooks.concurrent as u64, 1, 1 << 10)?;
    let per_receiver = webhooks.concurrent_per_receiver as u64;
    check.within("webhooks.concurrent_per_receiver", per_receiver, 1, 1 << 10)
}

fn engine(config: &Config, check: &Check<'_>) -> Result<(), ConfigError> {
    let engine = &config.engine;
    if config.data.dir.as_os_str().is_empty() {
        return Err(check.refuse("data.dir", "a folder is needed".to_owned()));
    }
    check.within("engine.threads", engine.threads as u64, 0, 1 << 12)?;
    check.within("engine.concurrent_nodes", engine.concurrent_nodes as u64, 1, 1 << 10)?;
    check.within("engine.heartbeat_ms", engine.heartbeat_ms, 50, DAY_S * 1_000)?;
    check.within("engine.missed_heartbeats", u64::from(engine.missed_heartbeats), 2, 1_000)?;
    check.within("engine.max_attempts", u64::from(engine.max_attempts), 1, 1_000)?;
    check.within("engine.reconcile_s", engine.reconcile_s, 1, DAY_S)
}

fn limits(config: &Config, check: &Check<'_>) -> Result<(), ConfigError> {
    let limits = &config.limits;
    let most_leaves = arbor_prover::tree::MAX_LEAVES as u64;
    check.within("limits.max_num_hashes", limits.max_num_hashes, 1, 1 << 24)?;
    check.within("limits.max_n", limits.max_n, 0, 1 << 24)?;
    check.within("limits.max_layers", limits.max_layers as u64, 0, MAX_LAYERS as u64)?;
    check.within("limits.max_depth", limits.max_depth as u64, 0, MAX_DEPTH)?;
    check.within("limits.max_leaves", limits.max_leaves as u64, 0, most_leaves)?;
    check.within("limits.max_queued", limits.max_queued as u64, 1, 1 << 20)?;
    check.within("limits.max_labels", limits.max_labels as u64, 0, 1 << 10)?;
    check.within("limits.max_deadline_s", limits.max_deadline_s, 1, CENTURY_S)
}

fn memory(config: &Config, check: &Check<'_>) -> Result<(), ConfigError> {
    let memory = &config.memory;
    if memory.limit_bytes != 0 {
        check.within("memory.limit_bytes", memory.limit_bytes, 256 << 20, 1 << 50)?;
    }
    check.within("memory.cache_bytes", memory.cache_bytes, 0, 1 << 50)?;
    check.within("memory.touch_bytes", memory.touch_bytes, 0, 1 << 50)?;
    check.within("memory.idle_release_s", memory.idle_release_s, 0, CENTURY_S)?;
    check.within("data.min_free_bytes", config.data.min_free_bytes, 0, 1 << 50)?;
    for name in &memory.warm {
        Preset::named(name).map_err(|error| check.refuse("memory.warm", error.to_string()))?;
    }
    Ok(())
}

fn verification(config: &Config, check: &Check<'_>) -> Result<(), ConfigError> {
    let verification = &config.verification;
    let most_leaves = arbor_prover::tree::MAX_LEAVES as u64;
    check.within("verification.max_bytes", verification.max_bytes as u64, 1 << 10, 16 << 20)?;
    check.within("verification.concurrent", verification.concurrent as u64, 1, 1 << 10)?;
    check.within("verification.threads", verification.threads as u64, 1, 1 << 12)?;
    check.within("verification.timeout_s", verification.timeout_s, 1, DAY_S)?;
    check.within("verification.max_rows", verification.max_rows as u64, 1, 1 << 24)?;
    check.within("verification.max_leaves", verification.max_leaves as u64, 1, most_leaves)?;
    check.within(
        "verification.min_proven_bits",
        verification.min_proven_bits.into(),
        0,
        MAX_PROVEN_BITS,
    )?;
    check.within("verification.max_derive_bytes", verification.max_derive_bytes, 0, 1 << 50)
}

/// Knows where options come from.
pub(super) struct Check<'a> {
    origins: &'a Origins,
}

impl Check<'_> {
    pub(super) fn within(
        &self,
        option: &str,
        value: u64,
        least: u64,
        most: u64,
    ) -> Result<(), ConfigError> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(self.refuse(option, format!("{value} is not within {least} to {most}")))
    }

    pub(super) fn refuse(&self, option: &str, reason: String) -> ConfigError {
        ConfigError::Refused { option: option.to_owned(), origin: self.origin(option), reason }
    }

    /// Where an option was set.
    pub(super) fn origin(&self, option: &str) -> Origin {
        self.origins.get(option).cloned().unwrap_or_default()
    }
}
