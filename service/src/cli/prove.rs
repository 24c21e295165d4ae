//! `arbor prove`: a base proof and its layers, into a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arbor_prover::tree::{ProofSpec, RunOptions};
use arbor_prover::{
    Cache, ChainProof, ChainSpec, Estimate, LayerKind, LayerReport, Observer, Statement, chain,
    estimate, memory,
};
use clap::{Args, Subcommand};
use serde::Serialize;

use super::Format;
use super::job_args::JobArgs;
use super::prove_tree::{self, TreeArgs};
use crate::error::CliError;
use crate::progress::Progress;
use crate::{interrupt, output};

/// Prove a base computation and recursion layers over it, and write the last proof to a file.
///
/// --help lists the FRI parameters, -h leaves them out.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct ProveArgs {
    #[command(subcommand)]
    form: Option<Form>,
    #[command(flatten)]
    job: JobArgs,
    /// File to write; an existing one is replaced once the proof is complete
    #[arg(long, short, value_name = "FILE", required_unless_present = "plan")]
    out: Option<PathBuf>,
    /// Print the steps and the estimated memory, and prove nothing
    #[arg(long)]
    plan: bool,
}

/// What is proved if it is no chain.
#[derive(Debug, Subcommand)]
enum Form {
    Tree(Box<TreeArgs>),
}

/// What `--json` prints.
#[derive(Serialize)]
struct Proved<'a> {
    file: &'a Path,
    bytes: u64,
    statement: &'a Statement,
    naive_bits: usize,
    peak_bytes: Option<u64>,
    layers: &'a [LayerReport],
}

/// Proves, or prints the plan.
pub(super) fn run(args: &ProveArgs, format: Format) -> Result<(), CliError> {
    if let Some(Form::Tree(tree)) = &args.form {
        return prove_tree::run(tree, format);
    }
    let target = if args.plan { None } else { args.out.as_deref() };
    let spec = match args.job.resolve_any()? {
        ProofSpec::Chain(spec) => spec,
        ProofSpec::Tree(spec) => {
            let finished = prove_tree::Finished::default();
            let options = RunOptions::default();
            return prove_tree::prove_or_plan(&spec, finished, options, target, format);
        }
    };
    if args.plan {
        return Plan::of(&spec).print(format);
    }
    let out = target.ok_or(CliError::Missing { flag: "--out", why: "the file to write" })?;
    output::check_writable(out)?;
    let proof = prove(&spec)?;
    let bytes = interrupt::uninterrupted(|| proof.write(out))?;
    print(&proof, out, bytes, format)
}

/// Proves with progress on a terminal.
fn prove(spec: &ChainSpec) -> Result<ChainProof, CliError> {
    let progress = Progress::chain(spec.layers);
    let observer: Arc<dyn Observer> = progress.clone();
    let proof = chain::prove(spec, &Cache::new(), &observer);
    progress.finish();
    Ok(proof?)
}

/// Prints what was proved, how long it took and how to verify it.
fn print(proof: &ChainProof, file: &Path, bytes: u64, format: Format) -> Result<(), CliError> {
    if format == Format::Json {
        return output::json(&Proved {
            file,
            bytes,
            statement: &proof.statement,
            naive_bits: proof.spec.naive_bits(),
            peak_bytes: memory::lifetime_peak_bytes(),
            layers: &proof.reports,
        });
    }
    output::line(output::timings(&proof.reports))?;
    for line in proof.statement.lines() {
        output::line(line)?;
    }
    output::line(format_args!("wrote {} ({bytes} bytes)", file.display()))?;
    output::line(format_args!("next: arbor verify {}", file.display()))
}

/// The steps of a chain, before any of them is taken.
#[derive(Serialize)]
struct Plan {
    steps: Vec<Step>,
    naive_bits: usize,
    estimate: MemoryEstimate,
}

/// One step of a plan.
#[derive(Serialize)]
struct Step {
    layer: usize,
    kind: LayerKind,
    proves: String,
    fri: String,
}

/// Estimated bytes.
#[derive(Serialize)]
struct MemoryEstimate {
    base_bytes: u64,
    layer_bytes: u64,
    peak_bytes: u64,
}

impl Plan {
    fn of(spec: &ChainSpec) -> Self {
        let Estimate { base_bytes, layer_bytes, peak_bytes } = estimate::estimate(spec);
        Self {
            steps: (0..=spec.layers).map(|layer| Step::of(spec, layer)).collect(),
            naive_bits: spec.naive_bits(),
            estimate: MemoryEstimate { base_bytes, layer_bytes, peak_bytes },
        }
    }

    fn print(&self, format: Format) -> Result<(), CliError> {
        if format == Format::Json {
            return output::json(self);
        }
        let mut table = output::table(["layer", "kind", "proves", "FRI parameters"], 4);
        for step in &self.steps {
            let cells = [
                step.layer.to_string(),
                step.kind.to_string(),
                step.proves.clone(),
                step.fri.clone(),
            ];
            table.add_row(cells);
        }
        output::line(table)?;
        let gigabytes = self.estimate.peak_bytes as f64 / 1e9;
        output::line(format_args!(
            "{} naive bits (log blowup x queries + query grinding; not proven bits)",
            self.naive_bits
        ))?;
        output::line(format_args!("about {gigabytes:.2} GB of memory at most"))
    }
}

impl Step {
    fn of(spec: &ChainSpec, layer: usize) -> Self {
        let proves = match layer {
            0 => format!("{}, 2^{} rows", spec.base.program.name(), spec.base.log_height()),
            1 => "that the base proof was verified".to_owned(),
            _ => format!("that layer {} was verified", layer - 1),
        };
        let kind = if layer == 0 { LayerKind::Base } else { LayerKind::Layer };
        Self { layer, kind, proves, fri: output::fri(spec.fri_of(layer)) }
    }
}
