//! H, the hash table.
//!
//! **Claim.** Every row permutes its input by Poseidon2, and rows of each kind are linked so that
//! whole hashes, Merkle paths, FRI folds and sponge transcripts are right.
//!
//! **Row.** One permutation and 28 scratch columns that the kinds share:
//! - *leaf*: absorbs up to 8 opened values and folds the same columns into the running sum of the
//!   reduced opening. One column feeds both, so nothing can be hashed and not summed.
//! - *path*: one Merkle step. Its bit also clears one bit of the index and multiplies the point.
//! - *FRI leaf*: absorbs one pair of a FRI group and folds it; both values can be read at a slot.
//! - *sponge*: the duplex sponge of the transcript and of the statement digests.
//! - *bits*: two rows with the canonical decomposition of one sampled element.
//! - *factor*: multiplies a point by what its cap bits contribute.
//! - *padding*: permutes zero.
//!
//! **Height.** A power of two, the rows of the program padded.
//!
//! **Degree.** 3. Row selectors are folded into the coefficients where a product would exceed it.
//!
//! **Bus.** Three ports a row, each one exclusive group of interactions: A, B and C.
//!
//! **Why it is sound.** Kinds, addresses and multiplicities are preprocessed. Two kinds of address
//! depend on the witness: a cap entry at `base + rest`, a slot of a FRI group at `base + slot`.
//! `rest` is the sampled index minus the path's bits times their weights, an integer of magnitude
//! below 2^height, and `base` is the middle of a range of addresses that is wider than that and that
//! nothing else uses ([`Regions`](crate::program::regions)): so only `rest` = the index
//! with its low bits cleared meets an address, which also makes the bits those of the index. `slot`
//! is the difference of two such numbers.

mod air;
mod columns;
mod groups;
mod permutation;
#[cfg(test)]
mod tests;
mod trace;

pub use air::HashAir;
pub use columns::{
    HALF_FULL_ROUNDS, HashCols, HashPreprocessed, NUM_COLS, NUM_PREPROCESSED, PARTIAL_ROUNDS,
    PERM_COLS, SCRATCH, scratch,
};
pub(crate) use groups::groups;
pub use trace::{fill_permutations, preprocessed_trace};
