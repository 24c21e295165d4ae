//! The nodes and circuits of a proof before anything is compiled: walks the same way as `chain::prepare` and
//! `tree::prepare`.

use std::collections::HashSet;

use arbor_circuits::config::FriConfig;

use super::sketch::Sketch;
use crate::chain::FIRST_PADDED_LAYER;
use crate::params::{BaseSpec, ChainSpec};
use crate::tree::{LeafSpec, MOST_WRAPS, NodeKind, ProofSpec, TreePlan, TreeSpec};

/// Steps after which a shape must have settled; the circuits settle after three.
const MOST_STEPS: usize = 8;

/// What a proof of any form takes.
#[derive(Debug, Default)]
pub(super) struct Outlook {
    /// Base proofs that are made.
    pub(super) bases: Vec<Sketch>,
    /// Layers that are made; the last is the root.
    pub(super) layers: Vec<Sketch>,
    /// Circuits of base computations, finished proofs included.
    pub(super) base_circuits: HashSet<BaseSpec>,
    /// Circuits of layers, finished proofs included.
    pub(super) layer_circuits: HashSet<Circuit>,
}

/// What determines the circuit of a layer, and what its proofs are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Circuit {
    children: Vec<Sketch>,
    least: usize,
    pub(super) sketch: Sketch,
}

impl Outlook {
    pub(super) fn of(spec: &ProofSpec) -> Self {
        let mut outlook = Self::default();
        outlook.proof(spec, true);
        outlook
    }

    pub(super) fn of_chain(spec: &ChainSpec) -> Self {
        let mut outlook = Self::default();
        outlook.chain(spec, true);
        outlook
    }

    pub(super) fn of_tree(spec: &TreeSpec) -> Self {
        let mut outlook = Self::default();
        outlook.tree(spec, true);
        outlook
    }

    /// The last proof.
    pub(super) fn root(&self) -> Option<&Sketch> {
        self.layers.last().or_else(|| self.bases.last())
    }

    /// Adds a proof, whose nodes are `made` or there already, and gives the shape of its last.
    fn proof(&mut self, spec: &ProofSpec, made: bool) -> Sketch {
        match spec {
            ProofSpec::Chain(chain) => self.chain(chain, made),
            ProofSpec::Tree(tree) => self.tree(tree, made),
        }
    }

    fn base(&mut self, base: &BaseSpec, made: bool) -> Sketch {
        let sketch = Sketch::base(base);
        self.base_circuits.insert(base.without_inputs());
        if made {
            self.bases.push(sketch);
        }
        sketch
    }

    fn layer(&mut self, children: &[Sketch], fri: &FriConfig, least: usize, made: bool) -> Sketch {
        let sketch = Sketch::layer(children, fri, least);
        self.layer_circuits.insert(Circuit { children: children.to_vec(), least, sketch });
        if made {
            self.layers.push(sketch);
        }
        sketch
    }

    fn chain(&mut self, spec: &ChainSpec, made: bool) -> Sketch {
        let mut child = self.base(&spec.base, made);
        let mut below: Option<(Sketch, usize)> = None;
        for layer in 1..=spec.layers {
            // Over a proof of its own shape a layer is the same again.
            let settled = below.is_some_and(|(shape, _)| shape == child);
            if settled && layer < spec.layers {
                self.layers.extend(made.then_some(child));
                continue;
            }
            let least = match below {
                Some((shape, least)) if shape == child => least,
                _ if layer >= FIRST_PADDED_LAYER => child.log_height,
                _ => 0,
            };
            below = Some((child, least));
            child = self.layer(&[child], spec.fri_of(layer), least, made);
        }
        child
    }

    fn tree(&mut self, spec: &TreeSpec, made: bool) -> Sketch {
        let leaves: Vec<Sketch> = spec
            .leaves
            .iter()
            .map(|leaf| match leaf {
                LeafSpec::Base(base) => self.base(base, made),
                LeafSpec::Proof(proof) => self.proof(proof, false),
            })
            .collect();
        let wraps = self.wraps(&leaves, &spec.layer_fri);
        let plan = TreePlan::new(&wraps.iter().map(Vec::len).collect::<Vec<_>>(), spec.arity);
        let mut shapes = leaves;
        for (position, node) in plan.nodes.iter().enumerate().skip(wraps.len()) {
            let children: Vec<Sketch> =
                node.inputs.iter().map(|input| shapes[input.node]).collect();
            let shape = if node.kind == NodeKind::Wrap {
                let sketch = wraps[node.id.index][node.id.level - 1];
                if made {
                    self.layers.push(sketch);
                }
                sketch
            } else {
                let fri = if position == plan.root() { spec.last_fri } else { spec.layer_fri };
                self.layer(&children, &fri, 0, made)
            };
            shapes.push(shape);
        }
        shapes[plan.root()]
    }

    /// Shapes of the layers that bring each leaf to a common shape; adds their circuits.
    fn wraps(&mut self, leaves: &[Sketch], fri: &FriConfig) -> Vec<Vec<Sketch>> {
        if leaves.iter().all(|leaf| *leaf == leaves[0]) {
            return vec![Vec::new(); leaves.len()];
        }
        let mut common = leaves[0];
        for _ in 0..MOST_STEPS {
            let next = self.layer(&[common], fri, 0, false);
            if next == common {
                break;
            }
            common = next;
        }
        leaves
            .iter()
            .map(|leaf| {
                let mut wraps: Vec<Sketch> = Vec::new();
                while wraps.last().unwrap_or(leaf) != &common && wraps.len() < MOST_WRAPS {
                    let below = *wraps.last().unwrap_or(leaf);
                    wraps.push(self.layer(&[below], fri, common.log_height, false));
                }
                wraps
            })
            .collect()
    }

    /// Kinds of all proofs that are made, each with its shape.
    pub(super) fn made(&self) -> impl Iterator<Item = &Sketch> {
        self.bases.iter().chain(&self.layers)
    }
}
