//! Several shared cells of H changed at once, by as little as can be.
//!
//! Constraints are polynomials, so that whatever family of changes they leave free shows in their
//! derivatives: a direction in which none of them, and nothing that is sent, changes. For neighbouring
//! rows the space of all such directions is computed, and what it has beside the cells that are free by
//! themselves must be explained. The permutation columns stay as they are: what other inputs may have
//! the same output is the hash function's business.

use std::collections::{BTreeMap, BTreeSet};

use arbor_circuits::check::Site;
use arbor_circuits::config::F;
use arbor_circuits::program::{HashRow, Source};
use arbor_circuits::tables::hash::{NUM_COLS, PERM_COLS, scratch};
use p3_field::{Field, PrimeCharacteristicRing};
use p3_maybe_rayon::prelude::*;

use super::kinds::kind;
use super::stages::{Stage, mixed, wide};

/// Derivatives of all that is bound by each cell, one vector for each cell that binds anything.
fn derivatives(site: &Site<'_>, honest: &[F]) -> Vec<(usize, Vec<F>)> {
    // a for a·t + b·t² + c·t³ at t = 1, 2, 3.
    let weights = [F::from_u8(3), -F::from_u8(3).halve(), F::from_u8(3).inverse()];
    let base = site.bound(honest);
    let shared = |cell: &usize| cell % NUM_COLS >= PERM_COLS;
    let columns = (0..honest.len()).into_par_iter().filter(shared).map(|cell| {
        let mut sum = F::zero_vec(base.len());
        for (t, weight) in (1..).zip(weights) {
            let mut cells = honest.to_vec();
            cells[cell] += F::from_u8(t);
            let changed = site.bound(&cells);
            for ((sum, changed), base) in sum.iter_mut().zip(changed).zip(&base) {
                *sum += weight * (changed - *base);
            }
        }
        (cell, sum)
    });
    columns.filter(|(_, column)| column.iter().any(|&x| x != F::ZERO)).collect()
}

/// Vectors of the kernel of the matrix with these columns: for each the cells that it changes.
fn kernel(columns: Vec<(usize, Vec<F>)>) -> Vec<BTreeSet<usize>> {
    // Each column is reduced by those before it, and remembers what it was reduced by.
    let mut pivots: Vec<(usize, Vec<F>, BTreeMap<usize, F>)> = vec![];
    let mut found = vec![];
    for (cell, mut column) in columns {
        let mut combination = BTreeMap::from([(cell, F::ONE)]);
        for (pivot, other, parts) in &pivots {
            let factor = column[*pivot];
            if factor == F::ZERO {
                continue;
            }
            column.iter_mut().zip(other).for_each(|(x, &y)| *x -= factor * y);
            for (&part, &weight) in parts {
                *combination.entry(part).or_insert(F::ZERO) -= factor * weight;
            }
        }
        match column.iter().position(|&x| x != F::ZERO) {
            None => {
                combination.retain(|_, weight| *weight != F::ZERO);
                found.push(combination.into_keys().collect());
            }
            Some(pivot) => {
                let scale = column[pivot].inverse();
                column.iter_mut().for_each(|x| *x *= scale);
                combination.values_mut().for_each(|weight| *weight *= scale);
                pivots.push((pivot, column, combination));
            }
        }
    }
    found
}

/// Rows that are changed together.
const SPAN: usize = 4;

/// Whether a shared cell may change along with others, though not by itself.
fn explained(stage: &Stage, row: usize, column: usize) -> bool {
    let program = &stage.layer.program().hashes;
    let fixed = |row: usize| program.get(row).map(|row| &row.fixed);
    let sponge = |row: usize| {
        fixed(row).is_some_and(|f| f.sponge_first + f.sponge_next + f.sponge_squeeze == F::ONE)
    };
    // A repeated row of a sponge takes over what that has in place of γ and its powers, and neither
    // sends it; masks weigh the powers, so that they can balance each other.
    let repeats = |row: usize| fixed(row).is_some_and(|f| f.repeat == F::ONE) && sponge(row - 1);
    // A group of one pair is folded in E: u, u², f, v and the sum of such a row are not sent.
    let one_pair =
        program.get(row).is_some_and(|row| matches!(row.source, Source::Fold { log_arity: 1, .. }));
    // A group's path carries a point like any other, which begins with anything and is not sent.
    let group_path = program.get(row).is_some_and(|row| {
        matches!(row.source, Source::Path { tree, .. } if usize::from(tree) >= stage.shape.trees.len())
    });
    column < 16 && (sponge(row) || repeats(row))
        || column < 20 && one_pair
        || column == scratch::POINT && group_path
}

/// One place for every sequence of kinds.
fn places(program: &[HashRow], height: usize) -> BTreeMap<Vec<String>, usize> {
    let kind = |row: usize| {
        let one_pair = program
            .get(row)
            .is_some_and(|row| matches!(row.source, Source::Fold { log_arity: 1, .. }));
        kind(program.get(row), program.get(row + 1)) + if one_pair { ", one pair" } else { "" }
    };
    (0..height - SPAN).map(|row| ((row..row + SPAN).map(kind).collect(), row)).collect()
}

#[test]
fn no_shared_cells_are_free_together_without_a_reason() {
    let mut reasons = BTreeSet::new();
    for stage in [wide(), mixed()] {
        // H has no public values.
        let table = stage.subjects(&[F::ZERO; 8])[1];
        let program = &stage.layer.program().hashes;
        let places = places(program, table.height());
        let (mut directions, mut wrong) = (0, vec![]);
        for (kinds, row) in &places {
            let honest: Vec<F> =
                (*row..row + SPAN).flat_map(|row| table.cells(row)).copied().collect();
            for cells in kernel(derivatives(&table.sites(*row, SPAN), &honest)) {
                directions += 1;
                let place = |cell: &usize| (row + cell / NUM_COLS, cell % NUM_COLS - PERM_COLS);
                let cells: Vec<(usize, usize)> = cells.iter().map(place).collect();
                let sources = cells.iter().filter_map(|(row, _)| program.get(*row));
                reasons.extend(sources.map(|row| match row.source {
                    Source::Fold { .. } => "one pair",
                    Source::Path { .. } => "point of a group's path",
                    _ => "sponge",
                }));
                if !cells.iter().all(|&(row, column)| explained(stage, row, column)) {
                    wrong.push(format!("{kinds:?}: {cells:?}"));
                }
            }
        }
        let places = places.len();
        println!(
            "H over {}: {places} sequences of {SPAN} rows, {directions} directions",
            stage.name
        );
        assert!(wrong.is_empty(), "{}:\n{}", stage.name, wrong.join("\n"));
    }
    assert_eq!(reasons.len(), 3, "every reason is needed: {reasons:?}");
}
