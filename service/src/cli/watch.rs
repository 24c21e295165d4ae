//! `arbor watch`: a job until its end.

use clap::Args;

use super::Format;
use super::remote::{self, JobArg, Show};
use crate::client::block_on;
use crate::error::CliError;

/// Show the progress of a job until its end.
///
/// Progress goes to standard error, the timings of every proof to standard output. A connection that
/// breaks off is opened again. Exit codes: 0 if there is a proof, 1 if the job failed, was cancelled or
/// expired.
#[derive(Debug, Args)]
pub struct WatchArgs {
    #[command(flatten)]
    job: JobArg,
}

/// Follows and prints.
pub(super) fn run(args: &WatchArgs, format: Format) -> Result<(), CliError> {
    let (id, client) = args.job.resolve()?;
    let ended = block_on(remote::follow(&client, id, Show::Steps))?;
    ended.print(format)
}
