//! `arbor health`: whether a server takes and proves jobs. A container's health check.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::Format;
use super::remote::ServerArg;
use crate::client::block_on;
use crate::error::CliError;
use crate::output;

/// Ask whether a server is ready.
///
/// Exit codes: 0 if it is; 1 if it is not, or does not answer.
#[derive(Debug, Args)]
pub struct HealthArgs {
    #[command(flatten)]
    server: ServerArg,
    /// Longest time for an answer, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 3_000,
          value_parser = clap::value_parser!(u64).range(1..=60_000))]
    timeout_ms: u64,
}

/// Asks and prints.
pub(super) fn run(args: &HealthArgs, format: Format) -> Result<(), CliError> {
    let client = args.server.client()?;
    let limit = Duration::from_millis(args.timeout_ms);
    let answer = block_on(client.readiness(limit));
    let (ready, reasons) = match answer {
        Ok(readiness) => (readiness.ready, readiness.reasons),
        Err(error) => (false, vec![error.to_string()]),
    };
    if format == Format::Json {
        output::json(&json!({ "ready": ready, "reasons": reasons }))?;
    } else if ready {
        output::line("ready")?;
    }
    if ready { Ok(()) } else { Err(CliError::NotReady { reasons: reasons.join("; ") }) }
}
