//! The command line: one file a command.

use clap::{Parser, Subcommand};

use crate::error::CliError;
use crate::{threads, version};

pub mod bench;
pub mod cancel;
pub mod config;
pub mod fri_flags;
pub mod get;
pub mod health;
pub mod inspect;
pub mod inspect_leaf;
pub mod inspect_tree;
pub mod job_args;
pub mod keys;
pub mod prepare;
pub mod prove;
pub mod prove_tree;
pub mod remote;
pub mod security;
pub mod serve;
pub mod submit;
pub mod tree_args;
pub mod tree_plan;
pub mod verify;
pub mod watch;

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
    /// Threads that prove in this process [default: one a core]
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
    Serve(Box<serve::ServeArgs>),
    Config(Box<config::ConfigCommand>),
    Keys(keys::KeysCommand),
    Submit(Box<submit::SubmitArgs>),
    Watch(watch::WatchArgs),
    Get(get::GetArgs),
    Cancel(cancel::CancelArgs),
    Health(health::HealthArgs),
}

impl Command {
    /// Whether it proves, or derives keys, in this process.
    const fn computes(&self) -> bool {
        match self {
            Self::Prove(_) | Self::Prepare(_) | Self::Verify(_) | Self::Inspect(_) => true,
            Self::Security(_) | Self::Bench(_) | Self::Serve(_) | Self::Config(_) => true,
            Self::Keys(_) | Self::Submit(_) | Self::Watch(_) | Self::Get(_) => false,
            Self::Cancel(_) | Self::Health(_) => false,
        }
    }
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
    /// Whether the command starts logs and handles signals by itself, as configured.
    #[must_use]
    pub const fn is_server(&self) -> bool {
        matches!(self.command, Command::Serve(_))
    }

    /// Runs the command.
    ///
    /// # Errors
    /// Whatever the command says in [`CliError`].
    pub fn run(&self) -> Result<(), CliError> {
        let format = if self.json { Format::Json } else { Format::Text };
        match &self.command {
            // The threads of a server are an option like its others.
            Command::Serve(args) => return serve::run(args, self.threads, format),
            Command::Config(args) => return config::run(args, self.threads, format),
            command if command.computes() => threads::limit(self.threads)?,
            _ if self.threads.is_some() => {
                let with = "a command that proves nothing here";
                return Err(CliError::Conflict { flag: "--threads", with });
            }
            _ => {}
        }
        match &self.command {
            Command::Serve(_) | Command::Config(_) => Ok(()),
            Command::Keys(args) => keys::run(args, format),
            Command::Prove(args) => prove::run(args, format),
            Command::Prepare(args) => prepare::run(args, format),
            Command::Verify(args) => verify::run(args, format),
            Command::Inspect(args) => inspect::run(args, format),
            Command::Security(args) => security::run(args, format),
            Command::Bench(args) => bench::run(args, self.threads, format),
            Command::Submit(args) => submit::run(args, format),
            Command::Watch(args) => watch::run(args, format),
            Command::Get(args) => get::run(args, format),
            Command::Cancel(args) => cancel::run(args, format),
            Command::Health(args) => health::run(args, format),
        }
    }
}
