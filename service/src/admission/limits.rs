//! What a job may ask for at most.

use arbor_prover::tree::ProofSpec;
use arbor_prover::{Job, Program, Recursion};

use crate::config::LimitsConfig;
use crate::engine::EngineError;

/// Refuses a job that is larger than this server ever takes.
///
/// # Errors
/// [`EngineError::TooLarge`] with the first thing that there is too much of.
pub fn check(job: &Job, spec: &ProofSpec, limits: &LimitsConfig) -> Result<(), EngineError> {
    let result = check_all(job, spec, limits);
    if result.is_err() {
        metrics::counter!("arbor_admission_refused_total", "reason" => "limit").increment(1);
    }
    result
}

fn check_all(job: &Job, spec: &ProofSpec, limits: &LimitsConfig) -> Result<(), EngineError> {
    at_most("labels", job.labels.len() as u64, limits.max_labels as u64)?;
    at_most("deadline_s", job.deadline_s.unwrap_or(0), limits.max_deadline_s)?;
    match &job.recursion {
        Recursion::Chain { layers } => {
            at_most("recursion.layers", *layers as u64, limits.max_layers as u64)?;
        }
        Recursion::Tree { arity, depth, leaves } => {
            let leaves = leaves.as_ref().map_or(0, Vec::len);
            let depth = depth.unwrap_or_else(|| levels(leaves, *arity));
            at_most("recursion.depth", depth as u64, limits.max_depth as u64)?;
        }
    }
    at_most("leaves", spec.num_leaves() as u64, limits.max_leaves as u64)?;
    for base in spec.bases() {
        match base.program {
            Program::Keccak { num_hashes, .. } => {
                at_most("base.num_hashes", num_hashes, limits.max_num_hashes)?;
            }
            Program::Fibonacci { n, .. } => at_most("base.n", n, limits.max_n)?,
        }
    }
    Ok(())
}

/// Levels of merging over as many leaves.
fn levels(leaves: usize, arity: usize) -> usize {
    let (mut row, mut levels) = (leaves, 0);
    while row > 1 && arity > 1 {
        row = row.div_ceil(arity);
        levels += 1;
    }
    levels
}

fn at_most(what: &'static str, got: u64, limit: u64) -> Result<(), EngineError> {
    if got <= limit { Ok(()) } else { Err(EngineError::TooLarge { what, got, limit }) }
}

#[cfg(test)]
mod tests {
    use super::levels;

    #[test]
    fn levels_of_merging() {
        assert_eq!(levels(2, 2), 1);
        assert_eq!(levels(8, 2), 3);
        assert_eq!(levels(9, 8), 2);
        assert_eq!(levels(0, 2), 0);
    }
}
