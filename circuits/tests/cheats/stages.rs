//! The children that are cheated about, and how a cheat becomes tables.

use std::collections::HashMap;
use std::sync::LazyLock;

use arbor_circuits::check::{Fault, Subject, faults};
use arbor_circuits::child::{ChildInput, ChildShape};
use arbor_circuits::compiler::transcript::ChallengeId;
use arbor_circuits::config::{DIGEST, Digest, EF, F, FriConfig};
use arbor_circuits::filler::replay::Replay;
use arbor_circuits::filler::restore::{Misfit, RestoredChild};
use arbor_circuits::filler::view::ChildView;
use arbor_circuits::filler::{Traces, fill_with};
use arbor_circuits::layer::PreparedLayer;
use arbor_circuits::program::{Access, Addr};
use arbor_circuits::tables::arith;
use arbor_circuits::tables::hash::{NUM_COLS, PERM_COLS, scratch};
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing, PrimeField32};
use p3_matrix::dense::RowMajorMatrix;

use super::layout::{Layout, index_addr};
use super::lie::Lie;
use super::reasons::{Namer, Reasons};
use crate::common::TINY;
use crate::common::airs::{Bus, Fixed, KEYS, SampleAir};
use crate::common::children::{BatchChild, UniChild};
use crate::mutant::{Mutant, Proof, copy_batch, copy_uni};

/// A change of what is restored of a child.
type Restore<'a> = Box<dyn Fn(&mut RestoredChild<'_>) + 'a>;

/// A prover. Its fields are what an honest one has, until something is put in their place.
pub(crate) struct Cheat<'a> {
    /// The proof that it fills the tables from.
    pub(crate) child: Mutant,
    /// Whether the slot counts.
    pub(crate) present: bool,
    /// Lies about the tables.
    pub(crate) lie: Lie<'a>,
    /// Siblings, and what the transcript absorbs.
    pub(crate) restore: Restore<'a>,
    /// Cells of E that are changed at the end: row, port and value.
    pub(crate) arith: Vec<(usize, usize, EF)>,
    /// The digest that is stated, if it is not the one that the tables yield.
    pub(crate) digest: Option<Digest>,
}

/// A layer over one child.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) shape: ChildShape,
    pub(crate) layer: PreparedLayer,
    pub(crate) layout: Layout,
    /// The honest child.
    pub(crate) child: Mutant,
    /// What the honest transcript yields.
    pub(crate) replay: Replay,
    /// What an honest prover fills.
    pub(crate) honest: Traces,
    siblings: Vec<Vec<Vec<Digest>>>,
    namer: Namer,
}

impl Stage {
    /// `flaws` are what is wrong with the child itself.
    fn new(name: &'static str, shape: ChildShape, child: Mutant, flaws: &[&str]) -> Self {
        let layer = PreparedLayer::prepare(vec![shape.clone()], TINY, 0).expect("compiles");
        let view = ChildView::new(shape.clone(), child.input(), 0).expect("the shape fits");
        let restored = RestoredChild::new(view, 0, Misfit::Refuse).expect("an honest proof");
        let height = layer.shape().log_heights()[0];
        let children = std::slice::from_ref(&restored);
        let honest = fill_with(layer.program(), [height; 2], children, &Lie::default());
        let RestoredChild { replay, siblings, .. } = restored;
        let (layout, namer) = (Layout::new(&shape, layer.program()), Namer::new(&layer));
        let stage = Self { name, shape, layer, layout, child, replay, honest, siblings, namer };
        let reasons = stage.judge(&stage.cheat());
        assert!(reasons.keys().eq(flaws), "{name}: honest tables: {reasons:?}");
        stage
    }

    /// A prover that fills the tables from another child of this shape.
    pub(crate) fn over<'a>(&self, child: Mutant, lie: Lie<'a>) -> Cheat<'a> {
        let view = ChildView::new(self.shape.clone(), child.input(), 0).expect("the shape fits");
        let restored = RestoredChild::new(view, 0, Misfit::Refuse).expect("an honest proof");
        let siblings = restored.siblings;
        let restore: Restore<'a> =
            Box::new(move |restored| restored.siblings.clone_from(&siblings));
        Cheat { child, restore, ..self.lie(lie) }
    }

    /// The honest prover.
    pub(crate) fn cheat<'a>(&self) -> Cheat<'a> {
        Cheat {
            child: self.child.clone(),
            present: true,
            lie: Lie::default(),
            restore: Box::new(|_| {}),
            arith: vec![],
            digest: None,
        }
    }

    /// A prover that is honest but for a lie.
    pub(crate) fn lie<'a>(&self, lie: Lie<'a>) -> Cheat<'a> {
        Cheat { lie, ..self.cheat() }
    }

    /// What an honest prover has at an address.
    pub(crate) fn at(&self, addr: Addr) -> EF {
        self.honest.memory[addr.index()]
    }

    /// Where the program has a challenge.
    pub(crate) fn challenge(&self, id: ChallengeId) -> Addr {
        let value = self.replay.challenge(id);
        let found = self.honest.memory.iter().position(|&other| other == value);
        Addr(found.expect("a challenge is on the bus") as u32)
    }

    /// The tables of the honest prover, E and H.
    pub(crate) fn subjects<'a>(&'a self, digest: &'a Digest) -> [Subject<'a>; 2] {
        let [arith, hash] = self.layer.airs() else { panic!("a layer has two tables") };
        [
            Subject { air: arith, trace: &self.honest.arith, publics: digest },
            Subject { air: hash, trace: &self.honest.hash, publics: &[] },
        ]
    }

    /// The digest that tables yield.
    pub(crate) fn digest(&self, traces: &Traces) -> Digest {
        let [first, second] = self.layer.program().digest.map(|addr| limbs(traces, addr));
        std::array::from_fn(|i| if i < DIGEST / 2 { first[i] } else { second[i - DIGEST / 2] })
    }

    /// The index that filled tables have for a query.
    pub(crate) fn sampled(&self, traces: &Traces, query: usize) -> usize {
        limbs(traces, index_addr(self.layer.program(), query))[0].as_canonical_u32() as usize
    }

    /// The tables of a cheat, but for free multiplicities. They are filled twice: what is opened is at
    /// the indices that are on the bus, and a lie may change those.
    pub(crate) fn fill(&self, cheat: &Cheat<'_>) -> Traces {
        let input = ChildInput { present: cheat.present, ..cheat.child.input() };
        let view = ChildView::new(self.shape.clone(), input, 0).expect("the shape fits");
        let replay = Replay::new(&view);
        let mut restored = [RestoredChild { view, replay, siblings: self.siblings.clone() }];
        (cheat.restore)(&mut restored[0]);
        let program = self.layer.program();
        let height = self.layer.shape().log_heights()[0];
        let fill = |restored: &_| fill_with(program, [height; 2], restored, &cheat.lie);
        let sampled = fill(&restored);
        for (query, index) in restored[0].replay.indices.iter_mut().enumerate() {
            *index = self.sampled(&sampled, query);
        }
        let mut traces = fill(&restored);
        for &(row, port, value) in &cheat.arith {
            let limbs: &[F] = value.as_basis_coefficients_slice();
            let start = row * arith::NUM_COLS + port * limbs.len();
            traces.arith.values[start..start + limbs.len()].copy_from_slice(limbs);
        }
        traces
    }

    /// Everything that is wrong with the tables of a cheat, with the free multiplicities that leave the
    /// least.
    pub(crate) fn judge(&self, cheat: &Cheat<'_>) -> Reasons {
        let mut traces = self.fill(cheat);
        let digest = cheat.digest.unwrap_or_else(|| self.digest(&traces));
        let left = self.faults(&traces, &digest);
        let multiplicities = self.multiplicities(&traces.hash);
        let mut changed = false;
        for fault in &left {
            if let Fault::Bus { message, surplus } = fault
                && let Some(&cell) = multiplicities.get(message)
            {
                traces.hash.values[cell] -= *surplus;
                changed = true;
            }
        }
        let left = if changed { self.faults(&traces, &digest) } else { left };
        self.namer.count(&left)
    }

    fn faults(&self, traces: &Traces, digest: &Digest) -> Vec<Fault> {
        let [arith, hash] = self.layer.airs() else { panic!("a layer has two tables") };
        faults(&[(arith, &traces.arith, digest), (hash, &traces.hash, &[])], usize::MAX)
    }

    /// The messages that are sent as often as the prover likes, each with the cell that says how often.
    fn multiplicities(&self, hash: &RowMajorMatrix<F>) -> HashMap<Vec<F>, usize> {
        let program = self.layer.program();
        let mut found = HashMap::new();
        for (number, row) in program.hashes.iter().enumerate() {
            let cells = |slot: usize| -> [F; 4] {
                // What runs over the rate is at the start of the next row.
                let at = |i: usize| {
                    if i < 8 { number * NUM_COLS + i } else { i - 8 + (number + 1) * NUM_COLS }
                };
                std::array::from_fn(|i| hash.values[at(slot + i)])
            };
            for (i, port) in row.ports.iter().enumerate() {
                let Some(port) = port.filter(|port| port.access == Access::WriteIndexed) else {
                    continue;
                };
                let value = match i {
                    2 => [row.fixed.kappa, F::ZERO, F::ZERO, F::ZERO],
                    _ if row.fixed.window3 == F::ONE => cells(3 + 4 * i),
                    _ => cells(4 * i),
                };
                let mut message = vec![program.names[port.addr.index()]];
                message.extend(value);
                let cell = number * NUM_COLS + PERM_COLS + scratch::MULTIPLICITY + i;
                found.insert(message, cell);
            }
        }
        found
    }
}

/// The limbs of what is at an address.
pub(crate) fn limbs(traces: &Traces, addr: Addr) -> [F; 4] {
    let value: &[F] = traces.memory[addr.index()].as_basis_coefficients_slice();
    std::array::from_fn(|i| value[i])
}

fn uni(child: &UniChild<SampleAir>) -> Mutant {
    Mutant {
        proof: Proof::Uni(copy_uni(&child.proof)),
        publics: child.publics.clone(),
        cap: child.cap().cloned(),
    }
}

fn batch(child: &BatchChild) -> Mutant {
    Mutant {
        proof: Proof::Batch(copy_batch(&child.proof)),
        publics: child.publics.clone(),
        cap: child.cap().cloned(),
    }
}

/// The degree and the height of the constant table; it is as wide as its quotient.
fn constant_air() -> SampleAir {
    let air = |width| SampleAir::new(7, width).next().degree(4).publics(2);
    let shape = ChildShape::uni(&air(1 + 1), 7, &TINY).expect("a supported shape");
    air(4 * shape.instances[0].num_chunks)
}

/// A proof of a table whose columns are constant. `seed` makes them others.
pub(crate) fn constant_child(seed: u32) -> Mutant {
    constant_child_of(FREE, |column| F::from_u32(seed + column * column + 2))
}

/// The same with any values but for the first column, which the table's rule yields.
pub(crate) fn constant_child_of(fri: FriConfig, value: impl Fn(u32) -> F) -> Mutant {
    let air = constant_air();
    let mut row: Vec<F> = (0..air.width as u32).map(value).collect();
    row[0] = row[air.width - 1].exp_u64(air.degree as u64);
    let publics = vec![row[0], row[1].double()];
    let trace = RowMajorMatrix::new(row.repeat(1 << air.log_height), air.width);
    let child = UniChild::prove(air, trace, publics, fri);
    child.verify_own().expect("a valid proof");
    uni(&child)
}

/// No grinding, so that any transcript will do.
pub(crate) const FREE: FriConfig = FriConfig { query_pow_bits: 0, ..TINY };

/// A child of constant columns.
pub(crate) fn constant() -> &'static Stage {
    static STAGE: LazyLock<Stage> = LazyLock::new(|| {
        let shape = ChildShape::uni(&constant_air(), 7, &FREE).expect("a supported shape");
        let stage = Stage::new("constant", shape, constant_child(1), &[]);
        let widths = |tree: usize| -> usize {
            stage.shape.trees[tree].matrices.iter().map(|matrix| matrix.width).sum()
        };
        assert_eq!(widths(0), widths(1), "the trace is as wide as its quotient");
        assert!(stage.shape.log_arities.contains(&1) && stage.shape.log_arities.len() > 1);
        stage
    });
    &STAGE
}

/// The same with a proof of work before the queries. Another witness leads to other indices, at which
/// the openings are the same.
pub(crate) fn laborious() -> &'static Stage {
    static STAGE: LazyLock<Stage> = LazyLock::new(|| {
        let fri = FriConfig { query_pow_bits: 9, ..FREE };
        let shape = ChildShape::uni(&constant_air(), 7, &fri).expect("a supported shape");
        let child = constant_child_of(fri, |column| F::from_u32(column + 2));
        Stage::new("laborious", shape, child, &[])
    });
    &STAGE
}

/// Grinding at every site, and as many queries as it takes for the transcript to squeeze twice in a row.
const GROUND: FriConfig = FriConfig {
    num_queries: 9,
    batch_pow_bits: 1,
    lookup_pow_bits: 1,
    ood_pow_bits: 1,
    commit_pow_bits: 1,
    ..TINY
};

/// A wide table of `p3-uni-stark` without preprocessed columns, as Keccak's is.
pub(crate) fn wide() -> &'static Stage {
    static STAGE: LazyLock<Stage> = LazyLock::new(|| {
        let child = UniChild::sample(SampleAir::new(7, 45).next().degree(3).publics(3), GROUND);
        child.verify_own().expect("a valid proof");
        let stage = Stage::new("wide", child.shape(), uni(&child), &[]);
        assert_eq!(stage.shape.log_arities, [3, 1], "groups of several pairs and of one");
        stage
    });
    &STAGE
}

/// A batch of tables of different heights, with lookups and preprocessed columns.
pub(crate) fn mixed() -> &'static Stage {
    static STAGE: LazyLock<Stage> = LazyLock::new(|| {
        let airs = vec![
            SampleAir::new(6, 7).fixed(Fixed::Local(2)).publics(3).buses(&[Bus::Send]),
            SampleAir::new(8, 8).next().degree(5).periodic(&[2]),
            SampleAir::new(8, 9).next().publics(1).buses(&[Bus::Receive(64 / KEYS), Bus::Local]),
            SampleAir::new(6, 1).fixed(Fixed::Next(1)).next(),
        ];
        let child = BatchChild::sample(airs, GROUND);
        child.verify_own().expect("a valid proof");
        Stage::new("mixed", child.shape(), batch(&child), &[])
    });
    &STAGE
}

/// A batch whose lookups do not balance: one tuple is taken once too often.
pub(crate) fn unbalanced() -> &'static Stage {
    static STAGE: LazyLock<Stage> = LazyLock::new(|| {
        let airs = vec![
            SampleAir::new(6, 7).buses(&[Bus::Send]),
            SampleAir::new(6, 7).buses(&[Bus::Receive(64 / KEYS + 1)]),
        ];
        let child = BatchChild::sample(airs, FREE);
        child.verify_own().expect_err("more is taken than sent");
        Stage::new("unbalanced", child.shape(), batch(&child), &["E gate, assertion"])
    });
    &STAGE
}

/// A batch of one constant table that takes part in a lookup without ever taking anything.
pub(crate) fn idle() -> &'static Stage {
    static STAGE: LazyLock<Stage> = LazyLock::new(|| {
        let air = SampleAir::new(7, 7).degree(2).buses(&[Bus::Receive(0)]);
        let row = [16_u32, 5, 6, 0, 8, 9, 4].map(F::from_u32);
        let trace = RowMajorMatrix::new(row.repeat(1 << air.log_height), air.width);
        let child = BatchChild::prove(vec![air], &[trace], vec![vec![]], FREE);
        child.verify_own().expect("a valid proof");
        Stage::new("idle", child.shape(), batch(&child), &[])
    });
    &STAGE
}
