//! The report of a proof before anything is committed to.
//!
//! Walks the same way as `chain::prepare` and `tree::prepare`, but compiles to shapes only. That both come
//! to the same report is a test.

use std::collections::HashMap;

use arbor_circuits::child::ChildShape;
use arbor_circuits::config::{Digest, FriConfig};
use arbor_circuits::error::CompileError;
use arbor_circuits::layer::PreparedLayer;

use super::layers::Proofs;
use super::report::SecurityReport;
use crate::base::PreparedBase;
use crate::chain::min_log_height;
use crate::error::ProverError;
use crate::fri;
use crate::key::LayerKey;
use crate::params::{BaseSpec, ChainSpec};
use crate::tree::{LeafSpec, MOST_WRAPS, NodeKind, ProofSpec, TreePlan, TreeSpec};

/// The report of a proof that is not there yet. Compiles every circuit to find its height, which takes
/// some tenths of a second, and commits to none.
///
/// Errors: refused parameters, or a circuit that cannot be built.
pub fn forecast(spec: &ProofSpec) -> Result<SecurityReport, ProverError> {
    spec.validate()?;
    let mut walk = Walk::default();
    let mut proofs = Proofs::default();
    walk.proof(spec, "", &mut proofs)?;
    Ok(proofs.into_report())
}

/// Shapes found so far.
#[derive(Default)]
struct Walk {
    bases: HashMap<BaseSpec, ChildShape>,
    layers: HashMap<LayerKey, ChildShape>,
}

impl Walk {
    /// Adds everything below a proof and gives the shape of its last.
    fn proof(
        &mut self,
        spec: &ProofSpec,
        within: &str,
        proofs: &mut Proofs,
    ) -> Result<ChildShape, ProverError> {
        match spec {
            ProofSpec::Chain(chain) => self.chain(chain, within, proofs),
            ProofSpec::Tree(tree) => self.tree(tree, within, proofs),
        }
    }

    fn chain(
        &mut self,
        spec: &ChainSpec,
        within: &str,
        proofs: &mut Proofs,
    ) -> Result<ChildShape, ProverError> {
        let mut child = self.base(&spec.base)?;
        proofs.add(&child, || format!("{within}base"));
        let mut below: Option<(Digest, usize)> = None;
        for layer in 1..=spec.layers {
            let fri = spec.fri_of(layer);
            let least = min_log_height(layer, &child, below).max(fri::min_log_height(fri));
            below = Some((child.digest(), least));
            child = self.layer(std::slice::from_ref(&child), fri, least, layer)?;
            proofs.add(&child, || format!("{within}layer {layer}"));
        }
        Ok(child)
    }

    fn tree(
        &mut self,
        spec: &TreeSpec,
        within: &str,
        proofs: &mut Proofs,
    ) -> Result<ChildShape, ProverError> {
        let mut shapes = Vec::new();
        for (index, leaf) in spec.leaves.iter().enumerate() {
            let name = format!("{within}node 0/{index}");
            let shape = match leaf {
                LeafSpec::Base(base) => {
                    let shape = self.base(base)?;
                    proofs.add(&shape, || name);
                    shape
                }
                LeafSpec::Proof(proof) => self.proof(proof, &format!("{name}, "), proofs)?,
            };
            shapes.push(shape);
        }
        let wraps = self.wraps(&shapes, &spec.layer_fri)?;
        let plan = TreePlan::new(&wraps.iter().map(Vec::len).collect::<Vec<_>>(), spec.arity);
        for (position, node) in plan.nodes.iter().enumerate().skip(wraps.len()) {
            let shape = if node.kind == NodeKind::Wrap {
                wraps[node.id.index][node.id.level - 1].clone()
            } else {
                let children: Vec<ChildShape> =
                    node.inputs.iter().map(|input| shapes[input.node].clone()).collect();
                let last = position == plan.root();
                let fri = if last { &spec.last_fri } else { &spec.layer_fri };
                self.layer(&children, fri, fri::min_log_height(fri), position)?
            };
            proofs.add(&shape, || format!("{within}node {}", node.id));
            shapes.push(shape);
        }
        Ok(shapes.swap_remove(plan.root()))
    }

    /// Shapes of the layers that bring each leaf to a common shape.
    fn wraps(
        &mut self,
        leaves: &[ChildShape],
        fri: &FriConfig,
    ) -> Result<Vec<Vec<ChildShape>>, ProverError> {
        if leaves.iter().all(|leaf| leaf.digest() == leaves[0].digest()) {
            return Ok(vec![Vec::new(); leaves.len()]);
        }
        let mut common = leaves[0].clone();
        loop {
            let next = self.wrap(&common, fri, 0)?;
            if next.digest() == common.digest() {
                break;
            }
            common = next;
        }
        leaves.iter().map(|leaf| self.bring_to(leaf, &common, fri)).collect()
    }

    fn bring_to(
        &mut self,
        leaf: &ChildShape,
        common: &ChildShape,
        fri: &FriConfig,
    ) -> Result<Vec<ChildShape>, ProverError> {
        let mut wraps: Vec<ChildShape> = Vec::new();
        while wraps.last().unwrap_or(leaf).digest() != common.digest() {
            if wraps.len() == MOST_WRAPS {
                return Err(ProverError::Unsettled { layers: MOST_WRAPS });
            }
            let next = self.wrap(wraps.last().unwrap_or(leaf), fri, common.log_heights()[0])?;
            wraps.push(next);
        }
        Ok(wraps)
    }

    fn wrap(
        &mut self,
        child: &ChildShape,
        fri: &FriConfig,
        least: usize,
    ) -> Result<ChildShape, ProverError> {
        let least = least.max(fri::min_log_height(fri));
        self.layer(std::slice::from_ref(child), fri, least, 0)
    }

    fn base(&mut self, spec: &BaseSpec) -> Result<ChildShape, ProverError> {
        let key = spec.without_inputs();
        if let Some(shape) = self.bases.get(&key) {
            return Ok(shape.clone());
        }
        let shape = PreparedBase::shape_of(spec).map_err(compile_error(0))?;
        self.bases.insert(key, shape.clone());
        Ok(shape)
    }

    fn layer(
        &mut self,
        children: &[ChildShape],
        fri: &FriConfig,
        min_log_height: usize,
        layer: usize,
    ) -> Result<ChildShape, ProverError> {
        let children_digests = children.iter().map(ChildShape::digest).collect();
        let key = LayerKey { children: children_digests, fri: *fri, min_log_height };
        if let Some(shape) = self.layers.get(&key) {
            return Ok(shape.clone());
        }
        let shape =
            PreparedLayer::shape_of(children, fri, min_log_height).map_err(compile_error(layer))?;
        self.layers.insert(key, shape.clone());
        Ok(shape)
    }
}

fn compile_error(layer: usize) -> impl FnOnce(CompileError) -> ProverError {
    move |source| ProverError::Compile { layer, source }
}
