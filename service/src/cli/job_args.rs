//! From flags, a preset and perhaps a job file to everything that determines a chain.

use std::path::{Path, PathBuf};

use arbor_prover::tree::ProofSpec;
use arbor_prover::{BaseJob, ChainSpec, Job, Leaf, Preset, Recursion, preset};
use clap::{Args, ValueEnum};

use super::fri_flags::{Base, FriFlags, Last, Layers};
use crate::error::CliError;

/// Permutations of a Keccak base unless `-n` says otherwise.
const DEFAULT_NUM_HASHES: u64 = 4;
/// Seed of the inputs of a Keccak base.
const DEFAULT_SEED: u64 = 1;
/// Index of a Fibonacci element unless `-n` says otherwise.
const DEFAULT_ELEMENT: u64 = 100;
/// Largest job file that is read.
const JOB_BYTES: u64 = 1 << 20;

/// What a base proof proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgramName {
    /// Keccak-f permutations (Plonky3's KeccakAir, p3-uni-stark)
    Keccak,
    /// An element of a Fibonacci sequence modulo p (p3-batch-stark)
    Fibonacci,
}

/// The flags that say what to prove.
#[derive(Debug, Args)]
pub struct JobArgs {
    /// What the base proof proves
    pub program: Option<ProgramName>,
    /// Keccak permutations [default: 4], or the index of the Fibonacci element [default: 100]
    #[arg(short, value_name = "N")]
    n: Option<u64>,
    /// Seed of the Keccak inputs [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Fibonacci: F(0) [default: 0]
    #[arg(short, value_name = "N")]
    a: Option<u64>,
    /// Fibonacci: F(1) [default: 1]
    #[arg(short, value_name = "N")]
    b: Option<u64>,
    /// Recursion layers over the base proof; 0 is the base proof alone [default: 3]
    #[arg(long, value_name = "L")]
    layers: Option<usize>,
    /// Job to read; flags override it
    #[arg(long, value_name = "FILE.json")]
    pub job: Option<PathBuf>,
    #[command(flatten)]
    fri: FriArgs,
}

/// The flags that choose FRI parameters.
#[derive(Debug, Args)]
pub struct FriArgs {
    /// FRI parameters: an embedded preset or a TOML file [default: default]
    #[arg(long, value_name = "NAME|FILE")]
    preset: Option<String>,
    #[command(flatten)]
    layers: FriFlags<Layers>,
    #[command(flatten)]
    base: FriFlags<Base>,
    #[command(flatten)]
    last: FriFlags<Last>,
}

impl JobArgs {
    /// The chain that the flags, the job file and the preset add up to, checked.
    ///
    /// # Errors
    /// A file that cannot be read, flags that do not go together, impossible parameters.
    pub fn resolve(&self) -> Result<ChainSpec, CliError> {
        self.resolve_as(self.program)
    }

    /// As [`Self::resolve`], of a job file that may ask for a tree.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn resolve_any(&self) -> Result<ProofSpec, CliError> {
        self.fri.resolve_any(self.job_of(self.program)?, Vec::new())
    }

    /// As [`Self::resolve`], with another program than the one given.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn resolve_as(&self, program: Option<ProgramName>) -> Result<ChainSpec, CliError> {
        self.fri.resolve(self.job_of(program)?)
    }

    /// The job that the flags and the job file add up to, for a server to resolve.
    ///
    /// # Errors
    /// A file that cannot be read, flags that do not go together, a preset that is a file.
    pub fn job(&self) -> Result<Job, CliError> {
        self.fri.named(self.job_of(self.program)?)
    }

    /// The job that the job file and the flags add up to, FRI parameters aside.
    fn job_of(&self, program: Option<ProgramName>) -> Result<Job, CliError> {
        let mut job = match (&self.job, program) {
            (Some(path), _) => read_job(path)?,
            (None, Some(program)) => Job::chain(default_base(program), DEFAULT_LAYERS),
            (None, None) => {
                let why = "what to prove, unless --job FILE.json says so";
                return Err(CliError::Missing { flag: "keccak|fibonacci", why });
            }
        };
        self.override_base(program, &mut job)?;
        if let Some(layers) = self.layers {
            job.recursion = Recursion::Chain { layers };
        }
        Ok(job)
    }

    /// Lets the flags win over the base of `job`.
    fn override_base(&self, program: Option<ProgramName>, job: &mut Job) -> Result<(), CliError> {
        let changed = match (program, job.base.take()) {
            (Some(program), Some(base)) if !program.is(&base) => default_base(program),
            (Some(program), None) => default_base(program),
            (_, Some(base)) => base,
            (None, None) => return Ok(()),
        };
        let base = job.base.insert(changed);
        match base {
            BaseJob::Keccak { num_hashes, seed, .. } => {
                refuse(self.a, "-a", "keccak")?;
                refuse(self.b, "-b", "keccak")?;
                *num_hashes = self.n.unwrap_or(*num_hashes);
                *seed = self.seed.unwrap_or(*seed);
            }
            BaseJob::Fibonacci { n, a, b, .. } => {
                refuse(self.seed, "--seed", "fibonacci")?;
                *n = self.n.unwrap_or(*n);
                *a = self.a.unwrap_or(*a);
                *b = self.b.unwrap_or(*b);
            }
        }
        Ok(())
    }
}

impl FriArgs {
    /// Adds preset and FRI flags to `job` and resolves it.
    ///
    /// # Errors
    /// A preset that is not there, impossible parameters, a tree.
    pub fn resolve(&self, job: Job) -> Result<ChainSpec, CliError> {
        note_unused(&job);
        let job = self.apply(job);
        Ok(job.resolve_with(&self.preset(&job)?)?)
    }

    /// As [`Self::resolve`], of a chain or a tree; `finished` become further leaves of a tree.
    ///
    /// # Errors
    /// A preset that is not there, impossible parameters.
    pub fn resolve_any(&self, job: Job, finished: Vec<ProofSpec>) -> Result<ProofSpec, CliError> {
        note_unused(&job);
        let job = self.apply(job);
        Ok(job.resolve_any(&self.preset(&job)?, finished)?)
    }

    /// `job` with the FRI flags and the name of the preset. Whether there is such a preset is for the
    /// server to say.
    ///
    /// # Errors
    /// A preset that is a file here: a server knows presets by name.
    pub fn named(&self, job: Job) -> Result<Job, CliError> {
        let mut job = self.apply(job);
        if let Some(name) = &self.preset {
            if !preset::names().any(|known| known == name) && Path::new(name).exists() {
                return Err(CliError::Conflict { flag: "--preset FILE", with: "submit" });
            }
            job.preset.clone_from(name);
        }
        Ok(job)
    }

    /// `job` with the FRI flags.
    fn apply(&self, mut job: Job) -> Job {
        self.layers.apply(&mut job.fri);
        self.last.apply(&mut job.last.fri);
        for base in bases(&mut job) {
            let (BaseJob::Keccak { fri, .. } | BaseJob::Fibonacci { fri, .. }) = base;
            self.base.apply(fri);
        }
        job
    }

    /// The preset for what the job leaves open.
    fn preset(&self, job: &Job) -> Result<Preset, CliError> {
        Ok(match &self.preset {
            None => Preset::named(&job.preset)?,
            Some(name) if preset::names().any(|known| known == name) => Preset::named(name)?,
            Some(file) if Path::new(file).exists() => Preset::load(Path::new(file))?,
            // Neither a name nor a file: the error lists the names.
            Some(name) => Preset::named(name)?,
        })
    }
}

/// The base of a job and those among its leaves.
fn bases(job: &mut Job) -> impl Iterator<Item = &mut BaseJob> {
    let leaves = match &mut job.recursion {
        Recursion::Tree { leaves: Some(leaves), .. } => leaves.as_mut_slice(),
        _ => &mut [],
    };
    let leaves = leaves.iter_mut().filter_map(|leaf| match leaf {
        Leaf::Base(base) => Some(base),
        Leaf::Finished(_) => None,
    });
    job.base.iter_mut().chain(leaves)
}

/// Reads a job file.
///
/// # Errors
/// A file that cannot be read or is no job.
pub fn read_job(path: &Path) -> Result<Job, CliError> {
    Ok(Job::from_json(&read_text(path, JOB_BYTES)?)?)
}

/// Tells of what only a server heeds.
fn note_unused(job: &Job) {
    let unused = job.priority != 0 || job.deadline_s.is_some() || job.webhook.is_some();
    if unused || !job.labels.is_empty() {
        eprintln!(
            "note: priority, deadline_s, labels and webhook of a job have no effect on this command"
        );
    }
}

/// Layers of a chain unless `--layers` says otherwise.
pub const DEFAULT_LAYERS: usize = 3;

/// The base that `program` stands for when nothing else is said.
#[must_use]
pub fn default_base(program: ProgramName) -> BaseJob {
    match program {
        ProgramName::Keccak => BaseJob::keccak(DEFAULT_NUM_HASHES, DEFAULT_SEED),
        ProgramName::Fibonacci => BaseJob::fibonacci(DEFAULT_ELEMENT, 0, 1),
    }
}

impl ProgramName {
    /// Whether `base` is of this program.
    #[must_use]
    pub const fn is(self, base: &BaseJob) -> bool {
        matches!(
            (self, base),
            (Self::Keccak, BaseJob::Keccak { .. }) | (Self::Fibonacci, BaseJob::Fibonacci { .. })
        )
    }
}

/// Fails if `value` was given: it means nothing `with` this program.
fn refuse(value: Option<u64>, flag: &'static str, with: &'static str) -> Result<(), CliError> {
    value.map_or(Ok(()), |_| Err(CliError::Conflict { flag, with }))
}

/// Reads a text file of at most `limit` bytes.
///
/// # Errors
/// If it is larger, not there, or not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String, CliError> {
    use std::io::Read;

    let failed = |source| CliError::File { path: path.to_owned(), source };
    let mut text = String::new();
    let mut file = std::fs::File::open(path).map_err(failed)?.take(limit + 1);
    file.read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > limit {
        return Err(CliError::TooLarge { path: path.to_owned(), limit });
    }
    Ok(text)
}
