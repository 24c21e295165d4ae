//! `arbor security`: what a proof with these parameters is worth, proved or not.

use std::path::{Path, PathBuf};

use arbor_prover::security::{self, Regime, Term, soundcalc};
use arbor_prover::{
    BaseJob, Cache, Job, LayerSecurity, Limits, ProofFile, Recursion, SecurityReport,
    VerifyFailure, VerifyOptions, format, verify,
};
use clap::Args;

use super::Format;
use super::job_args::{DEFAULT_LAYERS, FriArgs, ProgramName, default_base, read_job};
use crate::error::CliError;
use crate::output;

/// The rounds in the order of the protocol, with the headings of their columns.
const ROUNDS: [(Term, &str); 7] = [
    (Term::Lookup, "lookups"),
    (Term::Constraints, "constraints"),
    (Term::OutOfDomain, "out of domain"),
    (Term::Batching, "batching"),
    (Term::Folding, "folding"),
    (Term::Queries, "queries"),
    (Term::Hash, "hash"),
];

/// Print how secure a proof is: naive, conjectured and proven bits, and what binds each.
///
/// Of a file, whose proof is not verified for this, or of the job that the flags, the preset and perhaps
/// --job add up to. Nothing is proved: circuits are compiled, since figures depend on their heights.
///
/// Proven bits follow from theorems in the unique-decoding or the Johnson regime, the better of the two.
/// Conjectured bits take the random-words heuristic for the queries. Naive bits are log blowup x queries
/// and the query grinding, for comparison with other tools only. Of many proofs upon each other the weakest
/// counts. SECURITY.md says what all of them rest on.
#[derive(Debug, Args)]
pub struct SecurityArgs {
    /// keccak, fibonacci, or a proof file [default: keccak]
    #[arg(value_name = "PROGRAM|FILE")]
    what: Option<PathBuf>,
    /// Keccak permutations [default: 4], or the index of the Fibonacci element [default: 100]
    #[arg(short, value_name = "N")]
    n: Option<u64>,
    /// Recursion layers over the base proof; 0 is the base proof alone [default: 3]
    #[arg(long, value_name = "L", conflicts_with = "arity")]
    layers: Option<usize>,
    /// Of a tree: proofs that one layer merges, 2 to 8
    #[arg(long, value_name = "K", requires = "depth")]
    arity: Option<usize>,
    /// Of a tree: levels of merging over arity^depth leaves
    #[arg(long, value_name = "D", requires = "arity")]
    depth: Option<usize>,
    /// Job to read; flags override it
    #[arg(long, value_name = "FILE.json")]
    job: Option<PathBuf>,
    /// Print the input of the public calculator soundcalc (TOML) instead
    #[arg(long, conflicts_with = "json")]
    soundcalc: bool,
    #[command(flatten)]
    fri: FriArgs,
}

/// Reports and prints.
pub(super) fn run(args: &SecurityArgs, format: Format) -> Result<(), CliError> {
    let report = args.report()?;
    if args.soundcalc {
        return output::line(soundcalc::toml(&report).trim_end());
    }
    match format {
        Format::Json => output::json(&report),
        Format::Text => print(&report),
    }
}

impl SecurityArgs {
    fn report(&self) -> Result<SecurityReport, CliError> {
        match (&self.what, self.program()) {
            (Some(file), None) => self.of_file(file),
            (_, program) => {
                let spec = self.fri.resolve_any(self.job(program)?, Vec::new())?;
                Ok(security::forecast(&spec)?)
            }
        }
    }

    /// The program, if that is what is asked for and not a file.
    fn program(&self) -> Option<ProgramName> {
        match self.what.as_ref()?.to_str()? {
            "keccak" => Some(ProgramName::Keccak),
            "fibonacci" => Some(ProgramName::Fibonacci),
            _ => None,
        }
    }

    fn of_file(&self, path: &Path) -> Result<SecurityReport, CliError> {
        let given = [
            ("-n", self.n.is_some()),
            ("--layers", self.layers.is_some()),
            ("--arity", self.arity.is_some()),
            ("--job", self.job.is_some()),
        ];
        if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(CliError::Conflict { flag, with: "a proof file" });
        }
        let limits = Limits::default();
        let bytes = format::read_file(path, &limits).map_err(VerifyFailure::from)?;
        let file = ProofFile::parse(&bytes, &limits).map_err(VerifyFailure::from)?;
        of_file(&file)
    }

    fn job(&self, program: Option<ProgramName>) -> Result<Job, CliError> {
        let mut job = match (&self.job, program) {
            (Some(path), _) => read_job(path)?,
            (None, program) => {
                if program.is_none() {
                    eprintln!("note: of keccak; name a program or a proof file for others");
                }
                let program = program.unwrap_or(ProgramName::Keccak);
                Job::chain(default_base(program), DEFAULT_LAYERS)
            }
        };
        if let Some(program) = program
            && !job.base.as_ref().is_some_and(|base| program.is(base))
        {
            job.base = Some(default_base(program));
        }
        match (self.n, &mut job.base) {
            (Some(count), Some(BaseJob::Keccak { num_hashes, .. })) => *num_hashes = count,
            (Some(index), Some(BaseJob::Fibonacci { n, .. })) => *n = index,
            (Some(_), None) => {
                return Err(CliError::Conflict { flag: "-n", with: "a job without a base" });
            }
            (None, _) => {}
        }
        if let Some(layers) = self.layers {
            job.recursion = Recursion::Chain { layers };
        }
        if let Some(arity) = self.arity {
            job.recursion = Recursion::Tree { arity, depth: self.depth, leaves: None };
        }
        Ok(job)
    }
}

/// The report of the proof in a file, from its parameters, within the default limits of `verify`. The proof
/// is not verified.
///
/// # Errors
/// What is over a limit, or that the circuits cannot be built.
pub(super) fn of_file(file: &ProofFile) -> Result<SecurityReport, CliError> {
    let prepared = verify::circuits(file, &VerifyOptions::default(), &Cache::new())?;
    Ok(SecurityReport::of(&prepared))
}

/// Prints for people: the three figures, each proof, each round.
fn print(report: &SecurityReport) -> Result<(), CliError> {
    for line in report.lines() {
        output::line(line)?;
    }
    output::line(layers(&report.layers))?;
    output::line(rounds(&report.layers))
}

/// A circuit a line.
fn layers(layers: &[LayerSecurity]) -> comfy_table::Table {
    let header = ["proof", "proven by", "bound by", "naive", "conjectured", "proven"];
    let mut table = output::table(header, 3);
    for layer in layers {
        table.add_row([
            name(layer),
            layer.proven.regime.to_string(),
            layer.proven.term.to_string(),
            format!("{:.1}", layer.naive.bits),
            format!("{:.1}", layer.conjectured.bits),
            format!("{:.1}", layer.proven.bits),
        ]);
    }
    table
}

/// Bits of every round in every regime.
fn rounds(layers: &[LayerSecurity]) -> comfy_table::Table {
    let header = ["proof", "regime"].into_iter().chain(ROUNDS.map(|(_, heading)| heading));
    let mut table = output::table(header, 2);
    for layer in layers {
        for terms in &layer.regimes {
            let regime = match (terms.regime, terms.m) {
                (Regime::Johnson, Some(m)) => format!("Johnson, m = {m}"),
                (regime, _) => regime.to_string(),
            };
            let bits = ROUNDS.map(|(term, _)| {
                terms.term(term).map_or_else(|| "–".to_owned(), |bits| format!("{:.1}", down(bits)))
            });
            table.add_row([name(layer), regime].into_iter().chain(bits));
        }
    }
    table
}

/// Down to one decimal, as the figures.
fn down(bits: f64) -> f64 {
    (bits * 10.0).floor() / 10.0
}

/// The first proof of a circuit, and how many more there are.
fn name(layer: &LayerSecurity) -> String {
    match layer.proofs {
        1 => layer.layer.clone(),
        proofs => format!("{} and {} more", layer.layer, proofs - 1),
    }
}
