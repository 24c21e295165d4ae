//! Proves a chain, layer by layer.

use std::sync::Arc;

use super::ChainProof;
use crate::cache::Cache;
use crate::error::ProverError;
use crate::estimate::check_memory;
use crate::observer::Observer;
use crate::params::ChainSpec;
use crate::statement::Statement;
use crate::tree::ProofSpec;
use crate::work::Work;

/// Proves a chain. Every proof is verified natively before the next layer takes it.
///
/// Errors: refused parameters, too little memory, the observer's wish to stop, or an error of ours.
pub fn prove(
    spec: &ChainSpec,
    cache: &Cache,
    observer: &Arc<dyn Observer>,
) -> Result<ChainProof, ProverError> {
    spec.validate()?;
    check_memory(spec)?;
    let work = Work::plan(&ProofSpec::Chain(spec.clone()), &[], cache, observer)?;
    let mut reports = Vec::with_capacity(work.nodes().len());
    let mut below = Vec::new();
    for node in 0..work.root() {
        let proved = work.prove(node, &below, cache, observer)?;
        below = vec![Arc::new(proved.proof)];
        reports.push(proved.report);
    }
    let root = work.prove(work.root(), &below, cache, observer)?;
    reports.push(root.report);
    let statement = Statement::new(spec, spec.base.program.result());
    let keys = work.keys(cache, observer)?;
    Ok(ChainProof { spec: spec.clone(), statement, keys, proof: root.proof, reports })
}
