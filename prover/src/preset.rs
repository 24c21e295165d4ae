//! Named sets of FRI parameters: embedded in the crate, or, on the command line, a file.

use std::ops::RangeInclusive;
use std::path::Path;

use p3_security::proximity::alpha_ldr_m;
use serde::{Deserialize, Serialize};

use crate::error::ParamError;
use crate::job::FriOverrides;
use crate::security::terms;

/// The presets that travel inside the crate.
const EMBEDDED: [(&str, &str); 5] = [
    ("default", include_str!("../../configs/presets/default.toml")),
    ("proven-100", include_str!("../../configs/presets/proven-100.toml")),
    ("compact", include_str!("../../configs/presets/compact.toml")),
    ("blowup8", include_str!("../../configs/presets/blowup8.toml")),
    ("insecure-test", include_str!("../../configs/presets/insecure-test.toml")),
];

/// N of the presets `proven-N`: `proven-100` with other queries.
pub const PROVEN: RangeInclusive<u32> = 60..=110;
/// The preset that they are made from.
const PROVEN_TEMPLATE: &str = "proven-100";
/// Multiplicity of the Johnson regime for which `proven-N` chooses its queries: the least there is, which
/// takes the least grinding elsewhere.
const PROVEN_MULTIPLICITY: usize = 3;

/// FRI parameters for the proofs of a chain; whatever is left out has a built-in default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Preset {
    /// What the preset is for, in one line.
    pub description: String,
    /// Proven bits that every proof has. A job that has fewer gets more grinding and, where that cannot help,
    /// more queries, as far as it sets neither itself; if that is not enough it is refused.
    pub min_proven_bits: Option<u32>,
    /// The base proofs.
    pub base: BasePresets,
    /// Every layer.
    pub layer: FriOverrides,
    /// The last layer, where it differs from the others.
    #[serde(rename = "final")]
    pub last: FriOverrides,
    /// What differs in trees.
    pub tree: TreePresets,
}

/// FRI parameters of the leaves of trees, where they differ from those of chains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TreePresets {
    /// Fibonacci leaves, if they differ.
    pub fibonacci: Option<FriOverrides>,
}

/// FRI parameters of the base proofs, by program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BasePresets {
    /// Keccak.
    pub keccak: FriOverrides,
    /// Fibonacci.
    pub fibonacci: FriOverrides,
}

impl Preset {
    /// The embedded preset of this name.
    ///
    /// Errors: [`ParamError::UnknownPreset`] lists the names there are.
    pub fn named(name: &str) -> Result<Self, ParamError> {
        let text = EMBEDDED.iter().find(|(known, _)| *known == name).map(|(_, text)| text);
        if text.is_none()
            && let Some(bits) = proven(name)
        {
            return Self::proven(bits);
        }
        let text = text.ok_or_else(|| ParamError::UnknownPreset {
            name: name.to_owned(),
            known: names().collect::<Vec<_>>().join(", "),
        })?;
        Self::from_toml(text, name)
    }

    /// `proven-100` with the queries for another number of bits, 60 to 110.
    ///
    /// Errors: [`ParamError::Refused`] for any other.
    pub fn proven(bits: u32) -> Result<Self, ParamError> {
        if !PROVEN.contains(&bits) {
            return Err(ParamError::Refused {
                parameter: "min_proven_bits".to_owned(),
                value: bits.into(),
                allowed: format!("{} to {}", PROVEN.start(), PROVEN.end()),
            });
        }
        let mut preset = Self::named(PROVEN_TEMPLATE)?;
        preset.description = format!("At least {bits} proven bits in every proof");
        preset.min_proven_bits = Some(bits);
        let TreePresets { fibonacci } = &mut preset.tree;
        let sections = [&mut preset.base.keccak, &mut preset.base.fibonacci, &mut preset.layer];
        for fri in sections.into_iter().chain(fibonacci) {
            fri.num_queries = Some(queries_for(f64::from(bits), fri));
        }
        Ok(preset)
    }

    /// Reads a preset; `origin` names it in errors.
    ///
    /// Errors: [`ParamError::Preset`] says what does not fit.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, ParamError> {
        toml::from_str(text).map_err(|source| ParamError::Preset {
            origin: origin.to_owned(),
            source: Box::new(source),
        })
    }

    /// Reads a preset file. For the command line alone: a job from elsewhere names no files.
    ///
    /// Errors: the file cannot be read, or as [`Self::from_toml`].
    pub fn load(path: &Path) -> Result<Self, ParamError> {
        let text = std::fs::read_to_string(path).map_err(|source| ParamError::PresetFile {
            path: path.to_owned(),
            known: names().collect::<Vec<_>>().join(", "),
            source,
        })?;
        Self::from_toml(&text, &path.display().to_string())
    }
}

/// N of the name `proven-N`, if it is in range and written without zeros before it.
fn proven(name: &str) -> Option<u32> {
    let bits = name.strip_prefix("proven-")?.parse().ok()?;
    (PROVEN.contains(&bits) && name == format!("proven-{bits}")).then_some(bits)
}

/// Queries that are worth `bits` with the grinding of `fri`, at [`PROVEN_MULTIPLICITY`].
fn queries_for(bits: f64, fri: &FriOverrides) -> usize {
    let agreement = alpha_ldr_m(fri.log_blowup.unwrap_or(2), PROVEN_MULTIPLICITY);
    let ground = terms::grinding(fri.query_pow_bits.unwrap_or(0));
    ((bits - ground) / -agreement.log2()).ceil().max(1.0) as usize
}

/// Names of the embedded presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    EMBEDDED.iter().map(|(name, _)| *name)
}
