//! The reduced openings: offsets in the ladder of α, the sums over claimed values once per proof, and
//! the segments of columns that rows of H sum up for every query.
//!
//! Source: `p3_fri::verifier::open_inputs`.

use std::collections::BTreeMap;

use p3_field::{PrimeCharacteristicRing, TwoAdicField};

use super::evaluate::power;
use super::prologue::Transcript;
use super::transcript::ChallengeId;
use crate::child::{ChildShape, Inner};
use crate::config::{F, RATE};
use crate::program::{Addr, ProgramBuilder};

/// Columns of one tree and height that one running sum covers: one matrix that is opened at two
/// points, or neighbouring matrices that are opened at ζ alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// First column in the concatenation of the group's rows.
    pub start: usize,
    /// Number of columns.
    pub len: usize,
    /// Offset in the ladder for each point.
    pub offsets: Vec<usize>,
}

impl Segment {
    /// First column after it.
    pub(super) const fn end(&self) -> usize {
        self.start + self.len
    }

    /// `Σ αⁱ pᵢ = α^exponent · T` for what the rows of H leave of it, with an offset of zero.
    ///
    /// A row sums eight slots by Horner's rule in γ = α⁻¹, so that slot s of B rows has weight
    /// γ^{8B − 1 − s}; the first column is at some slot of the first row.
    pub(super) const fn exponent(&self) -> usize {
        let rows = (self.end() - 1) / RATE - self.start / RATE + 1;
        RATE * rows - 1 - self.start % RATE
    }
}

/// Matrices of one tree and height.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Log of the height of the low-degree extension.
    pub log_height: usize,
    /// Columns of all of them.
    pub width: usize,
    /// What their columns are summed into.
    pub segments: Vec<Segment>,
}

/// A segment's weight at one point: the sum of that point takes `weight · T`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    pub tree: usize,
    pub group: usize,
    pub segment: usize,
    pub weight: Addr,
}

/// One opening point at one height.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// The point.
    pub z: Addr,
    /// Σ αⁱ pᵢ(z) over all columns that are opened there.
    pub claimed: Addr,
    /// The same over the values at a query.
    pub weights: Vec<Weight>,
}

/// What the queries need of the openings.
#[derive(Clone, Debug)]
pub(super) struct Openings {
    /// For each tree its groups, tallest first.
    pub groups: Vec<Vec<Group>>,
    /// γ = α⁻¹.
    pub gamma: Addr,
    /// Points by height.
    pub points: BTreeMap<usize, Vec<Point>>,
}

/// Offset of every (tree, matrix, point) in the ladder of its height.
fn ladder(shape: &Inner) -> Vec<Vec<Vec<usize>>> {
    let mut next: BTreeMap<usize, usize> = BTreeMap::new();
    let mut place = |matrix: &crate::child::Matrix| {
        let offset = next.entry(matrix.log_height).or_insert(0);
        (0..matrix.num_points())
            .map(|_| {
                *offset += matrix.width;
                *offset - matrix.width
            })
            .collect()
    };
    shape.trees.iter().map(|tree| tree.matrices.iter().map(&mut place).collect()).collect()
}

/// Splits the matrices of every tree into groups and segments.
fn groups(shape: &Inner, offsets: &[Vec<Vec<usize>>]) -> Vec<Vec<Group>> {
    let group = |tree: usize, log_height: usize| {
        let mut group = Group { log_height, width: 0, segments: vec![] };
        let mut single_before = false;
        for (matrix, offsets) in shape.trees[tree].matrices.iter().zip(&offsets[tree]) {
            if shape.log_lde_height(matrix) != log_height {
                continue;
            }
            match group.segments.last_mut() {
                Some(segment) if single_before && !matrix.next => segment.len += matrix.width,
                _ => group.segments.push(Segment {
                    start: group.width,
                    len: matrix.width,
                    offsets: offsets.clone(),
                }),
            }
            single_before = !matrix.next;
            group.width += matrix.width;
        }
        group
    };
    (0..shape.trees.len())
        .map(|tree| shape.tree_heights(tree).into_iter().map(|h| group(tree, h)).collect())
        .collect()
}

/// Powers of α, each computed once.
struct Powers {
    alpha: Addr,
    known: BTreeMap<usize, Addr>,
}

impl Powers {
    fn get(&mut self, builder: &mut ProgramBuilder, exponent: usize) -> Addr {
        if exponent == 1 {
            return self.alpha;
        }
        if let Some(&addr) = self.known.get(&exponent) {
            return addr;
        }
        let addr = match self.known.range(..exponent).next_back() {
            // From a smaller known power, if what is missing is small or known.
            Some((&below, &known)) if 2 * below >= exponent => {
                let rest = self.get(builder, exponent - below);
                builder.mul(known, rest)
            }
            _ if exponent == 0 => builder.constant(F::ONE),
            _ => {
                let half = self.get(builder, exponent / 2);
                let even = builder.mul(half, half);
                self.known.insert(exponent - exponent % 2, even);
                if exponent % 2 == 1 { builder.mul(even, self.alpha) } else { even }
            }
        };
        self.known.insert(exponent, addr);
        addr
    }
}

/// Emits the sums over claimed values and the weights of the segments.
pub(super) fn compile_openings(
    builder: &mut ProgramBuilder,
    shape: &ChildShape,
    transcript: &Transcript,
) -> Openings {
    let alpha = transcript.challenge(ChallengeId::Batch);
    let gamma = builder.inverse(alpha);
    let offsets = ladder(shape);
    let groups = groups(shape, &offsets);
    let mut powers = Powers { alpha, known: BTreeMap::new() };
    let mut points = BTreeMap::new();
    let mut heights: Vec<usize> = groups.iter().flatten().map(|group| group.log_height).collect();
    heights.sort_unstable();
    heights.dedup();
    for log_height in heights {
        let pair = [0, 1].map(|point| {
            let weights = weights(builder, &mut powers, &groups, log_height, point);
            if weights.is_empty() {
                return None;
            }
            let claimed =
                claimed_sum(builder, &mut powers, shape, transcript, &offsets, log_height, point);
            let z = opening_point(builder, shape, transcript, log_height, point);
            Some(Point { z, claimed, weights })
        });
        points.insert(log_height, pair.into_iter().flatten().collect());
    }
    Openings { groups, gamma, points }
}

/// ζ, or ζ times the generator of the trace's domain.
fn opening_point(
    builder: &mut ProgramBuilder,
    shape: &Inner,
    transcript: &Transcript,
    log_height: usize,
    point: usize,
) -> Addr {
    let zeta = transcript.challenge(ChallengeId::Zeta);
    if point == 0 {
        return zeta;
    }
    let generator = F::two_adic_generator(log_height - shape.fri.log_blowup);
    builder.affine(zeta, generator, F::ZERO)
}

fn weights(
    builder: &mut ProgramBuilder,
    powers: &mut Powers,
    groups: &[Vec<Group>],
    log_height: usize,
    point: usize,
) -> Vec<Weight> {
    let mut weights = vec![];
    for (tree, groups) in groups.iter().enumerate() {
        for (group, g) in groups.iter().enumerate().filter(|(_, g)| g.log_height == log_height) {
            for (segment, s) in g.segments.iter().enumerate() {
                let Some(&offset) = s.offsets.get(point) else { continue };
                let weight = powers.get(builder, offset + s.exponent());
                weights.push(Weight { tree, group, segment, weight });
            }
        }
    }
    weights
}

/// Σ αⁱ pᵢ(z) at one height and point, by Horner's rule from the end of the ladder, with a jump where
/// the ladder has columns of the other point.
fn claimed_sum(
    builder: &mut ProgramBuilder,
    powers: &mut Powers,
    shape: &Inner,
    transcript: &Transcript,
    offsets: &[Vec<Vec<usize>>],
    log_height: usize,
    point: usize,
) -> Addr {
    let mut pieces: Vec<(usize, &[Addr])> = vec![];
    for (tree, input) in shape.trees.iter().enumerate() {
        for (matrix, m) in input.matrices.iter().enumerate() {
            if shape.log_lde_height(m) == log_height && point < m.num_points() {
                pieces
                    .push((offsets[tree][matrix][point], &transcript.claims[tree][matrix][point]));
            }
        }
    }
    let mut sum: Option<(usize, Addr)> = None;
    for (offset, claims) in pieces.into_iter().rev() {
        let end = offset + claims.len();
        let mut acc = sum.map(|(at, acc)| match at - end {
            0 => acc,
            gap => {
                let jump = powers.get(builder, gap);
                builder.mul(acc, jump)
            }
        });
        for &claim in claims.iter().rev() {
            acc = Some(match acc {
                None => claim,
                Some(acc) => builder.mul_add(acc, powers.alpha, claim),
            });
        }
        sum = acc.map(|acc| (offset, acc));
    }
    let (offset, acc) = sum.expect("a point has columns");
    match offset {
        0 => acc,
        offset => {
            let shift = powers.get(builder, offset);
            builder.mul(acc, shift)
        }
    }
}

/// `base^(2^log)` by squaring.
pub(super) fn square_times(builder: &mut ProgramBuilder, base: Addr, log: usize) -> Addr {
    power(builder, base, 1 << log)
}
