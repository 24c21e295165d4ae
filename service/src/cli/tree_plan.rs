//! `arbor prove tree --plan`: every node of a tree before any is proved.

use std::sync::Arc;

use arbor_circuits::config::FriConfig;
use arbor_prover::estimate::{
    self, NS_PER_KECCAK_CELL, NS_PER_LAYER_CELL, PROCESS_BYTES, base_ms, base_work_bytes,
    estimate_tree, layer_ms, layer_work_bytes,
};
use arbor_prover::tree::{
    self, LeafSpec, Node, NodeId, NodeKind, PreparedTree, ProofSpec, RunOptions, TreeSpec,
};
use arbor_prover::{BaseSpec, Cache, Observer, Program, TableReport};
use serde::Serialize;

use super::Format;
use crate::error::CliError;
use crate::output;

/// A tree, before any of it is proved. The circuits are compiled: sizes are exact, times and memory
/// are estimates.
#[derive(Serialize)]
pub(super) struct Plan {
    arity: usize,
    leaves: usize,
    /// Proofs that will be made; finished leaves are not counted.
    proofs: usize,
    /// Distinct circuits of layers.
    circuits: usize,
    concurrent: bool,
    nodes: Vec<PlannedNode>,
    naive_bits: usize,
    estimate: PlanEstimate,
}

/// One node.
#[derive(Serialize)]
struct PlannedNode {
    node: NodeId,
    kind: NodeKind,
    proves: String,
    children: Vec<Child>,
    tables: Vec<TableReport>,
    queries: usize,
    estimated_ms: f64,
    estimated_bytes: u64,
}

/// One slot of a node.
#[derive(Serialize)]
struct Child {
    node: NodeId,
    present: bool,
}

/// Times and memory of the whole, and what they are reckoned with.
#[derive(Serialize)]
struct PlanEstimate {
    base_bytes: u64,
    layer_bytes: u64,
    peak_bytes: u64,
    /// All nodes one by one.
    total_ms: f64,
    ns_per_layer_cell: f64,
    ns_per_keccak_cell: f64,
}

impl Plan {
    /// Compiles the circuits of `spec` and sizes every node.
    pub(super) fn of(
        spec: &TreeSpec,
        options: RunOptions,
        cache: &Cache,
        observer: &Arc<dyn Observer>,
    ) -> Result<Self, CliError> {
        let tree = tree::prepare(spec, cache, observer)?;
        let nodes: Vec<PlannedNode> = tree
            .plan()
            .nodes
            .iter()
            .enumerate()
            .map(|(position, node)| PlannedNode::of(spec, &tree, position, node))
            .collect();
        let estimate::Estimate { base_bytes, layer_bytes, peak_bytes } =
            estimate_tree(spec, options.concurrent_pairs);
        let estimate = PlanEstimate {
            base_bytes,
            layer_bytes,
            peak_bytes,
            total_ms: nodes.iter().map(|node| node.estimated_ms).sum(),
            ns_per_layer_cell: NS_PER_LAYER_CELL,
            ns_per_keccak_cell: NS_PER_KECCAK_CELL,
        };
        Ok(Self {
            arity: spec.arity,
            leaves: spec.leaves.len(),
            proofs: nodes.iter().filter(|node| node.estimated_ms > 0.0).count(),
            circuits: tree.infos().len(),
            concurrent: options.concurrent_pairs,
            nodes,
            naive_bits: spec.naive_bits(),
            estimate,
        })
    }

    /// Prints a node a line, then the sums.
    pub(super) fn print(&self, format: Format) -> Result<(), CliError> {
        if format == Format::Json {
            return output::json(self);
        }
        let mut table = output::table(["node", "kind", "proves", "tables", "~ms", "~MB"], 4);
        for node in &self.nodes {
            let made = node.estimated_ms > 0.0;
            let if_made = |text: String| if made { text } else { "–".to_owned() };
            table.add_row([
                node.node.to_string(),
                kind_name(node.kind).to_owned(),
                node.proves.clone(),
                output::heights(&node.tables),
                if_made(format!("{:.0}", node.estimated_ms)),
                if_made(format!("{:.0}", node.estimated_bytes as f64 / 1e6)),
            ]);
        }
        output::line(table)?;
        output::line(format_args!(
            "{} leaves, {} proofs to make, {} circuits of layers; a child in brackets is padding",
            self.leaves, self.proofs, self.circuits
        ))?;
        output::line(format_args!(
            "about {:.1} s one by one: {NS_PER_LAYER_CELL} ns for a cell committed to \
             ({NS_PER_KECCAK_CELL} ns in a Keccak table) as on two cores with AVX-512, and grinding",
            self.estimate.total_ms / 1e3
        ))?;
        output::line(format_args!(
            "about {:.2} GB of memory at most",
            self.estimate.peak_bytes as f64 / 1e9
        ))?;
        output::line(format_args!(
            "{} naive bits (log blowup x queries + query grinding; not proven bits)",
            self.naive_bits
        ))
    }
}

impl PlannedNode {
    fn of(spec: &TreeSpec, tree: &PreparedTree, position: usize, node: &Node) -> Self {
        let nodes = &tree.plan().nodes;
        let children: Vec<Child> = node
            .inputs
            .iter()
            .map(|input| Child { node: nodes[input.node].id, present: input.present })
            .collect();
        let Sizes { proves, tables, fri, ms, bytes } = match (node.kind, &spec.leaves) {
            (NodeKind::Leaf, leaves) => leaf_sizes(&leaves[position], tree, position),
            _ => layer_sizes(tree, position, &children),
        };
        Self {
            node: node.id,
            kind: node.kind,
            proves,
            children,
            tables,
            queries: fri.map_or(0, |fri| fri.num_queries),
            estimated_ms: ms,
            estimated_bytes: bytes,
        }
    }
}

/// What one node is and takes.
struct Sizes {
    proves: String,
    tables: Vec<TableReport>,
    fri: Option<FriConfig>,
    ms: f64,
    bytes: u64,
}

/// A leaf: a base computation, or a finished proof, which takes nothing.
fn leaf_sizes(leaf: &LeafSpec, tree: &PreparedTree, position: usize) -> Sizes {
    match leaf {
        LeafSpec::Base(base) => {
            let stats = tree.base(position).map(|base| base.tables()).unwrap_or_default();
            let tables = TableReport::all(&stats, &base.fri);
            Sizes {
                proves: words(base),
                tables,
                fri: Some(base.fri),
                ms: base_ms(base),
                bytes: PROCESS_BYTES + base_work_bytes(base),
            }
        }
        LeafSpec::Proof(proof) => {
            let last = tree.finished(position).and_then(|proof| proof.last());
            let tables = last
                .map(|layer| TableReport::all(&layer.tables(), layer.fri()))
                .unwrap_or_default();
            let fri = last.map(|layer| *layer.fri());
            Sizes { proves: finished(proof), tables, fri, ms: 0.0, bytes: 0 }
        }
    }
}

fn layer_sizes(tree: &PreparedTree, position: usize, children: &[Child]) -> Sizes {
    let (tables, fri) = tree.layer(position).map_or((Vec::new(), None), |layer| {
        (TableReport::all(&layer.tables(), layer.fri()), Some(*layer.fri()))
    });
    let ms = fri.map_or(0.0, |fri| layer_ms(&tables, &fri));
    let bytes = fri.map_or(0, |fri| PROCESS_BYTES + layer_work_bytes(&tables, &fri));
    let named = children.iter().map(|child| match child.present {
        true => child.node.to_string(),
        false => format!("[{}]", child.node),
    });
    let proves = format!("verifies {}", named.collect::<Vec<_>>().join(" "));
    Sizes { proves, tables, fri, ms, bytes }
}

/// A base computation in a few words.
pub(super) fn words(base: &BaseSpec) -> String {
    match base.program {
        Program::Keccak { num_hashes, seed } => {
            format!("keccak, {num_hashes} permutations, seed {seed}")
        }
        Program::Fibonacci { n, a, b } => format!("fibonacci, n = {n}, a = {a}, b = {b}"),
    }
}

/// A finished proof in a few words.
pub(super) fn finished(proof: &ProofSpec) -> String {
    match proof {
        ProofSpec::Chain(chain) => {
            format!("a finished chain of {} layers: {}", chain.layers, words(&chain.base))
        }
        ProofSpec::Tree(tree) => format!("a finished tree of {} leaves", tree.leaves.len()),
    }
}

/// Name of a kind of node.
pub(super) const fn kind_name(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Leaf => "leaf",
        NodeKind::Wrap => "wrap",
        NodeKind::Merge => "merge",
    }
}
