//! What the tests of whole layers share.
#![allow(dead_code, unreachable_pub, reason = "every test target uses a part of it")]

pub mod airs;
pub mod children;

use std::sync::Arc;

use arbor_circuits::check::{Fault, faults};
use arbor_circuits::child::{ChildInput, ChildProof, ChildShape};
use arbor_circuits::circuit::{CircuitBuilder, PreparedCircuit};
use arbor_circuits::config::{BatchProof, Digest, F, FriConfig};
use arbor_circuits::filler::restore::Misfit;
use arbor_circuits::layer::{Filled, PreparedLayer};
use arbor_circuits::timed_pcs::NoPhases;
use p3_field::PrimeCharacteristicRing;

/// Parameters with which a proof takes milliseconds. They protect nothing.
pub const TINY: FriConfig = FriConfig {
    log_blowup: 2,
    max_log_arity: 3,
    log_final_poly_len: 3,
    cap_height: 2,
    num_queries: 3,
    batch_pow_bits: 0,
    lookup_pow_bits: 0,
    ood_pow_bits: 0,
    commit_pow_bits: 0,
    query_pow_bits: 4,
};

/// A circuit that adds `n` times, with a, b, n and the result public, and a proof of it.
pub struct Fibonacci {
    pub prepared: PreparedCircuit,
    pub publics: Vec<Vec<F>>,
    pub proof: BatchProof,
}

impl Fibonacci {
    pub fn prove(n: usize, min_log_height: usize, fri: FriConfig) -> Self {
        let mut builder = CircuitBuilder::new(4);
        let (mut a, mut b) = (builder.public(0), builder.public(1));
        let (mut x, mut y) = (F::ONE, F::TWO);
        for _ in 0..n {
            (a, b) = (b, builder.add(a, b));
            (x, y) = (y, x + y);
        }
        let length = builder.constant(F::from_usize(n));
        builder.assert_eq(length, builder.public(2));
        builder.assert_eq(a, builder.public(3));
        let circuit = builder.build(min_log_height).expect("a small circuit");
        let prepared = PreparedCircuit::prepare(circuit, fri).expect("it fits");
        let publics = vec![F::ONE, F::TWO, F::from_usize(n), x];
        let trace = prepared.fill(&publics).expect("four values");
        let proof = prepared.prove(trace, &publics, Arc::new(NoPhases)).expect("an honest proof");
        Self { prepared, publics: vec![publics], proof }
    }

    pub fn input(&self) -> ChildInput<'_> {
        ChildInput {
            proof: ChildProof::Batch(&self.proof),
            public_values: &self.publics,
            preprocessed: Some(self.prepared.preprocessed_cap()),
            present: true,
        }
    }
}

/// Fills a layer without refusing anything.
pub fn fill(layer: &PreparedLayer, children: &[ChildInput<'_>]) -> Filled {
    let restored = layer.restore_with(children, Misfit::Zeros).expect("shapes fit");
    layer.fill(&restored).expect("filling never fails")
}

/// The faults of filled tables.
pub fn faults_of(layer: &PreparedLayer, filled: &Filled, most: usize) -> Vec<Fault> {
    let [arith, hash] = layer.airs() else { panic!("a layer has two tables") };
    let (traces, digest) = filled.parts();
    faults(&[(arith, &traces.arith, digest), (hash, &traces.hash, &[])], most)
}

/// Requires that the layer over one proof is honest, and returns it with its tables.
pub fn wrap(shape: ChildShape, child: ChildInput<'_>, what: &str) -> (PreparedLayer, Filled) {
    let layer = PreparedLayer::prepare(vec![shape], TINY, 0).expect(what);
    let filled = fill(&layer, &[child]);
    assert_eq!(faults_of(&layer, &filled, 3), [], "{what}");
    (layer, filled)
}

/// Proves and verifies a filled layer.
pub fn prove_and_verify(layer: &PreparedLayer, filled: Filled) -> (BatchProof, Digest) {
    let (proof, digest) = layer.prove(filled, Arc::new(NoPhases)).expect("proves");
    layer.verify(&proof, &digest).expect("verifies");
    (proof, digest)
}
