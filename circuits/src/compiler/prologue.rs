//! What is done once per child: its transcript, and the values that leave it.

use std::collections::HashMap;

use p3_field::{PrimeCharacteristicRing, TwoAdicField};

use super::bits::{assert_low_bits_zero, extract};
use super::sponge::{Limb, Sponge};
use super::transcript::{CapId, ChallengeId, PowSite, ValueId, Visitor, walk};
use crate::child::{ChildShape, Commitment, Inner};
use crate::config::{D, F};
use crate::error::CompileError;
use crate::program::{Addr, Port, ProgramBuilder, Source};

/// Everything of a child's transcript that later rows read.
pub(super) struct Transcript {
    /// First address of each cap: two packs an entry.
    pub caps: HashMap<CapId, Addr>,
    /// Public values, four to a pack.
    pub public_packs: Vec<Addr>,
    /// Public values, each for itself.
    pub publics: Vec<Addr>,
    /// Lookup terminals.
    pub terminals: Vec<Addr>,
    /// Opened values by tree, matrix, point and column.
    pub claims: Vec<Vec<Vec<Vec<Addr>>>>,
    /// Coefficients of the final polynomial.
    pub final_poly: Vec<Addr>,
    /// Query indices, as elements of the last outputs.
    pub indices: Vec<Limb>,
    /// Entries of the factor table, one per cap index.
    pub factors: Addr,
    challenges: Vec<(ChallengeId, Addr)>,
}

impl Transcript {
    /// The address of a challenge.
    ///
    /// # Panics
    /// If the transcript has no such challenge: a bug of the compiler.
    pub(super) fn challenge(&self, id: ChallengeId) -> Addr {
        let found = self.challenges.iter().find(|(other, _)| *other == id);
        found.expect("the transcript of this shape has this challenge").1
    }
}

/// Emits the rows of a child's transcript.
pub(super) fn compile_transcript(
    builder: &mut ProgramBuilder,
    shape: &ChildShape,
) -> Result<Transcript, CompileError> {
    let caps = alloc_caps(builder, shape)?;
    let bits = shape.log_max_height;
    let step = bits - shape.fri.cap_height;
    let factors = builder.alloc_indexed(1 << shape.fri.cap_height, 1, bits, step)?;
    let first_row = builder.hashes.len();
    let mut rows = Rows::new(builder, shape, caps);
    walk(shape, &mut rows);
    let Rows { caps, public_packs, terminals, claims, final_poly, pows, samples, indices, .. } =
        rows;
    host_factor_table(builder, shape, first_row, factors);

    for (limb, bits) in pows {
        assert_low_bits_zero(builder, limb, bits);
    }
    let challenges = samples
        .into_iter()
        .map(|(id, sample)| {
            let whole = sample.unwrap_or_else(|limbs| {
                let limbs = limbs.map(|limb| extract(builder, limb));
                builder.recompose(limbs)
            });
            (id, whole)
        })
        .collect();
    let publics = (0..shape.num_publics())
        .map(|i| extract(builder, Limb { pack: public_packs[i / D], limb: i % D }))
        .collect();
    Ok(Transcript {
        caps,
        public_packs,
        publics,
        terminals,
        claims,
        final_poly,
        indices,
        factors,
        challenges,
    })
}

fn alloc_caps(
    builder: &mut ProgramBuilder,
    shape: &Inner,
) -> Result<HashMap<CapId, Addr>, CompileError> {
    let bits = shape.log_max_height;
    let step = bits - shape.fri.cap_height;
    let inputs = shape.trees.iter().map(|tree| CapId::Input(tree.commitment));
    let rounds = (0..shape.log_arities.len()).map(CapId::Round);
    inputs
        .chain(rounds)
        .map(|id| Ok((id, builder.alloc_indexed(1 << shape.fri.cap_height, 2, bits, step)?)))
        .collect()
}

/// Puts the entries of the factor table on transcript rows whose port C is free: entry j is the
/// product over the set bits i of j of the roots of unity that those bits of the index stand for.
fn host_factor_table(builder: &mut ProgramBuilder, shape: &Inner, first_row: usize, factors: Addr) {
    let low = shape.log_max_height - shape.fri.cap_height;
    let factor = |entry: usize| -> F {
        (0..shape.fri.cap_height)
            .filter(|bit| entry >> bit & 1 == 1)
            .map(|bit| F::two_adic_generator(low + bit + 1))
            .product()
    };
    let mut entry = 0;
    for row in &mut builder.hashes[first_row..] {
        if entry == 1 << shape.fri.cap_height {
            break;
        }
        if row.source == Source::Transcript && row.ports[2].is_none() {
            row.fixed.table = F::ONE;
            row.fixed.kappa = factor(entry);
            row.ports[2] = Port::write_indexed(factors.offset(entry));
            entry += 1;
        }
    }
    assert_eq!(entry, 1 << shape.fri.cap_height, "caps alone have as many rows as entries");
}

/// The visitor that emits rows.
struct Rows<'a> {
    sponge: Sponge<'a>,
    shape: &'a Inner,
    caps: HashMap<CapId, Addr>,
    public_packs: Vec<Addr>,
    terminals: Vec<Addr>,
    claims: Vec<Vec<Vec<Vec<Addr>>>>,
    final_poly: Vec<Addr>,
    pows: Vec<(Limb, usize)>,
    samples: Vec<(ChallengeId, Result<Addr, [Limb; D]>)>,
    indices: Vec<Limb>,
}

impl<'a> Rows<'a> {
    fn new(builder: &'a mut ProgramBuilder, shape: &'a Inner, caps: HashMap<CapId, Addr>) -> Self {
        let claims = shape
            .trees
            .iter()
            .map(|tree| tree.matrices.iter().map(|m| vec![vec![]; m.num_points()]).collect())
            .collect();
        Self {
            sponge: Sponge::new(builder, Source::Transcript),
            shape,
            caps,
            public_packs: vec![],
            terminals: vec![],
            claims,
            final_poly: vec![],
            pows: vec![],
            samples: vec![],
            indices: vec![],
        }
    }
}

impl Visitor for Rows<'_> {
    fn constants(&mut self, values: &[F]) {
        self.sponge.constants(values);
    }

    fn cap(&mut self, cap: CapId) {
        let first = self.caps[&cap];
        for half in 0..2 << self.shape.fri.cap_height {
            self.sponge.write_indexed(first.offset(half));
        }
    }

    fn publics(&mut self) {
        let mut left = self.shape.num_publics();
        while left > 0 {
            let pack = self.sponge.builder.alloc();
            self.sponge.write_partial(pack, left.min(D));
            self.public_packs.push(pack);
            left -= left.min(D);
        }
    }

    fn value(&mut self, value: ValueId) {
        let addr = self.sponge.builder.alloc();
        self.sponge.write(addr);
        match value {
            ValueId::Terminal(_) => self.terminals.push(addr),
            ValueId::Claim { tree, matrix, point, .. } => {
                self.claims[tree][matrix][point].push(addr);
            }
            ValueId::FinalPoly(_) => self.final_poly.push(addr),
        }
    }

    fn pow(&mut self, _site: PowSite, bits: usize) {
        self.sponge.free();
        let limb = self.sponge.sample();
        self.pows.push((limb, bits));
    }

    fn challenge(&mut self, challenge: ChallengeId) {
        let sample = self.sponge.sample_ext();
        self.samples.push((challenge, sample));
    }

    fn index(&mut self, _query: usize) {
        let limb = self.sponge.sample();
        self.indices.push(limb);
    }
}

impl Transcript {
    /// The claims of the matrix of `instance` under `commitment` at `point`, or none.
    pub(super) fn claims_of(
        &self,
        shape: &Inner,
        commitment: Commitment,
        instance: usize,
        point: usize,
    ) -> &[Addr] {
        let Some(tree) = shape.tree_of(commitment) else { return &[] };
        let matrices = &shape.trees[tree].matrices;
        let Some(matrix) = matrices.iter().position(|m| m.instance == instance) else {
            return &[];
        };
        self.claims[tree][matrix].get(point).map_or(&[], Vec::as_slice)
    }
}
