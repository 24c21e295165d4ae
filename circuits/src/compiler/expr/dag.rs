//! A graph of expressions in which structurally equal expressions are one node.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use p3_air::symbolic::{
    BaseEntry, BaseLeaf, ExtEntry, ExtLeaf, SymLeaf, SymbolicExpr, SymbolicExpression,
    SymbolicExpressionExt,
};
use p3_field::{BasedVectorSpace, Field, PrimeCharacteristicRing};

use crate::config::{EF, F};

/// Index of a node of a [`Dag`]. Operands have smaller indices than the nodes that use them.
pub type NodeId = usize;

/// A value that a constraint reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Leaf {
    /// A column, periodic column or public value.
    Base(BaseEntry, usize),
    /// A permutation column, challenge or permutation value.
    Ext(ExtEntry, usize),
    /// The selector of the first row.
    IsFirstRow,
    /// The selector of the last row.
    IsLastRow,
    /// The selector of all rows but the last.
    IsTransition,
}

/// An expression in normal form: signs and base-field factors are in [`Node::Scale`] only, never
/// below a product, and operands of commutative nodes are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// An input.
    Leaf(Leaf),
    /// A base-field constant.
    Const(F),
    /// A constant outside the base field.
    ExtConst(EF),
    /// A sum.
    Add(NodeId, NodeId),
    /// A node that is neither constant nor a scaled node, times a constant other than 0 and 1.
    Scale(NodeId, F),
    /// A product of two nodes that are neither constant nor scaled.
    Mul(NodeId, NodeId),
}

/// The graph.
#[derive(Debug, Default)]
pub struct Dag {
    nodes: Vec<Node>,
    ids: HashMap<Node, NodeId>,
    base_memo: HashMap<*const SymbolicExpression<F>, NodeId>,
    ext_memo: HashMap<*const SymbolicExpressionExt<F, EF>, NodeId>,
}

impl Dag {
    /// The node at `id`.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Node {
        self.nodes[id]
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a base-field expression. Shared subtrees are recognised by address, so `expr` has to
    /// outlive the graph's construction.
    pub fn base(&mut self, expr: &SymbolicExpression<F>) -> NodeId {
        self.import(expr, &|dag| &mut dag.base_memo, &|dag, leaf| dag.base_leaf(leaf))
    }

    /// Adds an extension-field expression, under the condition of [`Self::base`].
    pub fn ext(&mut self, expr: &SymbolicExpressionExt<F, EF>) -> NodeId {
        self.import(expr, &|dag| &mut dag.ext_memo, &|dag, leaf| dag.ext_leaf(leaf))
    }

    fn import<A: SymLeaf<F = F>>(
        &mut self,
        expr: &SymbolicExpr<A>,
        memo: &impl Fn(&mut Self) -> &mut HashMap<*const SymbolicExpr<A>, NodeId>,
        leaf: &impl Fn(&mut Self, &A) -> NodeId,
    ) -> NodeId {
        let operand = |dag: &mut Self, x: &Arc<SymbolicExpr<A>>| {
            if let Some(&id) = memo(dag).get(&Arc::as_ptr(x)) {
                return id;
            }
            let id = dag.import(x, memo, leaf);
            memo(dag).insert(Arc::as_ptr(x), id);
            id
        };
        match expr {
            SymbolicExpr::Leaf(a) => leaf(self, a),
            SymbolicExpr::Add { x, y, .. } => {
                let (x, y) = (operand(self, x), operand(self, y));
                self.add(x, y)
            }
            SymbolicExpr::Sub { x, y, .. } => {
                let (x, y) = (operand(self, x), operand(self, y));
                let minus_y = self.scale(y, F::NEG_ONE);
                self.add(x, minus_y)
            }
            SymbolicExpr::Neg { x, .. } => {
                let x = operand(self, x);
                self.scale(x, F::NEG_ONE)
            }
            SymbolicExpr::Mul { x, y, .. } => {
                let (x, y) = (operand(self, x), operand(self, y));
                self.mul(x, y)
            }
        }
    }

    fn base_leaf(&mut self, leaf: &BaseLeaf<F>) -> NodeId {
        let node = match leaf {
            BaseLeaf::Variable(v) => Node::Leaf(Leaf::Base(v.entry, v.index)),
            BaseLeaf::IsFirstRow => Node::Leaf(Leaf::IsFirstRow),
            BaseLeaf::IsLastRow => Node::Leaf(Leaf::IsLastRow),
            BaseLeaf::IsTransition => Node::Leaf(Leaf::IsTransition),
            BaseLeaf::Constant(c) => Node::Const(*c),
        };
        self.intern(node)
    }

    fn ext_leaf(&mut self, leaf: &ExtLeaf<F, EF>) -> NodeId {
        match leaf {
            ExtLeaf::Base(expr) => self.base(expr),
            ExtLeaf::ExtVariable(v) => self.intern(Node::Leaf(Leaf::Ext(v.entry, v.index))),
            ExtLeaf::ExtConstant(c) => {
                let limbs: &[F] = c.as_basis_coefficients_slice();
                let is_base = limbs[1..].iter().all(|&limb| limb == F::ZERO);
                self.intern(if is_base { Node::Const(limbs[0]) } else { Node::ExtConst(*c) })
            }
        }
    }

    fn intern(&mut self, node: Node) -> NodeId {
        let next = self.nodes.len();
        let id = *self.ids.entry(node).or_insert(next);
        if id == next {
            self.nodes.push(node);
        }
        id
    }

    /// `x + y`.
    pub fn add(&mut self, x: NodeId, y: NodeId) -> NodeId {
        match (self.nodes[x], self.nodes[y]) {
            (Node::Const(a), Node::Const(b)) => self.intern(Node::Const(a + b)),
            (Node::Const(F::ZERO), _) => y,
            (_, Node::Const(F::ZERO)) => x,
            _ if x == y => self.scale(x, F::TWO),
            _ => self.intern(Node::Add(x.min(y), x.max(y))),
        }
    }

    /// `factor · x`.
    pub fn scale(&mut self, x: NodeId, factor: F) -> NodeId {
        match self.nodes[x] {
            Node::Const(a) => self.intern(Node::Const(a * factor)),
            Node::Scale(inner, a) => self.scale(inner, a * factor),
            _ if factor == F::ZERO => self.intern(Node::Const(F::ZERO)),
            _ if factor == F::ONE => x,
            _ => self.intern(Node::Scale(x, factor)),
        }
    }

    /// `x · y`.
    pub fn mul(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let (x, a) = self.split_scale(x);
        let (y, b) = self.split_scale(y);
        let product = match (self.nodes[x], self.nodes[y]) {
            (Node::Const(c), _) => return self.scale(y, a * b * c),
            (_, Node::Const(c)) => return self.scale(x, a * b * c),
            _ => self.intern(Node::Mul(x.min(y), x.max(y))),
        };
        self.scale(product, a * b)
    }

    /// `x` as a node that is not scaled and the factor that makes `x` of it.
    pub fn split_scale(&self, x: NodeId) -> (NodeId, F) {
        match self.nodes[x] {
            Node::Scale(inner, factor) => (inner, factor),
            _ => (x, F::ONE),
        }
    }

    /// The node as `coef·leaf + constant`.
    #[must_use]
    pub fn affine_leaf(&self, id: NodeId) -> Option<(NodeId, [F; 2])> {
        let (linear, constant) = match self.nodes[id] {
            Node::Add(x, y) => match (self.nodes[x], self.nodes[y]) {
                (Node::Const(c), _) => (y, c),
                (_, Node::Const(c)) => (x, c),
                _ => return None,
            },
            _ => (id, F::ZERO),
        };
        let (leaf, coef) = self.split_scale(linear);
        matches!(self.nodes[leaf], Node::Leaf(_)).then_some((leaf, [coef, constant]))
    }

    /// The leaf of a node that is a product of two affine functions of that leaf, as a check that
    /// it is boolean is, and the mean of their roots.
    #[must_use]
    pub fn squared_leaf(&self, id: NodeId) -> Option<(NodeId, F)> {
        let Node::Mul(x, y) = self.nodes[self.split_scale(id).0] else {
            return None;
        };
        let (x, y) = (self.affine_leaf(x)?, self.affine_leaf(y)?);
        let root = |[coef, constant]: [F; 2]| -constant * coef.inverse();
        (x.0 == y.0).then(|| (x.0, (root(x.1) + root(y.1)).halve()))
    }

    /// The node and all below it, but nothing below nodes at which `is_end` holds. In ascending
    /// order operands come before what uses them.
    pub fn reachable(&self, root: NodeId, is_end: impl Fn(NodeId) -> bool) -> BTreeSet<NodeId> {
        let mut seen = BTreeSet::from([root]);
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            let operands = match self.nodes[id] {
                _ if is_end(id) => continue,
                Node::Leaf(_) | Node::Const(_) | Node::ExtConst(_) => continue,
                Node::Add(x, y) | Node::Mul(x, y) => [x, y],
                Node::Scale(x, _) => [x, x],
            };
            stack.extend(operands.into_iter().filter(|&x| seen.insert(x)));
        }
        seen
    }
}
