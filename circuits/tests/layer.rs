//! Honest proofs make honest layers.

mod common;

use std::sync::Arc;

use arbor_circuits::child::{ChildInput, ChildProof};
use arbor_circuits::layer::PreparedLayer;
use arbor_circuits::timed_pcs::NoPhases;
use common::{Fibonacci, TINY, faults_of, fill};

#[test]
fn a_layer_over_an_honest_proof_has_no_faults_and_verifies() {
    let base = Fibonacci::prove(20, 7, TINY);
    base.prepared.verify(&base.proof, &base.publics[0]).expect("native");
    let layer = PreparedLayer::prepare(vec![base.prepared.shape()], TINY, 0).expect("compiles");
    for table in layer.tables() {
        println!("{table:?}");
    }
    let filled = fill(&layer, &[base.input()]);
    assert_eq!(faults_of(&layer, &filled, 10), []);
    let (proof, digest) = layer.prove(filled, Arc::new(NoPhases)).expect("proves");
    layer.verify(&proof, &digest).expect("verifies");

    let next = PreparedLayer::prepare(vec![layer.shape()], TINY, 0).expect("compiles");
    let publics = PreparedLayer::public_values(&digest);
    let input = ChildInput {
        proof: ChildProof::Batch(&proof),
        public_values: &publics,
        preprocessed: Some(layer.preprocessed_cap()),
        present: true,
    };
    for table in next.tables() {
        println!("{table:?}");
    }
    let filled = fill(&next, &[input]);
    assert_eq!(faults_of(&next, &filled, 10), []);
    let (proof, digest) = next.prove(filled, Arc::new(NoPhases)).expect("proves");
    next.verify(&proof, &digest).expect("verifies");
}
