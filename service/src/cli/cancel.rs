//! `arbor cancel`: ends a job, or removes one that has ended.

use clap::Args;
use serde_json::json;

use super::Format;
use super::remote::JobArg;
use crate::client::{Client, ClientError, Removal, block_on};
use crate::error::CliError;
use crate::model::{JobId, JobState};
use crate::output;

/// Times that a job may have changed between a look at it and its cancellation.
const TRIES: u32 = 100;

/// Cancel a job that waits or runs.
///
/// A proof that is being made cannot be stopped half-way: the job ends with it. A job that has ended
/// keeps its proofs, unless --remove is given.
#[derive(Debug, Args)]
pub struct CancelArgs {
    #[command(flatten)]
    job: JobArg,
    /// Remove a job that has ended, and its proofs
    #[arg(long)]
    remove: bool,
}

/// What became of the job.
enum Outcome {
    Cancelling,
    Removed,
    Kept(JobState),
}

/// Cancels and prints.
pub(super) fn run(args: &CancelArgs, format: Format) -> Result<(), CliError> {
    let (id, client) = args.job.resolve()?;
    let outcome = block_on(cancel(&client, id, args.remove))?;
    let (word, text) = match outcome {
        Outcome::Cancelling if args.remove => (
            "cancelling",
            "is being cancelled, not removed: --remove does that once it has ended".to_owned(),
        ),
        Outcome::Cancelling => ("cancelling", "is being cancelled".to_owned()),
        Outcome::Removed => ("removed", "and its proofs are removed".to_owned()),
        Outcome::Kept(state) => (state.name(), format!("is {state} already; --remove removes it")),
    };
    match format {
        Format::Json => output::json(&json!({ "id": id, "outcome": word })),
        Format::Text => output::line(format_args!("job {id} {text}")),
    }
}

/// Looks at the job first: the same request removes a job that has ended.
async fn cancel(client: &Client, id: JobId, remove: bool) -> Result<Outcome, ClientError> {
    let mut tries = 0;
    loop {
        let (job, _, etag) = client.job(id).await?;
        if job.state.is_final() && !remove {
            return Ok(Outcome::Kept(job.state));
        }
        // With its ETag, so that a job that ends just now is not removed instead of cancelled.
        match client.delete(id, etag.as_deref().filter(|_| !remove)).await? {
            Removal::Cancelling => return Ok(Outcome::Cancelling),
            Removal::Gone => return Ok(Outcome::Removed),
            Removal::Changed if tries < TRIES => tries += 1,
            Removal::Changed => return Err(ClientError::Changing { id }),
        }
    }
}
