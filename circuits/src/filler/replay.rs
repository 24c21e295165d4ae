//! The native replay of a child's transcript: its challenges, and all that it absorbs.

use p3_challenger::{CanObserve, CanSample};
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing, PrimeField32};

use super::view::ChildView;
use crate::compiler::transcript::{CapId, ChallengeId, PowSite, ValueId, Visitor, walk};
use crate::config::{Challenger, D, EF, F, challenger};

/// What a transcript yields.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Every element that the transcript observes, in order.
    pub absorbed: Vec<F>,
    /// Every challenge, in order.
    pub challenges: Vec<(ChallengeId, EF)>,
    /// The index of every query.
    pub indices: Vec<usize>,
}

impl Replay {
    /// Replays the transcript of a proof whose shape was checked. Proofs of work are not judged.
    #[must_use]
    pub fn new(view: &ChildView<'_>) -> Self {
        let mut player = Player {
            view,
            challenger: challenger(),
            replay: Self { absorbed: vec![], challenges: vec![], indices: vec![] },
        };
        walk(&view.shape, &mut player);
        player.replay
    }

    /// A challenge by its use; zero if the transcript has none.
    pub fn challenge(&self, id: ChallengeId) -> EF {
        let found = self.challenges.iter().find(|(other, _)| *other == id);
        found.map_or(EF::ZERO, |(_, value)| *value)
    }
}

struct Player<'a> {
    view: &'a ChildView<'a>,
    challenger: Challenger,
    replay: Replay,
}

impl Player<'_> {
    fn observe(&mut self, value: F) {
        self.challenger.observe(value);
        self.replay.absorbed.push(value);
    }

    fn sample_bits(&mut self, bits: usize) -> usize {
        let sample: F = self.challenger.sample();
        sample.as_canonical_u32() as usize & ((1 << bits) - 1)
    }
}

impl Visitor for Player<'_> {
    fn constants(&mut self, values: &[F]) {
        for &value in values {
            self.observe(value);
        }
    }

    fn cap(&mut self, cap: CapId) {
        let cap = self.view.cap(cap).expect("commitments were checked");
        for &value in cap.roots().iter().flatten() {
            self.observe(value);
        }
    }

    fn publics(&mut self) {
        let publics: Vec<F> = self.view.publics().collect();
        self.constants(&publics);
    }

    fn value(&mut self, value: ValueId) {
        let value = self.view.value(value);
        self.constants(value.as_basis_coefficients_slice());
    }

    fn pow(&mut self, site: PowSite, bits: usize) {
        self.observe(self.view.pow_witness(site));
        self.sample_bits(bits);
    }

    fn challenge(&mut self, challenge: ChallengeId) {
        let limbs: [F; D] = std::array::from_fn(|_| self.challenger.sample());
        let value = EF::from_basis_coefficients_fn(|i| limbs[i]);
        self.replay.challenges.push((challenge, value));
    }

    fn index(&mut self, _query: usize) {
        let index = self.sample_bits(self.view.shape.log_max_height);
        self.replay.indices.push(index);
    }
}
