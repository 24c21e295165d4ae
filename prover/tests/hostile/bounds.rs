//! Deriving the keys of a hostile file: bounded time and memory, whatever its parameters.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arbor_circuits::child::ChildShape;
use arbor_circuits::config::FriConfig;
use arbor_circuits::layer::PreparedLayer;
use arbor_prover::base::PreparedBase;
use arbor_prover::budget::{kept_bytes, log_rows};
use arbor_prover::key::to_hex;
use arbor_prover::tree::{LeafSpec, PreparedProof, ProofSpec, TreeSpec};
use arbor_prover::{
    BaseSpec, Cache, ChainSpec, Observer, Program, Silent, VerifyFailure, VerifyOptions, memory,
};

use super::files::{claiming, claiming_with, options, refusal};

/// Few queries, little of everything.
pub(crate) const WEAK: FriConfig = FriConfig {
    log_blowup: 2,
    max_log_arity: 4,
    log_final_poly_len: 5,
    cap_height: 5,
    num_queries: 3,
    batch_pow_bits: 0,
    lookup_pow_bits: 0,
    ood_pow_bits: 0,
    commit_pow_bits: 0,
    query_pow_bits: 1,
};

pub(crate) fn fibonacci(n: u64, fri: FriConfig) -> BaseSpec {
    BaseSpec { program: Program::Fibonacci { n, a: 0, b: 1 }, fri }
}

pub(crate) fn keccak(num_hashes: u64, fri: FriConfig) -> BaseSpec {
    BaseSpec { program: Program::Keccak { num_hashes, seed: 1 }, fri }
}

pub(crate) fn chain(
    base: BaseSpec,
    layers: usize,
    layer_fri: FriConfig,
    last_fri: FriConfig,
) -> LeafSpec {
    LeafSpec::Proof(Box::new(ProofSpec::Chain(ChainSpec { base, layers, layer_fri, last_fri })))
}

pub(crate) fn tree(leaves: Vec<LeafSpec>, arity: usize) -> ProofSpec {
    ProofSpec::Tree(TreeSpec { arity, leaves, layer_fri: WEAK, last_fri: WEAK })
}

fn shape(base: &BaseSpec) -> ChildShape {
    PreparedBase::prepare(base).expect("compiles").shape()
}

#[test]
fn rows_are_bounded_before_anything_is_compiled() {
    let many = FriConfig { num_queries: 100, ..WEAK };
    let long = FriConfig { log_final_poly_len: 8, num_queries: 50, ..WEAK };
    let narrow = FriConfig { max_log_arity: 1, log_final_poly_len: 0, cap_height: 0, ..many };
    let low = FriConfig { log_blowup: 1, cap_height: 3, ..many };
    let high = FriConfig { log_blowup: 4, cap_height: 7, ..many };
    let mut shapes = vec![
        ("keccak", WEAK, vec![shape(&keccak(2, WEAK))]),
        ("2 keccak", WEAK, vec![shape(&keccak(50, WEAK)); 2]),
        ("keccak", many, vec![shape(&keccak(2, many))]),
    ];
    for fri in [WEAK, many, long, narrow, low, high] {
        shapes.push(("fibonacci", fri, vec![shape(&fibonacci(100, fri))]));
        shapes.push(("4 fibonacci", fri, vec![shape(&fibonacci(1000, fri)); 4]));
        if fri.log_blowup > 1 {
            let layer = PreparedLayer::prepare(vec![shape(&fibonacci(100, WEAK))], fri, 0);
            shapes.push(("layer", fri, vec![layer.expect("compiles").shape()]));
        }
    }
    for (name, fri, children) in shapes {
        let bound = log_rows(&children, &WEAK, 0);
        let layer = PreparedLayer::prepare(children, WEAK, 0).expect("compiles");
        let rows: Vec<usize> = layer.tables().iter().map(|table| table.rows).collect();
        let real = layer.shape().log_heights()[0];
        println!("{name:12} {rows:?}: 2^{real} <= 2^{bound}, {} queries", fri.num_queries);
        assert!(real <= bound && bound <= real + 1, "{name}: {real}, bound {bound}, {fri:?}");
        assert!(layer.preprocessed_bytes() as u64 <= kept_bytes(bound, &WEAK), "{name}: {fri:?}");
    }
}

/// Chains that differ in nothing but the parameters of their last layer: one base, many circuits.
fn many_last_layers(leaves: usize, log_blowup: usize) -> ProofSpec {
    let last = |i: usize| FriConfig { num_queries: 1 + i, log_blowup, ..WEAK };
    let leaf = |i: usize| chain(fibonacci(10, WEAK), 2, WEAK, last(i));
    tree((0..leaves).map(leaf).collect(), 2)
}

#[test]
fn the_circuits_of_a_file_are_bounded_together() {
    let options = VerifyOptions { max_derive_bytes: Some(400 << 20), ..options() };
    let start = Instant::now();
    let failure = refusal(&claiming(&many_last_layers(64, 4)), &options, &Cache::new());
    println!("{failure}, after {:?}", start.elapsed());
    assert!(
        matches!(failure, VerifyFailure::OverLimit { got, .. } if got < 800 << 20),
        "{failure}"
    );
    assert_eq!(failure.exit_code(), 3);
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn the_verdict_on_cost_does_not_depend_on_what_is_cached() {
    let bytes = claiming(&many_last_layers(4, 2));
    let cache = Cache::new();
    let generous = refusal(&bytes, &options(), &cache);
    assert!(matches!(generous, VerifyFailure::KeyCount { .. }), "{generous}");
    let options = VerifyOptions { max_derive_bytes: Some(130 << 20), ..options() };
    for cache in [cache, Cache::new()] {
        let failure = refusal(&bytes, &options, &cache);
        assert!(matches!(failure, VerifyFailure::OverLimit { .. }), "{failure}");
    }
}

#[test]
fn many_leaves_cost_no_more_than_their_distinct_circuits() {
    // The second goes round six last layers, where the cache has room for two that nobody holds. Each of
    // the last has 64 layers and caps of 256 digests.
    for (leaves, layers, distinct) in [(3000, 0, 1), (2000, 3, 6), (2000, 64, 1)] {
        let last = |i: usize| FriConfig {
            num_queries: 1 + i % distinct,
            log_final_poly_len: 8,
            cap_height: 8,
            ..WEAK
        };
        let leaf = |i: usize| match layers {
            0 => LeafSpec::Base(fibonacci(10, WEAK)),
            _ => chain(fibonacci(10, WEAK), layers, WEAK, last(i)),
        };
        let spec = tree((0..leaves).map(leaf).collect(), 2);
        let bytes = claiming(&spec);
        let (start, cache) = (Instant::now(), Cache::with_bytes(1));
        let failure = refusal(&bytes, &options(), &cache);
        let (elapsed, prepared) = (start.elapsed(), cache.prepared());
        println!("{leaves} leaves of {layers} layers: {failure}, {prepared} circuits, {elapsed:?}");
        assert!(matches!(failure, VerifyFailure::KeyCount { .. }), "{failure}");
        assert!(prepared < 40, "{prepared} circuits were prepared");
        assert!(elapsed < Duration::from_secs(30), "{elapsed:?}");

        // With the right keys, which anybody can derive, a file comes to all further steps.
        let cache = Cache::new();
        let observer: Arc<dyn Observer> = Arc::new(Silent);
        let keys = PreparedProof::prepare(&spec, &cache, &observer).expect("compiles").keys();
        let bytes = claiming_with(&spec, keys.iter().map(to_hex).collect());
        let start = Instant::now();
        let failure = refusal(&bytes, &options(), &cache);
        println!("with keys: {failure}, {:?}", start.elapsed());
        assert!(matches!(failure, VerifyFailure::Rejected { .. }), "{failure}");
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    }
}

#[test]
fn more_distinct_bases_than_allowed_are_refused_at_once() {
    let leaf = |i: usize| LeafSpec::Base(fibonacci(i as u64, WEAK));
    let start = Instant::now();
    let bytes = claiming(&tree((0..65).map(leaf).collect(), 2));
    let failure = refusal(&bytes, &options(), &Cache::new());
    assert!(matches!(failure, VerifyFailure::OverLimit { got: 65, limit: 64, .. }), "{failure}");
    // 64 tables of 2^15 rows each would be committed to.
    let leaf = |i: usize| LeafSpec::Base(fibonacci(17_000 + i as u64, WEAK));
    let bytes = claiming(&tree((0..64).map(leaf).collect(), 2));
    let failure = refusal(&bytes, &options(), &Cache::new());
    assert!(matches!(failure, VerifyFailure::OverLimit { what, .. } if what.contains("rows")));
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

/// The figure in SECURITY.md: what the default limits let a file cost at most.
#[test]
#[ignore = "takes the 4 GiB and the minute that it measures"]
fn worst_case() {
    let most = |queries| FriConfig { num_queries: queries, log_blowup: 3, ..WEAK };
    let shapes = (0..64).map(|i| LeafSpec::Base(fibonacci(8_000 << (i % 2), most(1 + i / 2))));
    let cases = [
        ("64 leaves of 64 shapes", tree(shapes.collect(), 8)),
        ("64 last layers, blowup 16", many_last_layers(64, 4)),
        ("4 proofs of 512 queries, blowup 16", {
            let fri = FriConfig { num_queries: 512, log_blowup: 2, ..WEAK };
            let high = FriConfig { log_blowup: 4, ..WEAK };
            let leaves = vec![chain(fibonacci(1, WEAK), 1, WEAK, fri); 4];
            ProofSpec::Tree(TreeSpec { arity: 4, leaves, layer_fri: high, last_fri: high })
        }),
        ("200 last layers, blowup 4", many_last_layers(200, 2)),
        ("200 last layers, blowup 2", {
            let last =
                |i: usize| FriConfig { num_queries: 1 + i, log_blowup: 1, cap_height: 4, ..WEAK };
            let leaf = |i: usize| chain(keccak(1, WEAK), 2, last(i % 50), last(i));
            tree((0..200).map(leaf).collect(), 2)
        }),
    ];
    for (name, spec) in cases {
        let bytes = claiming(&spec);
        memory::reset_peak();
        let start = Instant::now();
        let failure = refusal(&bytes, &options(), &Cache::new());
        let (elapsed, peak) = (start.elapsed(), memory::peak_bytes().unwrap_or(0) >> 20);
        println!("{name}: {elapsed:.1?}, peak {peak} MiB: {failure}");
        assert!(elapsed < Duration::from_secs(300), "{elapsed:?}");
    }
}
