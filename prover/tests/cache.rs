//! The cache counts circuits in bytes.

use arbor_prover::cache::CacheStats;
use arbor_prover::{BaseJob, Cache, Job};

fn base(n: u64) -> arbor_prover::BaseSpec {
    let job =
        Job { preset: "insecure-test".to_owned(), ..Job::chain(BaseJob::fibonacci(n, 0, 1), 0) };
    job.resolve().expect("valid").base
}

#[test]
fn what_was_used_longest_ago_goes_first() {
    let (small, other, large) = (base(100), base(200), base(5_000));
    let one = {
        let cache = Cache::new();
        cache.base(&small, || ()).expect("compiles");
        cache.stats().bytes
    };
    let cache = Cache::with_bytes(5 * one / 2);
    let (_, fresh) = cache.base(&small, || ()).expect("compiles");
    assert!(fresh);
    cache.base(&other, || ()).expect("compiles");
    let (held, fresh) = cache.base(&small, || ()).expect("compiles");
    assert!(!fresh);
    let full = cache.stats();
    assert_eq!((full.entries, full.hits, full.misses, full.evictions), (2, 1, 2, 0));

    // Too much in all: what nobody holds goes, and what is held is found again whatever the limit.
    let (large_one, fresh) = cache.base(&large, || ()).expect("compiles");
    assert!(fresh);
    let after = cache.stats();
    assert_eq!((after.entries, after.evictions), (2, 1));
    assert!(after.bytes > 5 * one / 2);
    assert!(!cache.base(&large, || panic!("it is held")).expect("compiles").1);
    assert!(!cache.base(&small, || panic!("it is held")).expect("compiles").1);
    drop((held, large_one));
    cache.shrink_to(0);
    assert_eq!((cache.stats().entries, cache.stats().bytes), (0, 0));

    cache.base(&small, || ()).expect("compiles");
    cache.base(&other, || ()).expect("compiles");
    cache.base(&small, || ()).expect("compiles");
    cache.shrink_to(one);
    assert!(!cache.base(&small, || panic!("it is there")).expect("compiles").1);
    let left = cache.stats();
    assert_eq!(left.entries, 1);
    assert_eq!(CacheStats { hits: 0, misses: 0, evictions: 0, ..left }.bytes, one);
}

#[test]
fn a_circuit_that_cannot_be_made_leaves_nothing_behind() {
    let mut impossible = base(100);
    impossible.fri.num_queries = 0;
    let cache = Cache::new();
    assert!(cache.base(&impossible, || ()).is_err());
    assert_eq!(cache.stats().entries, 0);
}
