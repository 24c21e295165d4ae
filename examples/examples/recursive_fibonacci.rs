//! An element of a Fibonacci sequence, proved by p3-batch-stark, and recursion layers over that proof.

use std::process::ExitCode;

use arbor_examples::RecursionArgs;
use arbor_prover::BaseJob;
use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Prove an element of a Fibonacci sequence, then recursion layers over that proof, and verify the last one.
///
/// RUST_LOG=info logs every layer with its timings. Defaults that this design tunes say so below.
#[derive(Parser)]
#[command(name = "recursive_fibonacci")]
struct Cli {
    /// Index of the element; F(0) = a, F(1) = b
    #[arg(short, value_name = "N", default_value_t = 100)]
    n: u64,
    /// F(0)
    #[arg(short, value_name = "N", default_value_t = 0)]
    a: u64,
    /// F(1)
    #[arg(short, value_name = "N", default_value_t = 1)]
    b: u64,
    #[command(flatten)]
    recursion: RecursionArgs,
}

fn main() -> ExitCode {
    if let Some(code) = arbor_examples::start() {
        return code;
    }
    let cli = Cli::parse();
    arbor_examples::run(
        "recursive_fibonacci",
        BaseJob::fibonacci(cli.n, cli.a, cli.b),
        &cli.recursion,
    )
}
