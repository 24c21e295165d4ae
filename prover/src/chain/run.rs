//! Proves a chain, layer by layer.

use std::sync::Arc;

use arbor_circuits::child::ChildInput;
use arbor_circuits::config::Cap;

use super::ChainProof;
use super::prepare::{PreparedChain, prepare, prepare_base};
use crate::cache::Cache;
use crate::error::ProverError;
use crate::estimate::check_memory;
use crate::observer::Observer;
use crate::params::ChainSpec;
use crate::report::LayerKind;
use crate::statement::Statement;
use crate::step::{Place, prove_base, prove_layer};

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
    let result = spec.base.program.result();
    let public_values = spec.base.program.public_values(result);
    // The base proof needs most memory. The circuits of the layers fit into what it leaves behind, so
    // they are prepared after it.
    let bottom = prepare_base(spec, cache, observer.as_ref())?;
    let base_place = place(&bottom, 0);
    let (mut top, report) =
        prove_base(&base_place, bottom.base(), &spec.base, &public_values, observer)?;
    let mut reports = vec![report];
    let chain = prepare(spec, cache, observer)?;
    let digests = chain.statement_digests(&public_values);
    for (layer, expected) in digests.iter().enumerate().skip(1) {
        let circuit = chain.layer(layer).ok_or(ProverError::Statement { layer })?;
        let child = ChildInput {
            proof: top.proof.as_child(),
            public_values: &top.public_values,
            preprocessed: preprocessed(&chain, layer - 1),
            present: true,
        };
        let (proved, report) =
            prove_layer(&place(&chain, layer), circuit, &[child], expected, observer)?;
        top = proved;
        reports.push(report);
    }
    let statement = Statement::new(spec, result);
    Ok(ChainProof {
        spec: spec.clone(),
        statement,
        keys: chain.keys().to_vec(),
        proof: top.proof,
        reports,
    })
}

fn place(chain: &PreparedChain, layer: usize) -> Place {
    Place {
        number: layer,
        kind: if layer == 0 { LayerKind::Base } else { LayerKind::Layer },
        node: None,
        prepare_ms: chain.prepare_ms(layer),
    }
}

/// Commitment to the preprocessed columns of the proof of `layer`.
fn preprocessed(chain: &PreparedChain, layer: usize) -> Option<&Cap> {
    match chain.layer(layer) {
        Some(circuit) => Some(circuit.preprocessed_cap()),
        None => chain.base().preprocessed_cap(),
    }
}
