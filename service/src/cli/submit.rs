//! `arbor submit`: a job for a server.

use std::collections::HashSet;
use std::path::PathBuf;

use arbor_prover::job::FinishedJob;
use arbor_prover::{Job, Leaf, Recursion};
use clap::{Args, Subcommand};
use serde_json::json;
use uuid::Uuid;

use super::Format;
use super::job_args::JobArgs;
use super::remote::{self, ServerArg, Show};
use super::tree_args::TreeJobArgs;
use crate::client::{Client, JobAddress, Submission, block_on};
use crate::error::CliError;
use crate::output;

/// Submit a job to a server.
///
/// The job is described as for `arbor prove`; --help lists the FRI parameters, -h leaves them out.
/// Without --wait, --watch or --out the command ends as soon as the server has taken the job. Otherwise
/// it ends with the job: 0 if there is a proof, 1 if not.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct SubmitArgs {
    #[command(subcommand)]
    form: Option<Form>,
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    submission: SubmissionArgs,
}

/// What is submitted if it is no chain.
#[derive(Debug, Subcommand)]
enum Form {
    Tree(Box<SubmitTreeArgs>),
}

/// Submit a tree to a server.
///
/// The leaves are arity^depth computations, or those of a --job, or the proofs of finished jobs of the
/// server, or the last two one after the other.
#[derive(Debug, Args)]
pub struct SubmitTreeArgs {
    /// Finished jobs whose proofs become leaves, in this order
    #[arg(value_name = "JOB", conflicts_with = "depth")]
    leaves: Vec<String>,
    #[command(flatten)]
    tree: TreeJobArgs,
    #[command(flatten)]
    submission: SubmissionArgs,
}

/// How a job is submitted, whatever it is.
#[derive(Debug, Args)]
pub struct SubmissionArgs {
    #[command(flatten)]
    server: ServerArg,
    /// Name of this submission: the same key with the same job gives the same job [default: a new one]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Jobs of a higher priority run first
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<i64>,
    /// Seconds after which the job is no longer wanted
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    deadline_s: Option<u64>,
    /// A label that the server keeps with the job; may be given more than once
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
    /// Wait for the end of the job
    #[arg(long)]
    wait: bool,
    /// Wait, and show progress on standard error
    #[arg(long)]
    watch: bool,
    /// Wait, and write the proof to this file
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Submits, waits if that is asked for, and prints.
pub(super) fn run(args: &SubmitArgs, format: Format) -> Result<(), CliError> {
    match &args.form {
        None => args.submission.run(args.job.job()?, format),
        Some(Form::Tree(tree)) => tree.submission.run(tree.job()?, format),
    }
}

impl SubmitTreeArgs {
    fn job(&self) -> Result<Job, CliError> {
        let mut job = self.tree.job()?;
        if !self.leaves.is_empty() {
            let names = self.leaves.iter().map(|name| name.parse::<JobAddress>());
            let names = names.collect::<Result<Vec<_>, _>>()?;
            if let Recursion::Tree { leaves, .. } = &mut job.recursion {
                let finished =
                    |name: JobAddress| Leaf::Finished(FinishedJob { job: name.id.to_string() });
                leaves.get_or_insert_default().extend(names.into_iter().map(finished));
            }
            // A base is what leaves are made of when none are listed.
            job.base = None;
        }
        self.tree.fri.named(job)
    }
}

impl SubmissionArgs {
    fn run(&self, mut job: Job, format: Format) -> Result<(), CliError> {
        job.priority = self.priority.unwrap_or(job.priority);
        job.deadline_s = self.deadline_s.or(job.deadline_s);
        let mut names = HashSet::new();
        if let Some((name, _)) = self.label.iter().find(|(name, _)| !names.insert(name)) {
            let (flag, value) = ("--label", output::printable(name));
            return Err(CliError::UnknownValue { flag, value, expected: "each name once" });
        }
        job.labels.extend(self.label.iter().cloned());
        if let Some(out) = &self.out {
            output::check_writable(out)?;
        }
        let client = self.server.client()?;
        let key = self.idempotency_key.clone().unwrap_or_else(|| Uuid::now_v7().to_string());
        block_on(self.submit(&client, &job, &key, format))
    }

    async fn submit(
        &self,
        client: &Client,
        job: &Job,
        key: &str,
        format: Format,
    ) -> Result<(), CliError> {
        let submitted = client.submit(job, key).await?;
        let waits = self.wait || self.watch || self.out.is_some();
        if !waits {
            return print(&submitted, client, format);
        }
        // Whoever stops waiting wants to know what to ask for.
        eprintln!("job {}", submitted.job.id);
        let show = if self.watch { Show::Steps } else { Show::End };
        let ended = remote::follow(client, submitted.job.id, show).await?;
        ended.print(format)?;
        let Some(out) = &self.out else { return Ok(()) };
        let bytes = remote::download(client, submitted.job.id, None, out).await?;
        if format == Format::Text { remote::print_written(out, bytes) } else { Ok(()) }
    }
}

/// Prints what a submission came to.
fn print(submitted: &Submission, client: &Client, format: Format) -> Result<(), CliError> {
    let Submission { job, location, raw } = submitted;
    if format == Format::Json {
        return output::json(&json!({ "id": job.id, "location": location, "job": raw }));
    }
    output::line(format_args!("job {} {}", job.id, job.state))?;
    let place = output::printable(location);
    output::line(format_args!("location {place}"))?;
    output::line(format_args!("next: arbor watch {} --server {}", job.id, client.server()))
}

/// A label of the command line.
fn label(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE"),
    }
}
