//! What the AIR takes for granted of the preprocessed columns, over whole programs.

use std::collections::HashSet;

use p3_field::PrimeCharacteristicRing;
use p3_keccak_air::KeccakAir;
use p3_util::log2_ceil_usize;

use super::ROW;
use crate::child::ChildShape;
use crate::compiler::compile;
use crate::config::{F, FriConfig};
use crate::program::{Access, HashRow};
use crate::tables::hash::air::{Window, interact_a, interact_b, interact_c};
use crate::tables::hash::{HashCols, HashPreprocessed, preprocessed_trace};
use crate::tables::testing::Probe;
use crate::tables::testing::sample::{TINY, layer_shape, sample};

/// A program: its name, its rows, and the names and numbers of reads of its addresses.
type Named = (&'static str, Vec<HashRow>, Vec<F>, Vec<u32>);

/// A layer over a layer, layers over a wide base proof, over both, and over tables of mixed heights.
fn programs() -> Vec<Named> {
    let wide = |fri: FriConfig| ChildShape::uni(&KeccakAir {}, 6, &fri).expect("a shape");
    let no_pow = FriConfig {
        batch_pow_bits: 0,
        lookup_pow_bits: 0,
        ood_pow_bits: 0,
        commit_pow_bits: 0,
        query_pow_bits: 0,
        ..TINY
    };
    let narrow = FriConfig { max_log_arity: 1, cap_height: 0, log_blowup: 3, ..no_pow };
    let broad = FriConfig { max_log_arity: 4, cap_height: 3, log_final_poly_len: 5, ..TINY };
    let mut programs: Vec<_> = [
        ("layer over layer", vec![layer_shape()]),
        ("two layers", vec![layer_shape(), layer_shape()]),
        ("keccak", vec![wide(TINY)]),
        ("keccak without grinding", vec![wide(no_pow)]),
        ("keccak by pairs", vec![wide(narrow)]),
        ("keccak by sixteen", vec![wide(broad)]),
        ("keccak beside a layer", vec![wide(TINY), layer_shape()]),
    ]
    .into_iter()
    .map(|(name, children)| {
        let program = compile(&children).expect("compiles");
        (name, program.hashes, program.names, program.reads)
    })
    .collect();
    let mixed = sample().layer.program();
    let (hashes, names, reads) = (mixed.hashes.clone(), mixed.names.clone(), mixed.reads.clone());
    programs.push(("mixed heights", hashes, names, reads));
    programs
}

/// The flags of ports A, B and C on a row with these preprocessed columns.
fn flags(fixed: &[F], next: &[F]) -> [Vec<F>; 3] {
    let mut probe = Probe::new([&ROW; 2], [fixed, next], &[], 0, 1);
    let window = Window {
        now: HashCols::new(&ROW),
        next: HashCols::new(&ROW),
        fixed: HashPreprocessed::from_row(fixed),
        fixed_next: HashPreprocessed::from_row(next),
    };
    interact_a(&mut probe, &window);
    interact_b(&mut probe, &window);
    interact_c(&mut probe, &window);
    probe.flags.try_into().expect("three ports")
}

#[test]
fn at_most_one_branch_of_a_port_is_taken() {
    for (name, hashes, names, reads) in programs() {
        let log_height = log2_ceil_usize(hashes.len());
        let fixed = preprocessed_trace(&hashes, log_height, &names, &reads);
        let fixed: Vec<&[F]> = fixed.values.chunks_exact(fixed.width).collect();
        for row in 0..fixed.len() {
            let next = fixed[(row + 1) % fixed.len()];
            for (port, flags) in flags(fixed[row], next).iter().enumerate() {
                let boolean = flags.iter().all(|&flag| flag == F::ZERO || flag == F::ONE);
                let taken = flags.iter().filter(|&&flag| flag != F::ZERO).count();
                assert!(boolean && taken <= 1, "{name}, row {row}, port {port}: {flags:?}");
            }
        }
    }
}

#[test]
fn a_port_that_is_used_has_a_branch() {
    for (name, hashes, names, reads) in programs() {
        let log_height = log2_ceil_usize(hashes.len());
        let fixed = preprocessed_trace(&hashes, log_height, &names, &reads);
        let fixed: Vec<&[F]> = fixed.values.chunks_exact(fixed.width).collect();
        for (row, hash) in hashes.iter().enumerate() {
            let next = fixed[(row + 1) % fixed.len()];
            for (port, flags) in flags(fixed[row], next).iter().enumerate() {
                let taken = flags.contains(&F::ONE);
                assert!(taken || hash.ports[port].is_none(), "{name}, row {row}, port {port}");
            }
        }
    }
}

/// A row with multiplicities from the witness sends both its windows with them. A port without an
/// address would send at [`Addr::ZERO`](crate::program::Addr::ZERO) as often as the prover likes:
/// `compiler::tests::what_has_to_be_zero_cannot_be_anything_else` makes use of it.
#[test]
fn multiplicities_from_the_witness_belong_to_addresses_of_their_own() {
    let mut wrong = vec![];
    for (name, hashes, ..) in programs() {
        for (row, hash) in hashes.iter().enumerate() {
            if hash.fixed.dynamic == F::ZERO {
                continue;
            }
            let written = |port: usize| {
                hash.ports[port].is_some_and(|port| port.access == Access::WriteIndexed)
            };
            if !(written(0) && written(1)) {
                wrong.push((name, row));
            }
        }
    }
    assert_eq!(wrong, []);
}

/// One name for two addresses would let a read of one be a read of the other.
#[test]
fn no_two_addresses_have_one_name() {
    for (program, _, names, _) in programs() {
        let distinct: HashSet<F> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len(), "{program}");
    }
}

#[test]
fn selectors_exclude_each_other() {
    for (name, hashes, ..) in programs() {
        for (row, hash) in hashes.iter().enumerate() {
            let HashPreprocessed { mask, .. } = hash.fixed;
            let f = &hash.fixed;
            let kinds = [
                f.leaf_first,
                f.leaf_next,
                f.repeat,
                f.fri_first,
                f.fri_next,
                f.sponge_first,
                f.sponge_next,
                f.sponge_squeeze,
                f.path,
                f.inject,
                f.factor,
                f.bits_low,
                f.bits_high,
            ];
            let extra = [f.sum_next, f.path_next, f.last, f.slot, f.window0, f.window3, f.head];
            let others = [f.squeeze, f.table, f.dynamic];
            let boolean = kinds.iter().chain(&extra).chain(&others).chain(&mask);
            assert!(boolean.into_iter().all(|&flag| flag == F::ZERO || flag == F::ONE));
            let set = kinds.iter().filter(|&&kind| kind == F::ONE).count();
            assert_eq!(set, 1, "{name}, row {row}");
            // What the conditions path − path_next, path − path_next − slot, path − last − slot and
            // leaf − sum_next take for granted.
            let path = f.path == F::ONE;
            let steps = [f.path_next, f.last, f.slot].map(|flag| flag == F::ONE);
            assert!(path || steps == [false; 3], "{name}, row {row}");
            let [next, last, slot] = steps;
            assert!(!(slot && (next || last)), "{name}, row {row}: a path of one step");
            assert!(!last || next, "{name}, row {row}: a path of one step");
            assert!(f.sum_next == F::ZERO || f.leaf_next == F::ONE, "{name}, row {row}");
            // What terms without a selector take for granted: see `scratch`.
            assert!(f.c == F::ZERO || f.fri_first + f.fri_next + f.path + f.bits_low == F::ONE);
            assert!(f.c2 == F::ZERO || f.fri_first + f.fri_next + f.bits_low == F::ONE);
            let hosts = f.path + f.bits_low + f.table;
            assert!(f.kappa == F::ZERO || hosts == F::ONE, "{name}, row {row}");
        }
    }
}

#[test]
fn linked_rows_follow_what_they_are_linked_to() {
    for (name, hashes, ..) in programs() {
        for (row, pair) in hashes.windows(2).enumerate() {
            let [before, f] = [&pair[0].fixed, &pair[1].fixed];
            let leaf = before.leaf_first + before.leaf_next + before.repeat;
            let fri = before.fri_first + before.fri_next;
            let sponge = before.sponge_first + before.sponge_next + before.sponge_squeeze;
            let path = before.path + before.inject;
            let links = [
                (f.leaf_next, leaf),
                (f.sum_next, leaf),
                (f.repeat, leaf + sponge),
                (f.fri_next, fri),
                (f.sponge_next + f.sponge_squeeze, sponge + before.repeat),
                (f.path - f.path_next - f.slot, leaf),
                (f.slot, fri),
                (f.path_next, path),
                (f.inject, before.path - before.last),
                (f.factor, before.last),
                (f.bits_high, before.bits_low),
            ];
            for (link, (linked, allowed)) in links.into_iter().enumerate() {
                let fits = linked == F::ZERO || allowed == F::ONE;
                assert!(fits, "{name}, row {}, link {link}", row + 1);
            }
        }
        let first = &hashes[0].fixed;
        assert_eq!(first.sponge_first, F::ONE, "{name}: nothing links the last row to the first");
    }
}
