//! Traces of a layer that no honest prover fills, and what rejects them.
//!
//! `hash_cells` and `arith_cells` change single cells. The other files are *cheats*: provers that lie in
//! one place and fill everything else as if it were true, free multiplicities included. The program is
//! part of the key, so rows cannot be dropped or exchanged; only what is in them can be another.
//!
//! Most cheats are played over a child whose columns are all constant ([`stages::constant`]). Its openings
//! are the same at every point and every index and its folded codewords are zero, so that a lie about a
//! challenge, a point or an index has no other consequence: what rejects it is the one constraint or the
//! one message that is there for it.

mod arith_cells;
mod challenges;
mod coverage;
mod grinding;
mod hash_cells;
mod indices;
mod joint;
mod kinds;
mod layout;
mod lie;
mod openings;
mod points;
mod reasons;
mod stages;
mod statement;
mod transcript;
mod trees;

use std::collections::BTreeSet;

use stages::{Cheat, Stage};

/// A cheat, and everything that is wrong with its tables.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'static str,
    pub(crate) stage: &'a Stage,
    pub(crate) cheat: Cheat<'a>,
    pub(crate) expected: &'static [&'static str],
}

/// Requires that each cheat is rejected for its reasons and no others, and prints the list. (What the
/// same machinery says of the honest prover was required when the stage was set.)
fn require_rejected(family: &str, entries: Vec<Entry<'_>>) {
    let mut table = format!("{family}: cheat, child, what rejects it and in how many places\n");
    let mut wrong = vec![];
    for Entry { name, stage, cheat, expected } in entries {
        let reasons = stage.judge(&cheat);
        table += &format!("  {name:74} {:10} {reasons:?}\n", stage.name);
        let found: BTreeSet<&str> = reasons.keys().map(String::as_str).collect();
        if found.is_empty() || found != expected.iter().copied().collect() {
            wrong.push(format!("{name} over {}: {reasons:?}, not {expected:?}", stage.name));
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{family}:\n{}", wrong.join("\n"));
}
