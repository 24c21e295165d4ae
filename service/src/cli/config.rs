//! `arbor config`: what a server would be configured to.

use clap::{Args, Subcommand};

use super::Format;
use super::serve::ConfigArgs;
use crate::config::to_toml;
use crate::error::CliError;
use crate::output;

/// Look at the configuration of `serve`.
#[derive(Debug, Args)]
pub struct ConfigCommand {
    #[command(subcommand)]
    what: What,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
enum What {
    /// Check file, environment and flags as `serve` would, and print the result
    ///
    /// The result is a configuration file that says the same, but for the values of telemetry.otlp_headers,
    /// which are secrets and not printed.
    Check(CheckArgs),
}

/// Sources of the configuration.
#[derive(Debug, Args)]
struct CheckArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

/// Checks and prints.
pub(super) fn run(
    command: &ConfigCommand,
    threads: Option<usize>,
    format: Format,
) -> Result<(), CliError> {
    let What::Check(args) = &command.what;
    let config = args.config.load(threads)?;
    match format {
        Format::Json => output::json(&config),
        Format::Text => {
            let text = to_toml(&config).map_err(|error| CliError::Encode { source: error })?;
            output::line(text.trim_end())
        }
    }
}
