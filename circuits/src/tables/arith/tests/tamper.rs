//! Cells of E changed: those of whole circuits, and those that public values bind. The rows of a layer
//! are those of `tests/cheats`.

use std::collections::BTreeSet;

use p3_field::{Field, PrimeCharacteristicRing};

use crate::check::Rejection;
use crate::config::{D, F};
use crate::program::{Gate, Role};
use crate::tables::arith::{NUM_COLS, Publics};
use crate::tables::testing::sample::{Circuit, sample};
use crate::tables::testing::{Groups, Subject};

/// The two groups of E. `scalars` is the number of public values if they are not a digest.
fn groups(scalars: Option<usize>) -> Groups {
    super::super::groups(scalars.map_or(Publics::Digest, Publics::Scalars))
}

/// Changes every cell of `row` by one and by much.
fn change_all(subject: Subject<'_>, row: usize, mut seen: impl FnMut(usize, Rejection)) {
    let site = subject.site(row);
    for column in 0..NUM_COLS {
        for change in [F::ONE, F::from_u32(0x2bad_cafe).inverse()] {
            let mut cells = subject.cells(row).to_vec();
            cells[column] += change;
            seen(column, site.replace(&cells));
        }
    }
}

#[test]
fn no_cell_of_a_circuit_is_free() {
    let circuit = Circuit::new(&[3, 4, 5, 6, 7, 8].map(F::from_u32), 5);
    let mut hit = BTreeSet::new();
    for row in 0..circuit.gates.len() {
        change_all(circuit.subject(), row, |column, rejection| {
            assert!(rejection.rejects(), "row {row}, column {column}");
            hit.extend(rejection.failed);
        });
    }
    let all: BTreeSet<usize> = (0..groups(Some(6)).len()).collect();
    assert_eq!(hit, all, "each constraint fails for some change");
}

#[test]
fn a_wrong_result_fails_the_gate_and_a_wrong_read_the_bus() {
    let sample = sample();
    let groups = groups(None);
    let gates = &sample.layer.program().gates;
    let computes = |gate: &&Gate| gate.role == Role::Compute;
    let row = gates.iter().position(|gate| computes(&gate)).expect("some row computes");
    change_all(sample.arith(), row, |column, rejection| {
        assert!(rejection.bus, "column {column} is read or written");
        if column >= 3 * D {
            assert_eq!(groups.names(&rejection.failed), BTreeSet::from(["gate"]));
            assert_eq!(rejection.failed, BTreeSet::from([column - 3 * D]));
        }
    });
}

#[test]
fn each_element_of_the_digest_is_bound() {
    let sample = sample();
    let (honest, first) = (sample.arith(), groups(None).range("publics").start);
    for element in 0..2 * D {
        let mut publics = honest.publics.to_vec();
        publics[element] += F::ONE;
        let subject = Subject { publics: &publics, ..honest };
        let probe = subject.probe(0, [subject.cells(0), subject.cells(1)]);
        assert_eq!(probe.failed, BTreeSet::from([first + element]));
    }
}

#[test]
fn the_first_row_pins_the_generator() {
    let subject = sample().arith();
    let (site, first) = (subject.site(0), groups(None).range("publics").start);
    for limb in 0..D {
        let mut cells = subject.cells(0).to_vec();
        cells[2 * D + limb] += F::TWO;
        assert_eq!(site.replace(&cells).failed, BTreeSet::from([first + 2 * D + limb]));
    }
}

#[test]
fn each_scalar_is_bound() {
    for count in 1..=6 {
        let publics: Vec<F> = (0..count).map(|i| F::from_usize(i + 3)).collect();
        let circuit = Circuit::new(&publics, 5);
        let first = groups(Some(count)).range("publics").start;
        for scalar in 0..count {
            let mut publics = publics.clone();
            publics[scalar] += F::ONE;
            let subject = Subject { publics: &publics, ..circuit.subject() };
            let last = subject.height() - 1;
            let row = if scalar < 3 { 0 } else { last };
            let probe = subject.probe(row, [subject.cells(row), subject.cells(row + 1)]);
            assert_eq!(probe.failed, BTreeSet::from([first + scalar * D]), "{scalar} of {count}");
        }
    }
}
