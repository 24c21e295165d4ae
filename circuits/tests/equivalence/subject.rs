//! The proofs that are mutated.

use std::sync::Arc;

use arbor_circuits::child::{ChildInput, ChildProof};
use arbor_circuits::config::{Cap, F, FriConfig, LayerConfig, layer_config};
use arbor_circuits::layer::PreparedLayer;
use arbor_circuits::tables::LayerAir;
use arbor_circuits::timed_pcs::NoPhases;
use p3_batch_stark::common::GlobalPreprocessed;
use p3_batch_stark::{CommonData, ProverData, verify_batch};

use super::mutant::{Mutant, Proof, copy_batch, copy_uni};
use super::verdict::Subject;
use crate::common::airs::{Bus, Fixed, KEYS, SampleAir};
use crate::common::children::{BatchChild, UniChild};
use crate::common::{Fibonacci, TINY, fill};

/// The same difficulty at every site.
pub(crate) fn with_pow(bits: usize) -> FriConfig {
    FriConfig {
        num_queries: 2,
        batch_pow_bits: bits,
        lookup_pow_bits: bits,
        ood_pow_bits: bits,
        commit_pow_bits: bits,
        query_pow_bits: bits,
        ..TINY
    }
}

/// The same lookups with another commitment to the preprocessed columns.
fn with_cap(common: &CommonData<LayerConfig>, cap: &Cap) -> CommonData<LayerConfig> {
    let preprocessed = common.preprocessed.as_ref().map(|global| GlobalPreprocessed {
        commitment: cap.clone(),
        instances: global.instances.clone(),
        matrix_to_instance: global.matrix_to_instance.clone(),
    });
    CommonData::new(preprocessed, common.lookups.clone())
}

/// An AIR with public values, preprocessed columns at both rows and periodic ones.
pub(crate) fn uni_air() -> SampleAir {
    let air = SampleAir::new(6, 5).next().degree(3).publics(5);
    air.fixed(Fixed::Next(3)).periodic(&[4, 16])
}

pub(crate) fn uni_subject(bits: usize, run: impl FnOnce(&Subject<'_>)) {
    uni_subject_of(&UniChild::sample(uni_air(), with_pow(bits)), bits, run);
}

pub(crate) fn uni_subject_of(
    child: &UniChild<SampleAir>,
    bits: usize,
    run: impl FnOnce(&Subject<'_>),
) {
    let honest = Mutant {
        proof: Proof::Uni(copy_uni(&child.proof)),
        publics: child.publics.clone(),
        cap: child.cap().cloned(),
    };
    let native = |mutant: &Mutant| {
        let Proof::Uni(proof) = &mutant.proof else { panic!("a proof of p3-uni-stark") };
        let [publics] = mutant.publics.as_slice() else {
            return Err("one vector of public values is what the verifier takes".into());
        };
        child.verify(proof, publics, mutant.cap.as_ref())
    };
    let name = format!("uni-stark, {bits} bits of grinding");
    run(&Subject::new(name, honest, child.shape(), Box::new(native)));
}

/// Tables of different heights, with and without lookups and preprocessed columns.
pub(crate) fn batch_airs() -> Vec<SampleAir> {
    vec![
        SampleAir::new(6, 7).fixed(Fixed::Local(2)).publics(3).buses(&[Bus::Send]),
        SampleAir::new(7, 3).next().degree(5).periodic(&[2]),
        SampleAir::new(8, 9).next().publics(1).buses(&[Bus::Receive(64 / KEYS), Bus::Local]),
        SampleAir::new(6, 1).fixed(Fixed::Next(1)).next(),
    ]
}

pub(crate) fn batch_subject(bits: usize, run: impl FnOnce(&Subject<'_>)) {
    batch_subject_of(&BatchChild::sample(batch_airs(), with_pow(bits)), bits, run);
}

pub(crate) fn batch_subject_of(child: &BatchChild, bits: usize, run: impl FnOnce(&Subject<'_>)) {
    let honest = Mutant {
        proof: Proof::Batch(copy_batch(&child.proof)),
        publics: child.publics.clone(),
        cap: child.cap().cloned(),
    };
    let config = layer_config(&child.fri);
    let native = |mutant: &Mutant| {
        let Proof::Batch(proof) = &mutant.proof else { panic!("a proof of p3-batch-stark") };
        let cap = mutant.cap.as_ref().ok_or("NoCommitment: a part of the key")?;
        let common = with_cap(&child.data.common, cap);
        verify_batch(&config, &child.airs, proof, &mutant.publics, &common)
            .map_err(|error| format!("{error:?}"))
    };
    let name = format!("batch of {}, {bits} bits of grinding", child.airs.len());
    run(&Subject::new(name, honest, child.shape(), Box::new(native)));
}

/// A layer over a Fibonacci proof.
pub(crate) fn layer_subject(bits: usize, run: impl FnOnce(&Subject<'_>)) {
    let fri = with_pow(bits);
    let base = Fibonacci::prove(10, 7, with_pow(0));
    let layer = PreparedLayer::prepare(vec![base.prepared.shape()], fri, 0).expect("compiles");
    let filled = fill(&layer, &[base.input()]);
    let (proof, digest) = layer.prove(filled, Arc::new(NoPhases)).expect("proves");

    let publics: Vec<Vec<F>> = PreparedLayer::public_values(&digest);
    let input = ChildInput {
        proof: ChildProof::Batch(&proof),
        public_values: &publics,
        preprocessed: Some(layer.preprocessed_cap()),
        present: true,
    };
    let honest = Mutant {
        proof: Proof::Batch(copy_batch(&proof)),
        publics: publics.clone(),
        cap: input.preprocessed.cloned(),
    };
    let config = layer_config(&fri);
    let airs: &[LayerAir] = layer.airs();
    let shape = layer.shape();
    let data = ProverData::from_airs_and_degrees(&config, airs, shape.log_heights());
    let data = data.expect("it fits");
    let native = |mutant: &Mutant| {
        let Proof::Batch(proof) = &mutant.proof else { panic!("a proof of p3-batch-stark") };
        let cap = mutant.cap.as_ref().ok_or("NoCommitment: a part of the key")?;
        let common = with_cap(&data.common, cap);
        verify_batch(&config, airs, proof, &mutant.publics, &common)
            .map_err(|error| format!("{error:?}"))
    };
    let name = format!("layer, {bits} bits of grinding");
    run(&Subject::new(name, honest, shape, Box::new(native)));
}
