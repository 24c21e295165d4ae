//! What every program has to satisfy for its bus to mean anything, checked before it is committed to.
//!
//! The constraints of H trust the preprocessed columns: that the branches of a port exclude each other,
//! that a free multiplicity has an address of its own, that every address has one writer. The compiler
//! sees to it; this looks again, in every build.

use p3_field::PrimeCharacteristicRing;

use super::arith::{Gate, Role};
use super::hash::{Access, HashRow, Port};
use crate::config::F;
use crate::error::CompileError;

/// Checks a whole program that uses `addresses` addresses.
///
/// # Errors
/// [`CompileError::Malformed`] with the first row that breaks a rule: a bug of the compiler.
pub fn audit(gates: &[Gate], hashes: &[HashRow], addresses: usize) -> Result<(), CompileError> {
    let writers = writers(gates, hashes, addresses);
    if writers.iter().any(|&(count, _)| count != 1) {
        return Err(CompileError::Malformed { row: 0, rule: "every address has one writer" });
    }
    for (number, row) in hashes.iter().enumerate() {
        let broken = check_row(row, hashes.get(number + 1), &writers);
        if let Some(rule) = broken {
            return Err(CompileError::Malformed { row: number, rule });
        }
    }
    Ok(())
}

/// For every address how many rows write it, and whether one does as an entry of an indexed table.
fn writers(gates: &[Gate], hashes: &[HashRow], addresses: usize) -> Vec<(usize, bool)> {
    let mut writers = vec![(0, false); addresses];
    for gate in gates {
        match gate.role {
            Role::Compute => writers[gate.out.index()].0 += 1,
            Role::Quotient | Role::Input => writers[gate.a.index()].0 += 1,
            Role::Assert => {}
        }
    }
    for port in hashes.iter().flat_map(|row| row.ports.into_iter().flatten()) {
        let indexed = port.access == Access::WriteIndexed;
        if indexed || port.access == Access::Write {
            writers[port.addr.index()].0 += 1;
            writers[port.addr.index()].1 |= indexed;
        }
    }
    writers
}

/// The first rule that a row breaks.
fn check_row(
    row: &HashRow,
    next: Option<&HashRow>,
    writers: &[(usize, bool)],
) -> Option<&'static str> {
    let fixed = &row.fixed;
    let is = |flag: F| flag == F::ONE;
    let access = |port: usize| row.ports[port].map(|port: Port| port.access);
    let flags = port_flags(row);
    let rules = [
        (flags.iter().all(|&set| set <= 1), "the branches of a port exclude each other"),
        (
            (0..3).all(|port| row.ports[port].is_none() || flags[port] == 1),
            "a port with an address has a branch",
        ),
        (
            (0..2).all(|port| is(fixed.dynamic) == (access(port) == Some(Access::WriteIndexed))),
            "free multiplicities belong to entries of indexed tables, on both ports",
        ),
        (
            is(fixed.table) == (access(2) == Some(Access::WriteIndexed)),
            "an entry of the factor table has a free multiplicity",
        ),
        (
            indexed_reads(row)
                == [is(fixed.last) || is(fixed.slot), is(fixed.last) || is(fixed.factor)],
            "reads at an index are those of caps, slots and factors",
        ),
        (access(0) != Some(Access::ReadIndexed), "port A reads at no index"),
        (
            row.ports
                .into_iter()
                .flatten()
                .all(|port| port.access != Access::ReadIndexed || writers[port.addr.index()].1),
            "what is read at an index is an entry of an indexed table",
        ),
        (
            !is(fixed.bits_low)
                || row.ports[2].is_some()
                || next.is_some_and(|next| is(next.fixed.bits_high)),
            "the low half of a decomposition has its high half",
        ),
    ];
    rules.into_iter().find(|(holds, _)| !holds).map(|(_, rule)| rule)
}

/// Whether ports B and C read at an index.
fn indexed_reads(row: &HashRow) -> [bool; 2] {
    [1, 2].map(|port| row.ports[port].is_some_and(|port| port.access == Access::ReadIndexed))
}

/// How many branches of each port are switched on; one that is neither off nor on counts as two.
fn port_flags(row: &HashRow) -> [usize; 3] {
    let f = &row.fixed;
    let leaf = f.leaf_first + f.leaf_next + f.repeat;
    let fri = f.fri_first + f.fri_next;
    let a = [
        fri + f.window0,
        f.window3,
        leaf,
        f.slot + f.bits_low,
        f.path - f.slot + f.factor,
        f.inject,
    ];
    let first = f.path - f.path_next - f.slot;
    let b = [fri + f.window0, f.window3, f.squeeze, f.leaf_first, first, f.slot, f.last, f.inject];
    let plain = f.path - f.last - f.slot;
    let c = [f.head, f.squeeze, f.table, plain, f.slot, f.last, f.factor, f.fri_first, f.fri_next]
        .into_iter()
        .chain([f.bits_low, f.bits_high]);
    let count = |flag: F| match flag {
        F::ZERO => 0,
        F::ONE => 1,
        _ => 2,
    };
    [a.into_iter().map(count).sum(), b.into_iter().map(count).sum(), c.map(count).sum()]
}
