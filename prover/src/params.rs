//! What a job resolves to: everything that determines the circuits and the keys of a chain.

use arbor_circuits::config::{F, FriConfig};
use p3_field::PrimeField32;
use serde::{Deserialize, Serialize};

use crate::error::ParamError;
use crate::fri::{self, FriLayers, Source};
use crate::job::{BaseJob, FriOverrides, Job, Recursion};
use crate::preset::Preset;

/// Rows of the Keccak table that one permutation takes.
pub const KECCAK_ROWS: u64 = 24;
/// Most layers of a chain.
pub const MAX_LAYERS: usize = 64;
/// Order of the base field, which F(0) and F(1) are below.
pub const MODULUS: u64 = F::ORDER_U32 as u64;
/// Rows of a Fibonacci circuit beyond one for each addition.
const FIBONACCI_EXTRA_ROWS: u64 = 16;

/// A chain with every default resolved. Two equal values have the same circuits and the same keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainSpec {
    /// The base proof.
    pub base: BaseSpec,
    /// Layers above it.
    pub layers: usize,
    /// FRI parameters of every layer but the last.
    pub layer_fri: FriConfig,
    /// FRI parameters of the last layer.
    pub last_fri: FriConfig,
}

/// A base proof with every default resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaseSpec {
    /// What is computed.
    pub program: Program,
    /// FRI parameters of its proof.
    pub fri: FriConfig,
}

/// A base computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub enum Program {
    /// Keccak-f permutations of inputs drawn from a seed.
    Keccak {
        /// How many.
        num_hashes: u64,
        /// Seed of the inputs.
        seed: u64,
    },
    /// Element n of the sequence with F(0) = a and F(1) = b, modulo p.
    Fibonacci {
        /// Index of the element.
        n: u64,
        /// F(0).
        a: u64,
        /// F(1).
        b: u64,
    },
}

impl Program {
    /// Name of the program, as in a job.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Keccak { .. } => "keccak",
            Self::Fibonacci { .. } => "fibonacci",
        }
    }

    /// Rows that the computation takes before padding; saturates.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        match self {
            Self::Keccak { num_hashes, .. } => num_hashes.saturating_mul(KECCAK_ROWS),
            Self::Fibonacci { n, .. } => n.saturating_add(FIBONACCI_EXTRA_ROWS),
        }
    }

    fn of(base: &BaseJob) -> Self {
        match *base {
            BaseJob::Keccak { num_hashes, seed, .. } => Self::Keccak { num_hashes, seed },
            BaseJob::Fibonacci { n, a, b, .. } => Self::Fibonacci { n, a, b },
        }
    }
}

impl BaseSpec {
    /// Log of the height of the base trace, padding included; more than the field allows if the
    /// parameters were not validated.
    #[must_use]
    pub fn log_height(&self) -> usize {
        let rows = self.program.rows().max(1).checked_next_power_of_two();
        let log_rows = rows.map_or(64, u64::ilog2) as usize;
        log_rows.max(fri::min_log_height(&self.fri))
    }

    /// The same for all computations that share a key: their size without their inputs.
    #[must_use]
    pub fn without_inputs(&self) -> Self {
        let program = match self.program {
            Program::Keccak { .. } => {
                Program::Keccak { num_hashes: (1 << self.log_height()) / KECCAK_ROWS, seed: 0 }
            }
            Program::Fibonacci { n, .. } => Program::Fibonacci { n, a: 0, b: 0 },
        };
        Self { program, fri: self.fri }
    }

    /// Refuses what cannot be computed or does not fit the field.
    ///
    /// Errors: the first parameter that is refused.
    pub fn validate(&self) -> Result<(), ParamError> {
        fri::validate(&self.fri, "base.fri")?;
        let domain = 1u64 << fri::max_log_height(&self.fri);
        match self.program {
            Program::Keccak { num_hashes: 0, .. } => Err(ParamError::Refused {
                parameter: "base.num_hashes".to_owned(),
                value: 0,
                allowed: format!("1 to {}", domain / KECCAK_ROWS),
            }),
            Program::Keccak { num_hashes, .. } => {
                self.fits("base.num_hashes", num_hashes, domain / KECCAK_ROWS, "permutations")
            }
            Program::Fibonacci { n, a, b } => {
                below_modulus("base.a", a)?;
                below_modulus("base.b", b)?;
                self.fits("base.n", n, domain - FIBONACCI_EXTRA_ROWS, "additions")
            }
        }
    }

    fn fits(
        &self,
        parameter: &'static str,
        value: u64,
        limit: u64,
        unit: &'static str,
    ) -> Result<(), ParamError> {
        if value <= limit {
            return Ok(());
        }
        let log_blowup = self.fri.log_blowup;
        Err(ParamError::BeyondTwoAdicity { parameter, value, limit, unit, log_blowup })
    }
}

impl ChainSpec {
    /// Built-in defaults, then the preset, then the job.
    pub(crate) fn resolve(job: &Job, preset: &Preset) -> Result<Self, ParamError> {
        let Recursion::Chain { layers } = job.recursion else {
            return Err(ParamError::NotAChain);
        };
        let base = job.base.as_ref().ok_or(ParamError::Missing { parameter: "base" })?;
        if layers == 0 && job.last.fri != FriOverrides::default() {
            return Err(ParamError::NoLastLayer);
        }
        let (layer_fri, last_fri) = resolve_layers(job, preset)?;
        let base = resolve_base(base, &job.fri, preset, Place::Chain)?;
        let spec = Self { base, layers, layer_fri, last_fri };
        spec.validate()?;
        Ok(spec)
    }

    /// Refuses what no circuit can be built for. Cheap: does nothing but compare.
    ///
    /// Errors: the first parameter that is refused, with its value and what would be allowed.
    pub fn validate(&self) -> Result<(), ParamError> {
        if self.layers > MAX_LAYERS {
            return Err(ParamError::Refused {
                parameter: "recursion.layers".to_owned(),
                value: self.layers as u64,
                allowed: format!("0 to {MAX_LAYERS}"),
            });
        }
        fri::validate(&self.layer_fri, "fri")?;
        fri::validate(&self.last_fri, "final.fri")?;
        self.base.validate()
    }

    /// FRI parameters of the proof of `layer`, where 0 is the base proof.
    #[must_use]
    pub const fn fri_of(&self, layer: usize) -> &FriConfig {
        match layer {
            0 => &self.base.fri,
            _ if layer == self.layers => &self.last_fri,
            _ => &self.layer_fri,
        }
    }

    /// The least of `log_blowup × queries + query grinding` over every proof of the chain.
    #[must_use]
    pub fn naive_bits(&self) -> usize {
        (0..=self.layers).map(|layer| self.fri_of(layer).naive_bits()).min().unwrap_or(0)
    }
}

/// FRI parameters of every layer but the last, and of the last.
pub(crate) fn resolve_layers(
    job: &Job,
    preset: &Preset,
) -> Result<(FriConfig, FriConfig), ParamError> {
    let common = Source::Job("fri");
    let layer = FriLayers::defaults().with(&preset.layer, Source::Preset("preset.layer"));
    let last = layer.with(&preset.last, Source::Preset("preset.final")).with(&job.fri, common);
    let last = last.with(&job.last.fri, Source::Job("final.fri"));
    Ok((layer.with(&job.fri, common).resolve()?, last.resolve()?))
}

/// Where a base proof stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the bottom of a chain.
    Chain,
    /// As a leaf of a tree.
    Leaf,
}

/// The base proof takes the job's common parameters too: a chain is as strong as its weakest proof.
pub(crate) fn resolve_base(
    base: &BaseJob,
    common: &FriOverrides,
    preset: &Preset,
    place: Place,
) -> Result<BaseSpec, ParamError> {
    let (of_preset, section) = match (base, place) {
        (BaseJob::Keccak { .. }, _) => (preset.base.keccak, "preset.base.keccak"),
        (BaseJob::Fibonacci { .. }, Place::Leaf) => {
            (preset.tree.fibonacci.unwrap_or(preset.base.fibonacci), "preset.tree.fibonacci")
        }
        (BaseJob::Fibonacci { .. }, Place::Chain) => {
            (preset.base.fibonacci, "preset.base.fibonacci")
        }
    };
    let of_preset = &of_preset;
    let fri = FriLayers::defaults()
        .with(of_preset, Source::Preset(section))
        .with(common, Source::Job("fri"))
        .with(base.fri(), Source::Job("base.fri"))
        .resolve()?;
    Ok(BaseSpec { program: Program::of(base), fri })
}

fn below_modulus(parameter: &str, value: u64) -> Result<(), ParamError> {
    if value < MODULUS {
        return Ok(());
    }
    Err(ParamError::Refused {
        parameter: parameter.to_owned(),
        value,
        allowed: format!("0 to {} (less than the modulus of the field)", MODULUS - 1),
    })
}
