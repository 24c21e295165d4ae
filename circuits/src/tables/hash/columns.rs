//! Columns of H.

use p3_koala_bear::{KOALABEAR_POSEIDON2_HALF_FULL_ROUNDS, KOALABEAR_POSEIDON2_PARTIAL_ROUNDS_16};

use crate::config::{D, WIDTH};

/// Full rounds before the partial rounds, and again after them.
pub const HALF_FULL_ROUNDS: usize = KOALABEAR_POSEIDON2_HALF_FULL_ROUNDS;
/// Partial rounds.
pub const PARTIAL_ROUNDS: usize = KOALABEAR_POSEIDON2_PARTIAL_ROUNDS_16;
/// Columns of the permutation: the input, the state after each full round, one cell a partial round.
pub const PERM_COLS: usize = WIDTH + 2 * HALF_FULL_ROUNDS * WIDTH + PARTIAL_ROUNDS;
/// Columns that the row kinds share.
pub const SCRATCH: usize = 28;
/// Number of main columns.
pub const NUM_COLS: usize = PERM_COLS + SCRATCH;
/// Number of preprocessed columns.
pub const NUM_PREPROCESSED: usize = 40;

/// One row, by reference.
#[derive(Clone, Copy, Debug)]
pub struct HashCols<'a, T> {
    row: &'a [T],
}

impl<'a, T: Copy> HashCols<'a, T> {
    /// Views a row.
    ///
    /// # Panics
    /// If the row is not [`NUM_COLS`] wide.
    #[must_use]
    pub const fn new(row: &'a [T]) -> Self {
        assert!(row.len() == NUM_COLS, "a row of H");
        Self { row }
    }

    fn array<const N: usize>(&self, start: usize) -> [T; N] {
        std::array::from_fn(|i| self.row[start + i])
    }

    fn scratch<const N: usize>(&self, start: usize) -> [T; N] {
        self.array(PERM_COLS + start)
    }

    /// Input of the permutation. Bound by the row kind.
    #[must_use]
    pub fn input(&self) -> [T; WIDTH] {
        self.array(0)
    }

    /// State after full round `round`, counted through both halves. Bound by the permutation.
    #[must_use]
    pub fn full_round(&self, round: usize) -> [T; WIDTH] {
        let partial = if round < HALF_FULL_ROUNDS { 0 } else { PARTIAL_ROUNDS };
        self.array(WIDTH * (1 + round) + partial)
    }

    /// The S-box output of partial round `round`. Bound by the permutation.
    #[must_use]
    pub const fn partial_round(&self, round: usize) -> T {
        self.row[WIDTH * (1 + HALF_FULL_ROUNDS) + round]
    }

    /// Output of the permutation.
    #[must_use]
    pub fn output(&self) -> [T; WIDTH] {
        self.full_round(2 * HALF_FULL_ROUNDS - 1)
    }

    /// All scratch columns.
    #[must_use]
    pub fn all_scratch(&self) -> [T; SCRATCH] {
        self.scratch(0)
    }

    /// γ = α⁻¹ on leaf rows, u = β/s on FRI leaf rows. Read from the bus on the first row, carried.
    #[must_use]
    pub fn gamma(&self) -> [T; D] {
        self.scratch(scratch::GAMMA)
    }

    /// γ², or u².
    #[must_use]
    pub fn gamma2(&self) -> [T; D] {
        self.scratch(scratch::GAMMA2)
    }

    /// γ³ on leaf rows.
    #[must_use]
    pub fn gamma3(&self) -> [T; D] {
        self.scratch(scratch::GAMMA3)
    }

    /// γ⁴ on leaf rows.
    #[must_use]
    pub fn gamma4(&self) -> [T; D] {
        self.scratch(scratch::GAMMA4)
    }

    /// The running sum before this row (leaf) or with it (FRI leaf).
    #[must_use]
    pub fn acc(&self) -> [T; D] {
        self.scratch(scratch::ACC)
    }

    /// The running sum after four of this row's columns.
    #[must_use]
    pub fn half(&self) -> [T; D] {
        self.scratch(scratch::HALF)
    }

    /// The running sum after all eight of this row's columns.
    #[must_use]
    pub fn sum(&self) -> [T; D] {
        self.scratch(scratch::SUM)
    }

    /// f = (lo + hi) + c·u·(lo − hi) on FRI leaf rows.
    #[must_use]
    pub fn fold(&self) -> [T; D] {
        self.scratch(scratch::FOLD)
    }

    /// v = 1/(c²u² − 1) on FRI leaf rows.
    #[must_use]
    pub fn weight(&self) -> [T; D] {
        self.scratch(scratch::WEIGHT)
    }

    /// How often each half of an absorbed pair is read at a witness-dependent index, and how often
    /// the row's entry of the factor table is.
    #[must_use]
    pub fn multiplicity(&self) -> [T; 3] {
        self.scratch(scratch::MULTIPLICITY)
    }

    /// A value read from the bus: the folded value on the first row of a FRI path, the pack of four
    /// base elements on a row of bits.
    #[must_use]
    pub fn value(&self) -> [T; D] {
        self.scratch(scratch::VALUE)
    }

    /// The element taken out of the pack on a row of bits.
    #[must_use]
    pub const fn element(&self) -> T {
        self.row[PERM_COLS + scratch::ELEMENT]
    }

    /// Whether the seven top bits of the element are all one.
    #[must_use]
    pub const fn top_ones(&self) -> T {
        self.row[PERM_COLS + scratch::TOP_ONES]
    }

    /// Inverse of (sum of the seven top bits) − 7, if there is one.
    #[must_use]
    pub const fn top_inverse(&self) -> T {
        self.row[PERM_COLS + scratch::TOP_INVERSE]
    }

    /// The low bits of the element that the masks select.
    #[must_use]
    pub const fn index(&self) -> T {
        self.row[PERM_COLS + scratch::INDEX]
    }

    /// On the first row of a path: the index with the bits below this tree's cleared.
    #[must_use]
    pub const fn start(&self) -> T {
        self.row[PERM_COLS + scratch::START]
    }

    /// On the first row of a FRI path: the position of the queried value in its group.
    #[must_use]
    pub const fn slot(&self) -> T {
        self.row[PERM_COLS + scratch::SLOT]
    }

    /// The direction bit of a path row. Boolean.
    #[must_use]
    pub const fn bit(&self) -> T {
        self.row[PERM_COLS + scratch::BIT]
    }

    /// The index with the bits up to and including this row's cleared.
    #[must_use]
    pub const fn rest(&self) -> T {
        self.row[PERM_COLS + scratch::REST]
    }

    /// The evaluation point, as far as the bits so far determine it.
    #[must_use]
    pub const fn point(&self) -> T {
        self.row[PERM_COLS + scratch::POINT]
    }

    /// The factor that the cap bits contribute to the point, read from its table.
    #[must_use]
    pub const fn factor(&self) -> T {
        self.row[PERM_COLS + scratch::FACTOR]
    }
}

/// Places of the shared columns, counted from [`PERM_COLS`].
///
/// Some terms of the constraints are switched by a preprocessed coefficient alone (a mask, κ, c);
/// a kind that uses such a coefficient for something else keeps the columns of those terms free, so
/// that an honest row can set them to zero.
pub mod scratch {
    /// See [`HashCols::gamma`](super::HashCols::gamma).
    pub const GAMMA: usize = 0;
    /// See [`HashCols::gamma2`](super::HashCols::gamma2).
    pub const GAMMA2: usize = 4;
    /// See [`HashCols::gamma3`](super::HashCols::gamma3).
    pub const GAMMA3: usize = 8;
    /// See [`HashCols::gamma4`](super::HashCols::gamma4).
    pub const GAMMA4: usize = 12;
    /// See [`HashCols::acc`](super::HashCols::acc).
    pub const ACC: usize = 16;
    /// See [`HashCols::half`](super::HashCols::half).
    pub const HALF: usize = 20;
    /// See [`HashCols::sum`](super::HashCols::sum).
    pub const SUM: usize = 24;
    /// See [`HashCols::fold`](super::HashCols::fold).
    pub const FOLD: usize = 8;
    /// See [`HashCols::weight`](super::HashCols::weight).
    pub const WEIGHT: usize = 12;
    /// See [`HashCols::multiplicity`](super::HashCols::multiplicity).
    pub const MULTIPLICITY: usize = 20;
    /// See [`HashCols::value`](super::HashCols::value).
    pub const VALUE: usize = 12;
    /// See [`HashCols::element`](super::HashCols::element).
    pub const ELEMENT: usize = 16;
    /// See [`HashCols::top_ones`](super::HashCols::top_ones).
    pub const TOP_ONES: usize = 17;
    /// See [`HashCols::top_inverse`](super::HashCols::top_inverse).
    pub const TOP_INVERSE: usize = 18;
    /// See [`HashCols::index`](super::HashCols::index).
    pub const INDEX: usize = 19;
    /// See [`HashCols::start`](super::HashCols::start).
    pub const START: usize = 22;
    /// See [`HashCols::slot`](super::HashCols::slot).
    pub const SLOT: usize = 23;
    /// See [`HashCols::bit`](super::HashCols::bit).
    pub const BIT: usize = 24;
    /// See [`HashCols::rest`](super::HashCols::rest).
    pub const REST: usize = 25;
    /// See [`HashCols::point`](super::HashCols::point).
    pub const POINT: usize = 26;
    /// See [`HashCols::factor`](super::HashCols::factor).
    pub const FACTOR: usize = 27;
}

/// Preprocessed columns of one row. All are zero on padding rows.
///
/// Selectors and flags are 0 or 1, and at most one flag of each port is set on a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HashPreprocessed<T> {
    /// Which rate slots are absorbed; on rows of bits, which bits belong to the index.
    pub mask: [T; 8],
    /// First row of the hash of a Merkle leaf.
    pub leaf_first: T,
    /// Further row of such a hash.
    pub leaf_next: T,
    /// Permutes the input of the row before again: a second segment of its columns, or more ports.
    pub repeat: T,
    /// The running sum goes on from the row before.
    pub sum_next: T,
    /// First row of the hash of a FRI group.
    pub fri_first: T,
    /// Further row of such a hash.
    pub fri_next: T,
    /// First row of a sponge.
    pub sponge_first: T,
    /// Further row of a sponge that absorbs.
    pub sponge_next: T,
    /// Further row of a sponge that only permutes.
    pub sponge_squeeze: T,
    /// A step of a Merkle path.
    pub path: T,
    /// A step that is not the first of its path.
    pub path_next: T,
    /// The last step of a path: its output is looked up in the cap. On other rows: the output is put
    /// on the bus.
    pub last: T,
    /// The first step of the path of a FRI group.
    pub slot: T,
    /// Mixes the digest of shorter matrices into a path.
    pub inject: T,
    /// Multiplies the point by the factor of its cap bits.
    pub factor: T,
    /// Takes one base element out of a pack; low half of its bits.
    pub bits_low: T,
    /// High half of the bits of the element of the row before.
    pub bits_high: T,
    /// c of a FRI pair; the bit's weight 2ⁱ on path rows; which element, on rows of bits.
    pub c: T,
    /// c² of a FRI pair; which element, on rows of bits.
    pub c2: T,
    /// κ of a path row: the bit multiplies the point by 1 + κ; the entry of the factor table on rows
    /// that provide one; which element, on rows of bits.
    pub kappa: T,
    /// Ports A and B carry slots 0–3 and 4–7.
    pub window0: T,
    /// Ports A and B carry slots 3–6 and 7–10, which run into the next row.
    pub window3: T,
    /// Port C carries slots 0–2.
    pub head: T,
    /// Ports C and B carry the output, last element first.
    pub squeeze: T,
    /// Port C provides an entry of the factor table.
    pub table: T,
    /// The multiplicities of ports A and B are those of the witness, added to the fixed ones.
    pub dynamic: T,
    /// Bus addresses of ports A, B and C.
    pub addr: [T; 3],
    /// Fixed multiplicities of ports A, B and C: reads are −1.
    pub count: [T; 3],
}

impl<T: Copy> HashPreprocessed<T> {
    /// Reads a row.
    ///
    /// # Panics
    /// If the row is not [`NUM_PREPROCESSED`] wide.
    #[must_use]
    pub fn from_row(row: &[T]) -> Self {
        assert!(row.len() == NUM_PREPROCESSED, "a preprocessed row of H");
        let mut cells = row.iter().copied();
        let mut next = || cells.next().expect("the length was checked");
        Self {
            mask: std::array::from_fn(|_| next()),
            leaf_first: next(),
            leaf_next: next(),
            repeat: next(),
            sum_next: next(),
            fri_first: next(),
            fri_next: next(),
            sponge_first: next(),
            sponge_next: next(),
            sponge_squeeze: next(),
            path: next(),
            path_next: next(),
            last: next(),
            slot: next(),
            inject: next(),
            factor: next(),
            bits_low: next(),
            bits_high: next(),
            c: next(),
            c2: next(),
            kappa: next(),
            window0: next(),
            window3: next(),
            head: next(),
            squeeze: next(),
            table: next(),
            dynamic: next(),
            addr: std::array::from_fn(|_| next()),
            count: std::array::from_fn(|_| next()),
        }
    }

    /// Writes a row, in the order in which [`Self::from_row`] reads it.
    #[must_use]
    pub fn to_row(&self) -> [T; NUM_PREPROCESSED] {
        let mut row = [self.mask[0]; NUM_PREPROCESSED];
        let (selectors, tail) = row[8..].split_at_mut(26);
        selectors.copy_from_slice(&[
            self.leaf_first,
            self.leaf_next,
            self.repeat,
            self.sum_next,
            self.fri_first,
            self.fri_next,
            self.sponge_first,
            self.sponge_next,
            self.sponge_squeeze,
            self.path,
            self.path_next,
            self.last,
            self.slot,
            self.inject,
            self.factor,
            self.bits_low,
            self.bits_high,
            self.c,
            self.c2,
            self.kappa,
            self.window0,
            self.window3,
            self.head,
            self.squeeze,
            self.table,
            self.dynamic,
        ]);
        tail[..3].copy_from_slice(&self.addr);
        tail[3..].copy_from_slice(&self.count);
        row[..8].copy_from_slice(&self.mask);
        row
    }
}
