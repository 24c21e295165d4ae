//! Every field of the proofs of every level, changed one at a time. Native code, the circuit of the
//! layer above, and a verifier that is given the changed proof in a file of its own all have to refuse.

#[path = "../../../circuits/tests/equivalence/fields.rs"]
mod fields;
mod ladder;
#[path = "../../../circuits/tests/equivalence/lengths.rs"]
mod lengths;
#[allow(dead_code, reason = "a part of it is for the tests of the circuits")]
#[path = "../../../circuits/tests/equivalence/mutant.rs"]
mod mutant;
mod verdict;

use fields::value_mutations;
use ladder::{chain_subjects, false_files, keccak_subject, tree_subjects};
use lengths::length_mutations;
use verdict::{Sampling, Subject, report};

use crate::files::{STAGES, options, stage};
use arbor_prover::{Cache, verify_bytes};

fn every_field(subject: &Subject<'_>, sampling: Sampling) {
    let mut mutations = value_mutations(subject);
    mutations.extend(length_mutations(subject));
    // The commitment to preprocessed columns is no part of a proof but of the key, which native code
    // here does not take from anybody. The tests of the circuits change it.
    mutations.retain(|mutation| mutation.field != "commitment: preprocessed");
    report(subject, &mutations, sampling);
}

#[test]
fn keccak_base_proofs() {
    keccak_subject(|subject| every_field(subject, Sampling { circuit_every: 8 }));
}

#[test]
fn fibonacci_base_proofs_and_the_layers_of_a_chain() {
    chain_subjects(|subject| every_field(subject, Sampling { circuit_every: 2 }));
}

#[test]
fn leaves_wraps_and_merges_of_trees() {
    tree_subjects(|subject| every_field(subject, Sampling { circuit_every: 4 }));
}

/// Proofs in which everything fits but what is proved: made by an honest prover from a false trace.
#[test]
fn proofs_of_something_false() {
    let cache = Cache::new();
    for (what, bytes) in false_files() {
        let verdict = verify_bytes(&bytes, &options(), &cache);
        println!("{what}: {verdict:?}");
        assert_eq!(stage(&verdict), STAGES[12], "{what}: {verdict:?}");
    }
}
