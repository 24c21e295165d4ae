//! Which circuit each layer of a chain uses.

use std::sync::Arc;
use std::time::Instant;

use arbor_circuits::child::ChildShape;
use arbor_circuits::config::{Digest, F};
use arbor_circuits::error::CompileError;
use arbor_circuits::layer::PreparedLayer;
use arbor_circuits::statement::{Slot, leaf_digest, node_digest};

use crate::base::PreparedBase;
use crate::budget;
use crate::cache::Cache;
use crate::clock::millis;
use crate::error::ProverError;
use crate::fri;
use crate::key::to_hex;
use crate::observer::{Observer, PreparedInfo};
use crate::params::ChainSpec;
use crate::report::{LayerKind, TableReport};

/// From this layer on tables are no smaller than those of the layer below, so that shapes settle.
pub(crate) const FIRST_PADDED_LAYER: usize = 4;

/// The circuits of a chain, with their keys.
pub struct PreparedChain {
    base: Arc<PreparedBase>,
    layers: Vec<Arc<PreparedLayer>>,
    keys: Vec<Digest>,
    prepare_ms: Vec<f64>,
    infos: Vec<PreparedInfo>,
}

impl PreparedChain {
    /// The base computation.
    #[must_use]
    pub fn base(&self) -> &PreparedBase {
        &self.base
    }

    /// The circuit of `layer`, counted from 1.
    #[must_use]
    pub fn layer(&self, layer: usize) -> Option<&PreparedLayer> {
        self.layers.get(layer.checked_sub(1)?).map(AsRef::as_ref)
    }

    /// The circuit of the last layer; none if the chain is a base proof alone.
    #[must_use]
    pub fn last(&self) -> Option<&PreparedLayer> {
        self.layers.last().map(AsRef::as_ref)
    }

    /// Digests of the verifying keys, the base first.
    pub fn keys(&self) -> &[Digest] {
        &self.keys
    }

    /// One entry for each distinct circuit, in the order of their first use.
    #[must_use]
    pub fn infos(&self) -> &[PreparedInfo] {
        &self.infos
    }

    /// What preparing for `layer` took just now; 0 if nothing had to be.
    #[must_use]
    pub fn prepare_ms(&self, layer: usize) -> f64 {
        self.prepare_ms.get(layer).copied().unwrap_or(0.0)
    }

    /// Statement digests of every proof of the chain, the base first: what each layer must come to if
    /// the base proof has these public values.
    #[must_use]
    pub fn statement_digests(&self, public_values: &[F]) -> Vec<Digest> {
        let mut digests = vec![leaf_digest(public_values)];
        for key in self.keys.iter().take(self.layers.len()) {
            let statement = digests[digests.len() - 1];
            digests.push(node_digest(&[Slot { present: true, key: *key, statement }]));
        }
        digests
    }
}

/// Takes the circuits of a chain from the cache and prepares those that are not there.
///
/// Errors: refused parameters, a circuit that cannot be built, or the observer's wish to stop.
pub fn prepare(
    spec: &ChainSpec,
    cache: &Cache,
    observer: &Arc<dyn Observer>,
) -> Result<PreparedChain, ProverError> {
    spec.validate()?;
    let mut chain = prepare_base(spec, cache, observer.as_ref())?;
    let mut child = chain.base.shape();
    let mut below: Option<(Digest, usize)> = None;
    for layer in 1..=spec.layers {
        let fri = spec.fri_of(layer);
        let least = fri::min_log_height(fri);
        let min_log_height = min_log_height(layer, &child, below).max(least);
        budget::needs_layer(observer.as_ref(), std::slice::from_ref(&child), fri, min_log_height);
        if observer.cancelled() {
            return Err(ProverError::Cancelled);
        }
        below = Some((child.digest(), min_log_height));
        child = prepare_layer(
            &mut chain,
            spec,
            layer,
            &child,
            min_log_height,
            cache,
            observer.as_ref(),
        )?;
    }
    Ok(chain)
}

/// The base computation alone.
pub(crate) fn prepare_base(
    spec: &ChainSpec,
    cache: &Cache,
    observer: &dyn Observer,
) -> Result<PreparedChain, ProverError> {
    budget::needs_base(observer, &spec.base);
    if observer.cancelled() {
        return Err(ProverError::Cancelled);
    }
    let start = Instant::now();
    let (base, fresh) =
        cache.base(&spec.base, || observer.preparing(0)).map_err(compile_error(0))?;
    let prepare_ms = if fresh { millis(start.elapsed()) } else { 0.0 };
    let info = PreparedInfo {
        layer: 0,
        kind: LayerKind::Base,
        prepare_ms,
        preprocessed_bytes: 0,
        tables: TableReport::all(&base.tables(), &spec.base.fri),
        key: to_hex(&base.key_digest()),
    };
    announce(&info, fresh, observer);
    let keys = vec![base.key_digest()];
    let (layers, prepare_ms, infos) = (Vec::new(), vec![prepare_ms], vec![info]);
    Ok(PreparedChain { base, layers, keys, prepare_ms, infos })
}

/// Adds `layer` to the chain and gives the shape of its proofs.
fn prepare_layer(
    chain: &mut PreparedChain,
    spec: &ChainSpec,
    layer: usize,
    child: &ChildShape,
    min_log_height: usize,
    cache: &Cache,
    observer: &dyn Observer,
) -> Result<ChildShape, ProverError> {
    let start = Instant::now();
    let fri = *spec.fri_of(layer);
    let (circuit, fresh) = cache
        .layer(std::slice::from_ref(child), fri, min_log_height, || observer.preparing(layer))
        .map_err(compile_error(layer))?;
    let prepare_ms = if fresh { millis(start.elapsed()) } else { 0.0 };
    let key = circuit.key_digest();
    if !chain.keys[1..].contains(&key) {
        let info = PreparedInfo {
            layer,
            kind: LayerKind::Layer,
            prepare_ms,
            preprocessed_bytes: circuit.preprocessed_bytes(),
            tables: TableReport::all(&circuit.tables(), &fri),
            key: to_hex(&key),
        };
        announce(&info, fresh, observer);
        chain.infos.push(info);
    }
    let shape = circuit.shape();
    chain.layers.push(circuit);
    chain.keys.push(key);
    chain.prepare_ms.push(prepare_ms);
    Ok(shape)
}

/// Least height of the tables of `layer`. `below` is what the circuit of the layer below was compiled
/// from: over a child of the same shape the same circuit serves again.
pub(crate) fn min_log_height(
    layer: usize,
    child: &ChildShape,
    below: Option<(Digest, usize)>,
) -> usize {
    match below {
        Some((shape, min_log_height)) if shape == child.digest() => min_log_height,
        _ if layer >= FIRST_PADDED_LAYER => child.log_heights().iter().min().copied().unwrap_or(0),
        _ => 0,
    }
}

fn announce(info: &PreparedInfo, fresh: bool, observer: &dyn Observer) {
    if fresh {
        tracing::info!(
            layer = info.layer,
            prepare_ms = info.prepare_ms.round(),
            key = %info.key,
            "circuit prepared"
        );
        observer.prepared(info);
    }
}

fn compile_error(layer: usize) -> impl FnOnce(CompileError) -> ProverError {
    move |source| ProverError::Compile { layer, source }
}
