//! From the graph to rows.

use std::collections::HashMap;

use p3_field::PrimeCharacteristicRing;

use super::rows::Rows;
use super::{Dag, Form, Leaf, Node, NodeId};
use crate::config::F;
use crate::program::builder::{Addr, ProgramBuilder};

/// A sum of at most this many addresses is copied into its users instead of being computed...
const MAX_INLINE_TERMS: usize = 2;
/// ... if there are at most this many users: a row adds two addresses to a third, so it often has
/// room for one more.
const MAX_INLINE_USES: u32 = 3;

/// Evaluates nodes of a [`Dag`] with rows of E, each shared value once.
#[derive(Clone, Debug)]
pub struct Lowering<'a> {
    pub(super) dag: &'a Dag,
    pub(super) uses: Vec<u32>,
    inputs: HashMap<NodeId, Addr>,
    rows: Rows,
    forms: Vec<Option<Form>>,
    values: HashMap<Form, Addr>,
}

impl<'a> Lowering<'a> {
    /// A lowering of the nodes below `roots`; a root counts as used once each time it is listed.
    pub fn new(
        builder: &mut ProgramBuilder,
        dag: &'a Dag,
        roots: impl IntoIterator<Item = NodeId>,
        leaf: impl Fn(Leaf) -> Addr,
    ) -> Self {
        let uses = count_uses(dag, roots);
        let mut inputs = HashMap::new();
        for id in (0..dag.len()).filter(|&id| uses[id] > 0) {
            match dag.node(id) {
                Node::Leaf(input) => inputs.insert(id, leaf(input)),
                Node::ExtConst(value) => inputs.insert(id, builder.ext_constant(value)),
                _ => None,
            };
        }
        let forms = vec![None; dag.len()];
        Self { dag, uses, inputs, rows: Rows::new(builder), forms, values: HashMap::new() }
    }

    /// How many rows the lowering has made so far.
    #[must_use]
    pub fn num_rows(&self) -> usize {
        self.rows.len()
    }

    /// Appends the rows to the program of [`Self::new`]; returns the address of `result`.
    pub fn commit(mut self, builder: &mut ProgramBuilder, result: &Form) -> Addr {
        let result = self.value(result);
        self.rows.commit(builder, result)
    }

    /// The node as a form, with whatever rows that takes.
    pub fn form(&mut self, id: NodeId) -> Form {
        if self.forms[id].is_none() {
            // Operands first, by a loop: sums of thousands of terms are as deep as they are long.
            for id in self.dag.reachable(id, |x| self.forms[x].is_some()) {
                if self.forms[id].is_none() {
                    self.forms[id] = Some(self.lower(id));
                }
            }
        }
        self.operand(id)
    }

    /// The form of a node that was lowered before.
    fn operand(&self, id: NodeId) -> Form {
        self.forms[id].clone().expect("operands are lowered first")
    }

    fn lower(&mut self, id: NodeId) -> Form {
        let form = match self.dag.node(id) {
            Node::Leaf(_) | Node::ExtConst(_) => Form::addr(self.inputs[&id]),
            Node::Const(c) => Form::constant(c),
            Node::Scale(x, factor) => self.operand(x).scaled(factor),
            Node::Add(x, y) => self.operand(x).add_scaled(&self.operand(y), F::ONE),
            Node::Mul(x, y) => {
                let (x, y) = (self.operand(x), self.operand(y));
                self.product(&x, &y)
            }
        };
        match self.uses[id] {
            0 | 1 => form,
            2..=MAX_INLINE_USES => self.compact(&form),
            _ => self.affine_form(&form),
        }
    }

    /// `x · y`, whose factors get rows unless they are affine in one address.
    pub fn product(&mut self, x: &Form, y: &Form) -> Form {
        let x = self.affine(x);
        let y = self.affine(y);
        Form::product(x, y)
    }

    /// `form`, with rows unless it is as small as it may be where it is used more than once.
    pub(super) fn compact(&mut self, form: &Form) -> Form {
        let is_small = form.products.is_empty() && form.linear.len() <= MAX_INLINE_TERMS;
        if is_small { form.clone() } else { self.affine_form(form) }
    }

    /// `form`, with rows unless it is affine in one address.
    pub(super) fn affine_form(&mut self, form: &Form) -> Form {
        let (coef, addr, constant) = self.affine(form);
        Form { constant, ..Form::addr(addr).scaled(coef) }
    }

    /// The address of the value of `form`.
    pub fn value(&mut self, form: &Form) -> Addr {
        match self.affine(form) {
            (F::ZERO, _, F::ZERO) => Addr::ZERO,
            (F::ONE, addr, F::ZERO) => addr,
            (coef, addr, constant) => {
                let q = [F::ZERO, coef, F::ZERO, F::ZERO, constant];
                self.rows.gate(addr, Addr::ZERO, Addr::ZERO, q)
            }
        }
    }

    /// `form` as `(coef, addr, constant)` with `form = coef·addr + constant`.
    fn affine(&mut self, form: &Form) -> (F, Addr, F) {
        if let Some(affine) = form.as_affine() {
            return affine;
        }
        let (monic, scale, constant) = form.to_monic();
        let addr = match self.values.get(&monic) {
            Some(&addr) => addr,
            None => {
                let addr = self.emit(&monic);
                self.values.insert(monic, addr);
                addr
            }
        };
        (scale, addr, constant)
    }

    /// Rows for a form: one a product, which also adds the linear terms of its factors and one
    /// address, then one for each two linear terms that are left.
    ///
    /// Sums without products and products of computed values come first, so that what they have in
    /// common with another form is a row of its own.
    fn emit(&mut self, form: &Form) -> Addr {
        let mut linear = form.linear.clone();
        let mut take = |addr: Addr| match linear.binary_search_by_key(&addr, |t| t.0) {
            Ok(i) => linear.remove(i).1,
            Err(_) => F::ZERO,
        };
        let products: Vec<_> = form
            .products
            .iter()
            .rev()
            .map(|&((a, b), q_ab)| (a, b, [q_ab, take(a), take(b)]))
            .collect();
        let rest = Form { constant: form.constant, linear, products: Vec::new() };
        if products.is_empty() {
            return self.emit_sum(&rest);
        }
        let (mut coef, mut sum, mut constant) = self.affine(&rest);
        for (a, b, [q_ab, q_a, q_b]) in products {
            let q = [q_ab, q_a, q_b, coef, std::mem::take(&mut constant)];
            (coef, sum) = (F::ONE, self.rows.gate(a, b, sum, q));
        }
        sum
    }

    /// Rows for a form without products: one for the first three terms and one for each two more.
    fn emit_sum(&mut self, form: &Form) -> Addr {
        let zero = (Addr::ZERO, F::ZERO);
        let mut rest = form.linear.iter().copied();
        let mut sum = rest.next().unwrap_or(zero);
        let mut constant = form.constant;
        while let Some(a) = rest.next() {
            let b = rest.next().unwrap_or(zero);
            let q = [F::ZERO, a.1, b.1, sum.1, std::mem::take(&mut constant)];
            sum = (self.rows.gate(a.0, b.0, sum.0, q), F::ONE);
        }
        sum.0
    }
}

/// How often each node below `roots` is an operand or root. Scaled nodes pass their uses on.
pub(super) fn count_uses(dag: &Dag, roots: impl IntoIterator<Item = NodeId>) -> Vec<u32> {
    let mut uses = vec![0; dag.len()];
    for root in roots {
        uses[root] += 1;
    }
    for id in (0..dag.len()).rev() {
        if uses[id] == 0 {
            continue;
        }
        match dag.node(id) {
            Node::Leaf(_) | Node::Const(_) | Node::ExtConst(_) => {}
            Node::Add(x, y) | Node::Mul(x, y) => {
                uses[x] += 1;
                uses[y] += 1;
            }
            Node::Scale(x, _) => uses[x] += std::mem::take(&mut uses[id]),
        }
    }
    uses
}
