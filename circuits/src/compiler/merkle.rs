//! The openings of one query: leaves of the input trees, and Merkle paths to their caps.
//!
//! Source: `MerkleTreeMmcs::verify_batch`, `PaddingFreeSponge`, `TruncatedPermutation`.

use p3_field::{PrimeCharacteristicRing, TwoAdicField};

use super::openings::{Group, Openings};
use super::prologue::Transcript;
use super::transcript::CapId;
use crate::child::Inner;
use crate::config::{D, F, RATE};
use crate::program::hash::mask;
use crate::program::{Addr, HashRow, Port, ProgramBuilder, Source};

/// What the rows of one query leave on the bus.
pub(super) struct QueryBits {
    /// The index.
    pub index: Addr,
    /// The index with its low k bits cleared, for every k at which something else starts.
    pub rests: Vec<(usize, Addr)>,
    /// The point as far as its k low bits determine it, for the same k.
    pub points: Vec<(usize, Addr)>,
    /// The whole point, of the tallest height.
    pub point: Addr,
}

impl QueryBits {
    /// The index with its `low` lowest bits cleared.
    ///
    /// # Panics
    /// If nothing starts there: a bug of the compiler.
    pub(super) fn rest(&self, low: usize) -> Addr {
        if low == 0 { self.index } else { find(&self.rests, low) }
    }

    /// The point after `low` bits.
    ///
    /// # Panics
    /// If nothing starts there: a bug of the compiler.
    pub(super) fn partial_point(&self, low: usize) -> Addr {
        find(&self.points, low)
    }
}

fn find(list: &[(usize, Addr)], low: usize) -> Addr {
    list.iter().find(|(at, _)| *at == low).expect("something starts at this bit").1
}

/// Sums of segments, by tree, group and segment.
pub(super) type Sums = Vec<Vec<Vec<Addr>>>;

/// One query of one child.
pub(super) struct Query<'a> {
    pub shape: &'a Inner,
    pub transcript: &'a Transcript,
    pub openings: &'a Openings,
}

impl Query<'_> {
    /// Rows of H for all input trees. The first tree of full height also decomposes the index.
    pub(super) fn compile_trees(
        &self,
        builder: &mut ProgramBuilder,
        index: Addr,
    ) -> (QueryBits, Sums) {
        let mut bits = self.alloc_bits(builder, index);
        let guide = self.guide();
        let mut sums = vec![vec![]; self.shape.trees.len()];
        sums[guide] = self.compile_tree(builder, guide, &bits, true);
        bits.point = self.compile_factor(builder);
        for tree in (0..self.shape.trees.len()).filter(|&tree| tree != guide) {
            sums[tree] = self.compile_tree(builder, tree, &bits, false);
        }
        (bits, sums)
    }

    /// The first tree whose leaves are as many as the index has values.
    fn guide(&self) -> usize {
        let full = |groups: &Vec<Group>| groups[0].log_height == self.shape.log_max_height;
        self.openings.groups.iter().position(full).expect("some matrix is the tallest")
    }

    fn alloc_bits(&self, builder: &mut ProgramBuilder, index: Addr) -> QueryBits {
        let rounds = 1..=self.shape.log_arities.len();
        let mut starts: Vec<usize> = rounds.map(|round| self.shape.round_bit(round)).collect();
        let heights = self.openings.points.keys();
        starts.extend(heights.map(|height| self.shape.log_max_height - height));
        starts.sort_unstable();
        starts.dedup();
        starts.retain(|&low| low > 0);
        let mut fresh = |low: usize| (low, builder.alloc());
        QueryBits {
            index,
            rests: starts.iter().map(|&low| fresh(low)).collect(),
            points: starts.iter().map(|&low| fresh(low)).collect(),
            point: Addr::ZERO,
        }
    }

    /// Leaves and path of one input tree.
    fn compile_tree(
        &self,
        builder: &mut ProgramBuilder,
        tree: usize,
        bits: &QueryBits,
        guide: bool,
    ) -> Vec<Vec<Addr>> {
        let groups = &self.openings.groups[tree];
        let mut sums = vec![vec![]; groups.len()];
        let mut injected = vec![];
        for (group, g) in groups.iter().enumerate().skip(1) {
            sums[group] = self.compile_leaf(builder, tree, group);
            injected.push((g.log_height, write_digest(builder)));
        }
        sums[0] = self.compile_leaf(builder, tree, 0);
        let commitment = CapId::Input(self.shape.trees[tree].commitment);
        let path = Path {
            tree,
            cap: self.transcript.caps[&commitment],
            first_bit: self.shape.log_max_height - groups[0].log_height,
            levels: groups[0].log_height - self.shape.fri.cap_height,
            log_height: groups[0].log_height,
        };
        for level in 0..path.levels {
            let mut row = path.row(level);
            if level == 0 {
                row.ports[1] = Port::read(bits.rest(path.first_bit));
            }
            if guide {
                follow_index(&mut row, level, bits);
            }
            builder.push_hash(row);
            let below = path.log_height - level - 1;
            if let Some((_, digest)) = injected.iter().find(|(height, _)| *height == below) {
                builder.push_hash(inject(*digest));
            }
        }
        sums
    }

    /// Hashes the opened rows of one group and sums its segments.
    fn compile_leaf(&self, builder: &mut ProgramBuilder, tree: usize, group: usize) -> Vec<Addr> {
        let g = &self.openings.groups[tree][group];
        let mut parts: Vec<Vec<(Addr, bool)>> = vec![vec![]; g.segments.len()];
        for block in 0..g.width.div_ceil(RATE) {
            let start = block * RATE;
            let end = g.width.min(start + RATE);
            let here = |s: &&super::openings::Segment| s.start < end && s.end() > start;
            let ids: Vec<usize> =
                (0..g.segments.len()).filter(|&i| here(&&g.segments[i])).collect();
            let source =
                Source::Leaf { tree: tree as u16, group: group as u16, column: start as u32 };
            for (nth, &id) in ids.iter().enumerate() {
                let segment = &g.segments[id];
                let mut row = HashRow::new(if nth == 0 { source } else { Source::Repeat });
                let from = if nth == 0 { 0 } else { segment.start - start };
                row.fixed.mask = mask(from, end - start);
                row.fixed.sum_next = F::from_bool(nth == 0 && segment.start < start);
                match (nth, block) {
                    (0, 0) => {
                        row.fixed.leaf_first = F::ONE;
                        row.ports[1] = Port::read(self.openings.gamma);
                    }
                    (0, _) => row.fixed.leaf_next = F::ONE,
                    _ => row.fixed.repeat = F::ONE,
                }
                // A row sums up all segments from its own to the end of the block; what belongs to
                // later ones is subtracted.
                if ids.len() > 1 || segment.end() <= end {
                    let sum = builder.alloc();
                    row.ports[0] = Port::write(sum);
                    if nth > 0 {
                        parts[ids[nth - 1]].push((sum, false));
                    }
                    if segment.end() <= end {
                        parts[id].push((sum, true));
                    }
                }
                builder.push_hash(row);
            }
        }
        parts.into_iter().map(|parts| combine(builder, &parts)).collect()
    }

    /// Multiplies the point by the factor of the cap bits.
    fn compile_factor(&self, builder: &mut ProgramBuilder) -> Addr {
        let point = builder.alloc();
        let mut row = HashRow::new(Source::Factor);
        row.fixed.factor = F::ONE;
        row.ports[0] = Port::write(point);
        row.ports[2] = Port::read_indexed(self.transcript.factors);
        builder.push_hash(row);
        point
    }
}

/// What one segment's row left, minus what belongs to the segment after it.
fn combine(builder: &mut ProgramBuilder, parts: &[(Addr, bool)]) -> Addr {
    match parts {
        [(sum, true)] => *sum,
        [(sum, true), (later, false)] => builder.sub(*sum, *later),
        _ => unreachable!("a segment ends in one block"),
    }
}

/// Puts the output of the row before on the bus, last element first.
fn write_digest(builder: &mut ProgramBuilder) -> [Addr; 2] {
    let digest = [builder.alloc(), builder.alloc()];
    let mut row = HashRow::new(Source::Repeat);
    row.fixed.repeat = F::ONE;
    row.fixed.squeeze = F::ONE;
    row.ports[2] = Port::write(digest[0]);
    row.ports[1] = Port::write(digest[1]);
    builder.push_hash(row);
    digest
}

/// Compresses the path's digest with that of shorter matrices.
fn inject(digest: [Addr; 2]) -> HashRow {
    let mut row = HashRow::new(Source::Inject);
    row.fixed.inject = F::ONE;
    row.ports[0] = Port::read(digest[0]);
    row.ports[1] = Port::read(digest[1]);
    row
}

/// The guiding path also follows the point and provides index and point where others start.
fn follow_index(row: &mut HashRow, level: usize, bits: &QueryBits) {
    let low = level + 1;
    if level > 0 {
        row.fixed.kappa = F::two_adic_generator(low) - F::ONE;
    }
    if let Some((_, addr)) = bits.points.iter().find(|(at, _)| *at == low) {
        row.ports[0] = Port::write(*addr);
    }
    if let Some((_, addr)) = bits.rests.iter().find(|(at, _)| *at == low) {
        row.ports[2] = Port::write(*addr);
    }
}

/// A Merkle path.
pub(super) struct Path {
    /// Tree: input trees, then folding rounds.
    pub tree: usize,
    /// First pack of its cap.
    pub cap: Addr,
    /// Which bit of the index its leaves' level is.
    pub first_bit: usize,
    /// Steps below the cap.
    pub levels: usize,
    /// Log of the number of leaves.
    pub log_height: usize,
}

impl Path {
    /// The row of one step. The last one ends in the cap.
    pub(super) fn row(&self, level: usize) -> HashRow {
        let bit = self.first_bit + level;
        let mut row = HashRow::new(Source::Path {
            tree: self.tree as u16,
            level: level as u16,
            bit: bit as u16,
        });
        row.fixed.path = F::ONE;
        row.fixed.path_next = F::from_bool(level > 0);
        row.fixed.c = F::from_u32(1 << bit);
        if level + 1 == self.levels {
            row.fixed.last = F::ONE;
            row.ports[2] = Port::read_indexed(self.cap);
            row.ports[1] = Port::read_indexed(self.cap.offset(1));
        }
        row
    }
}

/// Every pack of a cap, in order.
pub(super) fn cap_packs(first: Addr, cap_height: usize) -> impl Iterator<Item = Addr> {
    const PACKS: usize = RATE / D;
    (0..PACKS << cap_height).map(move |pack| first.offset(pack))
}
