//! The digests that say what was proved: of keys, of leaves, of nodes.
//!
//! Each is the first squeeze of a fresh challenger, so that the circuit computes them with the same
//! rows as its transcript.

use p3_challenger::{CanObserve, CanSample};
use p3_field::PrimeCharacteristicRing;

use crate::config::{Cap, Digest, F, challenger};

/// Bound into every digest; raised whenever the meaning of one changes.
pub const FORMAT: u32 = 1;
/// Opens the digest of a verifying key.
pub const TAG_KEY: u32 = 0x4b45_5900;
/// Opens the digest of a base statement.
pub const TAG_LEAF: u32 = 0x4c45_4100;
/// Opens the digest of a node.
pub const TAG_NODE: u32 = 0x4e4f_4400;

/// What one slot of a node binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Whether the slot counts: a slot that pads an uneven tree does not.
    pub present: bool,
    /// Digest of the verifying key of the proof in the slot.
    pub key: Digest,
    /// Digest of what that proof states: [`leaf_digest`] of a base proof, [`node_digest`] of a layer.
    pub statement: Digest,
}

/// Digest of a verifying key: the shape of its proofs and, if any, their preprocessed columns.
pub fn key_digest(shape: &Digest, preprocessed: Option<&Cap>) -> Digest {
    let cap = preprocessed.map_or(&[][..], |cap| cap.roots());
    let mut input =
        vec![F::from_u32(TAG_KEY), F::from_u32(FORMAT), F::from_usize(cap.len()), F::ZERO];
    input.extend(shape);
    input.extend(cap.iter().flatten());
    squeeze(&input)
}

/// Statement digest of a base proof with these public values.
pub fn leaf_digest(public_values: &[F]) -> Digest {
    let len = F::from_usize(public_values.len());
    let mut input = vec![F::from_u32(TAG_LEAF), F::from_u32(FORMAT), len, F::ZERO];
    input.extend(public_values);
    squeeze(&input)
}

/// Statement digest of a layer over `slots`: its eight public values.
pub fn node_digest(slots: &[Slot]) -> Digest {
    let arity = F::from_usize(slots.len());
    let mut input = vec![F::from_u32(TAG_NODE), F::from_u32(FORMAT), arity, F::ZERO];
    for slot in slots {
        input.extend([F::from_bool(slot.present), F::ZERO, F::ZERO, F::ZERO]);
        input.extend(slot.key);
        input.extend(slot.statement);
    }
    squeeze(&input)
}

/// Absorbs `input` into a fresh challenger and squeezes a digest.
pub(crate) fn squeeze(input: &[F]) -> Digest {
    let mut sponge = challenger();
    sponge.observe_slice(input);
    std::array::from_fn(|_| sponge.sample())
}
