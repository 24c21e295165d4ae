//! A prover that does not work: it takes a witness that the challenger refuses and goes on from
//! there, so that nothing but the proof of work is wrong.

use arbor_circuits::check::Fault;
use arbor_circuits::config::{
    BatchProof, Cap, Challenger, EF, F, FriConfig, FriPcs, LayerConfig, ValMmcs, challenger,
    val_mmcs,
};
use p3_batch_stark::{ProverData, StarkInstance, prove_batch};
use p3_challenger::{CanObserve, CanSample, CanSampleBits, FieldChallenger, GrindingChallenger};
use p3_commit::ExtensionMmcs;
use p3_field::PrimeCharacteristicRing;
use p3_fri::FriParameters;
use p3_uni_stark::StarkConfig;

use super::subject::{batch_airs, batch_subject_of, with_pow};
use super::verdict::Subject;
use crate::common::airs::{BatchAir, SampleAir};
use crate::common::children::BatchChild;

/// The challenger of every proof, but for its witnesses.
#[derive(Clone)]
struct Lazy(Challenger);

impl CanObserve<F> for Lazy {
    fn observe(&mut self, value: F) {
        self.0.observe(value);
    }
}

impl CanObserve<Cap> for Lazy {
    fn observe(&mut self, value: Cap) {
        self.0.observe(value);
    }
}

impl CanSample<F> for Lazy {
    fn sample(&mut self) -> F {
        self.0.sample()
    }
}

impl CanSample<EF> for Lazy {
    fn sample(&mut self) -> EF {
        self.0.sample()
    }
}

impl CanSampleBits<usize> for Lazy {
    fn sample_bits(&mut self, bits: usize) -> usize {
        self.0.sample_bits(bits)
    }
}

impl FieldChallenger<F> for Lazy {}

impl GrindingChallenger for Lazy {
    type Witness = F;

    fn grind(&mut self, bits: usize) -> F {
        if bits == 0 {
            return F::ZERO;
        }
        let idle = (0..1000).map(F::from_usize).find(|&witness| {
            let mut copy = self.0.clone();
            !copy.check_witness(bits, witness)
        });
        let idle = idle.expect("most witnesses are not accepted");
        self.observe(idle);
        assert_ne!(self.sample_bits(bits), 0);
        idle
    }
}

type LazyConfig = StarkConfig<FriPcs, EF, Lazy>;

fn lazy_config(fri: &FriConfig) -> LazyConfig {
    let mmcs: ValMmcs = val_mmcs(fri.cap_height);
    let params = FriParameters {
        log_blowup: fri.log_blowup,
        log_final_poly_len: fri.log_final_poly_len,
        max_log_arity: fri.max_log_arity,
        num_queries: fri.num_queries,
        batch_proof_of_work_bits: fri.batch_pow_bits,
        commit_proof_of_work_bits: fri.commit_pow_bits,
        query_proof_of_work_bits: fri.query_pow_bits,
        mmcs: ExtensionMmcs::new(mmcs.clone()),
    };
    let pcs = FriPcs::new(arbor_circuits::config::Dft::default(), mmcs, params);
    StarkConfig::new(pcs, Lazy(challenger()))
        .with_lookup_proof_of_work_bits(fri.lookup_pow_bits)
        .with_ood_proof_of_work_bits(fri.ood_pow_bits)
}

/// The proof as one of the usual configuration: it consists of the same types.
fn usual(proof: p3_batch_stark::BatchProof<LazyConfig>) -> BatchProof {
    BatchProof {
        commitments: proof.commitments,
        opened_values: proof.opened_values,
        opening_proof: proof.opening_proof,
        lookup_terminals: proof.lookup_terminals,
        degree_bits: proof.degree_bits,
        lookup_pow_witness: proof.lookup_pow_witness,
        ood_pow_witness: proof.ood_pow_witness,
    }
}

/// A batch whose witnesses are not accepted.
fn idle_child(fri: FriConfig) -> BatchChild {
    let config = lazy_config(&fri);
    let samples = batch_airs();
    let log_heights: Vec<usize> = samples.iter().map(|air| air.log_height).collect();
    let (traces, publics): (Vec<_>, Vec<_>) = samples.iter().map(SampleAir::trace).unzip();
    let airs: Vec<BatchAir> = samples.into_iter().map(BatchAir).collect();
    let data = ProverData::from_airs_and_degrees(&config, &airs, &log_heights).expect("it fits");
    let traces: Vec<_> = traces.iter().collect();
    let instances = StarkInstance::new_multiple(&airs, &traces, &publics);
    let proof = usual(prove_batch(&config, &instances, &data).expect("the prover does not mind"));
    let usual_config = arbor_circuits::config::layer_config(&fri);
    let data = ProverData::<LayerConfig>::from_airs_and_degrees(&usual_config, &airs, &log_heights);
    BatchChild { airs, log_heights, fri, publics, proof, data: data.expect("it fits") }
}

/// The rows of E of which something fails, if all faults are of such rows.
fn failing_rows(subject: &Subject<'_>) -> Vec<usize> {
    let faults = subject.faults(&subject.honest, 100).expect("the shape is right");
    let mut rows: Vec<usize> = faults
        .iter()
        .map(|fault| match fault {
            Fault::Constraint { table: 0, row, .. } => *row,
            other => panic!("{other:?}"),
        })
        .collect();
    rows.dedup();
    rows
}

#[test]
fn no_work_at_one_site() {
    for bits in [1, 7, 8, 12] {
        let none = with_pow(0);
        let sites = [
            (FriConfig { lookup_pow_bits: bits, ..none }, "LookupPowWitness"),
            (FriConfig { ood_pow_bits: bits, ..none }, "OodPowWitness"),
            (FriConfig { batch_pow_bits: bits, ..none }, "InvalidPowWitness"),
            (FriConfig { commit_pow_bits: bits, ..none }, "InvalidPowWitness"),
            (FriConfig { query_pow_bits: bits, ..none }, "InvalidPowWitness"),
        ];
        for (site, (fri, reason)) in sites.into_iter().enumerate() {
            let child = idle_child(fri);
            batch_subject_of(&child, bits, |subject| {
                let native = subject.judge(&subject.honest).native.expect_err("no work");
                assert!(native.contains(reason), "{native}");
                // Each round asks for its own proof of work.
                let sites = if site == 3 { subject.shape.log_arities.len() } else { 1 };
                assert_eq!(failing_rows(subject).len(), sites, "{bits} bits, {reason}");
            });
        }
    }
}
