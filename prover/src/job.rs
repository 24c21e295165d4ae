//! What a user asks for, as JSON: the body of a request, and the file of `--job`.

mod raw;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::ParamError;
use crate::params::ChainSpec;
use crate::preset::Preset;
use crate::security::{Term, reach};
use crate::tree::{FindJob, ProofSpec, TreeSpec};

/// Everything one job asks for. Unknown fields are errors and numbers are integers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The computation at the bottom. Only a tree over explicit leaves does without.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "raw::some")]
    pub base: Option<BaseJob>,
    /// What is stacked on it.
    #[serde(default)]
    pub recursion: Recursion,
    /// Name of the preset that fills in what the job leaves open.
    #[serde(default = "default_preset")]
    pub preset: String,
    /// FRI parameters of every proof; [`BaseJob`] and [`LastJob`] may override them.
    #[serde(default, deserialize_with = "raw::object")]
    pub fri: FriOverrides,
    /// Overrides for the last layer.
    #[serde(default, rename = "final", deserialize_with = "raw::object")]
    pub last: LastJob,
    /// Jobs of a higher priority run first.
    #[serde(default)]
    pub priority: i64,
    /// Seconds after which the job is no longer wanted, 1 or more.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "raw::some")]
    pub deadline_s: Option<u64>,
    /// Free labels, kept with the job.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "raw::labels")]
    pub labels: BTreeMap<String, String>,
    /// Where the service sends news of the job. No part of what is proved.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "raw::section")]
    pub webhook: Option<Webhook>,
}

/// Where news of a job are sent to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    /// The receiver: an https URL.
    pub url: String,
    /// Which news.
    #[serde(default)]
    pub events: WebhookEvents,
}

/// News of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WebhookEvents {
    /// That the job has come to an end.
    #[default]
    End,
    /// Every change of its state after the submission.
    State,
}

impl WebhookEvents {
    /// The name that jobs use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::State => "state",
        }
    }
}

/// A base computation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "program", rename_all = "snake_case", try_from = "raw::Object<raw::RawLeaf>")]
pub enum BaseJob {
    /// Keccak-f permutations of inputs drawn from a seed.
    Keccak {
        /// How many.
        #[serde(default = "default_num_hashes")]
        num_hashes: u64,
        /// Seed of the inputs.
        #[serde(default = "default_seed")]
        seed: u64,
        /// Overrides for the base proof.
        #[serde(default)]
        fri: FriOverrides,
    },
    /// Element n of the sequence with F(0) = a and F(1) = b.
    Fibonacci {
        /// Index of the element.
        #[serde(default = "default_n")]
        n: u64,
        /// F(0).
        #[serde(default)]
        a: u64,
        /// F(1).
        #[serde(default = "default_b")]
        b: u64,
        /// Overrides for the base proof.
        #[serde(default)]
        fri: FriOverrides,
    },
}

impl BaseJob {
    /// A Keccak base without overrides.
    #[must_use]
    pub fn keccak(num_hashes: u64, seed: u64) -> Self {
        Self::Keccak { num_hashes, seed, fri: FriOverrides::default() }
    }

    /// A Fibonacci base without overrides.
    #[must_use]
    pub fn fibonacci(n: u64, a: u64, b: u64) -> Self {
        Self::Fibonacci { n, a, b, fri: FriOverrides::default() }
    }

    /// Overrides for the base proof.
    #[must_use]
    pub const fn fri(&self) -> &FriOverrides {
        match self {
            Self::Keccak { fri, .. } | Self::Fibonacci { fri, .. } => fri,
        }
    }
}

/// What is stacked on the base proofs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "mode", rename_all = "snake_case", try_from = "raw::Object<raw::RawRecursion>")]
pub enum Recursion {
    /// One layer upon the other.
    Chain {
        /// How many; 0 is the base proof alone.
        #[serde(default = "default_layers")]
        layers: usize,
    },
    /// Layers that merge several proofs into one.
    Tree {
        /// Proofs that one layer merges.
        arity: usize,
        /// Levels of merging over `arity^depth` leaves made from the base of the job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depth: Option<usize>,
        /// The leaves, in order, where they are not all made from one base.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        leaves: Option<Vec<Leaf>>,
    },
}

impl Default for Recursion {
    fn default() -> Self {
        Self::Chain { layers: default_layers() }
    }
}

/// One leaf of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged, try_from = "raw::Object<raw::RawLeaf>")]
pub enum Leaf {
    /// The proof of another job.
    Finished(FinishedJob),
    /// A base computation.
    Base(BaseJob),
}

/// Another job, whose proof becomes a leaf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FinishedJob {
    /// Its id.
    pub job: String,
}

/// Overrides for the last layer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LastJob {
    /// FRI parameters of the last layer.
    #[serde(default, deserialize_with = "raw::object")]
    pub fri: FriOverrides,
}

/// FRI parameters that somebody sets; what is not set comes from the next source.
///
/// Units: `log_` fields are base-2 logarithms, `_pow_bits` fields are bits of grinding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FriOverrides {
    /// Inverse of the code rate.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "raw::some")]
    pub log_blowup: Option<usize>,
    /// Most points that one folding round may merge.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "raw::some")]
    pub max_log_arity: Option<usize>,
    /// Coefficients of the final polynomial.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "raw::some")]
    pub log_final_poly_len: Option<usize>,
    /// Level of each Merkle tree that is sent instead of its root.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "raw::some")]
    pub cap_height: Option<usize>,
    /// Bits (`log_blowup × queries + query grinding`) from which the queries are derived, rounded
    /// up.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "raw::some")]
    pub security_level: Option<usize>,
    /// Queries; goes before a `security_level` of the same source.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "raw::some")]
    pub num_queries: Option<usize>,
    /// Grinding before the challenge that batches the openings.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "raw::some")]
    pub batch_pow_bits: Option<usize>,
    /// Grinding before the lookup challenges.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "raw::some")]
    pub lookup_pow_bits: Option<usize>,
    /// Grinding before the out-of-domain point.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "raw::some")]
    pub ood_pow_bits: Option<usize>,
    /// Grinding before each folding challenge.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "raw::some")]
    pub commit_pow_bits: Option<usize>,
    /// Grinding before the query indices.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "raw::some")]
    pub query_pow_bits: Option<usize>,
}

impl FriOverrides {
    /// Whether a parameter is set that this round of the protocol hangs on.
    const fn sets(&self, term: Term) -> bool {
        match term {
            Term::OutOfDomain => self.ood_pow_bits.is_some(),
            Term::Lookup => self.lookup_pow_bits.is_some(),
            Term::Batching => self.batch_pow_bits.is_some(),
            Term::Folding => self.commit_pow_bits.is_some(),
            Term::Queries => self.num_queries.is_some() || self.security_level.is_some(),
            Term::Constraints | Term::Hash => false,
        }
    }
}

impl Job {
    /// A chain on `base` with the default preset and no overrides.
    #[must_use]
    pub fn chain(base: BaseJob, layers: usize) -> Self {
        Self {
            base: Some(base),
            recursion: Recursion::Chain { layers },
            preset: default_preset(),
            fri: FriOverrides::default(),
            last: LastJob::default(),
            priority: 0,
            deadline_s: None,
            labels: BTreeMap::new(),
            webhook: None,
        }
    }

    /// Reads a job.
    ///
    /// Errors: [`ParamError::Json`] says what does not fit, with line and column.
    pub fn from_json(text: &str) -> Result<Self, ParamError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let job = Self::read(&mut json).and_then(|job| json.end().map(|()| job));
        job.map_err(|source| ParamError::Json { what: "the job", source })
    }

    /// Reads a job that is written as an object. Serde alone would take an array of its fields too.
    ///
    /// # Errors
    /// The deserializer's.
    pub fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        raw::object(deserializer)
    }

    /// Fills in everything that the job leaves open from the preset that it names.
    ///
    /// Errors: as [`Self::resolve_with`], and an unknown preset.
    pub fn resolve(&self) -> Result<ChainSpec, ParamError> {
        self.resolve_with(&Preset::named(&self.preset)?)
    }

    /// Fills in everything that the job leaves open, whether it is a chain or a tree. `finished` are
    /// proofs that become further leaves of a tree.
    ///
    /// Errors: as [`Self::resolve_with`].
    pub fn resolve_any(
        &self,
        preset: &Preset,
        finished: Vec<ProofSpec>,
    ) -> Result<ProofSpec, ParamError> {
        let mut unknown = |leaf, job: &str| Err(ParamError::LeafJob { leaf, job: job.to_owned() });
        self.resolve_from(preset, finished, &mut unknown)
    }

    fn resolve_from(
        &self,
        preset: &Preset,
        finished: Vec<ProofSpec>,
        find: FindJob<'_>,
    ) -> Result<ProofSpec, ParamError> {
        if self.deadline_s == Some(0) {
            let (parameter, allowed) = ("deadline_s".to_owned(), "1 or more".to_owned());
            return Err(ParamError::Refused { parameter, value: 0, allowed });
        }
        let spec = match self.recursion {
            Recursion::Chain { .. } => ChainSpec::resolve(self, preset).map(ProofSpec::Chain)?,
            Recursion::Tree { .. } => {
                TreeSpec::resolve(self, preset, finished, find).map(ProofSpec::Tree)?
            }
        };
        match preset.min_proven_bits {
            Some(minimum) => reach(spec, minimum, &|term| !self.sets(term)),
            None => Ok(spec),
        }
    }

    /// Fills in everything that the job leaves open. `find` gives the proof of another job that is a leaf.
    ///
    /// Errors: as [`Self::resolve_with`], and those of `find`.
    pub fn resolve_finding(
        &self,
        preset: &Preset,
        find: FindJob<'_>,
    ) -> Result<ProofSpec, ParamError> {
        self.resolve_from(preset, Vec::new(), find)
    }

    /// Ids of the jobs whose proofs are leaves, with their positions.
    #[must_use]
    pub fn leaf_jobs(&self) -> Vec<(usize, &str)> {
        let Recursion::Tree { leaves: Some(leaves), .. } = &self.recursion else {
            return Vec::new();
        };
        let leaves = leaves.iter().enumerate();
        leaves
            .filter_map(|(i, leaf)| match leaf {
                Leaf::Finished(finished) => Some((i, finished.job.as_str())),
                Leaf::Base(_) => None,
            })
            .collect()
    }

    /// Whether the job sets a parameter of this round itself, for any of its proofs.
    fn sets(&self, term: Term) -> bool {
        let leaves = match &self.recursion {
            Recursion::Tree { leaves: Some(leaves), .. } => leaves.as_slice(),
            _ => &[],
        };
        let leaves = leaves.iter().filter_map(|leaf| match leaf {
            Leaf::Base(base) => Some(base.fri()),
            Leaf::Finished(_) => None,
        });
        let base = self.base.iter().map(BaseJob::fri);
        let mut all = [&self.fri, &self.last.fri].into_iter().chain(base).chain(leaves);
        all.any(|fri| fri.sets(term))
    }

    /// Fills in everything that the job leaves open from `preset`.
    ///
    /// Errors: the first parameter that is refused, with its value and what would be allowed.
    pub fn resolve_with(&self, preset: &Preset) -> Result<ChainSpec, ParamError> {
        match self.recursion {
            Recursion::Chain { .. } => match self.resolve_any(preset, Vec::new())? {
                ProofSpec::Chain(chain) => Ok(chain),
                ProofSpec::Tree(_) => Err(ParamError::NotAChain),
            },
            Recursion::Tree { .. } => Err(ParamError::NotAChain),
        }
    }
}

fn default_preset() -> String {
    "default".to_owned()
}

const fn default_num_hashes() -> u64 {
    4
}

const fn default_seed() -> u64 {
    1
}

const fn default_n() -> u64 {
    100
}

const fn default_b() -> u64 {
    1
}

const fn default_layers() -> usize {
    3
}
