//! The nodes of a chain.

use std::sync::{Arc, Mutex, PoisonError};

use arbor_circuits::child::ChildInput;
use arbor_circuits::config::{Cap, Digest, F};
use arbor_circuits::layer::PreparedLayer;

use super::{WorkKind, WorkNode, base_public_values};
use crate::cache::Cache;
use crate::chain::{PreparedChain, layer_public_values, prepare, prepare_base};
use crate::error::ProverError;
use crate::observer::Observer;
use crate::params::{ChainSpec, Program};
use crate::proof::FinalProof;
use crate::report::LayerKind;
use crate::step::{Place, Proved, prove_base, prove_layer};
use crate::tree::NodeId;

/// A chain whose base is prepared.
///
/// The base proof needs most memory. The circuits of the layers fit into what it leaves behind, so they are
/// prepared after it.
pub(super) struct ChainWork {
    spec: ChainSpec,
    public_values: Vec<F>,
    bottom: PreparedChain,
    whole: Mutex<Option<Arc<PreparedChain>>>,
}

impl ChainWork {
    pub(super) fn plan(
        spec: &ChainSpec,
        mut publics: Vec<Vec<F>>,
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<Self, ProverError> {
        let bottom = prepare_base(spec, cache, observer.as_ref())?;
        let public_values = publics.pop().unwrap_or_default();
        Ok(Self { spec: spec.clone(), public_values, bottom, whole: Mutex::new(None) })
    }

    pub(super) fn nodes(&self) -> Vec<WorkNode> {
        let node = |layer: usize| WorkNode {
            id: NodeId { level: layer, index: 0 },
            kind: if layer == 0 { WorkKind::Base } else { WorkKind::Layer },
            children: layer.checked_sub(1).into_iter().collect(),
            padding: 0,
            finished: None,
        };
        (0..=self.spec.layers).map(node).collect()
    }

    /// All circuits.
    pub(super) fn whole(
        &self,
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<Arc<PreparedChain>, ProverError> {
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chain) = &*whole {
            return Ok(Arc::clone(chain));
        }
        let chain = Arc::new(prepare(&self.spec, cache, observer)?);
        *whole = Some(Arc::clone(&chain));
        Ok(chain)
    }

    pub(super) const fn is_uni(&self, layer: usize) -> bool {
        layer == 0 && matches!(self.spec.base.program, Program::Keccak { .. })
    }

    pub(super) fn prove(
        &self,
        layer: usize,
        children: &[Arc<FinalProof>],
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<Proved, ProverError> {
        if layer == 0 {
            let place = place(&self.bottom, 0);
            let base = self.bottom.base();
            return prove_base(&place, base, &self.spec.base, &self.public_values, observer);
        }
        let chain = self.whole(cache, observer)?;
        let digests = chain.statement_digests(&self.public_values);
        let circuit = layer_of(&chain, layer)?;
        let [child] = children else {
            return Err(ProverError::Statement { layer });
        };
        let public_values = self.public_values(layer - 1, &digests);
        let child = ChildInput {
            proof: child.as_child(),
            public_values: &public_values,
            preprocessed: preprocessed(&chain, layer - 1),
            present: true,
        };
        prove_layer(&place(&chain, layer), circuit, &[child], &digests[layer], observer)
    }

    pub(super) fn verify(
        &self,
        layer: usize,
        proof: &FinalProof,
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<(), ProverError> {
        if layer == 0 {
            let checked = self.bottom.base().verify(proof, &self.public_values);
            return checked.map_err(|source| ProverError::SelfCheck { layer, source });
        }
        let chain = self.whole(cache, observer)?;
        let digests = chain.statement_digests(&self.public_values);
        let FinalProof::Batch(proof) = proof else {
            return Err(ProverError::Statement { layer });
        };
        let checked = layer_of(&chain, layer)?.verify(proof, &digests[layer]);
        checked.map_err(|source| ProverError::SelfCheck { layer, source })
    }

    fn public_values(&self, layer: usize, digests: &[Digest]) -> Vec<Vec<F>> {
        match layer {
            0 => base_public_values(&self.public_values),
            _ => layer_public_values(&digests[layer]),
        }
    }
}

fn layer_of(chain: &PreparedChain, layer: usize) -> Result<&PreparedLayer, ProverError> {
    chain.layer(layer).ok_or(ProverError::Statement { layer })
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
