//! What `recursive_aggregation` adds: leaves, levels of merging, and the run of a tree.

use std::process::ExitCode;
use std::sync::Arc;

use arbor_prover::tree::{self, ProofSpec, RunOptions, TreeProof, TreeSpec};
use arbor_prover::{BaseJob, Cache, Job, Observer, ParamError, Preset, ProverError, Recursion};
use arbor_service::progress::Progress;
use arbor_service::{interrupt, output};
use clap::Args;

use crate::{ExampleError, ProofArgs, TREE_QUERY_POW_BITS, finish, next, report};

/// The flags of the example that proves a tree.
#[derive(Debug, Args)]
pub struct AggregationArgs {
    /// Levels of merging: the tree has arity^levels leaves
    #[arg(long, value_name = "L", default_value_t = 1)]
    num_recursive_layers: usize,
    /// Proofs that one layer merges, 2 to 8
    #[arg(long, value_name = "K", default_value_t = 2)]
    arity: usize,
    /// Prove two nodes of a level at the same time
    #[arg(long)]
    concurrent_pairs: bool,
    #[command(flatten)]
    proofs: ProofArgs,
}

impl AggregationArgs {
    /// Everything that determines the tree over leaves made from `base`.
    fn spec(&self, base: BaseJob) -> Result<TreeSpec, ParamError> {
        let depth = Some(self.num_recursive_layers);
        let recursion = Recursion::Tree { arity: self.arity, depth, leaves: None };
        let fri = self.proofs.fri(TREE_QUERY_POW_BITS);
        let job = Job { recursion, fri, ..Job::chain(base, 0) };
        match job.resolve_any(&Preset::named(&job.preset)?, Vec::new())? {
            ProofSpec::Tree(spec) => Ok(spec),
            ProofSpec::Chain(_) => Err(ParamError::NotATree),
        }
    }
}

/// Proves and verifies a tree over leaves made from `base`; `name` is the example's.
#[must_use]
pub fn run_tree(name: &str, base: BaseJob, args: &AggregationArgs) -> ExitCode {
    finish(name, || prove_and_verify(name, base, args))
}

fn prove_and_verify(name: &str, base: BaseJob, args: &AggregationArgs) -> Result<(), ExampleError> {
    let file = args.proofs.start(name)?;
    let spec = args.spec(base)?;
    let cache = Cache::new();
    let options = RunOptions { concurrent_pairs: args.concurrent_pairs };
    let proof = prove(&spec, options, &cache)?;
    report(&proof.reports, &proof.to_bytes()?, &cache)?;
    if proof.concurrent {
        output::line("two nodes of a level were proved at a time: their times overlap")?;
    }
    let bytes = interrupt::uninterrupted(|| proof.write(&file))?;
    next(&file, bytes)
}

/// Prepares the circuits, which the times of the nodes leave out, and proves.
fn prove(spec: &TreeSpec, options: RunOptions, cache: &Cache) -> Result<TreeProof, ProverError> {
    let progress = Progress::tree();
    let observer: Arc<dyn Observer> = progress.clone();
    let proof = tree::prove(spec, Vec::new(), options, cache, &observer);
    progress.finish();
    proof
}
