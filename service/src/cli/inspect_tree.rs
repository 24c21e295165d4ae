//! The shape of a tree: its nodes, and what each of them verifies.

use arbor_prover::tree::{NodeId, NodeKind, PreparedProof, PreparedTree};
use arbor_prover::{Cache, ProofFile, TableReport, VerifyOptions, verify};
use serde::Serialize;

use super::tree_plan::kind_name;
use crate::error::CliError;
use crate::output;

/// The nodes of a tree that are layers, in the order of proving.
#[derive(Serialize)]
pub(super) struct Shape {
    arity: usize,
    leaves: usize,
    nodes: Vec<Layer>,
}

/// One of them.
#[derive(Serialize)]
struct Layer {
    node: NodeId,
    kind: NodeKind,
    /// Proofs that its circuit verifies, those in padding slots included.
    verifications: usize,
    /// Slots that do not count.
    padding: usize,
    children: Vec<NodeId>,
    tables: Vec<TableReport>,
}

impl Shape {
    /// The shape of the tree in a file, whose circuits are derived from its parameters; none of a chain.
    pub(super) fn of(file: &ProofFile) -> Result<Option<Self>, CliError> {
        match verify::circuits(file, &VerifyOptions::default(), &Cache::new())? {
            PreparedProof::Chain(_) => Ok(None),
            PreparedProof::Tree(tree) => Ok(Some(Self::of_tree(&tree))),
        }
    }

    fn of_tree(tree: &PreparedTree) -> Self {
        let plan = tree.plan();
        let layers = plan.nodes.iter().enumerate().filter_map(|(position, node)| {
            let layer = tree.layer(position)?;
            Some(Layer {
                node: node.id,
                kind: node.kind,
                verifications: node.inputs.len(),
                padding: node.inputs.iter().filter(|input| !input.present).count(),
                children: node.inputs.iter().map(|input| plan.nodes[input.node].id).collect(),
                tables: TableReport::all(&layer.tables(), layer.fri()),
            })
        });
        Self { arity: plan.arity, leaves: plan.num_leaves(), nodes: layers.collect() }
    }

    /// Prints a node a line.
    pub(super) fn print(&self) -> Result<(), CliError> {
        let mut table = output::table(["node", "kind", "in-circuit verifications", "tables"], 4);
        for layer in &self.nodes {
            table.add_row([
                layer.node.to_string(),
                kind_name(layer.kind).to_owned(),
                layer.verifications(),
                output::heights(&layer.tables),
            ]);
        }
        output::line(table)
    }
}

impl Layer {
    /// How many proofs, which, and how many slots are padding.
    fn verifications(&self) -> String {
        let own = self.children.len() - self.padding;
        let ids: Vec<String> = self.children[..own].iter().map(NodeId::to_string).collect();
        let ids = ids.join(" ");
        match self.padding {
            0 => format!("{}: {ids}", self.verifications),
            padding => format!("{}: {ids} and {padding} of padding", self.verifications),
        }
    }
}
