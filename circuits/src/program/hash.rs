//! Instructions of the hash table H.

use p3_field::PrimeCharacteristicRing;

use super::builder::Addr;
use crate::config::F;
use crate::tables::hash::HashPreprocessed;

/// How a port uses its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads one value.
    Read,
    /// Writes a value that is read as often as the program says.
    Write,
    /// Writes a value that is also read at a witness-dependent index: the filler counts.
    WriteIndexed,
    /// Reads one of several values; the address is that of the first.
    ReadIndexed,
}

/// One port of a row of H.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The address.
    pub addr: Addr,
    /// What is done with it.
    pub access: Access,
}

impl Port {
    /// Reads `addr`.
    #[must_use]
    pub const fn read(addr: Addr) -> Option<Self> {
        Some(Self { addr, access: Access::Read })
    }

    /// Writes `addr`.
    #[must_use]
    pub const fn write(addr: Addr) -> Option<Self> {
        Some(Self { addr, access: Access::Write })
    }

    /// Writes `addr`, which is read at an index.
    #[must_use]
    pub const fn write_indexed(addr: Addr) -> Option<Self> {
        Some(Self { addr, access: Access::WriteIndexed })
    }

    /// Reads at an index, counted from `first`.
    #[must_use]
    pub const fn read_indexed(first: Addr) -> Option<Self> {
        Some(Self { addr: first, access: Access::ReadIndexed })
    }
}

/// Where the filler takes the witness of a row from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A sponge row that takes the next elements of the child's transcript.
    Transcript,
    /// A sponge row that takes what its ports A and B read.
    Ports,
    /// The input of the row before.
    Repeat,
    /// Opened values: tree, group of equal heights in it, first column.
    Leaf {
        /// Input tree.
        tree: u16,
        /// Group of matrices of one height, tallest first.
        group: u16,
        /// First column, in the concatenation of the group's rows.
        column: u32,
    },
    /// A Merkle step.
    Path {
        /// Tree: input trees, then folding rounds.
        tree: u16,
        /// Step, counted from the leaf.
        level: u16,
        /// Which bit of the index.
        bit: u16,
    },
    /// The digest of shorter matrices.
    Inject,
    /// The factor of the cap bits.
    Factor,
    /// A pair of a FRI group.
    Fold {
        /// Folding round.
        round: u16,
        /// Pair in the group.
        pair: u16,
        /// Log of the group's size.
        log_arity: u16,
        /// Lowest bit of the slot in the index.
        bit: u16,
        /// The value that the group has to hold at the slot.
        queried: Addr,
    },
    /// Which limb of the pack that port A reads.
    BitsLow {
        /// The limb.
        limb: u8,
    },
    /// The high half of the bits of the row before.
    BitsHigh {
        /// How many low bits make the index.
        num_bits: u8,
    },
}

/// One row of H.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashRow {
    /// Selectors, flags and coefficients; addresses and multiplicities are filled in at the end.
    pub fixed: HashPreprocessed<F>,
    /// Ports A, B and C.
    pub ports: [Option<Port>; 3],
    /// Where the witness comes from.
    pub source: Source,
}

impl HashRow {
    /// A row with nothing set.
    #[must_use]
    pub fn new(source: Source) -> Self {
        Self { fixed: HashPreprocessed::default(), ports: [None; 3], source }
    }

    /// Number of absorbed slots.
    #[must_use]
    pub fn absorbed(&self) -> usize {
        self.fixed.mask.iter().filter(|&&mask| mask == F::ONE).count()
    }

    /// Whether the row's permutation is one that the native verifier computes too.
    #[must_use]
    pub const fn hashes(&self) -> bool {
        !matches!(
            self.source,
            Source::Factor | Source::BitsLow { .. } | Source::BitsHigh { .. } | Source::Repeat
        )
    }
}

/// Masks that select slots `start..end`.
pub fn mask(start: usize, end: usize) -> [F; 8] {
    std::array::from_fn(|slot| F::from_bool((start..end).contains(&slot)))
}
