//! What a tree says: its leaves in order, and what is padding.

use std::fmt;

use arbor_circuits::config::FriConfig;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::plan::TreePlan;
use super::spec::{LeafSpec, ProofSpec, TreeSpec, given};
use crate::params::ChainSpec;
use crate::statement::{BaseStatement, StatedFri, Statement};

/// What a proof says, whatever its form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged, try_from = "AnyStatement")]
pub enum ProofStatement {
    /// A chain.
    Chain(Statement),
    /// A tree.
    Tree(TreeStatement),
}

/// What is read of either form, without a copy of the input at every level of nesting.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnyStatement {
    #[serde(default, deserialize_with = "given")]
    base: Option<BaseStatement>,
    #[serde(default, deserialize_with = "given")]
    layers: Option<usize>,
    #[serde(default, deserialize_with = "given")]
    fri: Option<StatedFri>,
    #[serde(default, deserialize_with = "given")]
    arity: Option<usize>,
    #[serde(default, deserialize_with = "given")]
    leaves: Option<Vec<LeafStatement>>,
    #[serde(default, deserialize_with = "given")]
    padding: Option<Vec<PaddingSlot>>,
    #[serde(default, deserialize_with = "given")]
    layer_fri: Option<FriConfig>,
    #[serde(default, deserialize_with = "given")]
    last_fri: Option<FriConfig>,
}

impl TryFrom<AnyStatement> for ProofStatement {
    type Error = &'static str;

    fn try_from(any: AnyStatement) -> Result<Self, Self::Error> {
        let chain = (any.base, any.layers, any.fri);
        let tree = (any.arity, any.leaves, any.padding, any.layer_fri, any.last_fri);
        match (chain, tree) {
            ((Some(base), Some(layers), Some(fri)), (None, None, None, None, None)) => {
                Ok(Self::Chain(Statement { base, layers, fri }))
            }
            (
                (None, None, None),
                (Some(arity), Some(leaves), Some(padding), Some(layer_fri), Some(last_fri)),
            ) => Ok(Self::Tree(TreeStatement { arity, leaves, padding, layer_fri, last_fri })),
            _ => Err("a statement is either of a chain (base, layers, fri) or of a tree \
                 (arity, leaves, padding, layer_fri, last_fri)"),
        }
    }
}

/// What a tree says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TreeStatement {
    /// Proofs that one layer merges.
    pub arity: usize,
    /// Every leaf, in order.
    pub leaves: Vec<LeafStatement>,
    /// Slots that are no leaves: they fill up the last node of a level.
    pub padding: Vec<PaddingSlot>,
    /// FRI parameters of every layer but the root.
    pub layer_fri: FriConfig,
    /// FRI parameters of the root.
    pub last_fri: FriConfig,
}

/// One leaf of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LeafStatement {
    /// Its position, from 0.
    pub position: usize,
    /// What it says. A base computation that is a leaf by itself is a chain of no layers.
    #[cfg_attr(feature = "openapi", schema(no_recursion))]
    pub statement: Box<ProofStatement>,
}

/// A slot that pads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PaddingSlot {
    /// The node, as `level/index`, counted without the layers that only bring leaves to one shape.
    #[serde(deserialize_with = "node_name")]
    pub node: String,
    /// The slot, from 0.
    pub slot: usize,
}

/// Nothing but digits and strokes: what `inspect` prints of a file is not verified.
fn node_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/') {
        Ok(name)
    } else {
        Err(D::Error::custom("padding is at a node, level/index"))
    }
}

impl ProofStatement {
    /// What a proof says if its bases come to `results`, in order.
    #[must_use]
    pub fn new(spec: &ProofSpec, results: &mut dyn Iterator<Item = Option<u32>>) -> Self {
        match spec {
            ProofSpec::Chain(chain) => Self::Chain(Statement::new(chain, results.next().flatten())),
            ProofSpec::Tree(tree) => Self::Tree(TreeStatement::new(tree, results)),
        }
    }

    /// What the bases come to, in order.
    #[must_use]
    pub fn results(&self) -> Vec<Option<u32>> {
        match self {
            Self::Chain(chain) => vec![chain.result()],
            Self::Tree(tree) => {
                tree.leaves.iter().flat_map(|leaf| leaf.statement.results()).collect()
            }
        }
    }

    /// The statement in words, one fact a line.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Chain(chain) => chain.lines(),
            Self::Tree(tree) => tree.lines(),
        }
    }
}

impl TreeStatement {
    /// What a tree says if its bases come to `results`, in order.
    #[must_use]
    pub fn new(spec: &TreeSpec, results: &mut dyn Iterator<Item = Option<u32>>) -> Self {
        let leaves = spec.leaves.iter().enumerate();
        let leaves = leaves
            .map(|(position, leaf)| LeafStatement {
                position,
                statement: Box::new(leaf_statement(leaf, results)),
            })
            .collect();
        Self {
            arity: spec.arity,
            leaves,
            padding: padding(spec.leaves.len(), spec.arity),
            layer_fri: spec.layer_fri,
            last_fri: spec.last_fri,
        }
    }

    /// The statement in words, one fact a line.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "recursion: tree of {} leaves, {} proofs to a node",
            self.leaves.len(),
            self.arity
        )];
        for leaf in &self.leaves {
            for (i, line) in leaf.statement.lines().into_iter().enumerate() {
                let prefix = format!("leaf {}: ", leaf.position);
                let indent = " ".repeat(prefix.len());
                lines.push(format!("{}{line}", if i == 0 { prefix } else { indent }));
            }
        }
        for slot in &self.padding {
            lines.push(format!("padding, not a leaf: slot {} of node {}", slot.slot, slot.node));
        }
        lines
    }
}

impl fmt::Display for ProofStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

fn leaf_statement(
    leaf: &LeafSpec,
    results: &mut dyn Iterator<Item = Option<u32>>,
) -> ProofStatement {
    match leaf {
        LeafSpec::Proof(proof) => ProofStatement::new(proof, results),
        LeafSpec::Base(base) => {
            let alone = ChainSpec {
                base: base.clone(),
                layers: 0,
                layer_fri: base.fri,
                last_fri: base.fri,
            };
            ProofStatement::Chain(Statement::new(&alone, results.next().flatten()))
        }
    }
}

/// The padding slots of a tree whose leaves need no wraps.
fn padding(leaves: usize, arity: usize) -> Vec<PaddingSlot> {
    let plan = TreePlan::new(&vec![0; leaves], arity);
    let slots = plan.nodes.iter().flat_map(|node| {
        let slots = node.inputs.iter().enumerate().filter(|(_, input)| !input.present);
        slots.map(|(slot, _)| PaddingSlot { node: node.id.to_string(), slot })
    });
    slots.collect()
}

impl From<Statement> for ProofStatement {
    fn from(statement: Statement) -> Self {
        Self::Chain(statement)
    }
}

/// Kept for readers of a statement who look for its bases.
impl ProofStatement {
    /// What every base says, in order.
    #[must_use]
    pub fn bases(&self) -> Vec<&BaseStatement> {
        match self {
            Self::Chain(chain) => vec![&chain.base],
            Self::Tree(tree) => {
                tree.leaves.iter().flat_map(|leaf| leaf.statement.bases()).collect()
            }
        }
    }
}
