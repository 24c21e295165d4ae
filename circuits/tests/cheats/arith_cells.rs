//! Every cell of E changed, on every kind of row.

use std::collections::BTreeSet;

use arbor_circuits::check::Groups;
use arbor_circuits::config::F;
use arbor_circuits::program::{Gate, Role};
use arbor_circuits::tables::arith::NUM_COLS;
use p3_field::PrimeCharacteristicRing;

use super::coverage::{Coverage, changes, rows_by_kind};
use super::stages::{Stage, mixed, wide};

/// Rows of each kind that are tampered with.
const ROWS_PER_KIND: usize = 40;

fn kind(row: usize, rows: usize, gate: &Gate) -> String {
    let name = match gate.role {
        _ if row == 0 => "first row",
        _ if row >= rows => "padding",
        Role::Compute => "compute",
        Role::Assert => "assert",
        Role::Quotient => "quotient",
        Role::Input if gate.q == [F::ZERO; 5] => "free input",
        Role::Input => "boolean input",
    };
    name.to_owned()
}

fn no_cell_is_free(stage: &Stage) {
    let digest = stage.digest(&stage.honest);
    let [arith, _] = stage.subjects(&digest);
    let used = stage.layer.tables()[0].rows;
    let gates = stage.layer.program().gates.iter().enumerate();
    let kinds = rows_by_kind(gates.map(|(row, gate)| kind(row, used, gate)), ROWS_PER_KIND);
    let names: Vec<&str> = kinds.keys().map(String::as_str).collect();
    let expected =
        ["assert", "boolean input", "compute", "first row", "free input", "padding", "quotient"];
    assert_eq!(names, expected);
    let (mut coverage, mut hit) = (Coverage::default(), BTreeSet::new());
    for (kind, rows) in kinds {
        for row in rows {
            let site = arith.site(row);
            coverage.row(&kind);
            for column in 0..NUM_COLS {
                for change in changes(row) {
                    let mut cells = arith.cells(row).to_vec();
                    cells[column] += change;
                    let rejection = site.replace(&cells);
                    coverage.count(&kind, &rejection);
                    assert!(rejection.rejects(), "{kind}, row {row}, column {column}");
                    hit.extend(rejection.failed);
                }
            }
        }
    }
    coverage.print(&format!("E over {}: single cells", stage.name));
    let all: BTreeSet<usize> = (0..Groups::of(arith.air).len()).collect();
    assert_eq!(hit, all, "each constraint fails for some change");
}

#[test]
fn no_cell_of_e_is_free() {
    for stage in [wide(), mixed()] {
        no_cell_is_free(stage);
    }
}
