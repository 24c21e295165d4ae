//! Logs: on standard error, governed by `RUST_LOG`.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{LogConfig, LogFormat};

/// Starts the logging of a command: text, warnings unless `RUST_LOG` says otherwise. A malformed `RUST_LOG`
/// is reported and the default used.
pub fn init() {
    start(LogFormat::Text, "warn");
}

/// Starts the logging of a server, as configured; `RUST_LOG` goes before the configured filter.
pub fn init_server(config: &LogConfig) {
    start(config.format, &config.filter);
}

fn start(format: LogFormat, default: &str) {
    let (filter, problem) = match std::env::var("RUST_LOG") {
        Err(_) => (EnvFilter::new(default), None),
        Ok(text) => match EnvFilter::try_new(&text) {
            Ok(filter) => (filter, None),
            Err(error) => (EnvFilter::new(default), Some(error)),
        },
    };
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).init(),
    }
    if let Some(error) = problem {
        tracing::warn!(%error, "RUST_LOG is malformed; \"{default}\" is used");
    }
}
