//! Polynomials of degree two over addresses, not yet rows.

use p3_field::{Field, PrimeCharacteristicRing};

use crate::config::F;
use crate::program::builder::Addr;

/// `constant + Σ coef·addr + Σ coef·a·b`. Terms are sorted, distinct and have nonzero coefficients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Form {
    /// The constant term.
    pub constant: F,
    /// Terms of degree one.
    pub linear: Vec<(Addr, F)>,
    /// Terms of degree two; the first address of a pair is not larger than the second.
    pub products: Vec<((Addr, Addr), F)>,
}

impl Form {
    /// A constant.
    #[must_use]
    pub const fn constant(constant: F) -> Self {
        Self { constant, linear: Vec::new(), products: Vec::new() }
    }

    /// The value at `addr`.
    #[must_use]
    pub fn addr(addr: Addr) -> Self {
        if addr == Addr::ZERO {
            return Self::default();
        }
        Self { linear: vec![(addr, F::ONE)], ..Self::default() }
    }

    /// How many distinct addresses and products it has.
    #[must_use]
    pub fn num_terms(&self) -> usize {
        self.linear.len() + self.products.len()
    }

    /// `(coef, addr, constant)` if it is `coef·addr + constant`. A constant has the zero address.
    #[must_use]
    pub fn as_affine(&self) -> Option<(F, Addr, F)> {
        match (self.linear.as_slice(), self.products.is_empty()) {
            ([], true) => Some((F::ZERO, Addr::ZERO, self.constant)),
            (&[(addr, coef)], true) => Some((coef, addr, self.constant)),
            _ => None,
        }
    }

    /// `self + factor·other`.
    #[must_use]
    pub fn add_scaled(&self, other: &Self, factor: F) -> Self {
        Self {
            constant: self.constant + other.constant * factor,
            linear: merge(&self.linear, &other.linear, factor),
            products: merge(&self.products, &other.products, factor),
        }
    }

    /// `factor·self`.
    #[must_use]
    pub fn scaled(&self, factor: F) -> Self {
        Self::default().add_scaled(self, factor)
    }

    /// `(p·x + q)·(r·y + s)`, each given as `(p, x, q)`.
    #[must_use]
    pub fn product((p, x, q): (F, Addr, F), (r, y, s): (F, Addr, F)) -> Self {
        let linear_x = Self::addr(x).scaled(p * s);
        let linear_y = Self::addr(y).scaled(q * r);
        let mut form = linear_x.add_scaled(&linear_y, F::ONE);
        form.constant = q * s;
        let coef = p * r;
        if coef != F::ZERO {
            form.products.push(((x.min(y), x.max(y)), coef));
        }
        form
    }

    /// The coefficient of the first term; zero for no form but zero.
    pub fn lead(&self) -> F {
        let product = self.products.first().map(|t| t.1);
        product.or(self.linear.first().map(|t| t.1)).unwrap_or(self.constant)
    }

    /// `scale·monic + constant` where `monic` has no constant and leads with coefficient one: forms
    /// that are affine in each other have one `monic`.
    pub fn to_monic(&self) -> (Self, F, F) {
        if self.num_terms() == 0 {
            return (Self::default(), F::ZERO, self.constant);
        }
        let lead = self.lead();
        let mut monic = self.scaled(lead.inverse());
        monic.constant = F::ZERO;
        (monic, lead, self.constant)
    }
}

/// `x + factor·y` for sorted lists of terms.
fn merge<K: Copy + Ord>(x: &[(K, F)], y: &[(K, F)], factor: F) -> Vec<(K, F)> {
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::with_capacity(x.len() + y.len());
    while i < x.len() || j < y.len() {
        let from_x = j == y.len() || (i < x.len() && x[i].0 <= y[j].0);
        let from_y = i == x.len() || (j < y.len() && y[j].0 <= x[i].0);
        let key = if from_x { x[i].0 } else { y[j].0 };
        let mut coef = F::ZERO;
        if from_x {
            coef += x[i].1;
            i += 1;
        }
        if from_y {
            coef += y[j].1 * factor;
            j += 1;
        }
        if coef != F::ZERO {
            out.push((key, coef));
        }
    }
    out
}
