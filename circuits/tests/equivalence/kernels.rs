//! Rows that open to the same values at a query and are not the committed ones: only their Merkle
//! path says so.

use arbor_circuits::check::Fault;
use arbor_circuits::compiler::transcript::ChallengeId;
use arbor_circuits::config::{D, EF, F};
use arbor_circuits::filler::replay::Replay;
use arbor_circuits::filler::view::ChildView;
use p3_field::{BasedVectorSpace, Field, PrimeCharacteristicRing};
use p3_fri::{FriFoldingStrategy, TwoAdicFriFolding};

use super::mutant::Mutant;
use super::subject::{batch_subject, layer_subject, uni_subject};
use super::verdict::Subject;

/// Base-field numbers δ with Σ δᵢ αⁱ = 0, the last of them 1.
fn kernel(alpha: EF) -> [F; D + 1] {
    // Column i of the matrix holds the limbs of αⁱ; the last one is the right-hand side, negated.
    let mut rows = [[F::ZERO; D + 1]; D];
    for (i, power) in alpha.powers().take(D + 1).enumerate() {
        let limbs: &[F] = power.as_basis_coefficients_slice();
        for (row, &limb) in rows.iter_mut().zip(limbs) {
            row[i] = if i == D { -limb } else { limb };
        }
    }
    for pivot in 0..D {
        let found = (pivot..D).find(|&row| rows[row][pivot] != F::ZERO);
        rows.swap(pivot, found.expect("α generates the extension"));
        let scale = rows[pivot][pivot].inverse();
        rows[pivot].iter_mut().for_each(|cell| *cell *= scale);
        for row in (0..D).filter(|&row| row != pivot) {
            let factor = rows[row][pivot];
            let taken = rows[pivot];
            rows[row].iter_mut().zip(taken).for_each(|(cell, x)| *cell -= factor * x);
        }
    }
    std::array::from_fn(|i| if i == D { F::ONE } else { rows[i][D] })
}

fn replay(subject: &Subject<'_>) -> Replay {
    let view =
        ChildView::new(subject.shape.clone(), subject.honest.input(), 0).expect("the right shape");
    Replay::new(&view)
}

/// Natively the cap differs; in-circuit a path does not end in it, and nothing else is wrong: what
/// the path reads and what the cap provides are left over.
fn only_a_path(subject: &Subject<'_>, mutant: &Mutant, place: &str) {
    let native = subject.judge(mutant).native.expect_err(place);
    assert!(native.contains("CapMismatch"), "{}, {place}: {native}", subject.name);
    let faults = subject.faults(mutant, 100).expect("the shape is right");
    let bus = faults.iter().all(|fault| matches!(fault, Fault::Bus { .. }));
    assert!(bus && !faults.is_empty(), "{}, {place}: {faults:?}", subject.name);
    assert!(faults.len() <= 4, "{}, {place}: {faults:?}", subject.name);
}

fn other_rows(subject: &Subject<'_>) -> usize {
    let delta = kernel(replay(subject).challenge(ChallengeId::Batch));
    let mut tried = 0;
    for (tree, input) in subject.shape.trees.iter().enumerate() {
        for (matrix, m) in input.matrices.iter().enumerate() {
            for query in 0..subject.shape.fri.num_queries {
                // Both ends of the row: blocks of the sponge differ.
                let Some(last) = m.width.checked_sub(D + 1) else { continue };
                for start in if last == 0 { vec![0] } else { vec![0, last] } {
                    let mut mutant = subject.honest.clone();
                    let opened = &mut mutant.opening().input_openings[tree].opened_values;
                    for (i, &d) in delta.iter().enumerate() {
                        opened[query][matrix][start + i] += d;
                    }
                    only_a_path(subject, &mutant, &format!("tree {tree}, {matrix}, {query}"));
                    tried += 1;
                }
            }
        }
    }
    tried
}

/// What a unit at `position` of a group folds to.
fn weight(subject: &Subject<'_>, replay: &Replay, round: usize, query: usize, at: usize) -> EF {
    let shape = &subject.shape;
    let log_arity = shape.log_arities[round];
    let high = shape.round_bit(round + 1);
    let evals = (0..1 << log_arity).map(|i| EF::from_bool(i == at));
    let folding = TwoAdicFriFolding::<(), ()>(std::marker::PhantomData);
    <_ as FriFoldingStrategy<F, EF>>::fold_row(
        &folding,
        replay.indices[query] >> high,
        shape.log_max_height - high,
        log_arity,
        replay.challenge(ChallengeId::Fold(round)),
        evals,
    )
}

fn other_siblings(subject: &Subject<'_>) -> usize {
    let replay = replay(subject);
    let shape = &subject.shape;
    let mut tried = 0;
    for (round, &log_arity) in shape.log_arities.iter().enumerate() {
        for query in 0..shape.fri.num_queries {
            let arity = 1 << log_arity;
            if arity < 4 {
                continue;
            }
            let own = replay.indices[query] >> shape.round_bit(round) & (arity - 1);
            let others: Vec<usize> = (0..arity).filter(|&at| at != own).collect();
            let (first, last) = (0, others.len() - 1);
            let [one, two] =
                [first, last].map(|i| weight(subject, &replay, round, query, others[i]));
            let mut mutant = subject.honest.clone();
            let rows = &mut mutant.opening().commit_phase_openings[round].sibling_values[query];
            rows[first] += EF::ONE;
            rows[last] -= one * two.inverse();
            only_a_path(subject, &mutant, &format!("round {round}, query {query}"));
            tried += 1;
        }
    }
    tried
}

fn both(subject: &Subject<'_>) {
    let (rows, siblings) = (other_rows(subject), other_siblings(subject));
    println!("{}: {rows} other rows, {siblings} other groups", subject.name);
    assert!(rows > 0 && siblings > 0);
}

/// Without grinding: then the queries are the same whenever this runs.
#[test]
fn rows_and_groups_of_the_same_value_under_another_leaf() {
    uni_subject(0, both);
    batch_subject(0, both);
    layer_subject(0, both);
}
