//! Whole Merkle paths from the pruned multiproofs of a child.
//!
//! A pruned proof leaves out what queries share, so each tree is walked once for all queries. The
//! rows of the folding rounds lack the queried value, which the fold before yields: so openings are
//! reduced and folded natively first.

use p3_field::{BasedVectorSpace, Field, PrimeCharacteristicRing, TwoAdicField};
use p3_fri::{FriFoldingStrategy, TwoAdicFriFolding};
use p3_matrix::Dimensions;
use p3_maybe_rayon::prelude::*;
use p3_util::reverse_bits_len;
use std::marker::PhantomData;

use super::replay::Replay;
use super::view::ChildView;
use crate::compiler::transcript::ChallengeId;
use crate::config::{D, DIGEST, Digest, EF, F, ValMmcs, val_mmcs};
use crate::error::ProveError;

/// A child with everything that its queries need.
#[derive(Clone, Debug)]
pub struct RestoredChild<'a> {
    /// The proof.
    pub view: ChildView<'a>,
    /// Its transcript.
    pub replay: Replay,
    /// Siblings by tree (input trees, then folding rounds), query and level.
    pub siblings: Vec<Vec<Vec<Digest>>>,
}

/// What to do with a multiproof that does not fit its openings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// Say so.
    Refuse,
    /// Take zeros for the siblings: the tables then show that the proof is wrong.
    Zeros,
}

impl<'a> RestoredChild<'a> {
    /// Replays the transcript and restores all paths.
    ///
    /// # Errors
    /// If a multiproof does not fit its openings and `misfit` says to refuse it.
    pub fn new(view: ChildView<'a>, child: usize, misfit: Misfit) -> Result<Self, ProveError> {
        let replay = Replay::new(&view);
        let rows = fold_rows(&view, &replay);
        let mmcs = val_mmcs(view.shape.fri.cap_height);
        let inputs = view.shape.trees.len();
        let trees = inputs + view.shape.log_arities.len();
        let siblings = (0..trees)
            .into_par_iter()
            .map(|tree| {
                let restored = if tree < inputs {
                    restore_input(&mmcs, &view, &replay, tree)
                } else {
                    restore_round(&mmcs, &view, &replay, &rows, tree - inputs)
                };
                match (restored, misfit) {
                    (Ok(siblings), _) => Ok(siblings),
                    (Err(_), Misfit::Zeros) => Ok(zeros(&view, tree)),
                    (Err(reason), Misfit::Refuse) => Err(ProveError::Paths { child, tree, reason }),
                }
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { view, replay, siblings })
    }
}

/// Number of path steps of a tree.
fn levels(view: &ChildView<'_>, tree: usize) -> usize {
    let shape = &view.shape;
    let inputs = shape.trees.len();
    let log_height = if tree < inputs {
        shape.tree_heights(tree)[0]
    } else {
        shape.log_max_height - shape.round_bit(tree - inputs + 1)
    };
    log_height - shape.fri.cap_height
}

fn zeros(view: &ChildView<'_>, tree: usize) -> Vec<Vec<Digest>> {
    vec![vec![[F::ZERO; DIGEST]; levels(view, tree)]; view.shape.fri.num_queries]
}

fn restore_input(
    mmcs: &ValMmcs,
    view: &ChildView<'_>,
    replay: &Replay,
    tree: usize,
) -> Result<Vec<Vec<Digest>>, String> {
    let shape = &view.shape;
    let dimensions: Vec<Dimensions> = shape.trees[tree]
        .matrices
        .iter()
        .map(|m| Dimensions { width: m.width, height: 1 << shape.log_lde_height(m) })
        .collect();
    let low = shape.log_max_height - shape.tree_heights(tree)[0];
    let indices: Vec<usize> = replay.indices.iter().map(|index| index >> low).collect();
    let opened = &view.opening().input_openings[tree];
    mmcs.restore_and_recompute_paths(
        &dimensions,
        &indices,
        &opened.opened_values,
        &opened.opening_proof,
    )
    .map(|paths| paths.into_iter().map(|path| path.siblings).collect())
    .map_err(|error| error.to_string())
}

fn restore_round(
    mmcs: &ValMmcs,
    view: &ChildView<'_>,
    replay: &Replay,
    rows: &[Vec<Vec<EF>>],
    round: usize,
) -> Result<Vec<Vec<Digest>>, String> {
    let shape = &view.shape;
    let high = shape.round_bit(round + 1);
    let dimensions = [Dimensions {
        width: D << shape.log_arities[round],
        height: 1 << (shape.log_max_height - high),
    }];
    let indices: Vec<usize> = replay.indices.iter().map(|index| index >> high).collect();
    let flat = |row: &Vec<EF>| -> Vec<F> {
        row.iter().flat_map(|value| value.as_basis_coefficients_slice().to_vec()).collect()
    };
    let opened: Vec<Vec<Vec<F>>> = rows.iter().map(|rounds| vec![flat(&rounds[round])]).collect();
    let proof = &view.opening().commit_phase_openings[round].opening_proof;
    mmcs.restore_and_recompute_paths(&dimensions, &indices, &opened, proof)
        .map(|paths| paths.into_iter().map(|path| path.siblings).collect())
        .map_err(|error| error.to_string())
}

/// The whole row of every round, for every query.
fn fold_rows(view: &ChildView<'_>, replay: &Replay) -> Vec<Vec<Vec<EF>>> {
    let alpha = replay.challenge(ChallengeId::Batch);
    let claimed = reduce_claims(view, alpha);
    (0..view.shape.fri.num_queries)
        .into_par_iter()
        .map(|query| fold_query(view, replay, alpha, &claimed, query))
        .collect()
}

/// For every tree, matrix and point: its offset in the ladder as a power of α, and Σ αⁱ pᵢ(z).
fn reduce_claims(view: &ChildView<'_>, alpha: EF) -> Vec<Vec<Vec<(EF, EF)>>> {
    let mut offsets = std::collections::BTreeMap::new();
    let trees = view.shape.trees.iter().enumerate();
    trees
        .map(|(tree, input)| {
            let matrices = input.matrices.iter().enumerate();
            matrices
                .map(|(matrix, m)| {
                    let points = 0..m.num_points();
                    points
                        .map(|point| {
                            let offset = offsets.entry(m.log_height).or_insert(EF::ONE);
                            let claims = view.claims(tree, matrix, point).unwrap_or(&[]);
                            let sum = claims.iter().rev().fold(EF::ZERO, |s, &c| s * alpha + c);
                            let entry = (*offset, sum * *offset);
                            *offset *= alpha.exp_u64(m.width as u64);
                            entry
                        })
                        .collect()
                })
                .collect()
        })
        .collect()
}

/// The rows of all rounds of one query.
fn fold_query(
    view: &ChildView<'_>,
    replay: &Replay,
    alpha: EF,
    claimed: &[Vec<Vec<(EF, EF)>>],
    query: usize,
) -> Vec<Vec<EF>> {
    let shape = &view.shape;
    let mut index = replay.indices[query];
    let openings = reduce_query(view, replay, alpha, claimed, query);
    let opening_at = |height: usize| openings.get(&height).copied().unwrap_or(EF::ZERO);
    let mut folded = opening_at(shape.log_max_height);
    let mut log_height = shape.log_max_height;
    let mut rows = Vec::with_capacity(shape.log_arities.len());
    for (round, &log_arity) in shape.log_arities.iter().enumerate() {
        let mut row = view.opening().commit_phase_openings[round].sibling_values[query].clone();
        row.insert(index & ((1 << log_arity) - 1), folded);
        index >>= log_arity;
        log_height -= log_arity;
        let beta = replay.challenge(ChallengeId::Fold(round));
        folded = fold_row(index, log_height, log_arity, beta, &row);
        folded += beta.exp_power_of_2(log_arity) * opening_at(log_height);
        rows.push(row);
    }
    rows
}

/// The polynomial through a group of evaluations, at β.
fn fold_row(index: usize, log_height: usize, log_arity: usize, beta: EF, row: &[EF]) -> EF {
    let folding = TwoAdicFriFolding::<(), ()>(PhantomData);
    <_ as FriFoldingStrategy<F, EF>>::fold_row(
        &folding,
        index,
        log_height,
        log_arity,
        beta,
        row.iter().copied(),
    )
}

/// The reduced openings of one query by height.
fn reduce_query(
    view: &ChildView<'_>,
    replay: &Replay,
    alpha: EF,
    claimed: &[Vec<Vec<(EF, EF)>>],
    query: usize,
) -> std::collections::BTreeMap<usize, EF> {
    let shape = &view.shape;
    let zeta = replay.challenge(ChallengeId::Zeta);
    let mut reduced = std::collections::BTreeMap::new();
    for (tree, input) in shape.trees.iter().enumerate() {
        let rows = &view.opening().input_openings[tree].opened_values[query];
        for (matrix, m) in input.matrices.iter().enumerate() {
            let height = shape.log_lde_height(m);
            let index = replay.indices[query] >> (shape.log_max_height - height);
            let x = F::GENERATOR
                * F::two_adic_generator(height).exp_u64(reverse_bits_len(index, height) as u64);
            let sum = rows[matrix].iter().rev().fold(EF::ZERO, |s, &p| s * alpha + p);
            for (point, &(offset, claim)) in claimed[tree][matrix].iter().enumerate() {
                let shift = if point == 0 { F::ONE } else { F::two_adic_generator(m.log_height) };
                let inverse = (zeta * shift - x).try_inverse().unwrap_or(EF::ZERO);
                *reduced.entry(height).or_insert(EF::ZERO) += (claim - sum * offset) * inverse;
            }
        }
    }
    reduced
}
