//! The constraints of a child, folded with powers of α as its native verifier folds them.

use p3_air::Air;
use p3_air::symbolic::{
    AirLayout, BaseEntry, ConstraintLayout, ExtEntry, SymbolicAirBuilder, SymbolicExpression,
    SymbolicExpressionExt,
};
use p3_lookup::{InteractionSymbolicBuilder, LogUpGadget, Lookup, LookupProtocol};

use super::expr::{Dag, Leaf, Lowering, NodeId};
use crate::config::{EF, F};
use crate::program::builder::{Addr, ProgramBuilder};

mod fold;
mod plan;
#[cfg(test)]
mod tests;

use fold::Fold;

/// Where the leaves of a child's constraints live on the bus.
#[derive(Clone, Copy, Debug)]
pub struct Leaves<'a> {
    /// Main columns, at this row and the next.
    pub main: [&'a [Addr]; 2],
    /// Preprocessed columns, at this row and the next.
    pub preprocessed: [&'a [Addr]; 2],
    /// Periodic columns.
    pub periodic: &'a [Addr],
    /// Public values.
    pub public: &'a [Addr],
    /// Permutation columns, as extension-field values, at this row and the next.
    pub permutation: [&'a [Addr]; 2],
    /// Challenges of the lookups, two for each.
    pub challenges: &'a [Addr],
    /// What the lookups of the instance sum up to.
    pub permutation_values: &'a [Addr],
    /// The selector of the first row.
    pub is_first_row: Addr,
    /// The selector of the last row.
    pub is_last_row: Addr,
    /// The selector of all rows but the last.
    pub is_transition: Addr,
}

impl Leaves<'_> {
    fn addr(&self, leaf: Leaf) -> Addr {
        match leaf {
            Leaf::Base(BaseEntry::Main { offset }, index) => self.main[offset][index],
            Leaf::Base(BaseEntry::Preprocessed { offset }, index) => {
                self.preprocessed[offset][index]
            }
            Leaf::Base(BaseEntry::Periodic, index) => self.periodic[index],
            Leaf::Base(BaseEntry::Public, index) => self.public[index],
            Leaf::Ext(ExtEntry::Permutation { offset }, index) => self.permutation[offset][index],
            Leaf::Ext(ExtEntry::Challenge, index) => self.challenges[index],
            Leaf::Ext(ExtEntry::PermutationValue, index) => self.permutation_values[index],
            Leaf::IsFirstRow => self.is_first_row,
            Leaf::IsLastRow => self.is_last_row,
            Leaf::IsTransition => self.is_transition,
        }
    }
}

/// An expression that an AIR asserts to be zero.
#[derive(Clone, Debug)]
pub enum Constraint {
    /// Over the base field.
    Base(SymbolicExpression<F>),
    /// Over the extension field.
    Ext(SymbolicExpressionExt<F, EF>),
}

impl Constraint {
    fn import(&self, dag: &mut Dag) -> NodeId {
        match self {
            Self::Base(expr) => dag.base(expr),
            Self::Ext(expr) => dag.ext(expr),
        }
    }
}

/// The constraints that `p3-uni-stark` folds, in order.
pub fn uni_constraints<A: Air<SymbolicAirBuilder<F>>>(
    air: &A,
    layout: AirLayout,
) -> Vec<Constraint> {
    let mut builder = SymbolicAirBuilder::new(layout);
    air.eval(&mut builder);
    builder.base_constraints().into_iter().map(Constraint::Base).collect()
}

/// The constraints that `p3-batch-stark` folds, in order: those of the AIR, then those of its
/// lookups. The widths and counts in `layout` that depend on the lookups are ignored.
pub fn batch_constraints<A: Air<InteractionSymbolicBuilder<F, EF>>>(
    air: &A,
    layout: AirLayout,
    lookups: &[Lookup<F>],
) -> Vec<Constraint> {
    let gadget = LogUpGadget::new();
    // An accumulator and one fraction a lookup; one terminal for all.
    let has_lookups = usize::from(!lookups.is_empty());
    let layout = AirLayout {
        permutation_width: lookups.len() + has_lookups,
        num_permutation_challenges: lookups.len() * gadget.num_challenges(),
        num_permutation_values: has_lookups,
        ..layout
    };
    let mut builder = InteractionSymbolicBuilder::new(layout);
    gadget.eval_air_and_lookups(air, &mut builder, lookups);
    in_order(
        &builder.constraint_layout(),
        builder.base_constraints(),
        builder.extension_constraints(),
    )
}

/// Undoes the separation of base and extension constraints.
fn in_order(
    layout: &ConstraintLayout,
    base: Vec<SymbolicExpression<F>>,
    ext: Vec<SymbolicExpressionExt<F, EF>>,
) -> Vec<Constraint> {
    let base = layout.base_indices.iter().copied().zip(base.into_iter().map(Constraint::Base));
    let ext = layout.ext_indices.iter().copied().zip(ext.into_iter().map(Constraint::Ext));
    let mut all: Vec<_> = base.chain(ext).collect();
    all.sort_by_key(|&(index, _)| index);
    all.into_iter().map(|(_, constraint)| constraint).collect()
}

/// The constraints folded as the native verifier does: from zero, `acc = acc·α + constraint` for
/// each in order. Returns the address of the result.
pub fn fold_constraints(
    builder: &mut ProgramBuilder,
    constraints: &[Constraint],
    leaves: &Leaves<'_>,
    alpha: Addr,
) -> Addr {
    let mut dag = Dag::default();
    let roots: Vec<NodeId> = constraints.iter().map(|c| c.import(&mut dag)).collect();
    let plan = plan::plan(&mut dag, &roots);
    let lowering = Lowering::new(builder, &dag, plan.nodes(), |leaf| leaves.addr(leaf));
    let (lowering, folded) = Fold::new(lowering, alpha).run(&plan);
    lowering.commit(builder, &folded)
}
