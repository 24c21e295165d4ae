//! Input trees, and what the three transcripts of a proof are seeded with.

use p3_batch_stark::BatchShape;
use p3_fri::{FriShape, PcsShape};

use super::{Commitment, InputTree, Instance, Matrix};
use crate::config::{D, F, FriConfig};

pub(super) fn input_trees(instances: &[Instance]) -> Vec<InputTree> {
    let mut trees = vec![];
    let mut push = |commitment, widths: &dyn Fn(&Instance) -> Vec<(usize, bool)>| {
        let matrices: Vec<Matrix> = instances
            .iter()
            .enumerate()
            .flat_map(|(i, instance)| {
                widths(instance).into_iter().map(move |(width, next)| Matrix {
                    instance: i,
                    width,
                    log_height: instance.log_height,
                    next,
                })
            })
            .collect();
        if !matrices.is_empty() {
            trees.push(InputTree { commitment, matrices });
        }
    };
    push(Commitment::Main, &|i| vec![(i.main_width, i.main_next)]);
    push(Commitment::Quotient, &|i| vec![(D, false); i.num_chunks]);
    push(Commitment::Preprocessed, &|i| match i.preprocessed_width {
        0 => vec![],
        width => vec![(width, i.preprocessed_next)],
    });
    push(Commitment::Permutation, &|i| match i.aux_width {
        0 => vec![],
        width => vec![(width * D, true)],
    });
    trees
}

pub(super) fn batch_shape(instances: &[Instance], fri: &FriConfig) -> BatchShape {
    let preprocessed_widths: Vec<_> = instances.iter().map(|i| i.preprocessed_width).collect();
    BatchShape {
        trace_widths: instances.iter().map(|i| i.main_width).collect(),
        public_value_counts: instances.iter().map(|i| i.num_publics).collect(),
        has_preprocessed_commitment: preprocessed_widths.iter().any(|&width| width > 0),
        preprocessed_widths,
        num_lookup_instances: instances.iter().filter(|i| i.aux_width > 0).count(),
        lookup_pow_bits: fri.lookup_pow_bits,
        has_randomization_commitment: false,
        ood_pow_bits: fri.ood_pow_bits,
    }
}

pub(super) fn pcs_shape(trees: &[InputTree], fri: &FriConfig) -> PcsShape {
    let counts = |tree: &InputTree| {
        tree.matrices.iter().map(|matrix| vec![matrix.width; matrix.num_points()]).collect()
    };
    PcsShape {
        claimed_evaluation_counts: trees.iter().map(counts).collect(),
        batch_pow_bits: fri.batch_pow_bits,
    }
}

pub(super) fn fri_shape(fri: &FriConfig, log_arities: &[usize], index_bits: usize) -> FriShape {
    FriShape {
        log_arities: log_arities.to_vec(),
        final_poly_len: 1 << fri.log_final_poly_len,
        commit_pow_bits: fri.commit_pow_bits,
        query_pow_bits: fri.query_pow_bits,
        num_queries: fri.num_queries,
        index_bits,
        log_blowup: fri.log_blowup,
        max_log_arity: fri.max_log_arity,
    }
}

/// The elements that `seed` makes a challenger observe.
pub(super) fn recorded(seed: impl FnOnce(&mut Recorder)) -> Vec<F> {
    let mut recorder = Recorder(vec![]);
    seed(&mut recorder);
    recorder.0
}

/// A challenger that only writes down.
pub(super) struct Recorder(Vec<F>);

impl p3_challenger::CanObserve<F> for Recorder {
    fn observe(&mut self, value: F) {
        self.0.push(value);
    }
}
