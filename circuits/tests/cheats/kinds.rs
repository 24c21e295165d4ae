//! What kinds of rows H has, and which of their cells nothing restricts.

use arbor_circuits::check::Site;
use arbor_circuits::config::{D, F, WIDTH};
use arbor_circuits::program::{HashRow, Source};
use arbor_circuits::tables::hash::{HashPreprocessed, PERM_COLS, scratch};
use p3_field::PrimeCharacteristicRing;

/// The kind of a row: what it does, then what its ports do. `None` is padding.
pub(super) fn kind(row: Option<&HashRow>, next: Option<&HashRow>) -> String {
    let Some(row) = row else { return "padding".to_owned() };
    let fixed = &row.fixed;
    let set = |flag: F| flag == F::ONE;
    let base = match row.source {
        Source::Transcript | Source::Ports if set(fixed.sponge_first) => "sponge first",
        Source::Transcript | Source::Ports if set(fixed.sponge_next) => "sponge next",
        Source::Transcript | Source::Ports => "sponge squeeze",
        Source::Repeat => "repeat",
        Source::Leaf { .. } if set(fixed.leaf_first) => "leaf first",
        Source::Leaf { .. } if set(fixed.sum_next) => "leaf next, same sum",
        Source::Leaf { .. } => "leaf next, new sum",
        Source::Path { .. } if set(fixed.slot) => "path slot",
        Source::Path { .. } if set(fixed.last) => "path last",
        Source::Path { .. } if set(fixed.path_next) => "path next",
        Source::Path { .. } => "path first",
        Source::Inject => "path inject",
        Source::Factor => "factor",
        Source::Fold { .. } if set(fixed.fri_first) => "fri first",
        Source::Fold { .. } => "fri next",
        Source::BitsLow { .. } if is_high(next) => "bits low",
        Source::BitsLow { .. } => "limb only",
        Source::BitsHigh { .. } => "bits high",
    };
    let features = [
        ("window 0", fixed.window0),
        ("window 3", fixed.window3),
        ("head", fixed.head),
        ("output", fixed.squeeze),
        ("table", fixed.table),
        ("dynamic", fixed.dynamic),
    ];
    let mut name = base.to_owned();
    for (feature, _) in features.into_iter().filter(|&(_, flag)| set(flag)) {
        name = name + " + " + feature;
    }
    name
}

fn is_high(row: Option<&HashRow>) -> bool {
    row.is_some_and(|row| matches!(row.source, Source::BitsHigh { .. }))
}

/// What the allow-list may look at.
pub(super) struct Place<'a> {
    before: &'a [F],
    now: &'a [F],
    next: &'a [F],
    fixed: HashPreprocessed<F>,
    fixed_next: HashPreprocessed<F>,
}

impl<'a> Place<'a> {
    pub(super) fn new(site: &Site<'a>) -> Self {
        let [before, now, next] = site.cells();
        let [fixed, fixed_next] = site.fixed().map(HashPreprocessed::from_row);
        Self { before, now, next, fixed, fixed_next }
    }

    fn is(&self, select: fn(&HashPreprocessed<F>) -> F) -> bool {
        select(&self.fixed) == F::ONE
    }

    fn next_is(&self, select: fn(&HashPreprocessed<F>) -> F) -> bool {
        select(&self.fixed_next) == F::ONE
    }

    fn scratch(row: &[F], column: usize) -> F {
        row[PERM_COLS + column]
    }

    /// Whether a term that a preprocessed coefficient switches without regard to the kind happens to
    /// have the scratch column `column` with another factor that is not zero: masks with γ to γ³, c and
    /// c² with u and u², κ with bit and point. Or whether the next row takes γ over.
    fn shared_term(&self, column: usize) -> bool {
        let fixed = &self.fixed;
        let taken =
            |slot: usize| [slot, slot + D].iter().any(|&s| fixed.mask[s] * self.now[s] != F::ZERO);
        let differs = (0..D).any(|i| self.now[i] != self.now[D + i]);
        let weight = (0..D).any(|i| Self::scratch(self.now, scratch::WEIGHT + i) != F::ZERO);
        let carried = self.next_is(|next| next.leaf_next + next.repeat + next.fri_next);
        match column {
            0..4 => carried || taken(2) || (fixed.c != F::ZERO && differs),
            4..8 => taken(1) || (fixed.c2 != F::ZERO && weight),
            8..12 => taken(0),
            scratch::BIT => fixed.kappa * Self::scratch(self.before, scratch::POINT) != F::ZERO,
            scratch::POINT => {
                self.fixed_next.kappa * Self::scratch(self.next, scratch::BIT) != F::ZERO
            }
            _ => false,
        }
    }
}

/// An entry of the allow-list: cells that may hold anything.
pub(super) struct Free {
    /// What the map calls these rows.
    pub(super) name: &'static str,
    /// On which rows.
    rows: fn(&Place<'_>) -> bool,
    /// Which scratch columns.
    columns: fn(&Place<'_>, usize) -> bool,
    /// Why it does no harm.
    pub(super) reason: &'static str,
}

/// All scratch cells that nothing restricts. Where a term with a preprocessed coefficient alone still
/// restricts a listed cell on some rows ([`Place::shared_term`]), it only takes freedom away.
pub(super) const FREE: [Free; 8] = [
    Free {
        name: "sponge",
        rows: |at| at.is(|f| f.sponge_first + f.sponge_next + f.sponge_squeeze),
        columns: |at, column| match column {
            20 | 21 => !at.is(|f| f.dynamic),
            22 => !at.is(|f| f.table),
            _ => true,
        },
        reason: "a sponge lives in the permutation columns; of its scratch columns only the \
                 multiplicities are sent. A repeated row takes γ over, and sums its masked slots \
                 (none) with it into a sum that no port of it sends: its port A has no multiplicity",
    },
    Free {
        name: "path",
        rows: |at| at.is(|f| f.path),
        columns: |at, column| match column {
            4..12 | 16..22 | 27 => true,
            12..16 | 23 => !at.is(|f| f.slot),
            22 => !at.is(|f| f.path - f.path_next),
            _ => false,
        },
        reason: "a path uses start, slot and value on the one row that sends them, else bit, rest and \
                 point; its weight c makes u·(lo − hi) zero, which binds columns that nothing reads",
    },
    Free {
        name: "inject",
        rows: |at| at.is(|f| f.inject),
        columns: |_, column| matches!(column, 0..24 | 27),
        reason: "a path goes on with rest and point; the digest comes in by the input",
    },
    Free {
        name: "factor",
        rows: |at| at.is(|f| f.factor),
        columns: |_, column| column < scratch::REST,
        reason: "the row multiplies the point; bit has no κ here, and the row after starts anew",
    },
    Free {
        name: "FRI leaf",
        rows: |at| at.is(|f| f.fri_first + f.fri_next),
        columns: |_, column| (22..28).contains(&column),
        reason: "u, u², f, v, the sum and two multiplicities are all that is used; the path after the \
                 group starts from E, not from these columns",
    },
    Free {
        name: "bits, low",
        rows: |at| at.is(|f| f.bits_low),
        columns: |_, column| matches!(column, 0..12 | 17..28),
        reason: "the pack and the element are all that is used; masks are those of the index, and \
                 c, c² and κ name the limb",
    },
    Free {
        name: "bits, high",
        rows: |at| at.is(|f| f.bits_high),
        columns: |at, column| match column {
            scratch::TOP_INVERSE => Place::scratch(at.now, scratch::TOP_ONES) == F::ONE,
            scratch::TOP_ONES | scratch::INDEX => false,
            _ => true,
        },
        reason: "whether the top is all ones, and the index, are all that is used; what has no \
                 inverse is multiplied by zero",
    },
    Free {
        name: "padding",
        rows: |at| at.fixed == HashPreprocessed::default(),
        columns: |_, _| true,
        reason: "padding has no selector, no coefficient and no multiplicity",
    },
];

/// Which entry of the allow-list has this scratch column of this row.
pub(super) fn free_scratch(at: &Place<'_>, column: usize) -> Option<usize> {
    let listed = FREE.iter().position(|free| (free.rows)(at) && (free.columns)(at, column));
    listed.filter(|_| !at.shared_term(column))
}

/// Whether the permutation of this row may be one of any input, or of one with the bit `slot` flipped
/// if `flip`. With the reason.
pub(super) fn free_input(at: &Place<'_>, slot: usize, flip: bool) -> Option<&'static str> {
    assert!(slot < WIDTH);
    if at.fixed == HashPreprocessed::default() {
        return Some("padding: nothing reads the permutation");
    }
    if at.is(|f| f.factor) {
        return Some("a factor row permutes for nobody: no row after it is linked to its output");
    }
    if flip && at.is(|f| f.bits_low) && !at.next_is(|f| f.bits_high) {
        return Some("a limb alone is not decomposed: its bits belong to nothing");
    }
    if flip && slot == WIDTH - 1 && at.is(|f| f.bits_high) {
        return Some("an element has 31 bits: the 32nd has no weight anywhere");
    }
    None
}
