//! The command line: one file a command.

use clap::{Parser, Subcommand};

use crate::error::CliError;
use crate::{threads, version};

pub mod bench;
pub mod fri_flags;
pub mod inspect;
pub mod inspect_leaf;
pub mod inspect_tree;
pub mod job_args;
pub mod prepare;
pub mod prove;
pub mod prove_tree;
pub mod security;
pub mod tree_plan;
pub mod verify;

/// Proves a computation, then proves that the proof was verified, as often as asked.
///
/// Exit codes: 0 done or valid, 1 proof invalid or corrupt or not as expected, 2 usage, input/output,
/// foreign file or other version, 3 over a limit, 130 interrupted.
///
/// RUST_LOG governs the logs on standard error (say, RUST_LOG=info). ARBOR_RETAIN_MEMORY=0 gives freed
/// memory back to the system between layers.
#[derive(Debug, Parser)]
#[command(name = "arbor", version = version::long(), max_term_width = 100)]
pub struct Cli {
    /// Print JSON, alone, on standard output
    #[arg(long, global = true)]
    json: bool,
    /// Threads that prove [default: one a core]
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Command {
    Prove(Box<prove::ProveArgs>),
    Prepare(Box<prepare::PrepareArgs>),
    Verify(verify::VerifyArgs),
    Inspect(inspect::InspectArgs),
    Security(Box<security::SecurityArgs>),
    Bench(Box<bench::BenchArgs>),
}

/// What a command prints on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    Text,
    /// JSON, and nothing else.
    Json,
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// Whatever the command says in [`CliError`].
    pub fn run(&self) -> Result<(), CliError> {
        threads::limit(self.threads)?;
        let format = if self.json { Format::Json } else { Format::Text };
        match &self.command {
            Command::Prove(args) => prove::run(args, format),
            Command::Prepare(args) => prepare::run(args, format),
            Command::Verify(args) => verify::run(args, format),
            Command::Inspect(args) => inspect::run(args, format),
            Command::Security(args) => security::run(args, format),
            Command::Bench(args) => bench::run(args, self.threads, format),
        }
    }
}
