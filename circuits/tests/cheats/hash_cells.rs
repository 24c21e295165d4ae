//! Every cell of H changed, on every kind of row.

use std::collections::{BTreeMap, BTreeSet};

use arbor_circuits::check::{Groups, Rejection, Site, Subject};
use arbor_circuits::config::{F, WIDTH};
use arbor_circuits::tables::hash::{
    NUM_COLS, NUM_PREPROCESSED, PERM_COLS, fill_permutations, scratch,
};
use p3_field::PrimeCharacteristicRing;

use super::coverage::{Coverage, Rows, changes, rows_by_kind, some_change};
use super::kinds::{FREE, Place, free_input, free_scratch, kind};
use super::stages::{Stage, mixed, wide};

/// Rows of each kind that are tampered with.
const ROWS_PER_KIND: usize = 6;

/// Kinds that the layer has to have for these tests to mean anything.
const KINDS: [&str; 19] = [
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
    "sponge squeeze",
];

/// The layers whose rows are tampered with: over a wide proof of `p3-uni-stark`, and over a batch.
fn stages() -> [&'static Stage; 2] {
    [wide(), mixed()]
}

fn table(stage: &'static Stage) -> Subject<'static> {
    // H has no public values.
    stage.subjects(&[F::ZERO; 8])[1]
}

/// Rows of every kind.
fn rows(stage: &'static Stage) -> Rows {
    let (program, height) = (&stage.layer.program().hashes, table(stage).height());
    let kinds = (0..height).map(|row| kind(program.get(row), program.get(row + 1)));
    rows_by_kind(kinds, ROWS_PER_KIND)
}

fn groups() -> Groups {
    Groups::of(table(wide()).air)
}

/// The row with another input, and the permutation of that.
fn permuted(cells: &[F], slot: usize, value: F) -> Vec<F> {
    // As many rows as the widest packing.
    let mut rows = cells.repeat(16);
    rows[slot] = value;
    fill_permutations(&mut rows);
    rows.truncate(NUM_COLS);
    rows
}

/// Every single-cell change of a row: the column and what comes of it.
fn change_cells(site: &Site<'_>, row: usize, mut seen: impl FnMut(usize, &Rejection)) {
    let [_, honest, _] = site.cells();
    for column in 0..NUM_COLS {
        for change in changes(row) {
            let mut cells = honest.to_vec();
            cells[column] += change;
            seen(column, &site.replace(&cells));
        }
    }
}

/// Every change of an input with the permutation that belongs to it: slot, whether it is a flip of a
/// bit, and what comes of it.
fn change_inputs(site: &Site<'_>, row: usize, mut seen: impl FnMut(usize, bool, &Rejection)) {
    let [_, honest, _] = site.cells();
    for slot in 0..WIDTH {
        let value = honest[slot];
        let bit = value == F::ZERO || value == F::ONE;
        for change in changes(row).into_iter().skip(1) {
            seen(slot, false, &site.replace(&permuted(honest, slot, value + change)));
        }
        if bit {
            seen(slot, true, &site.replace(&permuted(honest, slot, F::ONE - value)));
        }
    }
}

#[test]
fn the_layers_have_rows_of_every_kind() {
    for expected in KINDS {
        let has = |stage| rows(stage).keys().any(|kind| kind.starts_with(expected));
        assert!(stages().into_iter().any(has), "no layer has a row of the kind {expected}");
    }
    // One proof of one table has all of them but what comes of several heights.
    let kinds = rows(wide());
    let of_several = ["path inject", "leaf next, new sum"];
    for expected in KINDS.iter().filter(|kind| !of_several.contains(kind)) {
        assert!(kinds.keys().any(|kind| kind.starts_with(expected)), "wide: {expected}");
    }
}

#[test]
fn every_cell_is_restricted_or_listed_as_free() {
    let mut listed = BTreeSet::new();
    for stage in stages() {
        let mut coverage = Coverage::default();
        for (kind, rows) in rows(stage) {
            for row in rows {
                let site = table(stage).site(row);
                let place = Place::new(&site);
                coverage.row(&kind);
                change_cells(&site, row, |column, rejection| {
                    let free = column.checked_sub(PERM_COLS).and_then(|c| free_scratch(&place, c));
                    listed.extend(free);
                    coverage.count(&kind, rejection);
                    let at = format!("{}: {kind}, row {row}, column {column}", stage.name);
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
        coverage.print(&format!("H over {}: single cells", stage.name));
    }
    assert_eq!(listed.len(), FREE.len(), "every entry of the list is needed");
}

#[test]
fn every_input_is_restricted_or_listed_as_free_even_with_its_permutation() {
    let mut reasons = BTreeSet::new();
    for stage in stages() {
        let mut coverage = Coverage::default();
        for (kind, rows) in rows(stage) {
            for row in rows {
                let site = table(stage).site(row);
                let place = Place::new(&site);
                coverage.row(&kind);
                change_inputs(&site, row, |slot, flip, rejection| {
                    let free = free_input(&place, slot, flip);
                    reasons.extend(free);
                    coverage.count(&kind, rejection);
                    let at = format!("{}: {kind}, row {row}, slot {slot}, flip {flip}", stage.name);
                    assert_eq!(rejection.rejects(), free.is_none(), "{at}: {free:?}");
                });
            }
        }
        coverage.print(&format!("H over {}: inputs with their permutation", stage.name));
    }
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
    for stage in stages() {
        for row in rows(stage).into_values().flatten() {
            let site = table(stage).site(row);
            change_cells(&site, row, |_, rejection| hit.extend(&rejection.failed));
            change_inputs(&site, row, |_, _, rejection| hit.extend(&rejection.failed));
        }
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

/// Rows of a kind, by the start of its name.
fn of_kind(stage: &'static Stage, kind: &str) -> Vec<usize> {
    let rows = rows(stage).into_iter().filter(|(name, _)| name.starts_with(kind));
    rows.flat_map(|(_, rows)| rows).collect()
}

#[test]
fn the_constraint_of_a_column_is_the_one_that_fails() {
    let groups = groups();
    for stage in stages() {
        for (kind, column, group) in CENTRAL {
            for row in of_kind(stage, kind) {
                let site = table(stage).site(row);
                let mut cells = site.cells()[1].to_vec();
                cells[PERM_COLS + column] += some_change(row);
                let names = groups.names(&site.replace(&cells).failed);
                assert!(names.contains(group), "{kind}, row {row}, column {column}: {names:?}");
            }
        }
    }
}

#[test]
fn the_constraint_of_an_input_is_the_one_that_fails() {
    let groups = groups();
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
    for stage in stages() {
        for (kind, slot, group) in central {
            for row in of_kind(stage, kind) {
                let site = table(stage).site(row);
                let honest = site.cells()[1];
                let value = honest[slot] + some_change(row);
                let names = groups.names(&site.replace(&permuted(honest, slot, value)).failed);
                assert!(names.contains(group), "{kind}, row {row}, slot {slot}: {names:?}");
                let mut cells = honest.to_vec();
                cells[slot] = value;
                let names = groups.names(&site.replace(&cells).failed);
                assert!(names.contains("permutation"), "{kind}, row {row}, slot {slot}: {names:?}");
            }
        }
    }
}

#[test]
fn padding_permutes_zero_and_says_nothing() {
    let mut zero = vec![F::ZERO; 16 * NUM_COLS];
    fill_permutations(&mut zero);
    zero.truncate(NUM_COLS);
    for stage in stages() {
        let (subject, used) = (table(stage), stage.layer.program().hashes.len());
        for row in used..subject.height() {
            assert_eq!(subject.fixed(row), [F::ZERO; NUM_PREPROCESSED]);
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
}

#[test]
fn every_free_cell_is_on_the_map() {
    let map = include_str!("../../MAP.md");
    let section = map.split("## Cells of H that may hold anything").nth(1).expect("the section");
    let lines = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows: Vec<&str> = lines
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').nth(1).expect("a first column").trim())
        .collect();
    let listed: Vec<&str> = FREE.iter().map(|free| free.name).collect();
    assert_eq!(rows, listed);
}
