//! Logs: on standard error, governed by `RUST_LOG`, warnings by default.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts logging. A malformed `RUST_LOG` is reported and the default used.
pub fn init() {
    let (filter, problem) = match std::env::var("RUST_LOG") {
        Err(_) => (EnvFilter::new("warn"), None),
        Ok(text) => match EnvFilter::try_new(&text) {
            Ok(filter) => (filter, None),
            Err(error) => (EnvFilter::new("warn"), Some(error)),
        },
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    if let Some(error) = problem {
        tracing::warn!(%error, "RUST_LOG is malformed; warnings are shown");
    }
}
