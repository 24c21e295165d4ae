//! A proof that can be copied and changed, with what its verifier is told beside it.

use arbor_circuits::child::{ChildInput, ChildProof, Commitment};
use arbor_circuits::compiler::transcript::CapId;
use arbor_circuits::config::{BatchProof, Cap, D, EF, F, UniProof};
use arbor_circuits::filler::view::OpeningProof;
use p3_batch_stark::BatchCommitments;
use p3_batch_stark::proof::{BatchOpenedValues, OpenedValuesWithLookups};
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};
use p3_uni_stark::{Commitments, OpenedValues};

/// A proof of either system.
pub(crate) enum Proof {
    Uni(UniProof),
    Batch(BatchProof),
}

/// A proof, its public values and the commitment to its preprocessed columns.
pub(crate) struct Mutant {
    pub(crate) proof: Proof,
    pub(crate) publics: Vec<Vec<F>>,
    pub(crate) cap: Option<Cap>,
}

impl Clone for Mutant {
    fn clone(&self) -> Self {
        let proof = match &self.proof {
            Proof::Uni(proof) => Proof::Uni(copy_uni(proof)),
            Proof::Batch(proof) => Proof::Batch(copy_batch(proof)),
        };
        Self { proof, publics: self.publics.clone(), cap: self.cap.clone() }
    }
}

impl Mutant {
    pub(crate) fn input(&self) -> ChildInput<'_> {
        let proof = match &self.proof {
            Proof::Uni(proof) => ChildProof::Uni(proof),
            Proof::Batch(proof) => ChildProof::Batch(proof),
        };
        ChildInput {
            proof,
            public_values: &self.publics,
            preprocessed: self.cap.as_ref(),
            present: true,
        }
    }

    pub(crate) fn opening(&mut self) -> &mut OpeningProof {
        match &mut self.proof {
            Proof::Uni(proof) => &mut proof.opening_proof,
            Proof::Batch(proof) => &mut proof.opening_proof,
        }
    }

    pub(crate) fn ood_witness(&mut self) -> &mut F {
        match &mut self.proof {
            Proof::Uni(proof) => &mut proof.ood_pow_witness,
            Proof::Batch(proof) => &mut proof.ood_pow_witness,
        }
    }

    /// Opened values of one table.
    pub(crate) fn opened(&mut self, instance: usize) -> &mut OpenedValues<EF> {
        match &mut self.proof {
            Proof::Uni(proof) => &mut proof.opened_values,
            Proof::Batch(proof) => &mut proof.opened_values.instances[instance].base_opened_values,
        }
    }

    /// Opened values of the LogUp trace of one table, at both points.
    pub(crate) fn logup(&mut self, instance: usize) -> [&mut Vec<EF>; 2] {
        let opened = &mut self.batch().opened_values.instances[instance];
        [&mut opened.permutation_local, &mut opened.permutation_next]
    }

    pub(crate) fn batch(&mut self) -> &mut BatchProof {
        match &mut self.proof {
            Proof::Batch(proof) => proof,
            Proof::Uni(_) => panic!("a proof of p3-batch-stark"),
        }
    }

    pub(crate) const fn is_batch(&self) -> bool {
        matches!(self.proof, Proof::Batch(_))
    }

    pub(crate) fn degree_bits(&mut self) -> &mut [usize] {
        match &mut self.proof {
            Proof::Uni(proof) => std::slice::from_mut(&mut proof.degree_bits),
            Proof::Batch(proof) => &mut proof.degree_bits,
        }
    }

    /// A commitment, if the proof has it.
    pub(crate) fn cap_mut(&mut self, id: CapId) -> Option<&mut Cap> {
        let commitment = match id {
            CapId::Round(round) => return self.opening().commit_phase_commits.get_mut(round),
            CapId::Input(commitment) => commitment,
        };
        match (commitment, &mut self.proof) {
            (Commitment::Preprocessed, _) => self.cap.as_mut(),
            (Commitment::Main, Proof::Uni(p)) => Some(&mut p.commitments.trace),
            (Commitment::Main, Proof::Batch(p)) => Some(&mut p.commitments.main),
            (Commitment::Quotient, Proof::Uni(p)) => Some(&mut p.commitments.quotient_chunks),
            (Commitment::Quotient, Proof::Batch(p)) => Some(&mut p.commitments.quotient_chunks),
            (Commitment::Permutation, Proof::Uni(_)) => None,
            (Commitment::Permutation, Proof::Batch(p)) => p.commitments.permutation.as_mut(),
        }
    }

    /// Changes the digests of a commitment.
    pub(crate) fn edit_cap(&mut self, id: CapId, edit: impl FnOnce(&mut Vec<[F; 8]>)) {
        let cap = self.cap_mut(id).expect("the proof has this commitment");
        let mut roots = cap.roots().to_vec();
        edit(&mut roots);
        *cap = Cap::new(roots);
    }
}

/// One limb of an extension-field value as a value of its own.
pub(crate) fn limb(i: usize) -> EF {
    EF::from_basis_coefficients_fn(|j| F::from_bool(i % D == j))
}

fn copy_opened(values: &OpenedValues<EF>) -> OpenedValues<EF> {
    OpenedValues {
        trace_local: values.trace_local.clone(),
        trace_next: values.trace_next.clone(),
        preprocessed: values.preprocessed.clone(),
        quotient_chunks: values.quotient_chunks.clone(),
        random: values.random.clone(),
    }
}

pub(crate) fn copy_uni(proof: &UniProof) -> UniProof {
    UniProof {
        commitments: Commitments {
            trace: proof.commitments.trace.clone(),
            quotient_chunks: proof.commitments.quotient_chunks.clone(),
            random: proof.commitments.random.clone(),
        },
        opened_values: copy_opened(&proof.opened_values),
        opening_proof: proof.opening_proof.clone(),
        degree_bits: proof.degree_bits,
        ood_pow_witness: proof.ood_pow_witness,
    }
}

pub(crate) fn copy_batch(proof: &BatchProof) -> BatchProof {
    let instances = proof.opened_values.instances.iter().map(|opened| OpenedValuesWithLookups {
        base_opened_values: copy_opened(&opened.base_opened_values),
        permutation_local: opened.permutation_local.clone(),
        permutation_next: opened.permutation_next.clone(),
    });
    BatchProof {
        commitments: BatchCommitments {
            main: proof.commitments.main.clone(),
            permutation: proof.commitments.permutation.clone(),
            quotient_chunks: proof.commitments.quotient_chunks.clone(),
            random: proof.commitments.random.clone(),
        },
        opened_values: BatchOpenedValues { instances: instances.collect() },
        opening_proof: proof.opening_proof.clone(),
        lookup_terminals: proof.lookup_terminals.clone(),
        degree_bits: proof.degree_bits.clone(),
        lookup_pow_witness: proof.lookup_pow_witness,
        ood_pow_witness: proof.ood_pow_witness,
    }
}
