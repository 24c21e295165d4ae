//! How to group constraints before they are folded.

use std::collections::{BTreeSet, HashMap};

use p3_field::PrimeCharacteristicRing;

use crate::compiler::expr::{Dag, Node, NodeId};
use crate::config::F;

/// Fewest consecutive constraints for which taking a common factor out saves rows.
const MIN_RUN: usize = 3;
/// Fewest constraints of a block.
const MIN_BLOCK: usize = 4;

/// A sequence of constraints, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan(pub(super) Vec<Step>);

/// Some consecutive constraints.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Each by itself.
    Single(Vec<NodeId>),
    /// `factor · term` for each term of the plan.
    Factored(NodeId, Plan),
    /// `Σ coefᵢ·leafᵢ` with the same coefficients each time: the coefficients, each with its leaves.
    Split(Vec<(F, Vec<NodeId>)>),
    /// Blocks of one length, each with much to share between its constraints.
    Blocks(Vec<Vec<NodeId>>),
}

impl Plan {
    /// All factors and terms.
    pub(super) fn nodes(&self) -> Vec<NodeId> {
        let of_step = |step: &Step| match step {
            Step::Single(terms) => terms.clone(),
            Step::Factored(factor, plan) => {
                let mut nodes = plan.nodes();
                nodes.push(*factor);
                nodes
            }
            Step::Split(columns) => columns.iter().flat_map(|c| c.1.clone()).collect(),
            Step::Blocks(blocks) => blocks.concat(),
        };
        self.0.iter().flat_map(of_step).collect()
    }

    /// Calls `visit` with each step that may be [`Step::Single`].
    fn visit_single(&mut self, visit: &mut impl FnMut(&mut Step)) {
        for step in &mut self.0 {
            match step {
                Step::Factored(_, plan) => plan.visit_single(visit),
                step => visit(step),
            }
        }
    }

    /// How many constraints there are.
    pub(super) fn len(&self) -> usize {
        let of_step = |step: &Step| match step {
            Step::Single(terms) => terms.len(),
            Step::Factored(_, plan) => plan.len(),
            Step::Split(columns) => columns[0].1.len(),
            Step::Blocks(blocks) => blocks.iter().map(Vec::len).sum(),
        };
        self.0.iter().map(of_step).sum()
    }
}

/// Groups constraints in the way that promises to take the fewest rows.
pub(super) fn plan(dag: &mut Dag, roots: &[NodeId]) -> Plan {
    let mut plan = factor(dag, roots);
    split_differences(dag, &mut plan);
    plan
}

/// Groups constraints by common factors, and those without into blocks.
fn factor(dag: &mut Dag, roots: &[NodeId]) -> Plan {
    let mut steps = Vec::new();
    let mut rest = 0;
    let mut i = 0;
    while i < roots.len() {
        let (common, len) = longest_run(dag, &roots[i..]);
        if len < MIN_RUN {
            i += 1;
            continue;
        }
        steps.extend(group(dag, &roots[rest..i]));
        let terms: Vec<_> =
            roots[i..i + len].iter().map(|&root| cofactor(dag, root, common)).collect();
        steps.push(Step::Factored(common, factor(dag, &terms)));
        i += len;
        rest = i;
    }
    steps.extend(group(dag, &roots[rest..]));
    Plan(steps)
}

/// Splits differences of leaves where that lets two steps share the fold of one side: a step that
/// compares columns with their next row, say, and one that compares them with other columns.
fn split_differences(dag: &Dag, plan: &mut Plan) {
    let mut steps = Vec::new();
    plan.visit_single(&mut |step| steps.extend(differences(dag, step)));
    let mut count: HashMap<Vec<NodeId>, usize> = HashMap::new();
    for (_, leaves) in steps.into_iter().flatten() {
        *count.entry(leaves).or_default() += 1;
    }
    plan.visit_single(&mut |step| {
        let split = differences(dag, step);
        if let Some(columns) = split.filter(|c| c.iter().any(|(_, leaves)| count[leaves] > 1)) {
            *step = Step::Split(columns);
        }
    });
}

/// The terms of a step of differences of leaves, by sign.
fn differences(dag: &Dag, step: &Step) -> Option<Vec<(F, Vec<NodeId>)>> {
    let Step::Single(terms) = step else {
        return None;
    };
    let side = |sign: F| terms.iter().map(|&term| difference(dag, term, sign)).collect();
    let sides: [Option<Vec<NodeId>>; 2] = [side(F::ONE), side(F::NEG_ONE)];
    let [left, right] = sides;
    (terms.len() >= MIN_RUN).then_some(vec![(F::ONE, left?), (F::NEG_ONE, right?)])
}

/// The leaf with the given sign in a difference of two leaves.
fn difference(dag: &Dag, term: NodeId, sign: F) -> Option<NodeId> {
    let Node::Add(x, y) = dag.node(term) else {
        return None;
    };
    let sides = [dag.split_scale(x), dag.split_scale(y)];
    let is_leaf = sides.iter().all(|&(id, _)| matches!(dag.node(id), Node::Leaf(_)));
    let is_difference = sides[0].1 + sides[1].1 == F::ZERO;
    let leaf = sides.into_iter().find(|&(_, coef)| coef == sign)?;
    (is_leaf && is_difference).then_some(leaf.0)
}

/// The factor of the first root that most roots after it share, and how many those are.
fn longest_run(dag: &Dag, roots: &[NodeId]) -> (NodeId, usize) {
    let has = |root: NodeId, factor| factors(dag, root).is_some_and(|f| f.contains(&factor));
    let run = |factor| roots.iter().take_while(|&&root| has(root, factor)).count();
    let candidates = factors(dag, roots[0]).into_iter().flatten();
    candidates.map(|factor| (factor, run(factor))).max_by_key(|r| r.1).unwrap_or((roots[0], 0))
}

/// The two factors of a product.
fn factors(dag: &Dag, root: NodeId) -> Option<[NodeId; 2]> {
    match dag.node(dag.split_scale(root).0) {
        Node::Mul(x, y) => Some([x, y]),
        _ => None,
    }
}

/// The other factor of a product that has `factor`.
fn cofactor(dag: &mut Dag, root: NodeId, factor: NodeId) -> NodeId {
    let (product, scale) = dag.split_scale(root);
    match dag.node(product) {
        Node::Mul(x, y) => dag.scale(if x == factor { y } else { x }, scale),
        _ => unreachable!("only products are in runs with a factor"),
    }
}

/// Groups constraints without a common factor into blocks.
fn group(dag: &Dag, roots: &[NodeId]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut rest = roots;
    while !rest.is_empty() {
        let len = sums_len(dag, rest).max(checked_len(dag, rest));
        let (block, tail) = rest.split_at(if len < MIN_BLOCK { 1 } else { len });
        match steps.last_mut() {
            Some(Step::Single(terms)) if len < MIN_BLOCK => terms.extend(block),
            _ if len < MIN_BLOCK => steps.push(Step::Single(block.to_vec())),
            Some(Step::Blocks(blocks)) if blocks[0].len() == len => blocks.push(block.to_vec()),
            _ => steps.push(Step::Blocks(vec![block.to_vec()])),
        }
        rest = tail;
    }
    steps
}

/// How many of the first constraints are sums of common products, as the outputs of a linear layer.
fn sums_len(dag: &Dag, roots: &[NodeId]) -> usize {
    let mut last = product_summands(dag, roots[0]);
    let is_same_layer = |&root: &NodeId| {
        let summands = product_summands(dag, root);
        let is_same_layer = !summands.is_disjoint(&last);
        last = summands;
        is_same_layer
    };
    1 + roots[1..].iter().copied().take_while(is_same_layer).count()
}

/// The products that a node is a sum of.
fn product_summands(dag: &Dag, root: NodeId) -> BTreeSet<NodeId> {
    let is_product = |id| matches!(dag.node(id), Node::Mul(..));
    let mut summands = dag.reachable(root, is_product);
    summands.retain(|&id| is_product(id));
    summands
}

/// How many of the first constraints check that columns are boolean, or come after these and read
/// such a column.
fn checked_len(dag: &Dag, roots: &[NodeId]) -> usize {
    let checked = roots.iter().map_while(|&root| Some(dag.squared_leaf(root)?.0));
    let checked: BTreeSet<NodeId> = checked.collect();
    let reads = |&root: &NodeId| !dag.reachable(root, |_| false).is_disjoint(&checked);
    roots.iter().copied().take_while(reads).count()
}
