//! `arbor get`: a job, what its proofs took, its nodes, or its proof.

use std::path::PathBuf;

use clap::Args;

use super::Format;
use super::remote::{self, JobArg};
use crate::client::{Client, TreeNode, block_on};
use crate::error::CliError;
use crate::model::JobId;
use crate::output;

/// Print where a job stands, or download its proof.
#[derive(Debug, Args)]
pub struct GetArgs {
    #[command(flatten)]
    job: JobArg,
    /// Download the proof to this file; its content hash is checked
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["timings", "tree"])]
    out: Option<PathBuf>,
    /// Download the proof of this node instead
    #[arg(long, value_name = "LEVEL/INDEX", requires = "out", value_parser = node)]
    node: Option<String>,
    /// Print what every proof took
    #[arg(long, conflicts_with = "tree")]
    timings: bool,
    /// Print the timings as CSV
    #[arg(long, requires = "timings", conflicts_with = "json")]
    csv: bool,
    /// Print every node
    #[arg(long)]
    tree: bool,
}

/// Asks and prints.
pub(super) fn run(args: &GetArgs, format: Format) -> Result<(), CliError> {
    let (id, client) = args.job.resolve()?;
    if let Some(out) = &args.out {
        output::check_writable(out)?;
    }
    block_on(get(args, id, &client, format))
}

async fn get(args: &GetArgs, id: JobId, client: &Client, format: Format) -> Result<(), CliError> {
    if let Some(out) = &args.out {
        let bytes = remote::download(client, id, args.node.as_deref(), out).await?;
        return match format {
            Format::Json => output::json(&serde_json::json!({ "file": out, "bytes": bytes })),
            Format::Text => remote::print_written(out, bytes),
        };
    }
    match (args.timings, args.csv, args.tree, format) {
        (true, true, ..) => {
            let csv = client.timings_csv(id).await?;
            // Line feeds are what separates the lines; nothing else may act upon a terminal.
            csv.lines().try_for_each(|line| output::line(output::printable(line)))
        }
        (true, _, _, Format::Json) => output::json(&client.timings(id).await?.1),
        (true, _, _, Format::Text) => output::line(output::timings(&client.timings(id).await?.0)),
        (_, _, true, Format::Json) => output::json(&client.tree(id).await?.1),
        (_, _, true, Format::Text) => output::line(nodes(&client.tree(id).await?.0)),
        (false, _, false, format) => {
            let (job, raw, _) = client.job(id).await?;
            if format == Format::Json {
                return output::json(&raw);
            }
            output::line(remote::line_of(&job))?;
            match &job.error {
                Some(error) => output::line(output::printable(&error.message)),
                None => Ok(()),
            }
        }
    }
}

/// A node a line.
fn nodes(nodes: &[TreeNode]) -> comfy_table::Table {
    let mut table =
        output::table(["node", "kind", "state", "verifies", "padding", "starts", "proof KB"], 4);
    for node in nodes {
        let size = node.bytes.map_or_else(|| "–".to_owned(), |n| output::kilobytes(n as usize));
        table.add_row([
            output::printable(&node.id),
            output::printable(&node.kind),
            output::printable(&node.state),
            output::printable(&node.children.join(" ")),
            node.padding.to_string(),
            node.starts.to_string(),
            size,
        ]);
    }
    table
}

/// A node of the command line.
fn node(text: &str) -> Result<String, &'static str> {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once('/') {
        Some((level, index)) if number(level) && number(index) => Ok(text.to_owned()),
        _ => Err("expected LEVEL/INDEX, as in 1/0"),
    }
}
