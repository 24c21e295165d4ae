//! Which circuit each node of a tree uses, and what its statement digest has to be.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Instant;

use arbor_circuits::child::ChildShape;
use arbor_circuits::config::{Cap, Digest, F, FriConfig};
use arbor_circuits::error::CompileError;
use arbor_circuits::layer::PreparedLayer;
use arbor_circuits::statement::{Slot, leaf_digest, node_digest};

use super::plan::{NodeKind, TreePlan};
use super::spec::{LeafSpec, ProofSpec, TreeSpec};
use crate::base::PreparedBase;
use crate::budget;
use crate::cache::Cache;
use crate::chain::{self, PreparedChain};
use crate::clock::millis;
use crate::error::ProverError;
use crate::fri;
use crate::key::to_hex;
use crate::observer::{Observer, PreparedInfo};
use crate::params::BaseSpec;
use crate::report::{LayerKind, TableReport};

/// Layers after which a leaf must have come to the common shape: its wrap, and what shrinks it.
pub(crate) const MOST_WRAPS: usize = 4;

/// The circuits of a proof of any form.
pub enum PreparedProof {
    /// A chain.
    Chain(PreparedChain),
    /// A tree.
    Tree(Box<PreparedTree>),
}

impl PreparedProof {
    /// Prepares whatever the proof needs.
    ///
    /// Errors: refused parameters, a circuit that cannot be built, or the observer's wish to stop.
    pub fn prepare(
        spec: &ProofSpec,
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<Self, ProverError> {
        match spec {
            ProofSpec::Chain(spec) => chain::prepare(spec, cache, observer).map(Self::Chain),
            ProofSpec::Tree(spec) => {
                prepare(spec, cache, observer).map(|tree| Self::Tree(Box::new(tree)))
            }
        }
    }

    /// The circuit of the last proof; none if that is a base proof.
    #[must_use]
    pub fn last(&self) -> Option<&PreparedLayer> {
        match self {
            Self::Chain(chain) => chain.last(),
            Self::Tree(tree) => Some(tree.root()),
        }
    }

    /// The base computation, if the proof is a base proof.
    #[must_use]
    pub fn base(&self) -> Option<&PreparedBase> {
        match self {
            Self::Chain(chain) if chain.last().is_none() => Some(chain.base()),
            _ => None,
        }
    }

    /// `spec`, from which this was prepared, as proof files have it: a tree whose root is its only layer names
    /// the parameters of the root for the layers that it has not, and nobody reads others out of it.
    #[must_use]
    pub fn canonical(&self, spec: &ProofSpec) -> ProofSpec {
        match (self, spec) {
            (Self::Tree(tree), ProofSpec::Tree(spec)) => ProofSpec::Tree(tree.canonical(spec)),
            (_, spec) => spec.clone(),
        }
    }

    /// Digests of the verifying keys.
    #[must_use]
    pub fn keys(&self) -> Vec<Digest> {
        match self {
            Self::Chain(chain) => chain.keys().to_vec(),
            Self::Tree(tree) => tree.keys(),
        }
    }

    /// Statement digest of the last proof if the bases have these public values, in order.
    pub fn statement_digest(&self, publics: &mut dyn Iterator<Item = Vec<F>>) -> Digest {
        match self {
            Self::Chain(chain) => {
                let digests = chain.statement_digests(&publics.next().unwrap_or_default());
                digests[digests.len() - 1]
            }
            Self::Tree(tree) => {
                let digests = tree.statement_digests(publics);
                digests[digests.len() - 1]
            }
        }
    }

    fn shape(&self) -> ChildShape {
        match (self.last(), self) {
            (Some(layer), _) => layer.shape(),
            (None, Self::Chain(chain)) => chain.base().shape(),
            (None, Self::Tree(tree)) => tree.root().shape(),
        }
    }

    fn key(&self) -> Digest {
        match (self.last(), self) {
            (Some(layer), _) => layer.key_digest(),
            (None, Self::Chain(chain)) => chain.base().key_digest(),
            (None, Self::Tree(tree)) => tree.root().key_digest(),
        }
    }

    fn cap(&self) -> Option<&Cap> {
        match self.last() {
            Some(layer) => Some(layer.preprocessed_cap()),
            None => self.base().and_then(PreparedBase::preprocessed_cap),
        }
    }
}

/// What a node's proof is of.
enum Circuit {
    Base(Arc<PreparedBase>),
    Finished(PreparedProof),
    Layer { layer: Arc<PreparedLayer>, prepare_ms: f64 },
}

/// The circuits of a tree, with their keys.
pub struct PreparedTree {
    plan: TreePlan,
    circuits: Vec<Circuit>,
    infos: Vec<PreparedInfo>,
}

impl PreparedTree {
    /// Which proof is made from which.
    #[must_use]
    pub const fn plan(&self) -> &TreePlan {
        &self.plan
    }

    /// The circuit of the root.
    ///
    /// # Panics
    /// Never: the root of a tree is a merge.
    #[must_use]
    pub fn root(&self) -> &PreparedLayer {
        self.layer(self.plan.root()).expect("the root of a tree is a merge")
    }

    /// The circuit of a node that is a layer.
    #[must_use]
    pub fn layer(&self, node: usize) -> Option<&PreparedLayer> {
        match &self.circuits[node] {
            Circuit::Layer { layer, .. } => Some(layer),
            Circuit::Base(_) | Circuit::Finished(_) => None,
        }
    }

    /// The base computation of a node that is one.
    #[must_use]
    pub fn base(&self, node: usize) -> Option<&PreparedBase> {
        match &self.circuits[node] {
            Circuit::Base(base) => Some(base),
            Circuit::Finished(_) | Circuit::Layer { .. } => None,
        }
    }

    /// Finished proofs among the leaves, by node.
    #[must_use]
    pub fn finished(&self, node: usize) -> Option<&PreparedProof> {
        match &self.circuits[node] {
            Circuit::Finished(proof) => Some(proof),
            Circuit::Base(_) | Circuit::Layer { .. } => None,
        }
    }

    /// What preparing a node's circuit took just now; 0 if nothing had to be.
    #[must_use]
    pub fn prepare_ms(&self, node: usize) -> f64 {
        match &self.circuits[node] {
            Circuit::Layer { prepare_ms, .. } => *prepare_ms,
            Circuit::Base(_) | Circuit::Finished(_) => 0.0,
        }
    }

    /// One entry for each distinct circuit of a layer, in the order of their first use.
    #[must_use]
    pub fn infos(&self) -> &[PreparedInfo] {
        &self.infos
    }

    /// Commitment to the preprocessed columns of a node's proof.
    #[must_use]
    pub fn preprocessed(&self, node: usize) -> Option<&Cap> {
        match &self.circuits[node] {
            Circuit::Base(base) => base.preprocessed_cap(),
            Circuit::Finished(proof) => proof.cap(),
            Circuit::Layer { layer, .. } => Some(layer.preprocessed_cap()),
        }
    }

    /// Digest of the key of a node's proof.
    pub fn key(&self, node: usize) -> Digest {
        match &self.circuits[node] {
            Circuit::Base(base) => base.key_digest(),
            Circuit::Finished(proof) => proof.key(),
            Circuit::Layer { layer, .. } => layer.key_digest(),
        }
    }

    /// Digests of the verifying keys of all distinct circuits, in the order of their first use.
    #[must_use]
    pub fn keys(&self) -> Vec<Digest> {
        let mut keys = Vec::new();
        for node in 0..self.plan.nodes.len() {
            let key = self.key(node);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// As [`PreparedProof::canonical`], of the tree and of those inside of it.
    #[must_use]
    pub fn canonical(&self, spec: &TreeSpec) -> TreeSpec {
        let leaves = spec.leaves.iter().zip(&self.circuits);
        let leaves = leaves.map(|(leaf, circuit)| match (leaf, circuit) {
            (LeafSpec::Proof(inner), Circuit::Finished(proof)) => {
                LeafSpec::Proof(Box::new(proof.canonical(inner)))
            }
            (leaf, _) => leaf.clone(),
        });
        let layers = self.circuits.len() - spec.leaves.len();
        let layer_fri = if layers > 1 { spec.layer_fri } else { spec.last_fri };
        TreeSpec { leaves: leaves.collect(), layer_fri, ..spec.clone() }
    }

    /// What a node binds of each child.
    #[must_use]
    pub fn slots(&self, node: usize, digests: &[Digest]) -> Vec<Slot> {
        let inputs = self.plan.nodes[node].inputs.iter();
        inputs
            .map(|input| Slot {
                present: input.present,
                key: self.key(input.node),
                statement: digests[input.node],
            })
            .collect()
    }

    /// Statement digest of every node if the bases have these public values, in order.
    #[must_use]
    pub fn statement_digests(&self, publics: &mut dyn Iterator<Item = Vec<F>>) -> Vec<Digest> {
        let mut digests: Vec<Digest> = Vec::with_capacity(self.plan.nodes.len());
        for (node, circuit) in self.circuits.iter().enumerate() {
            digests.push(match circuit {
                Circuit::Base(_) => leaf_digest(&publics.next().unwrap_or_default()),
                Circuit::Finished(proof) => proof.statement_digest(publics),
                Circuit::Layer { .. } => node_digest(&self.slots(node, &digests)),
            });
        }
        digests
    }
}

/// Takes the circuits of a tree from the cache and prepares those that are not there.
///
/// Errors: refused parameters, a circuit that cannot be built, or the observer's wish to stop.
pub fn prepare(
    spec: &TreeSpec,
    cache: &Cache,
    observer: &Arc<dyn Observer>,
) -> Result<PreparedTree, ProverError> {
    spec.validate()?;
    let mut work = Work { spec, cache, observer, infos: Vec::new() };
    let mut circuits = work.leaves()?;
    let wraps = work.wraps(&circuits)?;
    let counts: Vec<usize> = wraps.iter().map(Vec::len).collect();
    let plan = TreePlan::new(&counts, spec.arity);
    for node in plan.nodes.iter().skip(wraps.len()) {
        let circuit = match node.kind {
            NodeKind::Wrap => {
                let layer = Arc::clone(&wraps[node.id.index][node.id.level - 1]);
                Circuit::Layer { layer, prepare_ms: 0.0 }
            }
            _ => {
                let children: Vec<ChildShape> =
                    node.inputs.iter().map(|input| shape(&circuits[input.node])).collect();
                let last = circuits.len() == plan.root();
                let fri = if last { spec.last_fri } else { spec.layer_fri };
                let (layer, prepare_ms) =
                    work.layer(&children, fri, LayerKind::Merge, circuits.len(), 0)?;
                Circuit::Layer { layer, prepare_ms }
            }
        };
        circuits.push(circuit);
    }
    Ok(PreparedTree { plan, circuits, infos: work.infos })
}

fn shape(circuit: &Circuit) -> ChildShape {
    match circuit {
        Circuit::Base(base) => base.shape(),
        Circuit::Finished(proof) => proof.shape(),
        Circuit::Layer { layer, .. } => layer.shape(),
    }
}

/// What the steps of preparing share.
struct Work<'a> {
    spec: &'a TreeSpec,
    cache: &'a Cache,
    observer: &'a Arc<dyn Observer>,
    infos: Vec<PreparedInfo>,
}

impl Work<'_> {
    fn leaves(&self) -> Result<Vec<Circuit>, ProverError> {
        let leaf = |leaf: &LeafSpec| match leaf {
            LeafSpec::Base(base) => self.base(base).map(Circuit::Base),
            LeafSpec::Proof(proof) => {
                PreparedProof::prepare(proof, self.cache, self.observer).map(Circuit::Finished)
            }
        };
        self.spec.leaves.iter().map(leaf).collect()
    }

    fn base(&self, spec: &BaseSpec) -> Result<Arc<PreparedBase>, ProverError> {
        budget::needs_base(self.observer.as_ref(), spec);
        if self.observer.cancelled() {
            return Err(ProverError::Cancelled);
        }
        let (base, _) =
            self.cache.base(spec, || self.observer.preparing(0)).map_err(compile_error(0))?;
        Ok(base)
    }

    /// The layers that bring each leaf to the common shape: none if all have one already.
    fn wraps(&mut self, leaves: &[Circuit]) -> Result<Vec<Vec<Arc<PreparedLayer>>>, ProverError> {
        let shapes: Vec<ChildShape> = leaves.iter().map(shape).collect();
        if shapes.iter().all(|other| other.digest() == shapes[0].digest()) {
            return Ok(vec![Vec::new(); shapes.len()]);
        }
        let (common, log_height) = self.common_shape(&shapes[0])?;
        let mut known: HashMap<Digest, Vec<Arc<PreparedLayer>>> = HashMap::new();
        for shape in &shapes {
            if let Entry::Vacant(entry) = known.entry(shape.digest()) {
                entry.insert(self.bring_to(shape, &common, log_height)?);
            }
        }
        Ok(shapes.iter().map(|shape| known[&shape.digest()].clone()).collect())
    }

    /// The shape at which a chain over any leaf settles.
    fn common_shape(&mut self, leaf: &ChildShape) -> Result<(ChildShape, usize), ProverError> {
        let mut shape = leaf.clone();
        loop {
            let (layer, _) = self.wrap(&shape, 0)?;
            let next = layer.shape();
            let height = next.log_heights()[0];
            if next.digest() == shape.digest() {
                return Ok((next, height));
            }
            shape = next;
        }
    }

    fn bring_to(
        &mut self,
        leaf: &ChildShape,
        common: &ChildShape,
        log_height: usize,
    ) -> Result<Vec<Arc<PreparedLayer>>, ProverError> {
        let mut wraps: Vec<Arc<PreparedLayer>> = Vec::new();
        let mut shape = leaf.clone();
        while shape.digest() != common.digest() {
            if wraps.len() == MOST_WRAPS {
                return Err(ProverError::Unsettled { layers: MOST_WRAPS });
            }
            let (layer, _) = self.wrap(&shape, log_height)?;
            shape = layer.shape();
            wraps.push(layer);
        }
        Ok(wraps)
    }

    fn wrap(
        &mut self,
        shape: &ChildShape,
        min_log_height: usize,
    ) -> Result<(Arc<PreparedLayer>, f64), ProverError> {
        let children = std::slice::from_ref(shape);
        self.layer(children, self.spec.layer_fri, LayerKind::Layer, 0, min_log_height)
    }

    fn layer(
        &mut self,
        children: &[ChildShape],
        fri: FriConfig,
        kind: LayerKind,
        node: usize,
        min_log_height: usize,
    ) -> Result<(Arc<PreparedLayer>, f64), ProverError> {
        let least = min_log_height.max(fri::min_log_height(&fri));
        budget::needs_layer(self.observer.as_ref(), children, &fri, least);
        if self.observer.cancelled() {
            return Err(ProverError::Cancelled);
        }
        let start = Instant::now();
        let observer = self.observer;
        let (layer, fresh) = self
            .cache
            .layer(children, fri, least, || observer.preparing(node))
            .map_err(compile_error(node))?;
        let prepare_ms = if fresh { millis(start.elapsed()) } else { 0.0 };
        let key = to_hex(&layer.key_digest());
        if !self.infos.iter().any(|info| info.key == key) {
            let info = PreparedInfo {
                layer: node,
                kind,
                prepare_ms,
                preprocessed_bytes: layer.preprocessed_bytes(),
                tables: TableReport::all(&layer.tables(), &fri),
                key,
            };
            if fresh {
                observer.prepared(&info);
            }
            self.infos.push(info);
        }
        Ok((layer, prepare_ms))
    }
}

fn compile_error(layer: usize) -> impl FnOnce(CompileError) -> ProverError {
    move |source| ProverError::Compile { layer, source }
}
