//! Rows that the compiler emits, against Plonky3's own challenger.

use std::collections::BTreeSet;
use std::sync::Arc;

use p3_challenger::{CanObserve, CanSample};
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};
use p3_symmetric::Permutation;
use proptest::prelude::*;

use super::sponge::{Limb, Sponge};
use crate::check::{Fault, faults};
use crate::config::{Challenger, D, EF, F, RATE, WIDTH, challenger, permutation};
use crate::layer::pad_gates;
use crate::program::{Addr, HashRow, ProgramBuilder, Role, Source};
use crate::tables::LayerAir;
use crate::tables::arith::{self, ArithAir, Publics};
use crate::tables::hash::{HashPreprocessed, NUM_PREPROCESSED, preprocessed_trace, scratch};
use crate::tables::testing::rows::{HandRow, HashRows};
use crate::tables::testing::{Bus, message};

/// One step of a transcript.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Absorbs a value that is on the bus.
    Read([u32; D]),
    /// Absorbs a value and puts it there.
    Write([u32; D]),
    /// Absorbs an entry of an indexed table: a cap, of two values.
    Cap([u32; 2 * D]),
    /// Absorbs an element that only the sponge sees, and samples one: a proof of work.
    Grind(u32),
    /// Samples elements.
    Sample(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<[u32; D]>().prop_map(Step::Read),
        any::<[u32; D]>().prop_map(Step::Write),
        any::<[u32; 2 * D]>().prop_map(Step::Cap),
        any::<u32>().prop_map(Step::Grind),
        (1_usize..=20).prop_map(Step::Sample),
    ]
}

fn base(value: u32) -> F {
    F::from_u64(value.into())
}

/// A sponge of rows beside a native challenger.
struct Twin<'a> {
    sponge: Sponge<'a>,
    native: Challenger,
    absorbed: Vec<F>,
    /// What has to be on the bus, and whether it is read.
    values: Vec<(Addr, [F; D], bool)>,
    samples: Vec<(Limb, F)>,
}

impl Twin<'_> {
    fn observe(&mut self, values: &[F]) {
        for &value in values {
            self.native.observe(value);
            self.absorbed.push(value);
        }
    }

    fn sample(&mut self) {
        let limb = self.sponge.sample();
        self.sponge.builder.read(limb.pack);
        self.samples.push((limb, self.native.sample()));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Read(value) | Step::Write(value) => {
                let value = value.map(base);
                let addr = self.sponge.builder.alloc();
                let read = matches!(step, Step::Read(_));
                if read {
                    self.sponge.read(addr);
                } else {
                    self.sponge.builder.read(addr);
                    self.sponge.write(addr);
                }
                self.values.push((addr, value, read));
                self.observe(&value);
            }
            Step::Cap(entry) => {
                let first = self.sponge.builder.alloc_block(2);
                for half in 0..2 {
                    self.sponge.write_indexed(first.offset(half));
                }
                self.observe(&entry.map(base));
            }
            Step::Grind(witness) => {
                self.sponge.free();
                self.observe(&[base(witness)]);
                self.sample();
            }
            Step::Sample(count) => (0..count).for_each(|_| self.sample()),
        }
    }
}

/// Fills rows of sponges that absorb `elements`, by what the documentation of the columns says. On
/// rows that ask for them, the multiplicities are `counts` of the row.
fn fill(
    hashes: &[HashRow],
    fixed: &[F],
    elements: &[F],
    counts: impl Fn(usize) -> [F; 2],
) -> HashRows {
    let mut rows = HashRows::default();
    let mut elements = elements.iter();
    let (mut input, mut output) = ([F::ZERO; WIDTH], [F::ZERO; WIDTH]);
    for (i, (hash, fixed)) in hashes.iter().zip(fixed.chunks_exact(NUM_PREPROCESSED)).enumerate() {
        if hash.source != Source::Repeat {
            let first = hash.fixed.sponge_first == F::ONE;
            input = if first { [F::ZERO; WIDTH] } else { output };
            let count = hash.absorbed();
            if count > 0 {
                input[..RATE].fill(F::ZERO);
                input[..count].iter_mut().zip(&mut elements).for_each(|(cell, &e)| *cell = e);
                input[RATE] += F::from_usize(count);
            }
        }
        let mut row = HandRow::new(HashPreprocessed::from_row(fixed), input);
        if hash.fixed.dynamic == F::ONE {
            row.put(scratch::MULTIPLICITY, &counts(i));
        }
        rows.push(row);
        output = permutation().permute(input);
    }
    assert_eq!(elements.len(), 0, "everything is absorbed");
    rows
}

/// The one value that the bus has at an address.
fn at(bus: &Bus, addr: Addr) -> Option<&[F]> {
    let name = F::from_u32(addr.0);
    bus.keys().find(|message| message[0] == name).map(|message| &message[1..])
}

/// Runs the steps on rows and natively, and compares.
fn compare(head: Option<[u32; 3]>, steps: &[Step]) {
    let mut builder = ProgramBuilder::new();
    let x = builder.alloc();
    builder.set_generator(x);
    let mut twin = Twin {
        sponge: Sponge::new(&mut builder, Source::Transcript),
        native: challenger(),
        absorbed: vec![],
        values: vec![],
        samples: vec![],
    };
    if let Some(head) = head {
        let head = head.map(base);
        twin.sponge.constants(&head);
        twin.observe(&head);
    }
    for &step in steps {
        twin.step(step);
    }
    // Whatever is left over enters with the next sample.
    twin.sample();
    let Twin { absorbed, values, samples, .. } = twin;

    let names: Vec<F> = builder.names.iter().map(|&name| F::from_u32(name)).collect();
    let log_height = builder.hashes.len().next_power_of_two().trailing_zeros() as usize;
    let fixed = preprocessed_trace(&builder.hashes, log_height, &names, &builder.reads);
    let outcome =
        fill(&builder.hashes, &fixed.values, &absorbed, |_| [F::from_u8(3), F::from_u8(5)]).check();
    assert_eq!(outcome.failed, BTreeSet::new());
    for (limb, expected) in samples {
        let pack = at(&outcome.bus, limb.pack).expect("a pack that is read is on the bus");
        assert_eq!(pack[limb.limb], expected);
    }
    let comparisons = builder.gates.iter().filter(|gate| gate.q[1] == F::ONE);
    for (addr, value, read) in values {
        let sent = message(F::from_u32(addr.0), &value);
        // A read beside an indexed write goes to a copy that E compares.
        let copy = comparisons.clone().find(|gate| gate.out == addr).map(|gate| gate.a);
        match copy {
            Some(copy) => assert_eq!(at(&outcome.bus, copy), Some(&value[..])),
            None => {
                let count = if read { F::NEG_ONE } else { outcome.bus[&sent] };
                assert_ne!(count, F::ZERO);
                assert_eq!(outcome.bus.get(&sent), Some(&count), "{addr:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_sponge_is_the_duplex_challenger(
        head in prop::option::of(any::<[u32; 3]>()),
        steps in prop::collection::vec(any_step(), 1..=12),
    ) {
        compare(head, &steps);
    }
}

#[test]
fn whole_packs_are_sampled_in_the_order_of_the_challenger() {
    let mut builder = ProgramBuilder::new();
    let mut sponge = Sponge::new(&mut builder, Source::Ports);
    let (aligned, not) = (sponge.sample_ext(), sponge.sample());
    assert!(aligned.is_ok(), "four elements from the start of an output are one pack");
    assert_eq!(not.limb, 0);
    let limbs = sponge.sample_ext().expect_err("the next four straddle two outputs");
    assert_eq!(limbs.map(|limb| limb.limb), [1, 2, 3, 0]);
    let first = permutation().permute([F::ZERO; WIDTH]);
    let mut native = challenger();
    let expected: [F; D] = std::array::from_fn(|_| native.sample());
    assert_eq!(expected, [first[7], first[6], first[5], first[4]]);
}

/// Two sponges that absorb seven constants and a cap of one entry, and a value that E requires to be
/// zero. Returns the faults of both tables with `value`, with caps that hold it where a port that has
/// no address looks, and with `count` as the multiplicity of that port: `count` on the row that has
/// the value there, −`count` on the row that has zero.
fn faults_of_a_required_zero(value: [F; D - 1], count: F) -> Vec<Fault> {
    let mut builder = ProgramBuilder::new();
    let generator = builder.free_input();
    builder.set_generator(generator);
    let constants: [F; 7] = std::array::from_fn(|i| F::from_usize(i + 1));
    let mut elements = vec![];
    for limbs in [value, [F::ZERO; D - 1]] {
        let mut sponge = Sponge::new(&mut builder, Source::Transcript);
        sponge.constants(&constants);
        let cap = sponge.builder.alloc_block(2);
        sponge.write_indexed(cap);
        sponge.write_indexed(cap.offset(1));
        sponge.sample();
        elements.extend(constants);
        elements.push(F::ONE);
        elements.extend(limbs);
        elements.extend([F::ONE; D]);
    }
    let required = builder.free_input();
    builder.assert_zero(required);
    let last = builder.gates.len() - 1;

    let mut memory = EF::zero_vec(builder.reads.len());
    memory[generator.index()] = EF::from_basis_coefficients_fn(|i| F::from_bool(i == 1));
    let value = [F::ZERO, value[0], value[1], value[2]];
    memory[required.index()] = EF::from_basis_coefficients_fn(|i| value[i]);
    let second = EF::from_basis_coefficients_fn(|i| constants[3 + i]);
    for hash in builder.hashes.iter().filter(|hash| hash.fixed.head == F::ONE) {
        memory[hash.ports[0].expect("the second four constants").addr.index()] = second;
    }
    for gate in builder.gates.iter().filter(|gate| gate.role == Role::Compute) {
        let [a, b, c] = [gate.a, gate.b, gate.c].map(|addr| memory[addr.index()]);
        memory[gate.out.index()] = gate.eval(a, b, c);
    }

    let (mut gates, mut reads) = (builder.gates, builder.reads);
    let log_height = gates.len().next_power_of_two().trailing_zeros() as usize;
    pad_gates(&mut gates, &mut reads, log_height);
    let names: Vec<F> = builder.names.iter().map(|&name| F::from_u32(name)).collect();
    let mut trace = arith::fill_rows(&gates, log_height, &memory);
    trace.values[last * arith::NUM_COLS + 3 * D..][..D].copy_from_slice(&value);
    let fixed = preprocessed_trace(&builder.hashes, 4, &names, &reads);
    let counts = |row: usize| match (builder.hashes[row].fixed.head == F::ONE, row) {
        (true, _) => [F::ONE, F::ZERO],
        (false, 1) => [F::ZERO, count],
        (false, _) => [F::ZERO, -count],
    };
    let (hash, hash_trace) = fill(&builder.hashes, &fixed.values, &elements, counts).table();
    let preprocessed = Arc::new(arith::preprocessed_trace(&gates, log_height, &names, &reads));
    let publics = Publics::Scalars(0);
    let arith = LayerAir::Arith(ArithAir { publics, preprocessed });
    faults(&[(&arith, &trace, &[]), (&hash, &hash_trace, &[])], 10)
}

#[test]
fn a_required_zero_is_accepted() {
    assert_eq!(faults_of_a_required_zero([F::ZERO; D - 1], F::ZERO), []);
}

/// The row that absorbs the end of a cap alone sends its second window, which has no address, at that
/// of zero and as often as the prover likes. A cap entry that no query opens is not checked by
/// anything, so what is sent there is the prover's choice: with one such row that holds zero and
/// another one, every read of zero can be one of something else.
#[test]
fn what_has_to_be_zero_cannot_be_anything_else() {
    let value = [F::from_u8(5), F::from_u8(6), F::from_u8(7)];
    assert_ne!(faults_of_a_required_zero(value, F::ZERO), []);
    assert_ne!(faults_of_a_required_zero(value, F::ONE), []);
}
