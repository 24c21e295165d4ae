//! Any bytes, as a proof file: a verdict, and neither a panic nor more than bounded time and memory.
//!
//! libFuzzer's mutants would all stop at the checksum. So most of them get lengths and a checksum that
//! fit, and half of them come from the engine of the bounded test, which knows what a file consists of.

#![no_main]

#[path = "../../prover/tests/hostile/engine.rs"]
mod engine;

use std::sync::OnceLock;

use arbor_prover::{Cache, VerifyFailure, VerifyOptions, verify_bytes};
use engine::{Parts, Rng};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

/// Small limits: most of a run should go into verdicts, not into keys.
fn options() -> VerifyOptions {
    VerifyOptions {
        max_rows: Some(1 << 10),
        max_derive_bytes: Some(150 << 20),
        ..VerifyOptions::any_strength()
    }
}

fn cache() -> &'static Cache {
    static CACHE: OnceLock<Cache> = OnceLock::new();
    CACHE.get_or_init(Cache::new)
}

fn seeds() -> &'static [Vec<u8>] {
    static SEEDS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    SEEDS.get_or_init(|| {
        vec![
            include_bytes!("../corpus/verify/base.arbor").to_vec(),
            include_bytes!("../corpus/verify/layer.arbor").to_vec(),
            include_bytes!("../corpus/verify/tree.arbor").to_vec(),
        ]
    })
}

fuzz_target!(|bytes: &[u8]| {
    match verify_bytes(bytes, &options(), cache()) {
        Ok(verified) => {
            let known = seeds().iter().any(|seed| engine::same_proof(seed, bytes));
            assert!(known, "accepted: {verified:?}");
        }
        Err(VerifyFailure::Panicked) => panic!("Plonky3's verifier panicked"),
        Err(_) => {}
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut rng = Rng(u64::from(seed));
    let mutant = if rng.below(2) == 0 {
        engine::mutant(&mut rng, seeds())
    } else {
        let size = libfuzzer_sys::fuzzer_mutate(data, size, max_size);
        match Parts::of(&data[..size]) {
            Some(parts) if rng.below(8) > 0 => parts.seal(),
            _ => return size,
        }
    };
    let size = mutant.len().min(max_size);
    data[..size].copy_from_slice(&mutant[..size]);
    size
});
