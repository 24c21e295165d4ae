//! Weighted sums of nodes, evaluated by handing the weights down the graph.
//!
//! `Σ wᵢ·nᵢ` is linear in each of the products and leaves that the nᵢ are sums of. Where many of
//! the nᵢ share those, as the outputs of a dense linear layer do, it takes fewer rows to sum up the
//! weights of each product than to compute the nᵢ, all the more if the same weights come again.

use std::collections::{BTreeMap, HashMap};

use p3_field::{Field, PrimeCharacteristicRing};

use super::lowering::count_uses;
use super::{Form, Lowering, Node, NodeId};
use crate::config::F;

/// The state of one weighted sum.
struct Descent {
    /// Weights of nodes that are still to be looked at.
    weights: BTreeMap<NodeId, Form>,
    /// Leaves that are multiplied by something in any case, so that another multiple of them costs
    /// at most an addition. Each with its origin: the weight of `leaf − origin` is collected.
    carriers: BTreeMap<NodeId, F>,
    /// The weights of carriers, once they have met another factor or come down to the leaf.
    carried: BTreeMap<NodeId, Form>,
    /// How often nodes are used below this sum.
    uses: Vec<u32>,
    /// What does not depend on any node.
    constant: Form,
    /// Sums of values, by weight.
    groups: Groups,
}

#[derive(Default)]
struct Groups {
    index: HashMap<(Form, bool), usize>,
    sums: Vec<(Form, bool, Form)>,
}

impl Descent {
    fn add(&mut self, id: NodeId, weight: &Form, factor: F) {
        let sum = self.weights.entry(id).or_default();
        *sum = sum.add_scaled(weight, factor);
    }

    fn carry(&mut self, leaf: NodeId, weight: &Form, factor: F) {
        let sum = self.carried.entry(leaf).or_default();
        *sum = sum.add_scaled(weight, factor);
    }
}

impl Groups {
    /// Adds `weight·value`. Values with proportional weights are summed up before they are
    /// weighted; those that are shared with other sums apart, so that their sum may be, too.
    fn add(&mut self, weight: &Form, value: &Form, is_shared: bool) {
        let lead = weight.lead();
        if lead == F::ZERO {
            return;
        }
        let key = (weight.scaled(lead.inverse()), is_shared);
        let next = self.sums.len();
        let i = *self.index.entry(key.clone()).or_insert(next);
        if i == next {
            self.sums.push((key.0, is_shared, Form::default()));
        }
        self.sums[i].2 = self.sums[i].2.add_scaled(value, lead);
    }
}

impl Lowering<'_> {
    /// `Σ weight·node`.
    ///
    /// A column x that some node requires to be boolean collects multiples of x, or of x − 1/2 if
    /// `is_centred`. With the latter `x xor y` is a multiple of (x − 1/2)·(y − 1/2) plus a constant,
    /// so that it has no terms in x and y alone; but then there are more constants.
    pub fn weighted_sum(&mut self, terms: &[(NodeId, Form)], is_centred: bool) -> Form {
        let roots = terms.iter().map(|t| t.0);
        let squared = roots.clone().filter_map(|root| self.dag.squared_leaf(root));
        let origin = |centre| if is_centred { centre } else { F::ZERO };
        let mut descent = Descent {
            weights: BTreeMap::new(),
            carriers: squared.map(|(leaf, centre)| (leaf, origin(centre))).collect(),
            carried: BTreeMap::new(),
            uses: count_uses(self.dag, roots),
            constant: Form::default(),
            groups: Groups::default(),
        };
        for (id, weight) in terms {
            descent.add(*id, weight, F::ONE);
        }
        // Operands have smaller indices: a node has all of its weight when it is the last.
        while let Some((id, weight)) = descent.weights.pop_last() {
            self.descend(&mut descent, id, &weight);
        }
        for (leaf, weight) in std::mem::take(&mut descent.carried) {
            let origin = Form::constant(descent.carriers[&leaf]);
            let value = self.form(leaf).add_scaled(&origin, F::NEG_ONE);
            descent.groups.add(&weight, &value, false);
        }
        let mut sum = Form::default();
        let mut shared_sum = descent.constant;
        for (weight, is_shared, value) in descent.groups.sums {
            let product = self.product_or_sum(&weight, &value);
            let sum = if is_shared { &mut shared_sum } else { &mut sum };
            *sum = sum.add_scaled(&product, F::ONE);
        }
        sum.add_scaled(&self.compact(&shared_sum), F::ONE)
    }

    /// Hands the weight of a node on to its operands, or to its value.
    fn descend(&mut self, descent: &mut Descent, id: NodeId, weight: &Form) {
        let is_shared = self.uses[id] > descent.uses[id];
        match self.dag.node(id) {
            Node::Const(c) => descent.constant = descent.constant.add_scaled(weight, c),
            Node::Scale(x, factor) => descent.add(x, weight, factor),
            Node::Add(x, y) if !is_shared => {
                let weight = self.compact(weight);
                descent.add(x, &weight, F::ONE);
                descent.add(y, &weight, F::ONE);
            }
            Node::Mul(x, y) => match self.carrier(descent, x, y).or(self.carrier(descent, y, x)) {
                Some((leaf, [coef, constant], other)) => {
                    let value = self.form(other);
                    let product = self.product_or_sum(weight, &value);
                    descent.carry(leaf, &product, coef);
                    descent.add(other, weight, constant);
                }
                None => self.add_value(descent, id, weight, is_shared),
            },
            Node::Add(..) => self.add_value(descent, id, weight, is_shared),
            Node::Leaf(_) if descent.carriers.contains_key(&id) => {
                let origin = descent.carriers[&id];
                descent.constant = descent.constant.add_scaled(weight, origin);
                descent.carry(id, weight, F::ONE);
            }
            Node::Leaf(_) | Node::ExtConst(_) => self.add_value(descent, id, weight, false),
        }
    }

    fn add_value(&mut self, descent: &mut Descent, id: NodeId, weight: &Form, is_shared: bool) {
        let value = self.form(id);
        descent.groups.add(weight, &value, is_shared);
    }

    /// [`Self::product`], without rows if a factor is constant.
    fn product_or_sum(&mut self, x: &Form, y: &Form) -> Form {
        match (x.num_terms(), y.num_terms()) {
            (0, _) => y.scaled(x.constant),
            (_, 0) => x.scaled(y.constant),
            _ => self.product(x, y),
        }
    }

    /// The product `x·other` as `(coef·(leaf − origin) + constant)·other`, if collecting a multiple
    /// of `other` is cheap: other multiples are collected, and this one may be known.
    fn carrier(
        &self,
        descent: &Descent,
        x: NodeId,
        other: NodeId,
    ) -> Option<(NodeId, [F; 2], NodeId)> {
        let (leaf, [coef, constant]) = self.dag.affine_leaf(x)?;
        let origin = *descent.carriers.get(&leaf)?;
        let is_same = self.dag.affine_leaf(other).is_some_and(|(id, _)| id == leaf);
        let is_known = is_same || self.uses[other] > descent.uses[other];
        is_known.then_some((leaf, [coef, constant + coef * origin], other))
    }
}
