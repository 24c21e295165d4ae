//! Constraints of E.

use std::sync::Arc;

use p3_air::{AirBuilder, WindowAccess};
use p3_field::PrimeCharacteristicRing;
use p3_lookup::Count;
use p3_matrix::dense::RowMajorMatrix;

use super::columns::{ArithCols, ArithPreprocessed};
use crate::config::{D, F};
use crate::tables::{BUS, TableBuilder};

/// How the public values enter the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publics {
    /// Eight values, a digest: the limbs of ports a and b of the first row. Port c of that row is the
    /// generator X of the extension.
    Digest,
    /// Up to six values, one a port: a, b and c of the first row, then of the last.
    Scalars(usize),
}

impl Publics {
    /// Number of public values.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::Digest => 2 * D,
            Self::Scalars(count) => count,
        }
    }
}

/// The table with the program that it runs.
#[derive(Clone, Debug)]
pub struct ArithAir {
    /// How the public values enter.
    pub publics: Publics,
    /// The preprocessed columns.
    pub preprocessed: Arc<RowMajorMatrix<F>>,
}

impl ArithAir {
    /// All constraints and interactions.
    pub fn eval<AB: TableBuilder>(&self, builder: &mut AB) {
        let main = builder.main();
        let row = ArithCols::from_row(main.current_slice());
        let preprocessed = builder.preprocessed().clone();
        let fixed = ArithPreprocessed::from_row(preprocessed.current_slice());

        constrain_gate(builder, &row, &fixed);
        match self.publics {
            Publics::Digest => constrain_digest(builder, &row),
            Publics::Scalars(count) => constrain_scalars(builder, &row, count),
        }
        interact(builder, &row, &fixed);
    }
}

/// `q_ab·a·b + q_a·a + q_b·b + q_c·c + q_1 = out`, limb by limb.
pub(super) fn constrain_gate<AB: TableBuilder>(
    builder: &mut AB,
    row: &ArithCols<AB::Var>,
    fixed: &ArithPreprocessed<AB::Var>,
) {
    let product = ext_mul::<AB>(&row.a.map(Into::into), &row.b.map(Into::into));
    let [q_ab, q_a, q_b, q_c, q_1] = fixed.q;
    for (limb, product) in product.into_iter().enumerate() {
        let linear: AB::Expr = row.a[limb] * q_a.into()
            + row.b[limb] * q_b.into()
            + (row.c[limb] * q_c.into() - row.out[limb].into());
        let constant = if limb == 0 { q_1.into() } else { AB::Expr::ZERO };
        builder.assert_zero(product * q_ab.into() + linear + constant);
    }
}

/// The first row holds the digest in ports a and b, and X in port c.
pub(super) fn constrain_digest<AB: TableBuilder>(builder: &mut AB, row: &ArithCols<AB::Var>) {
    let publics: [AB::Expr; 2 * D] = std::array::from_fn(|i| builder.public_values()[i].into());
    for (limb, public) in publics.into_iter().enumerate() {
        let port = if limb < D { row.a[limb] } else { row.b[limb - D] };
        builder.when_first_row().assert_eq(port, public);
    }
    for (limb, &port) in row.c.iter().enumerate() {
        builder.when_first_row().assert_eq(port, AB::Expr::from_bool(limb == 1));
    }
}

/// Ports of the first and the last row hold the public values, lifted to the extension.
pub(super) fn constrain_scalars<AB: TableBuilder>(
    builder: &mut AB,
    row: &ArithCols<AB::Var>,
    count: usize,
) {
    let ports = [row.a, row.b, row.c];
    for i in 0..count {
        let public: AB::Expr = builder.public_values()[i].into();
        let when = if i < 3 { builder.is_first_row() } else { builder.is_last_row() };
        for (limb, &port) in ports[i % 3].iter().enumerate() {
            let expected = if limb == 0 { public.clone() } else { AB::Expr::ZERO };
            builder.when(when.clone()).assert_eq(port, expected);
        }
    }
}

/// Each port against the bus.
fn interact<AB: TableBuilder>(
    builder: &mut AB,
    row: &ArithCols<AB::Var>,
    fixed: &ArithPreprocessed<AB::Var>,
) {
    let message = |addr: AB::Var, port: [AB::Var; D]| [addr, port[0], port[1], port[2], port[3]];
    let [a, b, c, out] = fixed.addr;
    builder.push_interaction(BUS, message(a, row.a), Count::bounded(fixed.count_a.into(), 1));
    builder.push_interaction(BUS, message(b, row.b), -1);
    builder.push_interaction(BUS, message(c, row.c), -1);
    builder.push_interaction(BUS, message(out, row.out), Count::bounded(fixed.count_out.into(), 1));
}

/// Product in `F[X]/(X⁴ − 3)`.
pub(crate) fn ext_mul<AB: AirBuilder<F = F>>(
    x: &[AB::Expr; D],
    y: &[AB::Expr; D],
) -> [AB::Expr; D] {
    std::array::from_fn(|limb| {
        let low = (0..=limb).map(|i| x[i].clone() * y[limb - i].clone()).sum::<AB::Expr>();
        let high = (limb + 1..D)
            .map(|i| x[i].clone() * y[D + limb - i].clone())
            .reduce(|sum, term| sum + term);
        match high {
            Some(high) => low + high * EXTENSION_W,
            None => low,
        }
    })
}

/// The extension is `F[X]/(X⁴ − W)`.
pub(crate) const EXTENSION_W: F = F::new(3);
