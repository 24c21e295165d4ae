//! What must not change unnoticed: the keys of the presets' circuits, and that old files verify.
//!
//! `ARBOR_REGENERATE=1 cargo test --release -p arbor-prover --test golden` writes both anew. A commit
//! that does so says why, on a line of its own.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use arbor_prover::key::to_hex;
use arbor_prover::{
    BaseJob, Cache, Job, Observer, Silent, VerifyOptions, chain, preset, verify_bytes,
};

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn regenerate() -> bool {
    std::env::var_os("ARBOR_REGENERATE").is_some()
}

fn observer() -> Arc<dyn Observer> {
    Arc::new(Silent)
}

fn job(base: BaseJob, preset: &str) -> Job {
    Job { preset: preset.to_owned(), ..Job::chain(base, 4) }
}

/// One line a key: preset, program, layer, digest.
fn keys() -> String {
    let cache = Cache::new();
    let mut text = String::new();
    for preset in preset::names() {
        for base in [BaseJob::fibonacci(100, 0, 1), BaseJob::keccak(4, 1)] {
            let spec = job(base, preset).resolve().expect("presets are valid");
            let prepared = chain::prepare(&spec, &cache, &observer()).expect("compiles");
            for (layer, key) in prepared.keys().iter().enumerate() {
                let name = spec.base.program.name();
                writeln!(text, "{preset} {name} {layer} {}", to_hex(key)).expect("a string");
            }
        }
    }
    text
}

#[test]
fn the_keys_of_the_presets_are_those_on_record() {
    let path = golden("keys.txt");
    let keys = keys();
    if regenerate() {
        std::fs::write(&path, &keys).expect("writable");
    }
    let recorded = std::fs::read_to_string(&path).expect("recorded");
    assert_eq!(keys, recorded, "a key has changed: see the head of this file");
}

#[test]
fn a_file_on_record_still_verifies() {
    let path = golden("fibonacci.arbor");
    if regenerate() {
        let spec = job(BaseJob::fibonacci(20, 3, 4), "insecure-test").resolve().expect("valid");
        let proof = chain::prove(&spec, &Cache::new(), &observer()).expect("proves");
        proof.write(&path).expect("writable");
    }
    let bytes = std::fs::read(&path).expect("recorded");
    let verified =
        verify_bytes(&bytes, &VerifyOptions::any_strength(), &Cache::new()).expect("still valid");
    assert_eq!(verified.statement.results().len(), 1);
}
