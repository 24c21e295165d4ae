//! Which proof is made from which, before any is made.

use std::fmt;

use serde::{Serialize, Serializer};

/// Place of a node: its level, leaves being 0, and its place in the level from the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId {
    /// Level; leaves are 0.
    pub level: usize,
    /// Place in the level.
    pub index: usize,
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.level, self.index)
    }
}

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A base proof or a finished proof: the leaf at this position.
    Leaf,
    /// A layer over one proof, which brings a leaf to the common shape.
    Wrap,
    /// A layer over as many proofs as the tree's arity.
    Merge,
}

/// One slot of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Input {
    /// Position of the child among the plan's nodes.
    pub node: usize,
    /// Whether the slot counts. A slot that pads repeats the first child of its node.
    pub present: bool,
}

/// One proof of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Its place.
    pub id: NodeId,
    /// What it is.
    pub kind: NodeKind,
    /// What it verifies, in order; a leaf nothing.
    pub inputs: Vec<Input>,
}

/// All nodes of a tree, children before parents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TreePlan {
    /// Children of a merge.
    pub arity: usize,
    /// The nodes; the leaves come first, the root last.
    pub nodes: Vec<Node>,
}

impl TreePlan {
    /// The plan of a tree over as many leaves as `wraps` has entries. Leaf i is wrapped `wraps[i]`
    /// times; then every `arity` neighbours are merged until one proof is left. There is at least one
    /// merge. The last node of a level is padded by repeating its first child.
    ///
    /// Levels: leaves 0, wraps 1 to the most that a leaf takes, merges above.
    #[must_use]
    pub fn new(wraps: &[usize], arity: usize) -> Self {
        let mut plan = Self { arity, nodes: Vec::new() };
        for index in 0..wraps.len() {
            plan.push(NodeId { level: 0, index }, NodeKind::Leaf, Vec::new());
        }
        let most = wraps.iter().copied().max().unwrap_or(0);
        let mut row: Vec<usize> = (0..wraps.len()).collect();
        for level in 1..=most {
            for (index, top) in row.iter_mut().enumerate() {
                if wraps[index] >= level {
                    let inputs = vec![Input { node: *top, present: true }];
                    *top = plan.push(NodeId { level, index }, NodeKind::Wrap, inputs);
                }
            }
        }
        let mut level = most;
        while level == most || row.len() > 1 {
            level += 1;
            let groups = row.chunks(arity.max(1)).enumerate();
            let merged = groups.map(|(index, group)| {
                let slot = |i: usize| match group.get(i) {
                    Some(&node) => Input { node, present: true },
                    None => Input { node: group[0], present: false },
                };
                let inputs = (0..arity).map(slot).collect();
                plan.push(NodeId { level, index }, NodeKind::Merge, inputs)
            });
            row = merged.collect();
        }
        plan
    }

    fn push(&mut self, id: NodeId, kind: NodeKind, inputs: Vec<Input>) -> usize {
        self.nodes.push(Node { id, kind, inputs });
        self.nodes.len() - 1
    }

    /// Position of the root.
    #[must_use]
    pub fn root(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Number of leaves.
    #[must_use]
    pub fn num_leaves(&self) -> usize {
        self.nodes.iter().filter(|node| node.kind == NodeKind::Leaf).count()
    }

    /// The order in which the nodes are proved with the fewest proofs in memory: every subtree is
    /// finished before the next begins.
    #[must_use]
    pub fn depth_first(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut seen = vec![false; self.nodes.len()];
        self.visit(self.root(), &mut seen, &mut order);
        order
    }

    fn visit(&self, node: usize, seen: &mut [bool], order: &mut Vec<usize>) {
        if std::mem::replace(&mut seen[node], true) {
            return;
        }
        for input in &self.nodes[node].inputs {
            self.visit(input.node, seen, order);
        }
        order.push(node);
    }

    /// The nodes by level, leaves first.
    #[must_use]
    pub fn levels(&self) -> Vec<Vec<usize>> {
        let top = self.nodes.last().map_or(0, |node| node.id.level);
        let of_level = |level| {
            let nodes = self.nodes.iter().enumerate();
            nodes.filter(|(_, node)| node.id.level == level).map(|(i, _)| i).collect()
        };
        (0..=top).map(of_level).collect()
    }

    /// The way from a leaf to the root: for every node on it, which slot the way comes from.
    #[must_use]
    pub fn path(&self, leaf: usize) -> Vec<(usize, usize)> {
        let mut path = Vec::new();
        let mut below = leaf;
        for (position, node) in self.nodes.iter().enumerate() {
            let slot = node.inputs.iter().position(|input| input.present && input.node == below);
            if let Some(slot) = slot {
                path.push((position, slot));
                below = position;
            }
        }
        path
    }
}
