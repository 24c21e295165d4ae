//! What the presets promise.

use arbor_prover::security::{DEFAULT_MIN_PROVEN_BITS, Term, forecast};
use arbor_prover::tree::ProofSpec;
use arbor_prover::{
    BaseJob, Cache, FriOverrides, Job, ParamError, Policy, Preset, VerifyOptions, chain, preset,
    verify_bytes,
};

use super::{observer, spec, tree};

fn chain_of(base: BaseJob, layers: usize, preset: &str) -> Job {
    Job { preset: preset.to_owned(), ..Job::chain(base, layers) }
}

fn proven_bits(spec: &ProofSpec) -> f64 {
    forecast(spec).expect("compiles").proven.bits
}

#[test]
fn each_preset_is_proved_and_verified_and_keeps_its_promise() {
    let cache = Cache::new();
    for name in preset::names() {
        let spec = chain_of(BaseJob::fibonacci(20, 0, 1), 1, name).resolve().expect("valid");
        let proof = chain::prove(&spec, &cache, &observer()).expect("proves");
        let promised = Preset::named(name).expect("embedded").min_proven_bits;
        let insecure = name.starts_with("insecure");
        let least = if insecure { 0 } else { DEFAULT_MIN_PROVEN_BITS };
        let policy = Policy { min_proven_bits: promised.unwrap_or(least) };
        let options = VerifyOptions { policy, ..VerifyOptions::default() };
        let bytes = proof.to_bytes().expect("encodes");
        let verified = verify_bytes(&bytes, &options, &cache).expect("valid and strong enough");
        assert_eq!(verified.security.proven.bits >= 60.0, !insecure, "{name}");
    }
}

#[test]
fn proven_100_has_100_bits_in_every_proof_of_chains_and_trees() {
    for job in [
        chain_of(BaseJob::fibonacci(5, 0, 1), 4, "proven-100"),
        chain_of(BaseJob::fibonacci(50_000, 0, 1), 2, "proven-100"),
        chain_of(BaseJob::keccak(4, 1), 3, "proven-100"),
        chain_of(BaseJob::keccak(1_000, 1), 4, "proven-100"),
        chain_of(BaseJob::keccak(170_000, 1), 0, "proven-100"),
        tree(BaseJob::fibonacci(1_000, 0, 1), 2, 3, "proven-100"),
        tree(BaseJob::fibonacci(1_000, 0, 1), 8, 2, "proven-100"),
    ] {
        let spec = spec(&job);
        let report = forecast(&spec).expect("compiles");
        for layer in &report.layers {
            assert!(layer.proven.bits >= 100.0, "{:?}: {}", job.recursion, layer.proven);
        }
    }
}

#[test]
fn only_what_a_job_lacks_is_ground() {
    let small = chain_of(BaseJob::fibonacci(20, 0, 1), 0, "proven-100").resolve().expect("valid");
    let tall = chain_of(BaseJob::fibonacci(60_000, 0, 1), 0, "proven-100").resolve();
    let (small, tall) = (small.base.fri, tall.expect("valid").base.fri);
    assert_eq!(small.num_queries, tall.num_queries);
    assert!(small.batch_pow_bits < tall.batch_pow_bits);
    // The default promises nothing, and its keys stay what they are.
    let default = chain_of(BaseJob::fibonacci(60_000, 0, 1), 3, "default").resolve();
    assert_eq!(default.expect("valid").base.fri.batch_pow_bits, 0);
}

#[test]
fn a_job_that_cannot_have_the_bits_is_refused_with_what_binds() {
    let few = FriOverrides { num_queries: Some(20), ..FriOverrides::default() };
    let none = FriOverrides { batch_pow_bits: Some(0), ..FriOverrides::default() };
    for (fri, term) in [(few, Term::Queries), (none, Term::Batching)] {
        let mut job = chain_of(BaseJob::fibonacci(20, 0, 1), 1, "proven-100");
        job.fri = fri;
        let error = job.resolve().expect_err("too weak");
        let text = error.to_string();
        let ParamError::TooWeak { minimum, found } = error else { panic!("{text}") };
        assert_eq!((minimum, found.term), (100, term), "{text}");
        assert!(found.bits < 100.0);
        assert!(text.contains("100") && text.contains(&term.to_string()), "{text}");
    }
}

#[test]
fn leaves_of_too_many_kinds_are_refused_before_any_is_compiled() {
    let leaf = |n| arbor_prover::Leaf::Base(BaseJob::fibonacci(n, 0, 1));
    let job = Job {
        base: None,
        recursion: arbor_prover::Recursion::Tree {
            arity: 8,
            depth: None,
            leaves: Some((1_000_000..1_004_096).map(leaf).collect()),
        },
        ..chain_of(BaseJob::keccak(1, 1), 0, "proven-100")
    };
    let preset = Preset::named("proven-100").expect("embedded");
    let error = job.resolve_any(&preset, Vec::new()).expect_err("too many");
    assert!(matches!(error, ParamError::Refused { value: 4096, .. }), "{error}");
}

#[test]
fn a_finished_proof_is_not_made_stronger() {
    let weak = spec(&chain_of(BaseJob::fibonacci(20, 0, 1), 1, "default"));
    let mut job = chain_of(BaseJob::fibonacci(20, 0, 1), 0, "proven-100");
    job.base = None;
    job.recursion = arbor_prover::Recursion::Tree { arity: 2, depth: None, leaves: None };
    let preset = Preset::named("proven-100").expect("embedded");
    let error = job.resolve_any(&preset, vec![weak.clone(), weak]).expect_err("too weak");
    let ParamError::TooWeak { found, .. } = error else { panic!("{error}") };
    assert!(found.layer.starts_with("node 0/0, "), "{found}");
}

#[test]
fn proven_n_reaches_its_n_and_other_names_are_refused() {
    for (name, bits) in [("proven-60", 60.0), ("proven-80", 80.0), ("proven-110", 110.0)] {
        let spec = spec(&chain_of(BaseJob::fibonacci(20, 0, 1), 2, name));
        let got = proven_bits(&spec);
        assert!(got >= bits, "{name}: {got}");
    }
    let fewer = spec(&chain_of(BaseJob::fibonacci(20, 0, 1), 1, "proven-80")).naive_bits();
    assert!(fewer < spec(&chain_of(BaseJob::fibonacci(20, 0, 1), 1, "proven-100")).naive_bits());
    for name in ["proven-59", "proven-111", "proven-080", "proven-", "proven-1e2", "proven"] {
        let error = Preset::named(name).expect_err("no such preset");
        assert!(matches!(error, ParamError::UnknownPreset { .. }), "{name}");
        assert!(error.to_string().contains("60 to 110"), "{error}");
    }
    // 100 is the preset that proven-N is made from: the queries of both are derived alike.
    let preset = Preset::named("proven-100").expect("embedded");
    let derived = Preset::proven(100).expect("in range");
    assert_eq!(
        (preset.base, preset.layer, preset.tree),
        (derived.base, derived.layer, derived.tree)
    );
}

#[test]
fn the_last_proof_of_compact_is_smaller() {
    let cache = Cache::new();
    let size = |preset| {
        let spec = chain_of(BaseJob::fibonacci(20, 0, 1), 2, preset).resolve().expect("valid");
        let proof = chain::prove(&spec, &cache, &observer()).expect("proves");
        proof.reports.last().expect("two layers").proof_bytes
    };
    assert!(3 * size("compact") < 2 * size("default"));
}

#[test]
fn every_preset_but_the_insecure_has_what_the_default_policy_asks_at_any_size() {
    for name in preset::names().filter(|name| !name.starts_with("insecure")) {
        for job in [
            chain_of(BaseJob::keccak(170_000, 1), 0, name),
            chain_of(BaseJob::fibonacci(5, 0, 1), 3, name),
            tree(BaseJob::fibonacci(1_000, 0, 1), 8, 2, name),
        ] {
            let bits = proven_bits(&spec(&job));
            assert!(bits >= f64::from(DEFAULT_MIN_PROVEN_BITS), "{name}: {bits}");
        }
    }
}

#[test]
fn a_preset_with_a_promise_is_written_and_read_again() {
    let preset = Preset::named("proven-77").expect("in range");
    let text = toml::to_string(&preset).expect("serialises");
    assert_eq!(Preset::from_toml(&text, "again").expect("reads"), preset);
}
