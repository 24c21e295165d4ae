//! What a layer must know of a proof that it verifies.

mod limits;
mod lookups;
mod seeds;

use std::sync::Arc;

use p3_air::symbolic::{AirLayout, SymbolicAirBuilder};
use p3_air::{Air, BaseAir};
use p3_field::coset::TwoAdicMultiplicativeCoset;
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};
use p3_fri::fold_schedule;
use p3_lookup::InteractionSymbolicBuilder;
use p3_uni_stark::StarkShape;

use crate::compiler::constraints::{Constraint, batch_constraints, uni_constraints};
use crate::config::{BatchProof, Cap, D, Digest, EF, F, FriConfig, UniProof};
use crate::error::CompileError;
use crate::fingerprint::fingerprint;
use crate::statement;
use limits::{check_chunks, check_heights, check_multiplicities};
use lookups::{log_num_chunks, num_fractions, number_buses, packed_lookups};
use seeds::{batch_shape, fri_shape, input_trees, pcs_shape, recorded};

/// Which verifier a proof is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// `p3_uni_stark::verify`.
    Uni,
    /// `p3_batch_stark::verify_batch`.
    Batch,
}

/// Whether a proof is a leaf of the recursion or a layer over others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A base proof: its statement is the digest of its public values.
    Base,
    /// A layer: its eight public values are its statement.
    Layer,
}

/// One table of a child.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Log of the trace height.
    pub log_height: usize,
    /// Main columns.
    pub main_width: usize,
    /// Whether the main trace is opened at the next row.
    pub main_next: bool,
    /// Preprocessed columns.
    pub preprocessed_width: usize,
    /// Whether they are opened at the next row.
    pub preprocessed_next: bool,
    /// Number of public values.
    pub num_publics: usize,
    /// Periodic columns, by their values.
    pub periodic: Vec<Vec<F>>,
    /// Extension-field columns of the LogUp trace.
    pub aux_width: usize,
    /// For each LogUp column, which bus it is on.
    pub buses: Vec<usize>,
    /// Fractions that a row adds to the LogUp sums, an exclusive group counting as one. Circuits do not
    /// depend on it; the soundness of the lookups does.
    pub fractions: usize,
    /// Number of quotient chunks.
    pub num_chunks: usize,
    /// The constraints, in the order in which the native verifier folds them.
    pub constraints: Vec<Constraint>,
}

/// The commitments of a child that are opened, in the order of the opening argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Commitment {
    /// Main traces.
    Main,
    /// Quotient chunks.
    Quotient,
    /// Preprocessed columns.
    Preprocessed,
    /// LogUp traces.
    Permutation,
}

/// One matrix of an input tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// The instance it belongs to.
    pub instance: usize,
    /// Base-field columns.
    pub width: usize,
    /// Log of its height before the low-degree extension.
    pub log_height: usize,
    /// Whether it is opened at ζ alone or at ζ and gζ.
    pub next: bool,
}

impl Matrix {
    /// Number of points at which it is opened.
    #[must_use]
    pub const fn num_points(&self) -> usize {
        if self.next { 2 } else { 1 }
    }
}

/// One input commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputTree {
    /// Which.
    pub commitment: Commitment,
    /// Its matrices, in commitment order.
    pub matrices: Vec<Matrix>,
}

/// Everything a layer must know of a proof that it verifies, before it sees one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ChildShape {
    inner: Arc<Inner>,
}

/// The fields of a [`ChildShape`].
#[derive(Clone, Debug)]
pub struct Inner {
    /// Which verifier.
    pub system: System,
    /// Leaf or layer.
    pub level: Level,
    /// The tables.
    pub instances: Vec<Instance>,
    /// FRI parameters and grinding.
    pub fri: FriConfig,
    /// Input commitments, in the order of the opening argument.
    pub trees: Vec<InputTree>,
    /// Arities of the folding rounds.
    pub log_arities: Vec<usize>,
    /// Log of the largest low-degree extension.
    pub log_max_height: usize,
    /// Number of buses and width of the widest message, for the lookup challenges.
    pub buses: (usize, usize),
    /// What the transcript of the proof system is seeded with.
    pub seed: Vec<F>,
    /// What that of the opening argument is seeded with.
    pub pcs_seed: Vec<F>,
    /// What that of FRI is seeded with.
    pub fri_seed: Vec<F>,
    log_heights: Vec<usize>,
    digest: Digest,
}

impl std::ops::Deref for ChildShape {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

impl ChildShape {
    /// The shape of `p3-uni-stark` proofs of `air` over `2^log_height` rows.
    ///
    /// # Errors
    /// If the circuits do not support the parameters or the height.
    pub fn uni<A: Air<SymbolicAirBuilder<F>>>(
        air: &A,
        log_height: usize,
        fri: &FriConfig,
    ) -> Result<Self, CompileError> {
        check_heights(&[log_height], fri)?;
        let layout = AirLayout::from_air(air);
        let domain = trace_domain(log_height);
        let log_chunks =
            p3_uni_stark::get_log_num_quotient_chunks_for_domain(air, layout, domain, 0);
        check_chunks(log_chunks, fri)?;
        let instance = Instance {
            log_height,
            constraints: uni_constraints(air, layout),
            ..Instance::from_air(air, log_chunks)
        };
        let seed = recorded(|sponge| {
            StarkShape::new::<F, A>(
                air,
                air.preprocessed_width(),
                log_height,
                log_height,
                instance.num_chunks,
                false,
                fri.ood_pow_bits,
            )
            .domain_separator::<F, EF>()
            .seed(sponge);
        });
        Ok(Self::finish(System::Uni, vec![instance], fri, (0, 0), seed))
    }

    /// The shape of `p3-batch-stark` proofs of `airs` over `2^log_heights` rows each.
    ///
    /// # Errors
    /// If the circuits do not support the parameters, the heights or the public values.
    pub fn batch<A: Air<InteractionSymbolicBuilder<F, EF>>>(
        airs: &[A],
        log_heights: &[usize],
        fri: &FriConfig,
    ) -> Result<Self, CompileError> {
        check_heights(log_heights, fri)?;
        if airs.len() != log_heights.len() {
            let allowed = format!("one for each of {} tables", airs.len());
            let got = log_heights.len();
            return Err(CompileError::Unsupported { parameter: "log_heights", got, allowed });
        }
        let lookups: Vec<_> =
            airs.iter().zip(log_heights).map(|(air, &h)| packed_lookups(air, h)).collect();
        check_multiplicities(&lookups, log_heights)?;
        let (bus_ids, num_buses, widest) = number_buses(&lookups);
        let mut instances = Vec::with_capacity(airs.len());
        for (i, (air, &log_height)) in airs.iter().zip(log_heights).enumerate() {
            let layout = AirLayout::from_air(air);
            let log_chunks = log_num_chunks(air, log_height, &lookups[i]);
            check_chunks(log_chunks, fri)?;
            instances.push(Instance {
                log_height,
                aux_width: if lookups[i].is_empty() { 0 } else { lookups[i].len() + 1 },
                buses: bus_ids[i].clone(),
                fractions: num_fractions(&lookups[i]),
                constraints: batch_constraints(air, layout, &lookups[i]),
                ..Instance::from_air(air, log_chunks)
            });
        }
        let publics: usize = instances.iter().map(|instance| instance.num_publics).sum();
        let preprocessed = instances.iter().any(|instance| instance.preprocessed_width > 0);
        if preprocessed && !publics.is_multiple_of(D) {
            return Err(CompileError::PublicValueAlignment { got: publics });
        }
        let seed = recorded(|sponge| {
            batch_shape(&instances, fri).domain_separator::<F, EF>().seed(sponge);
        });
        Ok(Self::finish(System::Batch, instances, fri, (num_buses, widest), seed))
    }

    fn finish(
        system: System,
        instances: Vec<Instance>,
        fri: &FriConfig,
        buses: (usize, usize),
        seed: Vec<F>,
    ) -> Self {
        let trees = input_trees(&instances);
        let mut heights: Vec<usize> = trees
            .iter()
            .flat_map(|tree| tree.matrices.iter().map(|m| m.log_height + fri.log_blowup))
            .collect();
        heights.sort_unstable_by(|a, b| b.cmp(a));
        heights.dedup();
        let log_arities = fold_schedule(&heights, fri.log_final_height(), fri.max_log_arity);
        let log_max_height = heights[0];
        let pcs_seed = recorded(|sponge| {
            pcs_shape(&trees, fri).domain_separator::<F, EF>().seed(sponge);
        });
        let fri_seed = recorded(|sponge| {
            fri_shape(fri, &log_arities, log_max_height).domain_separator::<F, EF>().seed(sponge);
        });
        let log_heights = instances.iter().map(|instance| instance.log_height).collect();
        let mut inner = Inner {
            system,
            level: Level::Base,
            instances,
            fri: *fri,
            trees,
            log_arities,
            log_max_height,
            buses,
            seed,
            pcs_seed,
            fri_seed,
            log_heights,
            digest: Digest::default(),
        };
        inner.digest = inner.compute_digest();
        Self { inner: Arc::new(inner) }
    }

    /// The same proofs, taken as layers: their public values are their statement.
    #[must_use]
    pub(crate) fn into_layer(self) -> Self {
        let mut inner = Inner::clone(&self.inner);
        inner.level = Level::Layer;
        inner.digest = inner.compute_digest();
        Self { inner: Arc::new(inner) }
    }

    /// Digest of the shape: seeds (widths, counts, openings, schedule), heights, grinding, caps, the
    /// level, and a fingerprint of the constraints. Part of every verifying key's digest.
    pub fn digest(&self) -> Digest {
        self.inner.digest
    }

    /// FRI parameters of the proofs.
    #[must_use]
    pub fn fri(&self) -> &FriConfig {
        &self.inner.fri
    }

    /// Log heights of the traces.
    #[must_use]
    pub fn log_heights(&self) -> &[usize] {
        &self.inner.log_heights
    }
}

impl Inner {
    fn compute_digest(&self) -> Digest {
        let fri = &self.fri;
        let numbers = [
            self.system as usize,
            self.level as usize,
            fri.log_blowup,
            fri.log_final_poly_len,
            fri.cap_height,
            fri.batch_pow_bits,
            fri.lookup_pow_bits,
            fri.ood_pow_bits,
            self.instances.len(),
        ];
        let per_instance = self.instances.iter().flat_map(|instance| {
            [
                instance.log_height,
                instance.constraints.len(),
                instance.aux_width,
                instance.periodic.len(),
            ]
        });
        let mut input: Vec<F> =
            numbers.into_iter().chain(per_instance).map(F::from_usize).collect();
        for part in [&self.seed, &self.pcs_seed, &self.fri_seed] {
            input.push(F::from_usize(part.len()));
            input.extend(part);
        }
        input.extend([self.buses.0, self.buses.1].map(F::from_usize));
        for instance in &self.instances {
            let sizes = [instance.main_width, instance.num_publics, instance.buses.len()];
            input.extend(sizes.iter().chain(&instance.buses).map(|&size| F::from_usize(size)));
            for column in &instance.periodic {
                input.push(F::from_usize(column.len()));
                input.extend(column);
            }
            let constraints = fingerprint(&instance.constraints);
            input.extend_from_slice(constraints.as_basis_coefficients_slice());
        }
        statement::squeeze(&input)
    }

    /// Number of instances that take part in lookups.
    #[must_use]
    pub fn num_lookup_instances(&self) -> usize {
        self.instances.iter().filter(|instance| instance.aux_width > 0).count()
    }

    /// Position of a commitment among the input trees.
    #[must_use]
    pub fn tree_of(&self, commitment: Commitment) -> Option<usize> {
        self.trees.iter().position(|tree| tree.commitment == commitment)
    }

    /// Total number of public values.
    #[must_use]
    pub fn num_publics(&self) -> usize {
        self.instances.iter().map(|instance| instance.num_publics).sum()
    }

    /// Log of the low-degree extension's height of `matrix`.
    #[must_use]
    pub const fn log_lde_height(&self, matrix: &Matrix) -> usize {
        matrix.log_height + self.fri.log_blowup
    }

    /// Heights of the matrices of a tree, tallest first, each once.
    #[must_use]
    pub fn tree_heights(&self, tree: usize) -> Vec<usize> {
        let mut heights: Vec<usize> =
            self.trees[tree].matrices.iter().map(|m| self.log_lde_height(m)).collect();
        heights.sort_unstable_by(|a, b| b.cmp(a));
        heights.dedup();
        heights
    }

    /// First bit of the index that round `round` folds.
    #[must_use]
    pub fn round_bit(&self, round: usize) -> usize {
        self.log_arities[..round].iter().sum()
    }
}

impl Instance {
    fn from_air<A: BaseAir<F>>(air: &A, log_chunks: usize) -> Self {
        Self {
            log_height: 0,
            main_width: air.width(),
            main_next: !air.main_next_row_columns().is_empty(),
            preprocessed_width: air.preprocessed_width(),
            preprocessed_next: !air.preprocessed_next_row_columns().is_empty(),
            num_publics: air.num_public_values(),
            periodic: air.periodic_columns().to_vec(),
            aux_width: 0,
            buses: vec![],
            fractions: 0,
            num_chunks: 1 << log_chunks,
            constraints: vec![],
        }
    }
}

/// The domain of a trace.
#[must_use]
pub(crate) fn trace_domain(log_height: usize) -> TwoAdicMultiplicativeCoset<F> {
    TwoAdicMultiplicativeCoset::new(F::ONE, log_height).expect("the height was checked")
}

/// A proof to be verified in-circuit.
#[derive(Clone, Copy)]
pub enum ChildProof<'a> {
    /// One of `p3-uni-stark`.
    Uni(&'a UniProof),
    /// One of `p3-batch-stark`.
    Batch(&'a BatchProof),
}

/// A proof to be verified in-circuit, with what its verifier is told beside it.
#[derive(Clone, Copy)]
pub struct ChildInput<'a> {
    /// The proof.
    pub proof: ChildProof<'a>,
    /// Public values of every instance.
    pub public_values: &'a [Vec<F>],
    /// The commitment to the preprocessed columns.
    pub preprocessed: Option<&'a Cap>,
    /// Whether the slot counts: a slot that pads an uneven tree does not.
    pub present: bool,
}
