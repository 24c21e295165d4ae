//! What a proof says, and what somebody expects it to say.

use std::fmt;

use arbor_circuits::config::FriConfig;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::keccak::max_permutations;
use crate::json;
use crate::params::{ChainSpec, Program};
use crate::tree::ProofStatement;
use crate::verify::VerifyFailure;

/// What a proof says: nothing in here is more than the proof binds, except what is called *claimed*.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The computation at the bottom.
    pub base: BaseStatement,
    /// Layers above it.
    pub layers: usize,
    /// FRI parameters with which everything was proved.
    pub fri: StatedFri,
}

/// FRI parameters of the proofs of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct StatedFri {
    /// Of the base proof.
    pub base: FriConfig,
    /// Of every layer but the last; none if there is at most one layer.
    pub layer: Option<FriConfig>,
    /// Of the last layer; none if there is no layer.
    pub last: Option<FriConfig>,
}

/// What a base proof says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "program", rename_all = "snake_case", deny_unknown_fields)]
pub enum BaseStatement {
    /// A table of Keccak-f permutations exists.
    Keccak {
        /// Log of the rows of the table.
        log_rows: usize,
        /// Most permutations that the table can hold.
        max_permutations: usize,
        /// Whether inputs are bound: never, the AIR does not.
        inputs_bound: bool,
        /// What the prover says of them, which nobody can check.
        claimed: Claimed,
    },
    /// F(n) = result, where F(0) = a, F(1) = b, modulo p.
    Fibonacci {
        /// F(0).
        a: u64,
        /// F(1).
        b: u64,
        /// Index of the element.
        n: u64,
        /// The element.
        result: u32,
    },
}

/// What the prover of a Keccak base says and the proof does not bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Claimed {
    /// Permutations.
    pub num_hashes: u64,
    /// Seed of their inputs.
    pub seed: u64,
}

impl Statement {
    /// What a chain says if its base comes to `result` (Keccak: nothing).
    #[must_use]
    pub fn new(spec: &ChainSpec, result: Option<u32>) -> Self {
        let base = match spec.base.program {
            Program::Keccak { num_hashes, seed } => BaseStatement::Keccak {
                log_rows: spec.base.log_height(),
                max_permutations: max_permutations(spec.base.log_height()),
                inputs_bound: false,
                claimed: Claimed { num_hashes, seed },
            },
            Program::Fibonacci { n, a, b } => {
                BaseStatement::Fibonacci { a, b, n, result: result.unwrap_or_default() }
            }
        };
        let fri = StatedFri {
            base: spec.base.fri,
            layer: (spec.layers > 1).then_some(spec.layer_fri),
            last: (spec.layers > 0).then_some(spec.last_fri),
        };
        Self { base, layers: spec.layers, fri }
    }

    /// What the base comes to, if it says so.
    #[must_use]
    pub const fn result(&self) -> Option<u32> {
        match self.base {
            BaseStatement::Keccak { .. } => None,
            BaseStatement::Fibonacci { result, .. } => Some(result),
        }
    }

    /// The statement in words, one fact a line.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = match &self.base {
            BaseStatement::Keccak { log_rows, max_permutations, claimed, .. } => vec![
                format!(
                    "2^{log_rows} rows of KeccakAir, at most {max_permutations} permutations, \
                     inputs not bound"
                ),
                format!(
                    "claimed, not proved: {} permutations of inputs from seed {}",
                    claimed.num_hashes, claimed.seed
                ),
            ],
            BaseStatement::Fibonacci { a, b, n, result } => {
                vec![format!("F({n}) = {result} modulo p, where F(0) = {a} and F(1) = {b}")]
            }
        };
        lines.push(match self.layers {
            0 => "recursion: none, this is the base proof".to_owned(),
            1 => "recursion: chain of 1 layer".to_owned(),
            layers => format!("recursion: chain of {layers} layers"),
        });
        lines
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

/// What somebody expects of a proof: any part of a [`Statement`]. What is left out may be anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected(Value);

impl Expected {
    /// Reads an expectation. Whether its fields exist is seen when it is compared.
    ///
    /// Errors: [`VerifyFailure::Expectation`] if it is not a JSON object, or has a field twice.
    pub fn from_json(text: &str) -> Result<Self, VerifyFailure> {
        let not_an_object = || "a JSON object is needed".to_owned();
        match json::parse(text) {
            Ok(value @ Value::Object(_)) => Ok(Self(value)),
            Ok(_) => Err(VerifyFailure::Expectation { reason: not_an_object() }),
            Err(error) => Err(VerifyFailure::Expectation { reason: error.to_string() }),
        }
    }

    /// Compares every field that is given.
    ///
    /// Errors: [`VerifyFailure::Unexpected`] for the first field that differs, else
    /// [`VerifyFailure::Expectation`] for a field that no such statement has.
    pub fn check(&self, statement: &ProofStatement) -> Result<(), VerifyFailure> {
        let actual = serde_json::to_value(statement)
            .map_err(|error| VerifyFailure::Expectation { reason: error.to_string() })?;
        let mut unknown = None;
        compare(&self.0, &actual, "", &mut unknown)?;
        match unknown {
            Some(field) => Err(VerifyFailure::Expectation {
                reason: format!("the statement of this proof has no field \"{field}\""),
            }),
            None => Ok(()),
        }
    }
}

/// Compares the fields that both sides have and notes the first that only `expected` has.
fn compare(
    expected: &Value,
    actual: &Value,
    path: &str,
    unknown: &mut Option<String>,
) -> Result<(), VerifyFailure> {
    let (Value::Object(wanted), Value::Object(found)) = (expected, actual) else {
        return if expected == actual {
            Ok(())
        } else {
            Err(VerifyFailure::Unexpected {
                field: path.to_owned(),
                expected: expected.to_string(),
                got: actual.to_string(),
            })
        };
    };
    for (name, value) in wanted {
        let field = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match found.get(name) {
            Some(actual) => compare(value, actual, &field, unknown)?,
            None => {
                unknown.get_or_insert(field);
            }
        }
    }
    Ok(())
}
