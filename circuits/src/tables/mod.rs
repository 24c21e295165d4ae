//! The two tables of a layer, and the AIR that stands for either.

pub mod arith;
pub mod hash;
#[cfg(test)]
pub(crate) mod testing;

use std::sync::Arc;

use p3_air::{Air, AirBuilder, BaseAir};
use p3_lookup::InteractionBuilder;
use p3_matrix::dense::RowMajorMatrix;

use crate::config::F;
use arith::ArithAir;
use hash::HashAir;

/// The name of the bus that both tables share.
pub const BUS: &str = "memory";

/// A builder that a table of ours can be evaluated on.
pub trait TableBuilder: AirBuilder<F = F> + InteractionBuilder {}
impl<AB: AirBuilder<F = F> + InteractionBuilder> TableBuilder for AB {}

/// Either table. `p3-batch-stark` wants one type for all instances.
#[derive(Clone, Debug)]
pub enum LayerAir {
    /// E, the extension-field arithmetic.
    Arith(ArithAir),
    /// H, the hashing and what rides on it.
    Hash(HashAir),
}

impl LayerAir {
    pub(crate) const fn preprocessed(&self) -> &Arc<RowMajorMatrix<F>> {
        match self {
            Self::Arith(air) => &air.preprocessed,
            Self::Hash(air) => &air.preprocessed,
        }
    }
}

impl BaseAir<F> for LayerAir {
    fn width(&self) -> usize {
        match self {
            Self::Arith(_) => arith::NUM_COLS,
            Self::Hash(_) => hash::NUM_COLS,
        }
    }

    fn preprocessed_trace(&self) -> Option<RowMajorMatrix<F>> {
        Some(self.preprocessed().as_ref().clone())
    }

    fn preprocessed_width(&self) -> usize {
        match self {
            Self::Arith(_) => arith::NUM_PREPROCESSED,
            Self::Hash(_) => hash::NUM_PREPROCESSED,
        }
    }

    fn main_next_row_columns(&self) -> Vec<usize> {
        match self {
            Self::Arith(_) => vec![],
            Self::Hash(_) => (0..hash::NUM_COLS).collect(),
        }
    }

    fn preprocessed_next_row_columns(&self) -> Vec<usize> {
        match self {
            Self::Arith(_) => vec![],
            Self::Hash(_) => (0..hash::NUM_PREPROCESSED).collect(),
        }
    }

    fn num_public_values(&self) -> usize {
        match self {
            Self::Arith(air) => air.publics.count(),
            Self::Hash(_) => 0,
        }
    }

    fn max_constraint_degree(&self) -> Option<usize> {
        Some(3)
    }
}

impl<AB: TableBuilder> Air<AB> for LayerAir {
    fn eval(&self, builder: &mut AB) {
        match self {
            Self::Arith(air) => air.eval(builder),
            Self::Hash(air) => air.eval(builder),
        }
    }
}
