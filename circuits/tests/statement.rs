//! The digest that a layer states is the one that native code computes from what it verified.

mod common;

use std::sync::Arc;

use arbor_circuits::child::{ChildInput, ChildProof, ChildShape};
use arbor_circuits::config::{BatchProof, Digest, F};
use arbor_circuits::layer::PreparedLayer;
use arbor_circuits::statement::{Slot, key_digest, leaf_digest, node_digest};
use arbor_circuits::timed_pcs::NoPhases;
use common::airs::{Fixed, SampleAir};
use common::children::{BatchChild, UniChild};
use common::{Fibonacci, TINY, faults_of, fill, prove_and_verify, wrap};

const COUNTS: [usize; 6] = [0, 1, 3, 4, 5, 8];

/// The slot of a base proof.
fn leaf(shape: &ChildShape, child: &ChildInput<'_>) -> Slot {
    Slot {
        present: child.present,
        key: key_digest(&shape.digest(), child.preprocessed),
        statement: leaf_digest(&child.public_values.concat()),
    }
}

fn states(shape: ChildShape, child: ChildInput<'_>, slot: Slot, what: &str) {
    let (_, filled) = wrap(shape, child, what);
    assert_eq!(*filled.parts().1, node_digest(&[slot]), "{what}");
}

/// Requires that the layer over a base proof states it, and returns its slot.
fn states_leaf(shape: &ChildShape, child: ChildInput<'_>, what: &str) -> Slot {
    let slot = leaf(shape, &child);
    states(shape.clone(), child, slot, what);
    slot
}

#[test]
fn base_proofs_of_one_table() {
    let mut seen = vec![];
    for count in COUNTS {
        for fixed in [Fixed::None, Fixed::Local(3)] {
            let air = SampleAir::new(6, 3).publics(count).fixed(fixed);
            let what = format!("{air:?}");
            let child = UniChild::sample(air, TINY);
            assert_eq!(child.cap().is_some(), fixed != Fixed::None);
            seen.push(node_digest(&[states_leaf(&child.shape(), child.input(), &what)]));
        }
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 2 * COUNTS.len(), "different statements have different digests");
}

#[test]
fn base_proofs_of_two_tables() {
    for count in COUNTS {
        let airs = [SampleAir::new(6, 3).publics(count), SampleAir::new(7, 2)];
        let child = BatchChild::sample(airs.to_vec(), TINY);
        states_leaf(&child.shape(), child.input(), &format!("{count} public values"));
    }
    for counts in [[0, 0], [1, 3], [4, 0], [3, 5]] {
        let [a, b] = counts.map(|count| SampleAir::new(6, 3).publics(count));
        let child = BatchChild::sample(vec![a, b.fixed(Fixed::Next(2))], TINY);
        states_leaf(&child.shape(), child.input(), &format!("{counts:?} public values"));
    }
}

#[test]
fn a_slot_that_does_not_count_is_accepted_and_shows() {
    let child = UniChild::sample(SampleAir::new(6, 3).publics(5), TINY);
    let shape = child.shape();
    let slots = [true, false]
        .map(|present| states_leaf(&shape, ChildInput { present, ..child.input() }, "presence"));
    assert_ne!(node_digest(&slots[..1]), node_digest(&slots[1..]));
}

/// A layer over a Fibonacci proof, and its proof.
struct Layer {
    prepared: PreparedLayer,
    proof: BatchProof,
    digest: Digest,
    publics: Vec<Vec<F>>,
}

impl Layer {
    fn over_fibonacci(n: usize) -> Self {
        let base = Fibonacci::prove(n, 7, TINY);
        let shape = base.prepared.shape();
        let prepared = PreparedLayer::prepare(vec![shape.clone()], TINY, 0).expect("compiles");
        Self::prove(prepared, &[base.input()], &[leaf(&shape, &base.input())])
    }

    fn prove(prepared: PreparedLayer, children: &[ChildInput<'_>], slots: &[Slot]) -> Self {
        let restored = prepared.restore(children).expect("paths fit");
        let filled = prepared.fill(&restored).expect("fills");
        assert_eq!(*filled.parts().1, node_digest(slots));
        let (proof, digest) = prove_and_verify(&prepared, filled);
        let publics = PreparedLayer::public_values(&digest);
        Self { prepared, proof, digest, publics }
    }

    fn input(&self) -> ChildInput<'_> {
        ChildInput {
            proof: ChildProof::Batch(&self.proof),
            public_values: &self.publics,
            preprocessed: Some(self.prepared.preprocessed_cap()),
            present: true,
        }
    }

    fn slot(&self) -> Slot {
        Slot { present: true, key: self.prepared.key_digest(), statement: self.digest }
    }
}

#[test]
fn the_statement_of_a_layer_is_taken_as_it_is() {
    let below = Layer::over_fibonacci(5);
    let key = key_digest(&below.prepared.shape().digest(), Some(below.prepared.preprocessed_cap()));
    assert_eq!(key, below.prepared.key_digest());
    states(below.prepared.shape(), below.input(), below.slot(), "a layer");
}

#[test]
fn two_children_of_different_sorts_are_proved_and_wrapped() {
    let below = Layer::over_fibonacci(5);
    let base = UniChild::sample(SampleAir::new(6, 4).next().publics(3), TINY);
    let shapes = vec![below.prepared.shape(), base.shape()];
    let prepared = PreparedLayer::prepare(shapes, TINY, 0).expect("compiles");
    let slots = [below.slot(), leaf(&base.shape(), &base.input())];
    let both = Layer::prove(prepared, &[below.input(), base.input()], &slots);
    let other = node_digest(&[slots[1], slots[0]]);
    assert!(both.prepared.verify(&both.proof, &other).is_err(), "slots have an order");
    states(both.prepared.shape(), both.input(), both.slot(), "a layer over a layer over two");
}

#[test]
fn every_choice_of_slots_that_count() {
    let base = Fibonacci::prove(5, 7, TINY);
    let other = UniChild::sample(SampleAir::new(6, 3).publics(1), TINY);
    let all = [
        (base.prepared.shape(), base.input()),
        (other.shape(), other.input()),
        (base.prepared.shape(), base.input()),
    ];
    for count in [2, 3] {
        let shapes = all[..count].iter().map(|(shape, _)| shape.clone()).collect();
        let layer = PreparedLayer::prepare(shapes, TINY, 0).expect("compiles");
        let mut digests = vec![];
        for choice in 0..1_usize << count {
            let inputs: Vec<ChildInput<'_>> = all[..count]
                .iter()
                .enumerate()
                .map(|(i, (_, input))| ChildInput { present: choice >> i & 1 == 1, ..*input })
                .collect();
            let slots: Vec<Slot> =
                all.iter().zip(&inputs).map(|((shape, _), input)| leaf(shape, input)).collect();
            let filled = fill(&layer, &inputs);
            assert_eq!(faults_of(&layer, &filled, 3), [], "{choice:b} of {count}");
            assert_eq!(*filled.parts().1, node_digest(&slots), "{choice:b} of {count}");
            digests.push(*filled.parts().1);
        }
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), 1 << count);
    }
}

#[test]
fn a_layer_over_three_is_proved() {
    let base = Fibonacci::prove(5, 7, TINY);
    let shape = base.prepared.shape();
    let layer = PreparedLayer::prepare(vec![shape.clone(); 3], TINY, 0).expect("compiles");
    let padding = ChildInput { present: false, ..base.input() };
    let filled = fill(&layer, &[base.input(), base.input(), padding]);
    let slots = [base.input(), base.input(), padding].map(|input| leaf(&shape, &input));
    let (proof, digest) = layer.prove(filled, Arc::new(NoPhases)).expect("proves");
    layer.verify(&proof, &digest).expect("verifies");
    assert_eq!(digest, node_digest(&slots));
    let flipped = slots.map(|slot| Slot { present: true, ..slot });
    assert!(layer.verify(&proof, &node_digest(&flipped)).is_err());
}
