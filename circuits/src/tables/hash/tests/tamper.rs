//! Every cell of H changed, on every kind of row.

use std::collections::{BTreeMap, BTreeSet};

use p3_field::{Field, PrimeCharacteristicRing};
use p3_matrix::Matrix;

use super::groups;
use super::kinds::{FREE, Place, free_input, free_scratch, kind};
use crate::config::{F, WIDTH};
use crate::tables::hash::{HashPreprocessed, NUM_COLS, PERM_COLS, scratch};
use crate::tables::testing::rows::{HandRow, HashRows};
use crate::tables::testing::sample::sample;
use crate::tables::testing::{Coverage, Rejection, Site, rows_by_kind};

/// Rows of each kind that are tampered with.
const ROWS_PER_KIND: usize = 6;

/// Kinds that the layer has to have for these tests to mean anything.
const KINDS: [&str; 18] = [
    "bits high",
    "bits low",
    "factor",
    "fri first",
    "fri next",
    "leaf first",
    "leaf next, new sum",
    "leaf next, same sum",
    "limb only",
    "padding",
    "path first",
    "path inject",
    "path last",
    "path next",
    "path slot",
    "repeat",
    "sponge first",
    "sponge next",
];

fn rows() -> BTreeMap<String, Vec<usize>> {
    let sample = sample();
    let (program, height) = (&sample.layer.program().hashes, sample.hash().height());
    let kinds = (0..height).map(|row| kind(program.get(row), program.get(row + 1)));
    let kinds = rows_by_kind(kinds, ROWS_PER_KIND);
    for expected in KINDS.iter().chain(&["sponge squeeze"]) {
        let found = kinds.keys().any(|kind| kind.starts_with(expected));
        assert!(found, "the layer has a row of the kind {expected}");
    }
    kinds
}

/// The two changes that every cell undergoes.
fn changes() -> [F; 2] {
    [F::ONE, F::from_u32(0x2bad_cafe).inverse()]
}

/// The row with another input, and the permutation of that.
fn permuted(cells: &[F], slot: usize, value: F) -> Vec<F> {
    let mut input: [F; WIDTH] = std::array::from_fn(|i| cells[i]);
    input[slot] = value;
    let mut rows = HashRows::default();
    rows.push(HandRow::new(HashPreprocessed::default(), input));
    let mut changed = rows.table().1.row_slice(0).expect("a row").to_vec();
    changed[PERM_COLS..].copy_from_slice(&cells[PERM_COLS..]);
    changed
}

/// Every single-cell change of a row: the column and what comes of it.
fn change_cells(site: &Site<'_>, mut seen: impl FnMut(usize, &Rejection)) {
    let [_, honest, _] = site.cells();
    for column in 0..NUM_COLS {
        for change in changes() {
            let mut cells = honest.to_vec();
            cells[column] += change;
            seen(column, &site.replace(&cells));
        }
    }
}

/// Every change of an input with the permutation that belongs to it: slot, whether it is a flip of a
/// bit, and what comes of it.
fn change_inputs(site: &Site<'_>, mut seen: impl FnMut(usize, bool, &Rejection)) {
    let [_, honest, _] = site.cells();
    for slot in 0..WIDTH {
        let value = honest[slot];
        let bit = value == F::ZERO || value == F::ONE;
        let changed = value + F::from_u32(0x2bad_cafe).inverse();
        seen(slot, false, &site.replace(&permuted(honest, slot, changed)));
        if bit {
            seen(slot, true, &site.replace(&permuted(honest, slot, F::ONE - value)));
        }
    }
}

#[test]
fn every_cell_is_restricted_or_listed_as_free() {
    let mut coverage = Coverage::default();
    let mut listed = BTreeSet::new();
    for (kind, rows) in rows() {
        for row in rows {
            let site = sample().hash().site(row);
            let place = Place::new(&site);
            coverage.row(&kind);
            change_cells(&site, |column, rejection| {
                let free = column.checked_sub(PERM_COLS).and_then(|c| free_scratch(&place, c));
                listed.extend(free);
                coverage.count(&kind, rejection.rejects());
                let at = format!("{kind}, row {row}, column {column}");
                match free {
                    None => assert!(rejection.rejects(), "{at} is free and not listed"),
                    Some(entry) => {
                        let reason = FREE[entry].reason;
                        assert!(!rejection.rejects(), "{at} is not free, though {reason}");
                    }
                }
            });
        }
    }
    coverage.print("H, single cells");
    assert_eq!(listed.len(), FREE.len(), "every entry of the list is needed");
}

#[test]
fn every_input_is_restricted_or_listed_as_free_even_with_its_permutation() {
    let mut coverage = Coverage::default();
    let mut reasons = BTreeSet::new();
    for (kind, rows) in rows() {
        for row in rows {
            let site = sample().hash().site(row);
            let place = Place::new(&site);
            coverage.row(&kind);
            change_inputs(&site, |slot, flip, rejection| {
                let free = free_input(&place, slot, flip);
                reasons.extend(free);
                coverage.count(&kind, rejection.rejects());
                let at = format!("{kind}, row {row}, slot {slot}, flip {flip}");
                assert_eq!(rejection.rejects(), free.is_none(), "{at}: {free:?}");
            });
        }
    }
    coverage.print("H, inputs with their permutation");
    assert_eq!(reasons.len(), 4, "every reason is needed");
}

/// Constraints that cannot fail by themselves, with the reason.
fn unreachable() -> BTreeMap<usize, &'static str> {
    let masked = groups().range("sponge_start").start + 8;
    BTreeMap::from([(
        masked,
        "slot 0 is absorbed on every row on which slots that are not absorbed have to be zero",
    )])
}

#[test]
fn each_constraint_fails_for_some_change() {
    let mut hit = BTreeSet::new();
    for row in rows().into_values().flatten() {
        let site = sample().hash().site(row);
        change_cells(&site, |_, rejection| hit.extend(&rejection.failed));
        change_inputs(&site, |_, _, rejection| hit.extend(&rejection.failed));
    }
    let unreachable = unreachable();
    let all = 0..groups().len();
    let expected: BTreeSet<usize> = all.filter(|i| !unreachable.contains_key(i)).collect();
    let missed: Vec<_> = expected.difference(&hit).collect();
    assert!(missed.is_empty(), "no change fails {missed:?}");
    let wrong: Vec<_> = hit.difference(&expected).collect();
    assert!(wrong.is_empty(), "{wrong:?} can fail: take them off the list");
}

/// The named constraint that is to fail first of all, for the columns that carry a kind's claim.
const CENTRAL: [(&str, usize, &str); 28] = [
    ("leaf first", scratch::GAMMA2, "powers"),
    ("leaf first", scratch::GAMMA3, "powers"),
    ("leaf first", scratch::GAMMA4, "powers"),
    ("leaf first", scratch::ACC, "reduced_opening"),
    ("leaf first", scratch::HALF, "reduced_opening"),
    ("leaf first", scratch::SUM, "reduced_opening"),
    ("leaf next, same sum", scratch::GAMMA, "powers"),
    ("leaf next, same sum", scratch::ACC, "reduced_opening"),
    ("leaf next, new sum", scratch::ACC, "reduced_opening"),
    ("repeat", scratch::GAMMA, "powers"),
    ("repeat", scratch::SUM, "reduced_opening"),
    ("path first", scratch::START, "path"),
    ("path first", scratch::BIT, "path"),
    ("path first", scratch::REST, "path"),
    ("path first", scratch::POINT, "point"),
    ("path next", scratch::BIT, "path"),
    ("path next", scratch::REST, "path"),
    ("path next", scratch::POINT, "point"),
    ("path last", scratch::REST, "path"),
    ("path inject", scratch::BIT, "path"),
    ("factor", scratch::REST, "path"),
    ("factor", scratch::POINT, "point"),
    ("factor", scratch::FACTOR, "point"),
    ("fri first", scratch::FOLD, "fold"),
    ("fri next", scratch::WEIGHT, "fold"),
    ("bits low", scratch::ELEMENT, "bits"),
    ("bits high", scratch::INDEX, "bits"),
    ("bits high", scratch::TOP_ONES, "canonical"),
];

#[test]
fn the_constraint_of_a_column_is_the_one_that_fails() {
    let (rows, groups) = (rows(), groups());
    for (kind, column, group) in CENTRAL {
        let of_kind = rows.iter().filter(|(name, _)| name.starts_with(kind));
        for &row in of_kind.flat_map(|(_, rows)| rows) {
            let site = sample().hash().site(row);
            let mut cells = site.cells()[1].to_vec();
            cells[PERM_COLS + column] += F::from_u32(0x2bad_cafe).inverse();
            let names = groups.names(&site.replace(&cells).failed);
            assert!(names.contains(group), "{kind}, row {row}, column {column}: {names:?}");
        }
    }
}

#[test]
fn the_constraint_of_an_input_is_the_one_that_fails() {
    let (rows, groups) = (rows(), groups());
    // The eighth element of the capacity is zero at the start and carried on; every input of a
    // repeated row, and every bit, is restricted.
    let central = [
        ("leaf first", WIDTH - 1, "sponge_start"),
        ("fri first", WIDTH - 1, "sponge_start"),
        ("sponge first", WIDTH - 1, "sponge_start"),
        ("leaf next, new sum", WIDTH - 1, "sponge_link"),
        ("leaf next, same sum", WIDTH - 1, "sponge_link"),
        ("fri next", WIDTH - 1, "sponge_link"),
        ("sponge next", WIDTH - 1, "sponge_link"),
        ("sponge squeeze", 0, "sponge_link"),
        ("sponge squeeze", WIDTH - 1, "sponge_link"),
        ("repeat", 3, "repeat"),
        ("repeat", WIDTH - 1, "repeat"),
        ("bits low", 5, "bits"),
        ("bits high", 5, "bits"),
        ("limb only", 5, "bits"),
        ("leaf first", 0, "reduced_opening"),
        ("fri first", 0, "fold"),
        ("fri next", 4, "fold"),
    ];
    for (kind, slot, group) in central {
        let of_kind = rows.iter().filter(|(name, _)| name.starts_with(kind));
        for &row in of_kind.flat_map(|(_, rows)| rows) {
            let site = sample().hash().site(row);
            let honest = site.cells()[1];
            let value = honest[slot] + F::from_u32(0x2bad_cafe).inverse();
            let names = groups.names(&site.replace(&permuted(honest, slot, value)).failed);
            assert!(names.contains(group), "{kind}, row {row}, slot {slot}: {names:?}");
            let mut cells = honest.to_vec();
            cells[slot] = value;
            let names = groups.names(&site.replace(&cells).failed);
            assert!(names.contains("permutation"), "{kind}, row {row}, slot {slot}: {names:?}");
        }
    }
}

#[test]
fn padding_permutes_anything_and_says_nothing() {
    let mut rows = HashRows::default();
    rows.push(HandRow::new(HashPreprocessed::default(), [F::ZERO; WIDTH]));
    let outcome = rows.check();
    assert!(outcome.failed.is_empty() && outcome.bus.is_empty());
    // The rows of an honest table after its program.
    let (subject, used) = (sample().hash(), sample().layer.program().hashes.len());
    let (_, table) = rows.table();
    let zero = table.row_slice(0).expect("a row").to_vec();
    for row in used..subject.height() {
        assert_eq!(subject.fixed(row), [F::ZERO; 40]);
        assert_eq!(subject.cells(row), zero);
    }
    // A permutation that is none is rejected there too.
    let site = subject.site(used);
    for column in WIDTH..PERM_COLS {
        let mut cells = zero.clone();
        cells[column] += F::ONE;
        let names = groups().names(&site.replace(&cells).failed);
        assert_eq!(names, BTreeSet::from(["permutation"]));
    }
}
