//! The security report, the policy and the presets that promise proven bits.

mod policy;
mod presets;
mod report;
mod soundcalc;
mod terms;

use std::sync::Arc;

use arbor_prover::tree::ProofSpec;
use arbor_prover::{BaseJob, Job, Observer, Preset, Recursion, Silent};

/// Looks away.
fn observer() -> Arc<dyn Observer> {
    Arc::new(Silent)
}

/// A chain over F(20) with the parameters for tests.
fn small_chain(layers: usize) -> Job {
    Job { preset: "insecure-test".to_owned(), ..Job::chain(BaseJob::fibonacci(20, 0, 1), layers) }
}

/// A tree over leaves of its own base with a preset.
fn tree(base: BaseJob, arity: usize, depth: usize, preset: &str) -> Job {
    Job {
        recursion: Recursion::Tree { arity, depth: Some(depth), leaves: None },
        preset: preset.to_owned(),
        ..Job::chain(base, 0)
    }
}

/// Resolved, without finished proofs.
fn spec(job: &Job) -> ProofSpec {
    let preset = Preset::named(&job.preset).expect("embedded");
    job.resolve_any(&preset, Vec::new()).expect("valid")
}
