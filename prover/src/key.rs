//! Digests as text, and what a circuit is remembered by.

use arbor_circuits::child::ChildShape;
use arbor_circuits::config::{DIGEST, Digest, F, FriConfig};
use p3_field::{PrimeCharacteristicRing, PrimeField32};

use crate::params::BaseSpec;

/// What determines the circuit of a layer. The child's preprocessed commitment is a witness, so it is
/// not in here, and one circuit serves every depth.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LayerKey {
    /// Shape digests of the children.
    pub children: Vec<Digest>,
    /// FRI parameters of the layer's own proof.
    pub fri: FriConfig,
    /// Least height of the layer's tables.
    pub min_log_height: usize,
}

/// What any circuit is remembered by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CircuitKey {
    /// A base computation, without its inputs.
    Base(BaseSpec),
    /// A layer.
    Layer(LayerKey),
}

impl LayerKey {
    /// The key of a layer over one proof of each of `children`.
    #[must_use]
    pub fn new(children: &[ChildShape], fri: FriConfig, min_log_height: usize) -> Self {
        Self { children: children.iter().map(ChildShape::digest).collect(), fri, min_log_height }
    }
}

/// A digest as 64 hexadecimal digits: eight for each element in canonical form, most significant
/// digit first.
#[must_use]
pub fn to_hex(digest: &Digest) -> String {
    digest.iter().map(|element| format!("{:08x}", element.as_canonical_u32())).collect()
}

/// Reads what [`to_hex`] wrote; `None` for anything else, elements that are not reduced included.
#[must_use]
pub fn from_hex(text: &str) -> Option<Digest> {
    let digits = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    if text.len() != 8 * DIGEST || !text.bytes().all(digits) {
        return None;
    }
    let mut digest = [F::ZERO; DIGEST];
    for (i, element) in digest.iter_mut().enumerate() {
        let value = u32::from_str_radix(text.get(8 * i..8 * i + 8)?, 16).ok()?;
        if value >= F::ORDER_U32 {
            return None;
        }
        *element = F::from_u32(value);
    }
    Some(digest)
}
