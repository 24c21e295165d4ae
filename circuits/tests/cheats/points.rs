//! Provers that evaluate at other points than the index stands for.

use arbor_circuits::config::{EF, F};
use arbor_circuits::program::{Access, Source};
use arbor_circuits::tables::hash::scratch;
use p3_field::{Field, PrimeCharacteristicRing};

use super::layout::{path_rows, port, query_rows};
use super::lie::Lie;
use super::stages::{Stage, constant, limbs};
use super::{Entry, require_rejected};

/// The tree whose path the point follows.
const GUIDE: usize = 0;

/// A set bit that leaves the point as it was.
fn left_out<'a>(stage: &Stage) -> Lie<'a> {
    let (program, index) = (stage.layer.program(), stage.replay.indices[0]);
    let rows = path_rows(program, 0, GUIDE).into_iter().enumerate().skip(1);
    let (_, row) = rows.clone().find(|(level, _)| index >> level & 1 == 1).expect("a set bit");
    let factor = (F::ONE + program.hashes[row].fixed.kappa).inverse();
    Lie::default().row(row, move |_, cells| cells[scratch::POINT] *= factor)
}

fn factor_row(stage: &Stage) -> usize {
    query_rows(stage.layer.program(), 0, |row| row.source == Source::Factor)[0]
}

/// The cap bits contribute what those of another entry do.
fn other_factor<'a>(stage: &Stage) -> Lie<'a> {
    let row = factor_row(stage);
    let table = port(stage.layer.program(), row, 2);
    let entry =
        stage.replay.indices[0] >> (stage.shape.log_max_height - stage.shape.fri.cap_height);
    let other = stage.at(table.offset(entry ^ 1));
    Lie::default().read(row, table.offset(entry), other)
}

/// A point that the guiding path writes for E is another there.
fn other_partial_point<'a>(stage: &Stage) -> Lie<'a> {
    let program = stage.layer.program();
    let writes = |row: &&usize| {
        program.hashes[**row].ports[0].is_some_and(|port| port.access == Access::Write)
    };
    let rows = path_rows(program, 0, GUIDE);
    let addr = port(program, *rows.iter().find(writes).expect("a fold starts there"), 0);
    Lie::default().write(addr, EF::from(limbs(&stage.honest, addr)[0] * F::from_u8(7)))
}

#[test]
fn other_points_are_rejected() {
    let stage = constant();
    let over = |name, lie, expected| Entry { name, stage, cheat: stage.lie(lie), expected };
    let first = path_rows(stage.layer.program(), 0, GUIDE)[0];
    let scaled = |_: &mut [F; 16], cells: &mut [F; 28]| cells[scratch::POINT] *= F::from_u8(7);
    let whole = port(stage.layer.program(), factor_row(stage), 0);
    let entries = vec![
        over(
            "another point from the first bit on, for all openings and folds of a query",
            Lie::default().row(first, scaled),
            &["H point"],
        ),
        over("a set bit does not multiply the point", left_out(stage), &["H point"]),
        over(
            "the cap bits multiply the point by another factor",
            other_factor(stage),
            &["bus: factor table"],
        ),
        over(
            "another point for all openings of a query, in E alone",
            Lie::default().write(whole, stage.at(whole) * F::from_u8(7)),
            &["bus: point of an index"],
        ),
        over(
            "another point for one fold, in E alone",
            other_partial_point(stage),
            &["bus: point of a path"],
        ),
    ];
    require_rejected("points", entries);
}
