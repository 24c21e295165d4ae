//! `arbor prove tree`: many proofs become one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use arbor_prover::tree::{
    self, LeafProof, ProofSpec, RunOptions, TreeProof, TreeSpec, TreeStatement,
};
use arbor_prover::{
    BaseJob, Cache, Job, LayerReport, Limits, Observer, ProofFile, Recursion, VerifyFailure,
    VerifyOptions, format, memory, verify_bytes,
};
use clap::Args;
use serde::Serialize;

use super::Format;
use super::job_args::{FriArgs, ProgramName, default_base, read_job};
use super::tree_plan::Plan;
use crate::error::CliError;
use crate::progress::Progress;
use crate::{interrupt, output};

/// Index of the element that a Fibonacci leaf proves unless `-n` says otherwise.
pub const LEAF_ELEMENT: u64 = 1000;

/// Merge many proofs into one, and write the root to a file.
///
/// The leaves are arity^depth computations that --leaf, -n and the like describe, or those of a --job,
/// or finished proofs, or the last two one after the other. Leaves of different shapes are first
/// brought to one shape by layers over each alone; --plan shows which. --help lists the FRI parameters,
/// -h leaves them out.
#[derive(Debug, Args)]
pub struct TreeArgs {
    /// Finished proofs that become leaves, in this order; a file may be given twice
    #[arg(value_name = "PROOF")]
    proofs: Vec<PathBuf>,
    /// Proofs that one layer merges, 2 to 8 [default: the job's]
    #[arg(long, value_name = "K", required_unless_present = "job")]
    arity: Option<usize>,
    /// Levels of merging over arity^depth leaves made from one base
    #[arg(long, value_name = "D", conflicts_with = "proofs")]
    depth: Option<usize>,
    /// Job to read; flags override it
    #[arg(long, value_name = "FILE.json")]
    job: Option<PathBuf>,
    /// What the leaves of --depth prove [default: the job's base, or fibonacci]
    #[arg(long, value_name = "PROGRAM")]
    leaf: Option<ProgramName>,
    /// Keccak permutations of a leaf [default: 4], or index of its Fibonacci element [default: 1000]
    #[arg(short, value_name = "N")]
    n: Option<u64>,
    /// Seed of the inputs of the first Keccak leaf; each further leaf has the next one [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Fibonacci: F(1); F(0) is the position of the leaf [default: 1]
    #[arg(short, value_name = "N")]
    b: Option<u64>,
    /// Prove two nodes of a level at the same time
    #[arg(long)]
    concurrent_pairs: bool,
    /// File to write; an existing one is replaced once the proof is complete
    #[arg(long, short, value_name = "FILE", required_unless_present = "plan")]
    out: Option<PathBuf>,
    /// Print every node with its estimated time and memory, and prove nothing
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    fri: FriArgs,
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
    let job = args.job()?;
    let mut finished = Finished::default();
    finished.read(&args.proofs)?;
    let ProofSpec::Tree(spec) = args.fri.resolve_any(job, finished.specs.clone())? else {
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

impl TreeArgs {
    /// The job that the job file and the flags add up to, FRI parameters and proof files aside.
    fn job(&self) -> Result<Job, CliError> {
        let mut job = match &self.job {
            Some(path) => read_job(path)?,
            None => Job::chain(leaf_base(self.leaf.unwrap_or(ProgramName::Fibonacci)), 0),
        };
        let (arity, depth, leaves) = match job.recursion {
            Recursion::Tree { arity, depth, leaves } => (Some(arity), depth, leaves),
            Recursion::Chain { .. } => (None, None, None),
        };
        let why = "the job asks for no tree";
        let arity = self.arity.or(arity).ok_or(CliError::Missing { flag: "--arity", why })?;
        let depth = self.depth.or(depth);
        job.recursion = Recursion::Tree { arity, depth, leaves };
        self.override_base(depth.is_some(), &mut job)?;
        Ok(job)
    }

    /// Lets the flags win over the base of which the leaves are made, if they are made of one.
    fn override_base(&self, made: bool, job: &mut Job) -> Result<(), CliError> {
        let given = [
            ("--leaf", self.leaf.is_some()),
            ("-n", self.n.is_some()),
            ("--seed", self.seed.is_some()),
            ("-b", self.b.is_some()),
        ];
        if !made {
            let with = "leaves that are not made by --depth";
            let flag = given.iter().find(|(_, given)| *given);
            return flag.map_or(Ok(()), |&(flag, _)| Err(CliError::Conflict { flag, with }));
        }
        let base = match (self.leaf, job.base.take()) {
            (Some(program), Some(base)) if program.is(&base) => base,
            (Some(program), _) => leaf_base(program),
            (None, Some(base)) => base,
            (None, None) => return Ok(()),
        };
        match job.base.insert(base) {
            BaseJob::Keccak { num_hashes, seed, .. } => {
                if self.b.is_some() {
                    return Err(CliError::Conflict { flag: "-b", with: "keccak" });
                }
                *num_hashes = self.n.unwrap_or(*num_hashes);
                *seed = self.seed.unwrap_or(*seed);
            }
            BaseJob::Fibonacci { n, b, .. } => {
                if self.seed.is_some() {
                    return Err(CliError::Conflict { flag: "--seed", with: "fibonacci" });
                }
                *n = self.n.unwrap_or(*n);
                *b = self.b.unwrap_or(*b);
            }
        }
        Ok(())
    }
}

/// What the leaves of `program` are when nothing else is said.
fn leaf_base(program: ProgramName) -> BaseJob {
    match program {
        ProgramName::Keccak => default_base(program),
        ProgramName::Fibonacci => BaseJob::fibonacci(LEAF_ELEMENT, 0, 1),
    }
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
