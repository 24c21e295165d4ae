//! What of a proof's shape its size and its cost depend on, without compiling anything.
//!
//! All tables of a proof have one height, and there are three kinds of proof. So a height, FRI parameters and a
//! kind say what is committed to, what a query opens, and how many rows a layer takes that verifies it. That the
//! circuits agree is a test.

use arbor_circuits::config::{D, DIGEST, FriConfig, RATE};

use crate::fri;
use crate::params::{BaseSpec, Program};

/// Bytes of a base-field element, in memory and in a proof.
pub(super) const CELL: u64 = 4;
/// Columns of the Keccak table.
const KECCAK: usize = p3_keccak_air::NUM_KECCAK_COLS;

/// A matrix that is committed to: base-field columns, and the points at which they are opened.
pub(super) type Matrix = (usize, usize);

/// Which tables a proof is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Keccak,
    Fibonacci,
    Layer,
}

/// The commitments of a proof in the order of its openings: main traces, quotient chunks, preprocessed columns,
/// LogUp traces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    pub(super) main: &'static [Matrix],
    pub(super) quotient: &'static [Matrix],
    pub(super) preprocessed: &'static [Matrix],
    pub(super) logup: &'static [Matrix],
}

const KECCAK_COLUMNS: Columns =
    Columns { main: &[(KECCAK, 2)], quotient: &[(D, 1); 2], preprocessed: &[], logup: &[] };
const FIBONACCI_COLUMNS: Columns = Columns {
    main: &[(16, 1)],
    quotient: &[(D, 1); 2],
    preprocessed: &[(11, 1)],
    logup: &[(12, 2)],
};
const LAYER_COLUMNS: Columns = Columns {
    main: &[(16, 1), (192, 2)],
    quotient: &[(D, 1); 4],
    preprocessed: &[(11, 1), (40, 2)],
    logup: &[(12, 2), (16, 2)],
};

/// The shape of proofs of one kind, height and parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sketch {
    pub(super) kind: Kind,
    pub(super) log_height: usize,
    pub(super) fri: FriConfig,
}

impl Sketch {
    pub(super) fn base(base: &BaseSpec) -> Self {
        let kind = match base.program {
            Program::Keccak { .. } => Kind::Keccak,
            Program::Fibonacci { .. } => Kind::Fibonacci,
        };
        Self { kind, log_height: base.log_height(), fri: base.fri }
    }

    /// A layer over one proof of each of `children`, on at least `2^least` rows.
    pub(super) fn layer(children: &[Self], fri: &FriConfig, least: usize) -> Self {
        let rows = Self::gates_of(children).max(Self::hashes_of(children));
        let log_rows = rows.next_power_of_two().ilog2() as usize;
        let log_height = log_rows.max(least).max(fri::min_log_height(fri));
        Self { kind: Kind::Layer, log_height, fri: *fri }
    }

    pub(super) const fn columns(&self) -> Columns {
        match self.kind {
            Kind::Keccak => KECCAK_COLUMNS,
            Kind::Fibonacci => FIBONACCI_COLUMNS,
            Kind::Layer => LAYER_COLUMNS,
        }
    }

    /// Its commitments.
    pub(super) fn trees(&self) -> impl Iterator<Item = &'static [Matrix]> {
        let Columns { main, quotient, preprocessed, logup } = self.columns();
        [main, quotient, preprocessed, logup].into_iter().filter(|tree| !tree.is_empty())
    }

    /// Log of the points of the extended traces.
    pub(super) const fn log_domain(&self) -> usize {
        self.log_height + self.fri.log_blowup
    }

    /// Folding rounds: log of the arity, and of the rows that are committed to.
    pub(super) fn rounds(&self) -> Vec<(usize, usize)> {
        let mut log_domain = self.log_domain();
        let mut rounds = Vec::new();
        while log_domain > self.fri.log_final_height() {
            let most = log_domain - self.fri.log_final_height();
            let log_arity = most.min(self.fri.max_log_arity.max(1));
            log_domain -= log_arity;
            rounds.push((log_arity, log_domain));
        }
        rounds
    }

    /// Values that are opened out of the domain.
    fn opened(&self) -> u64 {
        self.trees().flatten().map(|&(width, points)| (width * points) as u64).sum()
    }

    /// Levels of a Merkle tree over `2^log_rows` rows that a path goes through.
    const fn levels(&self, log_rows: usize) -> u64 {
        log_rows.saturating_sub(self.fri.cap_height) as u64
    }
}

/// Rows of a layer that do not depend on its children.
const NODE_ROWS: u64 = 4;

/// Rows of H: a layer over the proof.
impl Sketch {
    /// Rows of hashes of a layer over these proofs, at most.
    pub(super) fn hashes_of(children: &[Self]) -> u64 {
        children.iter().map(Self::hashes).sum::<u64>() + NODE_ROWS
    }

    /// Rows of hashes that verifying the proof takes at most.
    fn hashes(&self) -> u64 {
        self.fri.num_queries as u64 * self.hashes_of_query() + self.hashes_once()
    }

    /// The index, leaves and paths of every commitment, the factor of the cap; pairs and paths of the rounds.
    fn hashes_of_query(&self) -> u64 {
        let path = self.levels(self.log_domain());
        let trees = self.trees().map(|tree| leaf_rows(tree) + path).sum::<u64>();
        let rounds = self.rounds().into_iter();
        let rounds =
            rounds.map(|(arity, rows)| (1 << (arity - 1)) + self.levels(rows)).sum::<u64>();
        2 + trees + 1 + rounds
    }

    /// The transcript: seeds, caps, opened values, the final polynomial; what is sampled from it; the key.
    fn hashes_once(&self) -> u64 {
        let rounds = self.rounds().len() as u64;
        let caps = (self.trees().count() as u64 + rounds + 1) << self.fri.cap_height;
        let values = self.opened() + (1 << self.fri.log_final_poly_len);
        let sampled = 8 * (SITES + rounds) + self.fri.num_queries as u64 / 2;
        caps + values * D as u64 / RATE as u64 + sampled + SEED_ROWS
    }
}

/// Challenges and grinding sites beside the folding rounds.
const SITES: u64 = 9;
/// Rows for seeds, public values and digests.
const SEED_ROWS: u64 = 8;

/// Sums over the columns of a commitment, each with its first column and the points at which it is opened.
/// Matrices that are opened at one point alone have one sum with their neighbours.
fn sums(tree: &[Matrix]) -> Vec<Matrix> {
    let (mut width, mut single, mut sums) = (0, false, Vec::new());
    for &(columns, points) in tree {
        if !(single && points == 1) {
            sums.push((width, points));
        }
        single = points == 1;
        width += columns;
    }
    sums
}

/// Sums that begin inside of a row of eight columns.
fn inside(tree: &[Matrix]) -> usize {
    sums(tree).into_iter().filter(|(start, _)| start % RATE != 0).count()
}

/// Rows that hash the opened row of a commitment: eight columns a row, and one more wherever a sum begins inside
/// of a row.
fn leaf_rows(tree: &[Matrix]) -> u64 {
    let width: usize = tree.iter().map(|&(columns, _)| columns).sum();
    (width.div_ceil(RATE) + inside(tree)) as u64
}

/// Rows of E: a layer over the proof.
impl Sketch {
    /// Rows of arithmetic of a layer over these proofs, at most.
    pub(super) fn gates_of(children: &[Self]) -> u64 {
        let shared = SHARED_GATES * children.len().saturating_sub(1) as u64;
        children.iter().map(Self::gates).sum::<u64>() - shared + NODE_ROWS
    }

    /// Rows of arithmetic that verifying the proof takes at most.
    fn gates(&self) -> u64 {
        let constraints = match self.kind {
            Kind::Keccak => KECCAK_GATES,
            Kind::Fibonacci => FIBONACCI_GATES,
            Kind::Layer => LAYER_GATES,
        };
        let queries = self.fri.num_queries as u64 * self.gates_of_query();
        let height = self.log_height as u64;
        constraints + height + self.opened() + self.grinding_gates() + queries
    }

    /// Sums over the commitments at both points, folding rounds, the final polynomial.
    fn gates_of_query(&self) -> u64 {
        let of_tree =
            |tree| inside(tree) + sums(tree).into_iter().map(|(_, points)| points).sum::<usize>();
        let points = 6;
        let (mut low, mut folds, mut last) = (0, 0, 0);
        for (arity, _) in self.rounds() {
            // A pair is folded by three rows, a larger group by powers of its point.
            folds += low + 4 + if arity == 1 { 2 } else { arity };
            (low, last) = (low + arity, arity);
        }
        let sums = self.trees().map(of_tree).sum::<usize>() + points;
        let coefficients = 1usize << self.fri.log_final_poly_len;
        (sums + folds + last + (coefficients - 1).max(1)) as u64
    }

    /// Eight bits are taken at a time: fewer zeros are a product over what the others may be. A challenge that
    /// follows is put together from single elements.
    fn grinding_gates(&self) -> u64 {
        let gates = |bits: usize| match bits {
            0 => 0,
            1..8 => 1 << (8 - bits),
            _ => 1,
        };
        let before_challenge = |bits| gates(bits) + if bits > 0 { 4 } else { 0 };
        let FriConfig { batch_pow_bits, lookup_pow_bits, ood_pow_bits, .. } = self.fri;
        let once = [batch_pow_bits, lookup_pow_bits, ood_pow_bits].map(before_challenge);
        let rounds = self.rounds().len() as u64 * before_challenge(self.fri.commit_pow_bits);
        once.into_iter().sum::<u64>() + rounds + gates(self.fri.query_pow_bits)
    }
}

/// Rows that check the constraints of each kind at one point, and combine the openings.
const KECCAK_GATES: u64 = 12_020;
const FIBONACCI_GATES: u64 = 197;
const LAYER_GATES: u64 = 2_033;
/// Rows for constants that further children share with the first.
const SHARED_GATES: u64 = 36;

/// Sizes of the encoded proof.
impl Sketch {
    /// Bytes of a proof at most: equal to it but for hashes that several queries share.
    pub(super) fn proof_bytes(&self) -> u64 {
        let extension = D as u64 * CELL;
        let queries = self.fri.num_queries as u64;
        let path = self.siblings(self.log_domain());
        // A query has lengths of its rows beside them, of one or two bytes each.
        let trees = self.trees().map(|tree| {
            let row = tree.iter().map(|&(width, _)| width as u64 * CELL + 2).sum::<u64>();
            queries * (row + 2) + path
        });
        let rounds = self.rounds();
        let folds = rounds.iter().map(|&(arity, rows)| {
            queries * (((1 << arity) - 1) * extension + 2) + self.siblings(rows) + CELL
        });
        // The verifier has the cap of the preprocessed columns itself.
        let sent = self.trees().count() + rounds.len() - usize::from(self.kind != Kind::Keccak);
        let caps = sent as u64 * ((DIGEST as u64 * CELL) << self.fri.cap_height);
        let values = (self.opened() + (1 << self.fri.log_final_poly_len)) * extension;
        trees.sum::<u64>() + folds.sum::<u64>() + caps + values + PROOF_FIXED
    }

    /// Bytes of the hashes beside the paths of all queries: at every level no more than there are queries, or
    /// pairs of nodes.
    fn siblings(&self, log_rows: usize) -> u64 {
        let levels = self.fri.cap_height..log_rows;
        let hashes = levels.map(|log_pairs| (self.fri.num_queries as u64).min(1 << log_pairs));
        hashes.sum::<u64>() * DIGEST as u64 * CELL
    }
}

/// Bytes of lengths, witnesses and terminals.
const PROOF_FIXED: u64 = 256;

/// Work of the prover.
impl Sketch {
    /// Cells that are committed to for each proof, blowup included.
    pub(super) fn cells(&self) -> u64 {
        let Columns { main, quotient, logup, .. } = self.columns();
        let width: usize = [main, quotient, logup].into_iter().flatten().map(|&(w, _)| w).sum();
        (width as u64) << self.log_domain()
    }

    /// Permutations that grinding is expected to take.
    pub(super) fn grinding(&self) -> u64 {
        let fri = &self.fri;
        let lookup = if self.kind == Kind::Keccak { 0 } else { fri.lookup_pow_bits };
        let once = [fri.batch_pow_bits, lookup, fri.ood_pow_bits, fri.query_pow_bits];
        let rounds = self.rounds().len() as u64 * expected(fri.commit_pow_bits);
        once.into_iter().map(expected).sum::<u64>() + rounds
    }
}

/// Trials until so many bits are zero.
const fn expected(bits: usize) -> u64 {
    if bits == 0 { 0 } else { 1 << bits }
}
