//! How the parts of a job are read.
//!
//! Serde reads an enum that names its variant in a field by way of a buffer, which forgets where in the
//! text a mistake stands. So every variant is read as one flat struct, and then sorted out: whoever tracks
//! the path of an error gets it down to the field. No number and no section may be `null`, and no section may
//! be an array of its fields, which serde would take too.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, de::Error as _};

use super::{BaseJob, FinishedJob, FriOverrides, Leaf, Recursion};
use super::{default_b, default_layers, default_n, default_num_hashes, default_seed};

/// A value that may be left out, but not be `null`.
pub(super) fn some<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// A value that is written as an object, with names.
pub(super) struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        object(deserializer).map(Self)
    }
}

/// A value that is written as an object, with names.
pub(super) fn object<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Fields<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_map(Fields(PhantomData))
}

/// A section that may be left out, but not be `null`.
pub(super) fn section<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    object(deserializer).map(Some)
}

/// Labels; the same one twice is an error.
pub(super) fn labels<'de, D>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error>
where
    D: Deserializer<'de>,
{
    struct Labels;

    impl<'de> Visitor<'de> for Labels {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of strings")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut labels = BTreeMap::new();
            while let Some((name, value)) = map.next_entry::<String, String>()? {
                if labels.contains_key(&name) {
                    return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
                }
                labels.insert(name, value);
            }
            Ok(labels)
        }
    }

    deserializer.deserialize_map(Labels)
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ProgramName {
    Keccak,
    Fibonacci,
}

/// A leaf or a base, before it is known which.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLeaf {
    #[serde(default, deserialize_with = "some")]
    job: Option<String>,
    #[serde(default, deserialize_with = "some")]
    program: Option<ProgramName>,
    #[serde(default, deserialize_with = "some")]
    num_hashes: Option<u64>,
    #[serde(default, deserialize_with = "some")]
    seed: Option<u64>,
    #[serde(default, deserialize_with = "some")]
    n: Option<u64>,
    #[serde(default, deserialize_with = "some")]
    a: Option<u64>,
    #[serde(default, deserialize_with = "some")]
    b: Option<u64>,
    #[serde(default, deserialize_with = "some")]
    fri: Option<Object<FriOverrides>>,
}

/// A field that does not belong to the others, in the words of serde.
struct Unexpected {
    field: &'static str,
    expected: &'static str,
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown field `{}`, expected one of {}", self.field, self.expected)
    }
}

/// Refuses the first field that is there and should not.
fn refuse(fields: &[(&'static str, bool)], expected: &'static str) -> Result<(), String> {
    match fields.iter().find(|(_, given)| *given) {
        Some(&(field, _)) => Err(Unexpected { field, expected }.to_string()),
        None => Ok(()),
    }
}

impl TryFrom<Object<RawLeaf>> for BaseJob {
    type Error = String;

    fn try_from(Object(raw): Object<RawLeaf>) -> Result<Self, String> {
        let Some(program) = raw.program else { return Err("missing field `program`".to_owned()) };
        let RawLeaf { job, num_hashes, seed, n, a, b, fri, .. } = raw;
        let fri = fri.map(|Object(fri)| fri).unwrap_or_default();
        match program {
            ProgramName::Keccak => {
                let others = [
                    ("job", job.is_some()),
                    ("n", n.is_some()),
                    ("a", a.is_some()),
                    ("b", b.is_some()),
                ];
                refuse(&others, "`program`, `num_hashes`, `seed`, `fri`")?;
                let num_hashes = num_hashes.unwrap_or_else(default_num_hashes);
                Ok(Self::Keccak { num_hashes, seed: seed.unwrap_or_else(default_seed), fri })
            }
            ProgramName::Fibonacci => {
                let others = [
                    ("job", job.is_some()),
                    ("num_hashes", num_hashes.is_some()),
                    ("seed", seed.is_some()),
                ];
                refuse(&others, "`program`, `n`, `a`, `b`, `fri`")?;
                let n = n.unwrap_or_else(default_n);
                let b = b.unwrap_or_else(default_b);
                Ok(Self::Fibonacci { n, a: a.unwrap_or_default(), b, fri })
            }
        }
    }
}

impl TryFrom<Object<RawLeaf>> for Leaf {
    type Error = String;

    fn try_from(Object(mut raw): Object<RawLeaf>) -> Result<Self, String> {
        let Some(job) = raw.job.take() else {
            return BaseJob::try_from(Object(raw)).map(Self::Base);
        };
        let others = [
            ("program", raw.program.is_some()),
            ("num_hashes", raw.num_hashes.is_some()),
            ("seed", raw.seed.is_some()),
            ("n", raw.n.is_some()),
            ("a", raw.a.is_some()),
            ("b", raw.b.is_some()),
            ("fri", raw.fri.is_some()),
        ];
        refuse(&others, "`job`")?;
        Ok(Self::Finished(FinishedJob { job }))
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ModeName {
    Chain,
    Tree,
}

/// A chain or a tree, before it is known which.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRecursion {
    mode: ModeName,
    #[serde(default, deserialize_with = "some")]
    layers: Option<usize>,
    #[serde(default, deserialize_with = "some")]
    arity: Option<usize>,
    #[serde(default, deserialize_with = "some")]
    depth: Option<usize>,
    #[serde(default, deserialize_with = "some")]
    leaves: Option<Vec<Leaf>>,
}

impl TryFrom<Object<RawRecursion>> for Recursion {
    type Error = String;

    fn try_from(Object(raw): Object<RawRecursion>) -> Result<Self, String> {
        let RawRecursion { mode, layers, arity, depth, leaves } = raw;
        match mode {
            ModeName::Chain => {
                let others = [
                    ("arity", arity.is_some()),
                    ("depth", depth.is_some()),
                    ("leaves", leaves.is_some()),
                ];
                refuse(&others, "`mode`, `layers`")?;
                Ok(Self::Chain { layers: layers.unwrap_or_else(default_layers) })
            }
            ModeName::Tree => {
                refuse(&[("layers", layers.is_some())], "`mode`, `arity`, `depth`, `leaves`")?;
                let Some(arity) = arity else { return Err("missing field `arity`".to_owned()) };
                Ok(Self::Tree { arity, depth, leaves })
            }
        }
    }
}
