//! A child proof of either system, seen alike.

use p3_field::PrimeCharacteristicRing;
use p3_fri::{BatchMultiOpening, FriProof};

use crate::child::{ChildInput, ChildProof, ChildShape, Commitment, System};
use crate::compiler::transcript::{CapId, PowSite, ValueId};
use crate::config::{Cap, ChallengeMmcs, D, EF, F, ValMmcs};
use crate::error::ProveError;

/// The opening argument of a child.
pub type OpeningProof = FriProof<EF, ChallengeMmcs, F, Vec<BatchMultiOpening<F, ValMmcs>>>;

/// A child proof with its shape.
#[derive(Clone)]
pub struct ChildView<'a> {
    /// The shape that the layer was prepared for.
    pub shape: ChildShape,
    /// Whether the slot counts.
    pub present: bool,
    input: ChildInput<'a>,
    child: usize,
}

impl std::fmt::Debug for ChildView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChildView").field("child", &self.child).finish_non_exhaustive()
    }
}

impl<'a> ChildView<'a> {
    /// Checks every length and every value that the shape fixes, as native verification does before
    /// it looks at anything else.
    ///
    /// # Errors
    /// If one differs.
    pub fn new(shape: ChildShape, input: ChildInput<'a>, child: usize) -> Result<Self, ProveError> {
        let view = Self { shape, present: input.present, input, child };
        view.check_system()?;
        view.check_values()?;
        view.check_caps()?;
        view.check_witnesses()?;
        view.check_openings()?;
        Ok(view)
    }

    /// The opening argument.
    #[must_use]
    pub fn opening(&self) -> &'a OpeningProof {
        match self.input.proof {
            ChildProof::Uni(proof) => &proof.opening_proof,
            ChildProof::Batch(proof) => &proof.opening_proof,
        }
    }

    /// All public values, in instance order.
    pub fn publics(&self) -> impl Iterator<Item = F> + '_ {
        self.input.public_values.iter().flatten().copied()
    }

    /// A commitment, if the proof has it.
    #[must_use]
    pub fn cap(&self, id: CapId) -> Option<&'a Cap> {
        let commitment = match id {
            CapId::Round(round) => return self.opening().commit_phase_commits.get(round),
            CapId::Input(commitment) => commitment,
        };
        match (self.input.proof, commitment) {
            (_, Commitment::Preprocessed) => self.input.preprocessed,
            (ChildProof::Uni(proof), Commitment::Main) => Some(&proof.commitments.trace),
            (ChildProof::Uni(proof), Commitment::Quotient) => {
                Some(&proof.commitments.quotient_chunks)
            }
            (ChildProof::Uni(_), Commitment::Permutation) => None,
            (ChildProof::Batch(proof), Commitment::Main) => Some(&proof.commitments.main),
            (ChildProof::Batch(proof), Commitment::Quotient) => {
                Some(&proof.commitments.quotient_chunks)
            }
            (ChildProof::Batch(proof), Commitment::Permutation) => {
                proof.commitments.permutation.as_ref()
            }
        }
    }

    /// A value of the proof.
    pub fn value(&self, id: ValueId) -> EF {
        match id {
            ValueId::FinalPoly(i) => self.opening().final_poly[i],
            ValueId::Terminal(i) => match self.input.proof {
                ChildProof::Uni(_) => EF::ZERO,
                ChildProof::Batch(proof) => {
                    let mut terminals = proof.lookup_terminals.iter().flatten();
                    terminals.nth(i).map_or(EF::ZERO, |terminal| terminal.0)
                }
            },
            ValueId::Claim { tree, matrix, point, column } => {
                self.claims(tree, matrix, point).map_or(EF::ZERO, |claims| claims[column])
            }
        }
    }

    /// The witness of a proof of work.
    pub fn pow_witness(&self, site: PowSite) -> F {
        let opening = self.opening();
        match (site, self.input.proof) {
            (PowSite::Batch, _) => opening.batch_pow_witness,
            (PowSite::Commit(round), _) => opening.commit_pow_witnesses[round],
            (PowSite::Query, _) => opening.query_pow_witness,
            (PowSite::Ood, ChildProof::Uni(proof)) => proof.ood_pow_witness,
            (PowSite::Ood, ChildProof::Batch(proof)) => proof.ood_pow_witness,
            (PowSite::Lookup, ChildProof::Uni(_)) => F::ZERO,
            (PowSite::Lookup, ChildProof::Batch(proof)) => {
                proof.lookup_pow_witness.unwrap_or(F::ZERO)
            }
        }
    }

    /// The claimed values of one matrix at one point, if the proof has them.
    #[must_use]
    pub fn claims(&self, tree: usize, matrix: usize, point: usize) -> Option<&'a [EF]> {
        let input = &self.shape.trees[tree];
        let instance = input.matrices[matrix].instance;
        let base = match self.input.proof {
            ChildProof::Uni(proof) => &proof.opened_values,
            ChildProof::Batch(proof) => &proof.opened_values.instances[instance].base_opened_values,
        };
        match input.commitment {
            Commitment::Main if point == 0 => Some(&base.trace_local),
            Commitment::Main => base.trace_next.as_deref(),
            Commitment::Preprocessed if point == 0 => base.preprocessed_local(),
            Commitment::Preprocessed => base.preprocessed_next(),
            Commitment::Quotient => {
                let before = &input.matrices[..matrix];
                let chunk = before.iter().filter(|other| other.instance == instance).count();
                base.quotient_chunks.get(chunk).map(Vec::as_slice)
            }
            Commitment::Permutation => match self.input.proof {
                ChildProof::Uni(_) => None,
                ChildProof::Batch(proof) => {
                    let opened = &proof.opened_values.instances[instance];
                    Some(if point == 0 {
                        &opened.permutation_local
                    } else {
                        &opened.permutation_next
                    })
                }
            },
        }
    }

    fn require(&self, what: &'static str, expected: usize, got: usize) -> Result<(), ProveError> {
        if expected == got {
            return Ok(());
        }
        Err(ProveError::Shape { child: self.child, what, expected, got })
    }

    fn check_system(&self) -> Result<(), ProveError> {
        let shape = &self.shape;
        let count = shape.instances.len();
        self.require("public value vectors", count, self.input.public_values.len())?;
        for (instance, publics) in shape.instances.iter().zip(self.input.public_values) {
            self.require("public values", instance.num_publics, publics.len())?;
        }
        match (shape.system, self.input.proof) {
            (System::Uni, ChildProof::Uni(proof)) => {
                let degree = shape.instances[0].log_height;
                self.require("degree bits", degree, proof.degree_bits)?;
                self.check_base(0, &proof.opened_values)?;
                self.require("randomization", 0, usize::from(proof.commitments.random.is_some()))
            }
            (System::Batch, ChildProof::Batch(proof)) => {
                self.require("instances", count, proof.opened_values.instances.len())?;
                self.require("instances with degree bits", count, proof.degree_bits.len())?;
                self.require("lookup terminals", count, proof.lookup_terminals.len())?;
                for (i, instance) in shape.instances.iter().enumerate() {
                    self.require("degree bits", instance.log_height, proof.degree_bits[i])?;
                    let terminal = usize::from(proof.lookup_terminals[i].is_some());
                    self.require("terminal", usize::from(instance.aux_width > 0), terminal)?;
                    let opened = &proof.opened_values.instances[i];
                    self.check_base(i, &opened.base_opened_values)?;
                    for row in [&opened.permutation_local, &opened.permutation_next] {
                        self.require("LogUp columns", instance.aux_width * D, row.len())?;
                    }
                }
                let permutation = usize::from(shape.tree_of(Commitment::Permutation).is_some());
                let got = usize::from(proof.commitments.permutation.is_some());
                self.require("LogUp commitments", permutation, got)?;
                let got = usize::from(proof.lookup_pow_witness.is_some());
                self.require("lookup grinding witness", permutation, got)?;
                self.require("randomization", 0, usize::from(proof.commitments.random.is_some()))
            }
            _ => Err(ProveError::WrongSystem { child: self.child }),
        }
    }

    fn check_base(
        &self,
        instance: usize,
        opened: &p3_uni_stark::OpenedValues<EF>,
    ) -> Result<(), ProveError> {
        let shape = &self.shape.instances[instance];
        self.require("quotient chunks", shape.num_chunks, opened.quotient_chunks.len())?;
        let next = usize::from(opened.trace_next.is_some());
        self.require("next-row opening", usize::from(shape.main_next), next)?;
        let preprocessed = usize::from(opened.preprocessed.is_some());
        let expected = usize::from(shape.preprocessed_width > 0);
        self.require("preprocessed opening", expected, preprocessed)?;
        let next = usize::from(opened.preprocessed_next().is_some());
        let expected = usize::from(shape.preprocessed_width > 0 && shape.preprocessed_next);
        self.require("preprocessed next-row opening", expected, next)?;
        self.require("random opening", 0, usize::from(opened.random.is_some()))
    }

    fn check_values(&self) -> Result<(), ProveError> {
        for (tree, input) in self.shape.trees.iter().enumerate() {
            for (matrix, m) in input.matrices.iter().enumerate() {
                for point in 0..m.num_points() {
                    let got = self.claims(tree, matrix, point).map_or(0, <[EF]>::len);
                    self.require("opened columns", m.width, got)?;
                }
            }
        }
        let expected = 1 << self.shape.fri.log_final_poly_len;
        self.require("final polynomial", expected, self.opening().final_poly.len())
    }

    /// Plonky3 0.8.0 does not check the lengths of caps.
    fn check_caps(&self) -> Result<(), ProveError> {
        let rounds = self.shape.log_arities.len();
        self.require("folding rounds", rounds, self.opening().commit_phase_commits.len())?;
        let inputs = self.shape.trees.iter().map(|tree| CapId::Input(tree.commitment));
        for id in inputs.chain((0..rounds).map(CapId::Round)) {
            let got = self.cap(id).map_or(0, Cap::num_roots);
            self.require("cap entries", 1 << self.shape.fri.cap_height, got)?;
        }
        Ok(())
    }

    /// A witness that nobody asked for has to be zero.
    fn check_witnesses(&self) -> Result<(), ProveError> {
        let fri = &self.shape.fri;
        let rounds = self.shape.log_arities.len();
        self.require("commit witnesses", rounds, self.opening().commit_pow_witnesses.len())?;
        let mut sites = vec![
            (PowSite::Lookup, fri.lookup_pow_bits),
            (PowSite::Ood, fri.ood_pow_bits),
            (PowSite::Batch, fri.batch_pow_bits),
            (PowSite::Query, fri.query_pow_bits),
        ];
        sites.extend((0..rounds).map(|round| (PowSite::Commit(round), fri.commit_pow_bits)));
        for (site, bits) in sites {
            let spurious = bits == 0 && self.pow_witness(site) != F::ZERO;
            self.require("witness at zero difficulty", 0, usize::from(spurious))?;
        }
        Ok(())
    }

    fn check_openings(&self) -> Result<(), ProveError> {
        let queries = self.shape.fri.num_queries;
        let opening = self.opening();
        self.require("opened trees", self.shape.trees.len(), opening.input_openings.len())?;
        for (tree, opened) in self.shape.trees.iter().zip(&opening.input_openings) {
            self.require("queries", queries, opened.opened_values.len())?;
            for rows in &opened.opened_values {
                self.require("opened matrices", tree.matrices.len(), rows.len())?;
                for (matrix, row) in tree.matrices.iter().zip(rows) {
                    self.require("opened row", matrix.width, row.len())?;
                }
            }
        }
        let rounds = self.shape.log_arities.len();
        self.require("opened rounds", rounds, opening.commit_phase_openings.len())?;
        for (&log_arity, round) in self.shape.log_arities.iter().zip(&opening.commit_phase_openings)
        {
            self.require("queries", queries, round.sibling_values.len())?;
            for siblings in &round.sibling_values {
                self.require("siblings", (1 << log_arity) - 1, siblings.len())?;
            }
        }
        Ok(())
    }
}
