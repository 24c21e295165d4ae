//! Named sets of FRI parameters: embedded in the crate, or, on the command line, a file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::ParamError;
use crate::job::FriOverrides;

/// The presets that travel inside the crate.
const EMBEDDED: [(&str, &str); 3] = [
    ("default", include_str!("../../configs/presets/default.toml")),
    ("blowup8", include_str!("../../configs/presets/blowup8.toml")),
    ("insecure-test", include_str!("../../configs/presets/insecure-test.toml")),
];

/// FRI parameters for the proofs of a chain; whatever is left out has a built-in default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Preset {
    /// What the preset is for, in one line.
    pub description: String,
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
        let text = text.ok_or_else(|| ParamError::UnknownPreset {
            name: name.to_owned(),
            known: names().collect::<Vec<_>>().join(", "),
        })?;
        Self::from_toml(text, name)
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

/// Names of the embedded presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    EMBEDDED.iter().map(|(name, _)| *name)
}
