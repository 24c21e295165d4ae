//! The flags that describe a tree, for those who prove it here and those who submit it.

use std::path::PathBuf;

use arbor_prover::{BaseJob, Job, Recursion};
use clap::Args;

use super::job_args::{FriArgs, ProgramName, default_base, read_job};
use crate::error::CliError;

/// Index of the element that a Fibonacci leaf proves unless `-n` says otherwise.
pub const LEAF_ELEMENT: u64 = 1000;

/// What a tree is made of.
#[derive(Debug, Args)]
pub struct TreeJobArgs {
    /// Proofs that one layer merges, 2 to 8 [default: the job's]
    #[arg(long, value_name = "K", required_unless_present = "job")]
    arity: Option<usize>,
    /// Levels of merging over arity^depth leaves made from one base
    #[arg(long, value_name = "D")]
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
    /// FRI parameters.
    #[command(flatten)]
    pub fri: FriArgs,
}

impl TreeJobArgs {
    /// The job that the job file and the flags add up to, FRI parameters and proof files aside.
    ///
    /// # Errors
    /// A file that cannot be read, flags that do not go together.
    pub fn job(&self) -> Result<Job, CliError> {
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
