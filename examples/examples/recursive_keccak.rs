//! Keccak-f permutations, proved by p3-uni-stark, and recursion layers over that proof.

use std::process::ExitCode;

use arbor_examples::RecursionArgs;
use arbor_prover::BaseJob;
use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Prove Keccak-f permutations, then recursion layers over that proof, and verify the last one.
///
/// RUST_LOG=info logs every layer with its timings. Defaults that this design tunes say so below.
#[derive(Parser)]
#[command(name = "recursive_keccak")]
struct Cli {
    /// Keccak-f permutations
    #[arg(short, value_name = "N", default_value_t = 4)]
    n: u64,
    /// Seed of their inputs, which the proof does not bind
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    recursion: RecursionArgs,
}

fn main() -> ExitCode {
    if let Some(code) = arbor_examples::start() {
        return code;
    }
    let cli = Cli::parse();
    arbor_examples::run("recursive_keccak", BaseJob::keccak(cli.n, cli.seed), &cli.recursion)
}
