//! `arbor prove tree`: many proofs become one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use arbor_prover::tree::{
    self, LeafProof, ProofSpec, RunOptions, TreeProof, TreeSpec, TreeStatement,
};
use arbor_prover::{
    Cache, LayerReport, Limits, Observer, ProofFile, VerifyFailure, VerifyOptions, format, memory,
    verify_bytes,
};
use clap::Args;
use serde::Serialize;

use super::Format;
use super::tree_args::TreeJobArgs;
use super::tree_plan::Plan;
use crate::error::CliError;
use crate::progress::Progress;
use crate::{interrupt, output};

/// Merge many proofs into one, and write the root to a file.
///
/// The leaves are arity^depth computations that --leaf, -n and the like describe, or those of a --job,
/// or finished proofs, or the last two one after the other. Leaves of different shapes are first
/// brought to one shape by layers over each alone; --plan shows which. --help lists the FRI parameters,
/// -h leaves them out.
#[derive(Debug, Args)]
pub struct TreeArgs {
    /// Finished proofs that become leaves, in this order; a file may be given twice
    #[arg(value_name = "PROOF", conflicts_with = "depth")]
    proofs: Vec<PathBuf>,
    #[command(flatten)]
    tree: TreeJobArgs,
    /// Prove two nodes of a level at the same time
    #[arg(long)]
    concurrent_pairs: bool,
    /// File to write; an existing one is replaced once the proof is complete
    #[arg(long, short, value_name = "FILE", required_unless_present = "plan")]
    out: Option<PathBuf>,
    /// Print every node with its estimated time and memory, and prove nothing
    #[arg(long)]
    plan: bool,
}

/// Finished proofs that become leaves, verified.
#[derive(Default)]
pub struct Finished {
    specs: Vec<ProofSpec>,
    proofs: Vec<LeafProof>,
    /// Circuits that verifying them took; proving the tree takes them again.
    cache: Cache,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Proved<'a> {
    file: &'a Path,
    bytes: u64,
    statement: &'a TreeStatement,
    naive_bits: usize,
    peak_bytes: u64,
    wall_ms: f64,
    concurrent: bool,
    layers: &'a [LayerReport],
}

/// Proves, or prints the plan.
pub(super) fn run(args: &TreeArgs, format: Format) -> Result<(), CliError> {
    let job = args.tree.job()?;
    let mut finished = Finished::default();
    finished.read(&args.proofs)?;
    let ProofSpec::Tree(spec) = args.tree.fri.resolve_any(job, finished.specs.clone())? else {
        return Err(arbor_prover::ParamError::NotATree.into());
    };
    let options = RunOptions { concurrent_pairs: args.concurrent_pairs };
    let target = if args.plan { None } else { args.out.as_deref() };
    prove_or_plan(&spec, finished, options, target, format)
}

/// Proves into `target`; without one it prints the plan.
pub(super) fn prove_or_plan(
    spec: &TreeSpec,
    finished: Finished,
    options: RunOptions,
    target: Option<&Path>,
    format: Format,
) -> Result<(), CliError> {
    let progress = Progress::tree();
    let observer: Arc<dyn Observer> = progress.clone();
    let Some(out) = target else {
        let plan = Plan::of(spec, options, &finished.cache, &observer);
        progress.finish();
        return plan?.print(format);
    };
    output::check_writable(out)?;
    let start = Instant::now();
    let proof = tree::prove(spec, finished.proofs, options, &finished.cache, &observer);
    let wall_ms = start.elapsed().as_secs_f64() * 1e3;
    progress.finish();
    let proof = proof?;
    let bytes = interrupt::uninterrupted(|| proof.write(out))?;
    print(&proof, out, bytes, wall_ms, format)
}

impl Finished {
    /// Reads and verifies proof files. One that is given twice is read once.
    fn read(&mut self, files: &[PathBuf]) -> Result<(), CliError> {
        let mut known: HashMap<&Path, ProofFile> = HashMap::new();
        for path in files {
            let failed = |source| CliError::Leaf { path: path.clone(), source };
            if !known.contains_key(path.as_path()) {
                known.insert(path, self.verified(path).map_err(failed)?);
            }
            let file = &known[path.as_path()];
            let proof = file.decode_proof().map_err(|error| failed(error.into()))?;
            let results = file.header.statement.results();
            self.proofs.push(LeafProof { proof, results });
            self.specs.push(file.header.spec.clone());
        }
        Ok(())
    }

    fn verified(&self, path: &Path) -> Result<ProofFile, VerifyFailure> {
        let limits = Limits::default();
        let bytes = format::read_file(path, &limits)?;
        verify_bytes(&bytes, &VerifyOptions::any_strength(), &self.cache)?;
        Ok(ProofFile::parse(&bytes, &limits)?)
    }
}

/// Prints what was proved, how long it took and how to verify it.
fn print(
    proof: &TreeProof,
    file: &Path,
    bytes: u64,
    wall_ms: f64,
    format: Format,
) -> Result<(), CliError> {
    let peak_bytes = memory::lifetime_peak_bytes().unwrap_or(0);
    if format == Format::Json {
        return output::json(&Proved {
            file,
            bytes,
            statement: &proof.statement,
            naive_bits: proof.spec.naive_bits(),
            peak_bytes,
            wall_ms,
            concurrent: proof.concurrent,
            layers: &proof.reports,
        });
    }
    output::line(output::timings(&proof.reports))?;
    let mode = if proof.concurrent { "two nodes of a level at a time" } else { "one by one" };
    output::line(format_args!(
        "{} proofs, {mode}, in {:.2} s with at most {:.2} GB of memory",
        proof.reports.len(),
        wall_ms / 1e3,
        peak_bytes as f64 / 1e9
    ))?;
    for line in proof.statement.lines() {
        output::line(line)?;
    }
    output::line(format_args!("wrote {} ({bytes} bytes)", file.display()))?;
    output::line(format_args!("next: arbor verify {}", file.display()))
}
