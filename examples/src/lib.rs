//! What the examples share: their flags, and the runs themselves.

mod aggregation;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use arbor_prover::{
    BaseJob, Cache, ChainProof, ChainSpec, FriOverrides, Job, LayerReport, Observer, ParamError,
    ProverError, VerifyFailure, VerifyOptions, chain, memory, verify_bytes,
};
use arbor_service::error::CliError;
use arbor_service::progress::Progress;
use arbor_service::{cpu, interrupt, logging, output};
use clap::Args;
use thiserror::Error;

pub use aggregation::{AggregationArgs, run_tree};

/// Naive bits from which the queries are derived unless `--security-level` says otherwise.
const SECURITY_LEVEL: usize = 124;
/// Grinding before the query indices of a chain unless `--query-pow-bits` says otherwise.
const QUERY_POW_BITS: usize = 15;
/// The same in a tree.
const TREE_QUERY_POW_BITS: usize = 16;

/// The flags of the examples that prove a chain.
#[derive(Debug, Args)]
pub struct RecursionArgs {
    /// Recursion layers over the base proof
    #[arg(long, value_name = "L", default_value_t = 3)]
    num_recursive_layers: usize,
    #[command(flatten)]
    proofs: ProofArgs,
}

/// The flags of all examples. Where a default is left to the preset it is tuned: see each flag.
#[derive(Debug, Args)]
struct ProofArgs {
    /// Field of every proof; only koala-bear exists
    #[arg(long, default_value = "koala-bear")]
    field: String,
    /// Hash of every Merkle tree and challenger; only poseidon2 exists
    #[arg(long, default_value = "poseidon2")]
    hash: String,
    /// Zero knowledge: not supported yet
    #[arg(long)]
    zk: bool,
    /// Log of the inverse code rate [default: 2; tuned to 3 for a Fibonacci base proof, whose layer is
    /// then smaller, and to 4 for one that is a leaf of a tree]
    #[arg(long, value_name = "N")]
    log_blowup: Option<usize>,
    /// Log of the most points that a folding round merges [default: tuned to 4, which makes the layer
    /// above smallest]
    #[arg(long, value_name = "N")]
    max_log_arity: Option<usize>,
    /// Log of the length of the final polynomial [default: tuned to 5, in trees too: with 6, which
    /// other tools take there, the tables of a merge are twice as tall here]
    #[arg(long, value_name = "N")]
    log_final_poly_len: Option<usize>,
    /// Level of each Merkle tree that is sent instead of its root [default: tuned to 5: the entries are
    /// absorbed anyway, and a path that ends there is shorter]
    #[arg(long, value_name = "N")]
    cap_height: Option<usize>,
    /// Grinding before each folding challenge
    #[arg(long, value_name = "N", default_value_t = 0)]
    commit_pow_bits: usize,
    /// Grinding before the query indices [default: 15; tuned to 16 in trees: a leaf then takes one query
    /// less, and a merge of leaves half the rows]
    #[arg(long, value_name = "N")]
    query_pow_bits: Option<usize>,
    /// Naive bits (log blowup x queries + query grinding); the queries follow, rounded up
    #[arg(long, value_name = "N", default_value_t = SECURITY_LEVEL)]
    security_level: usize,
    #[command(flatten)]
    lanes: LaneArgs,
    /// File for the last proof
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Flags of tools that split a layer into more tables. They are accepted and change nothing.
#[derive(Debug, Args)]
struct LaneArgs {
    /// No effect: public values have no table of their own here
    #[arg(long, value_name = "N")]
    public_lanes: Option<usize>,
    /// No effect: the arithmetic table has one gate a row
    #[arg(long, value_name = "N")]
    alu_lanes: Option<usize>,
    /// No effect: Horner sums are folded by the rows that hash the same values
    #[arg(long, value_name = "N")]
    horner_packed_steps: Option<usize>,
    /// No effect: there is no recompose table, no value is unpacked
    #[arg(long, value_name = "N")]
    recompose_lanes: Option<usize>,
}

/// Why an example failed, in one line.
#[derive(Debug, Error)]
pub enum ExampleError {
    /// Something that other tools have and this one does not.
    #[error("{flag} {value} is not supported yet{instead}")]
    NotSupported {
        /// The flag.
        flag: &'static str,
        /// Its value.
        value: String,
        /// What is supported.
        instead: &'static str,
    },
    /// Impossible parameters.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A proof that cannot be made.
    #[error(transparent)]
    Prover(#[from] ProverError),
    /// A proof that is not accepted.
    #[error(transparent)]
    Verify(#[from] VerifyFailure),
    /// Output that cannot be printed.
    #[error(transparent)]
    Output(#[from] CliError),
}

impl ExampleError {
    /// The exit code, as those of `arbor`.
    fn exit_code(&self) -> u8 {
        match self {
            Self::NotSupported { .. } => 2,
            Self::Param(error) => error.exit_code(),
            Self::Prover(error) => error.exit_code(),
            Self::Verify(error) => error.exit_code(),
            Self::Output(error) => error.exit_code(),
        }
    }
}

impl RecursionArgs {
    /// Everything that determines the chain over `base`.
    fn spec(&self, base: BaseJob) -> Result<ChainSpec, ParamError> {
        let mut job = Job::chain(base, self.num_recursive_layers);
        job.fri = self.proofs.fri(QUERY_POW_BITS);
        job.resolve()
    }
}

impl ProofArgs {
    /// Refuses what does not exist, explains what has no effect, and gives the file to write.
    fn start(&self, name: &str) -> Result<PathBuf, ExampleError> {
        self.check_supported()?;
        self.lanes.explain();
        let file = self.out.clone().unwrap_or_else(|| format!("{name}.arbor").into());
        output::check_writable(&file)?;
        Ok(file)
    }

    /// Refuses what does not exist, by name.
    fn check_supported(&self) -> Result<(), ExampleError> {
        let refused = |flag, value: &str, instead| {
            Err(ExampleError::NotSupported { flag, value: value.to_owned(), instead })
        };
        if self.field != "koala-bear" {
            return refused("--field", &self.field, "; only koala-bear is");
        }
        if self.hash != "poseidon2" {
            return refused("--hash", &self.hash, "; only poseidon2 is");
        }
        if self.zk {
            return refused("--zk", "(zero knowledge)", "");
        }
        Ok(())
    }

    /// What the flags say about the parameters of every proof; `query_pow_bits` unless they say.
    fn fri(&self, query_pow_bits: usize) -> FriOverrides {
        FriOverrides {
            log_blowup: self.log_blowup,
            max_log_arity: self.max_log_arity,
            log_final_poly_len: self.log_final_poly_len,
            cap_height: self.cap_height,
            security_level: Some(self.security_level),
            commit_pow_bits: Some(self.commit_pow_bits),
            query_pow_bits: self.query_pow_bits.or(Some(query_pow_bits)),
            ..FriOverrides::default()
        }
    }
}

impl LaneArgs {
    /// Says of each lane flag that was given why it changes nothing.
    fn explain(&self) {
        let notes = [
            (self.public_lanes, "--public-lanes", "public values have no table of their own here"),
            (self.alu_lanes, "--alu-lanes", "the arithmetic table has one gate a row"),
            (
                self.horner_packed_steps,
                "--horner-packed-steps",
                "Horner sums are folded by the rows that hash the same values",
            ),
            (
                self.recompose_lanes,
                "--recompose-lanes",
                "no value is unpacked, so none is recomposed",
            ),
        ];
        for (given, flag, why) in notes {
            if given.is_some() {
                eprintln!("note: {flag} has no effect: {why}");
            }
        }
    }
}

/// What comes before everything else in each example: a missing CPU feature ends the process.
#[must_use]
pub fn start() -> Option<ExitCode> {
    if let Err(missing) = cpu::check() {
        eprintln!("{missing}");
        return Some(ExitCode::from(2));
    }
    memory::retain_freed_memory(arbor_service::retain_memory());
    None
}

/// Proves and verifies a chain over `base`; `name` is the example's.
#[must_use]
pub fn run(name: &str, base: BaseJob, args: &RecursionArgs) -> ExitCode {
    finish(name, || prove_and_verify(name, base, args))
}

/// Runs an example and turns its end into an exit code.
fn finish(name: &str, example: impl FnOnce() -> Result<(), ExampleError>) -> ExitCode {
    logging::init();
    interrupt::install();
    match example() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn prove_and_verify(name: &str, base: BaseJob, args: &RecursionArgs) -> Result<(), ExampleError> {
    let file = args.proofs.start(name)?;
    let spec = args.spec(base)?;
    let cache = Cache::new();
    let proof = prove(&spec, &cache)?;
    report(&proof.reports, &proof.to_bytes()?, &cache)?;
    let bytes = interrupt::uninterrupted(|| proof.write(&file))?;
    next(&file, bytes)
}

/// Verifies the file that `bytes` will be, and prints the timings and what was proved.
fn report(reports: &[LayerReport], bytes: &[u8], cache: &Cache) -> Result<(), ExampleError> {
    // The flags choose any strength; what it comes to is printed.
    let verified = verify_bytes(bytes, &VerifyOptions::any_strength(), cache)?;
    output::line(output::timings(reports))?;
    for line in verified.statement.lines() {
        output::line(line)?;
    }
    for line in verified.security.lines() {
        output::line(line)?;
    }
    output::line(format_args!("verified in {:.1} ms", verified.verify_ms))?;
    Ok(())
}

/// Says what was written and what to do next.
fn next(file: &Path, bytes: u64) -> Result<(), ExampleError> {
    output::line(format_args!("wrote {} ({bytes} bytes)", file.display()))?;
    output::line(format_args!(
        "next: cargo run --release --bin arbor --features parallel -- verify {}",
        file.display()
    ))?;
    Ok(())
}

/// Prepares the circuits, which the times of the layers leave out, and proves.
fn prove(spec: &ChainSpec, cache: &Cache) -> Result<ChainProof, ProverError> {
    let progress = Progress::chain(spec.layers);
    let observer: Arc<dyn Observer> = progress.clone();
    let proof = chain::prove(spec, cache, &observer);
    progress.finish();
    proof
}
