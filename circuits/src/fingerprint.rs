//! Tells the constraints of one AIR from those of another.
//!
//! The constraints are evaluated at one fixed point and folded with one fixed challenge: two sets that
//! differ as polynomials differ there, unless someone built them to agree. The verifying key does not
//! rest on this: a layer's preprocessed columns are the compiled constraints themselves.

use std::collections::HashMap;
use std::sync::Arc;

use p3_air::symbolic::{
    BaseEntry, BaseLeaf, ExtEntry, ExtLeaf, SymbolicExpr, SymbolicExpression, SymbolicExpressionExt,
};
use p3_field::{BasedVectorSpace, Field, PrimeCharacteristicRing};

use crate::compiler::constraints::Constraint;
use crate::config::{EF, F};

/// The folded constraints at the fixed point.
pub fn fingerprint(constraints: &[Constraint]) -> EF {
    let alpha = coordinate(0, 0);
    let mut memo = Memo::default();
    constraints.iter().fold(EF::ZERO, |sum, constraint| {
        let value = match constraint {
            Constraint::Base(expression) => memo.base(expression),
            Constraint::Ext(expression) => memo.ext(expression),
        };
        sum * alpha + value
    })
}

/// A coordinate of the point: the inverse of a number that no other coordinate has.
fn coordinate(kind: u32, index: usize) -> EF {
    let limbs = [0x6172_626f, 0x5f66_7072, kind + 1, 0x0123_4567].map(F::from_u32);
    let shifted = EF::from_basis_coefficients_fn(|i| limbs[i]) + F::from_usize(index);
    shifted.inverse()
}

/// Values of shared parts, by address: the expressions outlive the memo.
#[derive(Default)]
struct Memo {
    base: HashMap<*const SymbolicExpression<F>, EF>,
    ext: HashMap<*const SymbolicExpressionExt<F, EF>, EF>,
}

impl Memo {
    fn base(&mut self, expression: &SymbolicExpression<F>) -> EF {
        match expression {
            SymbolicExpr::Leaf(leaf) => base_leaf(leaf),
            SymbolicExpr::Add { x, y, .. } => self.shared(x) + self.shared(y),
            SymbolicExpr::Sub { x, y, .. } => self.shared(x) - self.shared(y),
            SymbolicExpr::Neg { x, .. } => -self.shared(x),
            SymbolicExpr::Mul { x, y, .. } => self.shared(x) * self.shared(y),
        }
    }

    fn shared(&mut self, part: &Arc<SymbolicExpression<F>>) -> EF {
        let key = Arc::as_ptr(part);
        if let Some(&value) = self.base.get(&key) {
            return value;
        }
        let value = self.base(part);
        self.base.insert(key, value);
        value
    }

    fn ext(&mut self, expression: &SymbolicExpressionExt<F, EF>) -> EF {
        match expression {
            SymbolicExpr::Leaf(ExtLeaf::Base(base)) => self.base(base),
            SymbolicExpr::Leaf(ExtLeaf::ExtConstant(value)) => *value,
            SymbolicExpr::Leaf(ExtLeaf::ExtVariable(variable)) => match variable.entry {
                ExtEntry::Permutation { offset } => coordinate(10 + offset as u32, variable.index),
                ExtEntry::Challenge => coordinate(12, variable.index),
                ExtEntry::PermutationValue => coordinate(13, variable.index),
            },
            SymbolicExpr::Add { x, y, .. } => self.shared_ext(x) + self.shared_ext(y),
            SymbolicExpr::Sub { x, y, .. } => self.shared_ext(x) - self.shared_ext(y),
            SymbolicExpr::Neg { x, .. } => -self.shared_ext(x),
            SymbolicExpr::Mul { x, y, .. } => self.shared_ext(x) * self.shared_ext(y),
        }
    }

    fn shared_ext(&mut self, part: &Arc<SymbolicExpressionExt<F, EF>>) -> EF {
        let key = Arc::as_ptr(part);
        if let Some(&value) = self.ext.get(&key) {
            return value;
        }
        let value = self.ext(part);
        self.ext.insert(key, value);
        value
    }
}

fn base_leaf(leaf: &BaseLeaf<F>) -> EF {
    match leaf {
        BaseLeaf::Constant(value) => (*value).into(),
        BaseLeaf::IsFirstRow => coordinate(1, 0),
        BaseLeaf::IsLastRow => coordinate(1, 1),
        BaseLeaf::IsTransition => coordinate(1, 2),
        BaseLeaf::Variable(variable) => match variable.entry {
            BaseEntry::Main { offset } => coordinate(2 + offset as u32, variable.index),
            BaseEntry::Preprocessed { offset } => coordinate(4 + offset as u32, variable.index),
            BaseEntry::Periodic => coordinate(6, variable.index),
            BaseEntry::Public => coordinate(7, variable.index),
        },
    }
}
