//! Twenty thousand mutants of proof files, from a fixed seed, through the verifying library: no panic, no
//! false acceptance, and a bound on the time and the memory of each. `fuzz/` has the same without end.
//!
//! A target of its own, because it measures the memory of its process.

#[path = "hostile/engine.rs"]
mod engine;
#[path = "hostile/files.rs"]
mod files;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arbor_circuits::config::BatchProof;
use arbor_prover::{
    BaseJob, Cache, Job, Observer, Preset, Recursion, Silent, VerifyOptions, chain, memory, tree,
    verify_bytes,
};
use engine::{Rng, mutant, same_proof};
use files::{Tally, golden, options, seal, stage};

/// Mutants, and the seed that they come from.
const FILES: usize = 20_000;
const SEED: u64 = 0x0061_7262_6f72;

/// What one file may take. The slowest, whose keys are derived anew, take a tenth of it.
const MOST_TIME: Duration = Duration::from_secs(10);
/// What all of them together may add to the memory of the process: mostly cached circuits.
const MOST_GROWTH: u64 = 900 << 20;

/// A Fibonacci base, a Keccak base, a chain and a tree.
fn seeds(cache: &Cache) -> Vec<Vec<u8>> {
    let observer: Arc<dyn Observer> = Arc::new(Silent);
    let preset = Preset::named("insecure-test").expect("embedded");
    let chain = |base| {
        let spec = Job::chain(base, 0).resolve_with(&preset).expect("valid");
        chain::prove(&spec, cache, &observer).expect("proves").to_bytes().expect("encodes")
    };
    let recursion = Recursion::Tree { arity: 2, depth: Some(1), leaves: None };
    let job = Job { recursion, ..Job::chain(BaseJob::fibonacci(9, 0, 1), 0) };
    let tree::ProofSpec::Tree(spec) = job.resolve_any(&preset, vec![]).expect("valid") else {
        panic!("a tree was asked for");
    };
    let tree = tree::prove(&spec, vec![], tree::RunOptions::default(), cache, &observer);
    vec![
        chain(BaseJob::fibonacci(50, 0, 1)),
        chain(BaseJob::keccak(1, 1)),
        golden().to_vec(),
        tree.expect("proves").to_bytes().expect("encodes"),
    ]
}

/// What a verifier of many small files would allow: keys that take a tenth of a second, not a minute.
fn small() -> VerifyOptions {
    VerifyOptions { max_rows: Some(1 << 10), max_derive_bytes: Some(150 << 20), ..options() }
}

/// What happened to some mutants.
#[derive(Default)]
struct Outcome {
    stages: Tally,
    slowest: Duration,
    failures: Vec<String>,
}

fn run(next: &AtomicUsize, seeds: &[Vec<u8>], cache: &Cache) -> Outcome {
    let mut outcome = Outcome::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= FILES {
            return outcome;
        }
        let bytes = mutant(&mut Rng(SEED + number as u64), seeds);
        let start = Instant::now();
        // A panic ends the thread, and the test with it.
        let verdict = verify_bytes(&bytes, &small(), cache);
        outcome.slowest = outcome.slowest.max(start.elapsed());
        if start.elapsed() > MOST_TIME {
            outcome.failures.push(format!("mutant {number} took {:?}", start.elapsed()));
        }
        match &verdict {
            // A header in other words over the same proof is no forgery.
            Ok(_) if seeds.iter().any(|seed| same_proof(seed, &bytes)) => {
                outcome.stages.add("same proof");
            }
            Ok(verified) => outcome.failures.push(format!("mutant {number}: {verified:?}")),
            Err(failure) if failure.to_string().contains("cannot handle") => {
                outcome.failures.push(format!("mutant {number}: the verifier panicked"));
            }
            Err(_) => outcome.stages.add(stage(&verdict)),
        }
    }
}

/// The hungriest headers and proofs that we know, one after the other.
fn hungry() -> Vec<(&'static str, Vec<u8>)> {
    let text =
        String::from_utf8(serde_json::to_vec(&files::golden_file().header).expect("encodes"));
    let text = text.expect("JSON is text");
    let bulk = |unit: &str, length: usize| unit.repeat(length / unit.len());
    // Well-formed JSON, with everything at the bottom of twenty trees inside each other.
    let nested = |unit: &str| {
        let open = r#"{"arity":2,"leaves":[{"proof":"#.repeat(20);
        let spec = text.find(r#""spec":"#).expect("a spec") + 7;
        let leaves = bulk(unit, 4_000_000);
        let close = "}]}".repeat(20);
        format!("{}{open}{{\"arity\":2,\"leaves\":[{leaves}1]}}{close}}}", &text[..spec])
    };
    let statement = {
        let open = r#"{"arity":2,"leaves":[{"position":0,"statement":"#.repeat(20);
        let leaves = bulk("[1],", 4_000_000);
        let close = "}]}".repeat(20);
        format!("{{\"statement\":{open}{{\"leaves\":[{leaves}1]}}{close}}}")
    };
    let program = format!(
        "{{\"spec\":{{\"base\":{{\"program\":{{\"x\":[{}1]}}}}}}}}",
        bulk(r#"{"":1},"#, 4_000_000)
    );
    let keys = format!("{{\"keys\":[{}1]", bulk(r#""","#, 4_000_000));
    let proof = files::golden_file().proof;
    let mut files: Vec<(&'static str, Vec<u8>)> =
        [nested("[1],"), nested(r#"{"":1},"#), statement, program, keys]
            .iter()
            .map(|header| ("a header", seal(header.as_bytes(), &proof)))
            .collect();
    for byte in [0, 1, 0x80, 0xff] {
        files.push(("a proof", seal(text.as_bytes(), &vec![byte; 15 << 20])));
    }
    // As many opened tables as fit, each of seven bytes that decode to two hundred.
    let valid: BatchProof = arbor_prover::proof::decode(&proof).expect("valid");
    let mut many = postcard::to_allocvec(&valid.commitments).expect("encodes");
    many.extend([0x80, 0x80, 0x80, 1]);
    many.extend(vec![0; 15 << 20]);
    files.push(("opened tables", seal(text.as_bytes(), &many)));
    files
}

#[test]
fn mutants_are_refused_in_bounded_time_and_memory() {
    let cache = Cache::new();
    let seeds = seeds(&cache);
    for seed in &seeds {
        verify_bytes(seed, &small(), &cache).expect("seeds are valid");
    }

    memory::reset_peak();
    let before = memory::peak_bytes().unwrap_or(0);
    for (what, bytes) in hungry() {
        memory::reset_peak();
        let start = Instant::now();
        let failure = verify_bytes(&bytes, &options(), &cache).expect_err("hungry");
        let growth = memory::peak_bytes().unwrap_or(0).saturating_sub(before);
        println!(
            "{what} of {} bytes: {} MiB, {:?}: {failure}",
            bytes.len(),
            growth >> 20,
            start.elapsed()
        );
        assert!(start.elapsed() < MOST_TIME && growth < MOST_GROWTH, "{what}: {growth} bytes");
        assert_eq!(failure.exit_code(), 1, "{failure}");
    }

    let (next, start) = (AtomicUsize::new(0), Instant::now());
    memory::reset_peak();
    let before = memory::peak_bytes().unwrap_or(0);
    let total = Mutex::new(Outcome::default());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let own = run(&next, &seeds, &cache);
                let mut total = total.lock().expect("no panic");
                total.stages.merge(&own.stages);
                total.slowest = total.slowest.max(own.slowest);
                total.failures.extend(own.failures);
            });
        }
    });
    let total = total.into_inner().expect("no panic");
    let growth = memory::peak_bytes().unwrap_or(0).saturating_sub(before);
    println!(
        "{FILES} mutants in {:?}, the slowest {:?}, {} MiB more at the peak\n{}  {:32} {:6}",
        start.elapsed(),
        total.slowest,
        growth >> 20,
        total.stages.table(),
        "the same proof, accepted",
        total.stages.of("same proof"),
    );
    assert!(total.failures.is_empty(), "{}", total.failures.join("\n"));
    assert!(growth < MOST_GROWTH, "{growth} bytes");
    // The thirteenth needs a proof of something false, made for the purpose: `hostile::proofs` has some.
    for stage in files::STAGES.iter().take(14).filter(|stage| !stage.starts_with("13")) {
        assert!(total.stages.of(stage) > 0, "no mutant came to {stage}");
    }
}
