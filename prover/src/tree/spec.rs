//! What determines the circuits and the keys of a tree.

use arbor_circuits::config::{F, FriConfig};
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::ParamError;
use crate::fri;
use crate::job::{BaseJob, Job, Leaf, Recursion};
use crate::params::{BaseSpec, ChainSpec, Place, resolve_base, resolve_layers};
use crate::preset::Preset;

/// Most proofs that one layer merges.
pub const MAX_ARITY: usize = 8;
/// Most leaves of a tree.
pub const MAX_LEAVES: usize = 4096;
/// Most trees inside each other.
const MAX_NESTING: usize = 8;

/// Finds the proof of another job that is leaf number so of a tree.
pub type FindJob<'a> = &'a mut dyn FnMut(usize, &str) -> Result<ProofSpec, ParamError>;

/// Everything that determines the circuits and the keys of a proof, whatever its form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, try_from = "AnySpec")]
pub enum ProofSpec {
    /// Layers one upon the other.
    Chain(ChainSpec),
    /// Layers that merge.
    Tree(TreeSpec),
}

/// What is read of either form. Serde would keep a copy of the input at every level of nesting in order
/// to try one form after the other; a hostile file could make that many times its length.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnySpec {
    #[serde(default, deserialize_with = "given")]
    base: Option<BaseSpec>,
    #[serde(default, deserialize_with = "given")]
    layers: Option<usize>,
    #[serde(default, deserialize_with = "given")]
    arity: Option<usize>,
    #[serde(default, deserialize_with = "given")]
    leaves: Option<Vec<LeafSpec>>,
    layer_fri: FriConfig,
    last_fri: FriConfig,
}

impl TryFrom<AnySpec> for ProofSpec {
    type Error = &'static str;

    fn try_from(any: AnySpec) -> Result<Self, Self::Error> {
        let AnySpec { base, layers, arity, leaves, layer_fri, last_fri } = any;
        match (base, layers, arity, leaves) {
            (Some(base), Some(layers), None, None) => {
                Ok(Self::Chain(ChainSpec { base, layers, layer_fri, last_fri }))
            }
            (None, None, Some(arity), Some(leaves)) => {
                Ok(Self::Tree(TreeSpec { arity, leaves, layer_fri, last_fri }))
            }
            _ => Err("a spec has either base and layers or arity and leaves"),
        }
    }
}

/// A field that may be left out, but not be null.
pub(super) fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A tree with every default resolved. Two equal values have the same circuits and the same keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeSpec {
    /// Proofs that one layer merges.
    pub arity: usize,
    /// The leaves, in order.
    pub leaves: Vec<LeafSpec>,
    /// FRI parameters of every layer but the root.
    pub layer_fri: FriConfig,
    /// FRI parameters of the root.
    pub last_fri: FriConfig,
}

/// One leaf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LeafSpec {
    /// A base computation.
    Base(BaseSpec),
    /// A finished proof.
    Proof(Box<ProofSpec>),
}

impl ProofSpec {
    /// Refuses what no circuit can be built for. Cheap: does nothing but compare.
    ///
    /// Errors: the first parameter that is refused, with its value and what would be allowed.
    pub fn validate(&self) -> Result<(), ParamError> {
        self.validate_nested(MAX_NESTING)
    }

    fn validate_nested(&self, depth: usize) -> Result<(), ParamError> {
        match self {
            Self::Chain(chain) => chain.validate(),
            Self::Tree(tree) => tree.validate_nested(depth),
        }
    }

    /// The least of `log_blowup × queries + query grinding` over every proof below.
    #[must_use]
    pub fn naive_bits(&self) -> usize {
        match self {
            Self::Chain(chain) => chain.naive_bits(),
            Self::Tree(tree) => tree.naive_bits(),
        }
    }

    /// Number of base proofs below.
    #[must_use]
    pub fn num_leaves(&self) -> usize {
        match self {
            Self::Chain(_) => 1,
            Self::Tree(tree) => tree.leaves.iter().map(LeafSpec::num_leaves).sum(),
        }
    }

    /// The base computations below, in order.
    #[must_use]
    pub fn bases(&self) -> Vec<&BaseSpec> {
        match self {
            Self::Chain(chain) => vec![&chain.base],
            Self::Tree(tree) => tree.bases(),
        }
    }

    /// Public values of every base below, in order. `results` are those of the bases, in that order.
    #[must_use]
    pub fn public_values(&self, results: &[Option<u32>]) -> Vec<Vec<F>> {
        public_values(&self.bases(), results)
    }

    /// Whether the proof is a base proof of `p3-uni-stark`.
    #[must_use]
    pub const fn is_uni(&self) -> bool {
        match self {
            Self::Chain(chain) => {
                chain.layers == 0
                    && matches!(chain.base.program, crate::params::Program::Keccak { .. })
            }
            Self::Tree(_) => false,
        }
    }
}

fn within(parameter: &str, value: usize, least: usize, most: usize) -> Result<(), ParamError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(ParamError::Refused {
        parameter: parameter.to_owned(),
        value: value as u64,
        allowed: format!("{least} to {most}"),
    })
}

/// `arity^depth` leaves of the job's base: a of leaf i of a Fibonacci sequence is i, a Keccak leaf has
/// the next seed.
fn same_leaves(
    job: &Job,
    preset: &Preset,
    arity: usize,
    depth: usize,
) -> Result<Vec<LeafSpec>, ParamError> {
    let base = job.base.as_ref().ok_or(ParamError::Missing { parameter: "base" })?;
    let exponent = u32::try_from(depth).unwrap_or(u32::MAX);
    let count = arity.checked_pow(exponent).filter(|&count| (2..=MAX_LEAVES).contains(&count));
    let Some(count) = count else {
        return Err(ParamError::Refused {
            parameter: "recursion.depth".to_owned(),
            value: depth as u64,
            allowed: format!("arity^depth from 2 to {MAX_LEAVES} leaves"),
        });
    };
    let leaf = |i: u64| {
        let base = match base.clone() {
            BaseJob::Keccak { num_hashes, seed, fri } => {
                BaseJob::Keccak { num_hashes, seed: seed.wrapping_add(i), fri }
            }
            BaseJob::Fibonacci { n, b, fri, .. } => BaseJob::Fibonacci { n, a: i, b, fri },
        };
        resolve_base(&base, &job.fri, preset, Place::Leaf).map(LeafSpec::Base)
    };
    (0..count as u64).map(leaf).collect()
}

fn own_leaves(
    job: &Job,
    preset: &Preset,
    leaves: &[Leaf],
    lookup: FindJob<'_>,
) -> Result<Vec<LeafSpec>, ParamError> {
    let leaves = leaves.iter().enumerate();
    leaves
        .map(|(i, leaf)| match leaf {
            Leaf::Base(base) => {
                resolve_base(base, &job.fri, preset, Place::Leaf).map(LeafSpec::Base)
            }
            Leaf::Finished(finished) => {
                lookup(i, &finished.job).map(|proof| LeafSpec::Proof(Box::new(proof)))
            }
        })
        .collect()
}

impl LeafSpec {
    fn num_leaves(&self) -> usize {
        match self {
            Self::Base(_) => 1,
            Self::Proof(proof) => proof.num_leaves(),
        }
    }
}

impl TreeSpec {
    /// Built-in defaults, then the preset, then the job. `finished` become further leaves.
    pub(crate) fn resolve(
        job: &Job,
        preset: &Preset,
        finished: Vec<ProofSpec>,
        lookup: FindJob<'_>,
    ) -> Result<Self, ParamError> {
        let Recursion::Tree { arity, depth, leaves } = &job.recursion else {
            return Err(ParamError::NotATree);
        };
        within("recursion.arity", *arity, 2, MAX_ARITY)?;
        let mut resolved = match (depth, leaves) {
            (Some(depth), None) if finished.is_empty() => same_leaves(job, preset, *arity, *depth)?,
            (None, Some(_)) if job.base.is_some() => return Err(ParamError::UnusedBase),
            (None, Some(leaves)) => own_leaves(job, preset, leaves, lookup)?,
            (None, None) if !finished.is_empty() => Vec::new(),
            _ => return Err(ParamError::TreeLeaves),
        };
        resolved.extend(finished.into_iter().map(|proof| LeafSpec::Proof(Box::new(proof))));
        let (layer_fri, last_fri) = resolve_layers(job, preset)?;
        let spec = Self { arity: *arity, leaves: resolved, layer_fri, last_fri };
        spec.validate()?;
        Ok(spec)
    }

    /// Refuses what no circuit can be built for.
    ///
    /// Errors: the first parameter that is refused, with its value and what would be allowed.
    pub fn validate(&self) -> Result<(), ParamError> {
        self.validate_nested(MAX_NESTING)
    }

    fn validate_nested(&self, depth: usize) -> Result<(), ParamError> {
        within("recursion.arity", self.arity, 2, MAX_ARITY)?;
        within("recursion.leaves", self.leaves.len(), 2, MAX_LEAVES)?;
        within("recursion.leaves (nesting)", MAX_NESTING - depth, 0, MAX_NESTING - 1)?;
        fri::validate(&self.layer_fri, "fri")?;
        fri::validate(&self.last_fri, "final.fri")?;
        for leaf in &self.leaves {
            match leaf {
                LeafSpec::Base(base) => base.validate()?,
                LeafSpec::Proof(proof) => proof.validate_nested(depth - 1)?,
            }
        }
        Ok(())
    }

    /// The least of `log_blowup × queries + query grinding` over every proof below.
    #[must_use]
    pub fn naive_bits(&self) -> usize {
        let own = self.layer_fri.naive_bits().min(self.last_fri.naive_bits());
        let leaves = self.leaves.iter().map(|leaf| match leaf {
            LeafSpec::Base(base) => base.fri.naive_bits(),
            LeafSpec::Proof(proof) => proof.naive_bits(),
        });
        leaves.fold(own, usize::min)
    }

    /// The base computations below, in order.
    #[must_use]
    pub fn bases(&self) -> Vec<&BaseSpec> {
        let leaves = self.leaves.iter();
        leaves
            .flat_map(|leaf| match leaf {
                LeafSpec::Base(base) => vec![base],
                LeafSpec::Proof(proof) => proof.bases(),
            })
            .collect()
    }
}

fn public_values(bases: &[&BaseSpec], results: &[Option<u32>]) -> Vec<Vec<F>> {
    let bases = bases.iter().zip(results);
    bases.map(|(base, result)| base.program.public_values(*result)).collect()
}
