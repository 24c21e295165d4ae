//! The library behind the binary `arbor`.
//!
//! Every command is a file under [`cli`]; [`run`] parses the command line, runs one of them and gives
//! the exit code.

use std::process::ExitCode;

use clap::Parser;

pub mod access;
pub mod admission;
pub mod api;
pub mod bench;
pub mod blobs;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
pub mod cpu;
pub mod engine;
pub mod error;
pub mod http;
pub mod interrupt;
pub mod logging;
pub mod model;
pub mod outbound;
pub mod output;
pub mod progress;
pub mod queue;
pub mod recorder;
pub mod security;
pub mod server;
pub mod shutdown;
pub mod state;
pub mod store;
pub mod streams;
pub mod threads;
mod tls;
pub mod traces;
pub mod verifier;
pub mod version;
pub mod webhooks;

/// Runs the command line of this process and gives its exit code.
#[must_use]
pub fn run() -> ExitCode {
    // Clap itself ends the process with 2 on a usage error, and with 0 after `--help`.
    let cli = cli::Cli::parse();
    if !cli.is_server() {
        logging::init();
        interrupt::install();
    }
    match cli.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("arbor: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Whether freed memory shall stay mapped: yes, unless `ARBOR_RETAIN_MEMORY=0`.
#[must_use]
pub fn retain_memory() -> bool {
    std::env::var_os("ARBOR_RETAIN_MEMORY").is_none_or(|value| value != "0")
}
