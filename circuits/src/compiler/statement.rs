//! The node digest over a layer's children, computed in-circuit.
//!
//! Native twin: [`crate::statement`].

use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};

use super::merkle::cap_packs;
use super::prologue::Transcript;
use super::sponge::Sponge;
use super::transcript::CapId;
use crate::child::{ChildShape, Commitment, Level};
use crate::config::{D, Digest, EF, F};
use crate::program::{Addr, ProgramBuilder, Source};
use crate::statement::{FORMAT, TAG_KEY, TAG_LEAF, TAG_NODE, key_digest};

/// A digest as two packs.
type DigestAddr = [Addr; 2];

/// What a slot of the node binds.
pub(super) struct SlotAddr {
    /// 1 if the slot counts, 0 if it pads.
    pub present: Addr,
    key: DigestAddr,
    statement: DigestAddr,
}

/// Emits the digests of a child's key and statement.
pub(super) fn compile_slot(
    builder: &mut ProgramBuilder,
    shape: &ChildShape,
    transcript: &Transcript,
    present: Addr,
) -> SlotAddr {
    let key = compile_key(builder, shape, transcript);
    let statement = match shape.level {
        Level::Layer => [transcript.public_packs[0], transcript.public_packs[1]],
        Level::Base => compile_leaf(builder, shape, transcript),
    };
    SlotAddr { present, key, statement }
}

/// Emits the digest of the node.
pub(super) fn compile_node(builder: &mut ProgramBuilder, slots: &[SlotAddr]) -> DigestAddr {
    let mut sponge = Sponge::new(builder, Source::Ports);
    sponge.constants(&header(TAG_NODE, slots.len()));
    for slot in slots {
        sponge.read(slot.present);
        for pack in slot.key.into_iter().chain(slot.statement) {
            sponge.read(pack);
        }
    }
    squeeze(sponge)
}

fn header(tag: u32, len: usize) -> [F; D] {
    [F::from_u32(tag), F::from_u32(FORMAT), F::from_usize(len), F::ZERO]
}

/// A key without preprocessed columns is a constant; else the digest covers the very cap that the
/// transcript absorbs and that the paths end in.
fn compile_key(
    builder: &mut ProgramBuilder,
    shape: &ChildShape,
    transcript: &Transcript,
) -> DigestAddr {
    let Some(&cap) = transcript.caps.get(&CapId::Input(Commitment::Preprocessed)) else {
        return constant_digest(builder, &key_digest(&shape.digest(), None));
    };
    let mut sponge = Sponge::new(builder, Source::Ports);
    sponge.constants(&header(TAG_KEY, 1 << shape.fri.cap_height));
    sponge.constants(&shape.digest());
    for pack in cap_packs(cap, shape.fri.cap_height) {
        sponge.read(pack);
    }
    squeeze(sponge)
}

/// The digest of a base proof's public values.
fn compile_leaf(
    builder: &mut ProgramBuilder,
    shape: &ChildShape,
    transcript: &Transcript,
) -> DigestAddr {
    let count = shape.num_publics();
    // The last pack may hold, behind the public values, whatever followed them in the transcript.
    let tail = (!count.is_multiple_of(D)).then(|| {
        let [one, x, x2, _] = builder.basis();
        let values = &transcript.publics[count - count % D..];
        let mut sum = Addr::ZERO;
        for (&value, power) in values.iter().zip([one, x, x2]) {
            sum = builder.mul_add(value, power, sum);
        }
        sum
    });
    let mut sponge = Sponge::new(builder, Source::Ports);
    sponge.constants(&header(TAG_LEAF, count));
    for &pack in &transcript.public_packs[..count / D] {
        sponge.read(pack);
    }
    if let Some(tail) = tail {
        sponge.read_partial(tail, count % D);
    }
    squeeze(sponge)
}

fn squeeze(mut sponge: Sponge<'_>) -> DigestAddr {
    [0, 1].map(|_| sponge.sample_ext().expect("a digest is aligned"))
}

fn constant_digest(builder: &mut ProgramBuilder, digest: &Digest) -> DigestAddr {
    [0, 1].map(|half| {
        builder.ext_constant(EF::from_basis_coefficients_fn(|limb| digest[half * D + limb]))
    })
}
