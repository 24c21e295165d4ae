//! Fibonacci proofs, merged two or eight at a time until one proof is left.

use std::process::ExitCode;

use arbor_examples::AggregationArgs;
use arbor_prover::BaseJob;
use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Prove elements of distinct Fibonacci sequences and merge the proofs into one, and verify that.
///
/// RUST_LOG=info logs every node with its timings. Defaults that this design tunes say so below.
#[derive(Parser)]
#[command(name = "recursive_aggregation")]
struct Cli {
    /// Index of the element that every leaf proves; F(0) is the position of the leaf
    #[arg(short, value_name = "N", default_value_t = 1000)]
    n: u64,
    /// F(1)
    #[arg(short, value_name = "N", default_value_t = 1)]
    b: u64,
    #[command(flatten)]
    aggregation: AggregationArgs,
}

fn main() -> ExitCode {
    if let Some(code) = arbor_examples::start() {
        return code;
    }
    let cli = Cli::parse();
    arbor_examples::run_tree(
        "recursive_aggregation",
        BaseJob::fibonacci(cli.n, 0, cli.b),
        &cli.aggregation,
    )
}
