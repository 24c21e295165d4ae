//! The fold itself.

use std::collections::HashMap;

use p3_field::PrimeCharacteristicRing;

use super::plan::{Plan, Step};
use crate::compiler::expr::{Form, Lowering, NodeId};
use crate::config::F;
use crate::program::builder::Addr;

/// At how many of the first blocks weighted sums are tried to start.
const MAX_STARTS: usize = 2;

/// A fold under way. Cloning it is how two ways of going on are compared.
#[derive(Clone)]
pub(super) struct Fold<'a> {
    lowering: Lowering<'a>,
    powers: HashMap<usize, Form>,
}

impl<'a> Fold<'a> {
    /// A fold with powers of the value at `alpha`.
    pub(super) fn new(lowering: Lowering<'a>, alpha: Addr) -> Self {
        let powers = HashMap::from([(0, Form::constant(F::ONE)), (1, Form::addr(alpha))]);
        Self { lowering, powers }
    }

    /// The whole fold.
    pub(super) fn run(mut self, plan: &Plan) -> (Lowering<'a>, Form) {
        let folded = self.fold_plan(Form::default(), plan);
        (self.lowering, folded)
    }

    fn fold_plan(&mut self, mut acc: Form, plan: &Plan) -> Form {
        for step in &plan.0 {
            acc = match step {
                Step::Single(terms) => self.horner(acc, terms),
                Step::Factored(factor, plan) => self.factored(&acc, *factor, plan),
                Step::Split(columns) => self.split(&acc, columns),
                Step::Blocks(blocks) => self.blocks(&acc, blocks),
            };
        }
        acc
    }

    /// `acc·α + term` for each term.
    fn horner(&mut self, mut acc: Form, terms: &[NodeId]) -> Form {
        for &term in terms {
            let term = self.lowering.form(term);
            acc = self.shift(&acc, 1).add_scaled(&term, F::ONE);
        }
        acc
    }

    /// Folds the cofactors from zero and multiplies once.
    fn factored(&mut self, acc: &Form, factor: NodeId, plan: &Plan) -> Form {
        let sum = self.fold_plan(Form::default(), plan);
        let factor = self.lowering.form(factor);
        let sum = self.lowering.product(&sum, &factor);
        self.shift(acc, plan.len()).add_scaled(&sum, F::ONE)
    }

    /// Folds each column from zero. The rows of a column that was folded before are there already.
    fn split(&mut self, acc: &Form, columns: &[(F, Vec<NodeId>)]) -> Form {
        let mut sum = self.shift(acc, columns[0].1.len());
        for (coef, leaves) in columns {
            let column = self.horner(Form::default(), leaves);
            let column = Form::addr(self.lowering.value(&column));
            sum = sum.add_scaled(&column, *coef);
        }
        sum
    }

    /// Folds the first blocks term by term and the others as weighted sums, in whichever way takes
    /// the fewest rows.
    fn blocks(&mut self, acc: &Form, blocks: &[Vec<NodeId>]) -> Form {
        let starts = 0..blocks.len().min(MAX_STARTS);
        let ways = starts.flat_map(|start| [(start, false), (start, true)]);
        let tries = ways.chain([(blocks.len(), false)]).map(|(start, is_centred)| {
            let mut fold = self.clone();
            let mut acc = acc.clone();
            for block in &blocks[..start] {
                acc = fold.horner(acc, block);
            }
            for block in &blocks[start..] {
                acc = fold.weighted_block(&acc, block, is_centred);
            }
            let acc = Form::addr(fold.lowering.value(&acc));
            (fold, acc)
        });
        let best = tries.min_by_key(|(fold, _)| fold.lowering.num_rows());
        let (fold, acc) = best.expect("there is at least one way");
        *self = fold;
        acc
    }

    /// `acc · α^len + Σ α^(len − 1 − i)·termᵢ`.
    fn weighted_block(&mut self, acc: &Form, block: &[NodeId], is_centred: bool) -> Form {
        let weights: Vec<_> = (0..block.len()).map(|exponent| self.power(exponent)).collect();
        let terms: Vec<_> = block.iter().copied().zip(weights.into_iter().rev()).collect();
        let sum = self.lowering.weighted_sum(&terms, is_centred);
        self.shift(acc, block.len()).add_scaled(&sum, F::ONE)
    }

    /// `acc · α^exponent`.
    fn shift(&mut self, acc: &Form, exponent: usize) -> Form {
        if *acc == Form::default() {
            return Form::default();
        }
        let power = self.power(exponent);
        self.lowering.product(acc, &power)
    }

    fn power(&mut self, exponent: usize) -> Form {
        if let Some(power) = self.powers.get(&exponent) {
            return power.clone();
        }
        let (low, high) = (self.power(exponent / 2), self.power(exponent - exponent / 2));
        let product = self.lowering.product(&low, &high);
        let power = Form::addr(self.lowering.value(&product));
        self.powers.insert(exponent, power.clone());
        power
    }
}
