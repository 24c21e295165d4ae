//! The least over every proof below, named.

use arbor_prover::security::{self, SecurityReport, Term};
use arbor_prover::tree::{LeafSpec, PreparedProof, ProofSpec, TreeSpec};
use arbor_prover::{BaseJob, Cache, FriOverrides, Job, VerifyOptions, chain, verify_bytes};

use super::{observer, small_chain, spec, tree};

fn prepared(spec: &ProofSpec) -> SecurityReport {
    let proof = PreparedProof::prepare(spec, &Cache::new(), &observer()).expect("compiles");
    SecurityReport::of(&proof)
}

fn with_base(mut job: Job, fri: FriOverrides) -> Job {
    if let Some(BaseJob::Fibonacci { fri: own, .. }) = &mut job.base {
        *own = fri;
    }
    job
}

/// Of a tree with leaves that are bases and finished proofs of several shapes.
fn mixed() -> ProofSpec {
    let strong = FriOverrides { num_queries: Some(9), ..FriOverrides::default() };
    let mut job = tree(BaseJob::fibonacci(20, 0, 1), 2, 1, "insecure-test");
    job.fri = strong;
    let ProofSpec::Tree(mut outer) = spec(&job) else { panic!("a tree was asked for") };
    let mut finished = small_chain(1);
    finished.fri = strong;
    finished = with_base(finished, FriOverrides { num_queries: Some(2), ..strong });
    outer.leaves.push(LeafSpec::Proof(Box::new(spec(&finished))));
    let inner = tree(BaseJob::keccak(1, 1), 3, 1, "insecure-test");
    outer.leaves.push(LeafSpec::Proof(Box::new(spec(&Job { fri: strong, ..inner }))));
    ProofSpec::Tree(TreeSpec { arity: 3, ..outer })
}

#[test]
fn a_weak_base_binds_the_whole_chain() {
    let strong = spec(&small_chain(2));
    let weak = FriOverrides { num_queries: Some(1), ..FriOverrides::default() };
    let weak = spec(&with_base(small_chain(2), weak));
    let (strong, weak) = (prepared(&strong), prepared(&weak));
    for figure in [&weak.naive, &weak.conjectured, &weak.proven] {
        assert_eq!((figure.layer.as_str(), figure.term), ("base", Term::Queries));
    }
    assert!(weak.proven.bits < strong.proven.bits);
    assert_eq!(strong.layers.iter().map(|layer| layer.proofs).sum::<usize>(), 3);
}

#[test]
fn a_weak_last_layer_binds_too() {
    let mut job = small_chain(3);
    job.last.fri = FriOverrides { num_queries: Some(1), ..FriOverrides::default() };
    let report = prepared(&spec(&job));
    assert_eq!(report.proven.layer, "layer 3");
    assert_eq!(report.naive.bits, 3.0, "1 query of 2 bits and 1 bit of grinding");
}

#[test]
fn a_weak_proof_deep_inside_of_a_tree_binds_the_root() {
    let report = prepared(&mixed());
    assert_eq!(report.proven.layer, "node 0/2, base");
    assert_eq!(report.naive.bits, 5.0, "2 queries of 2 bits and 1 bit of grinding");
    let names: Vec<&str> = report.layers.iter().map(|layer| layer.layer.as_str()).collect();
    assert!(names.contains(&"node 0/3, node 0/0"), "leaves of the tree inside: {names:?}");
}

#[test]
fn the_forecast_is_the_report_of_the_circuits() {
    let jobs = [
        spec(&small_chain(0)),
        spec(&small_chain(5)),
        spec(&Job { preset: "default".to_owned(), ..Job::chain(BaseJob::keccak(4, 1), 4) }),
        spec(&Job { preset: "compact".to_owned(), ..Job::chain(BaseJob::fibonacci(9, 0, 1), 3) }),
        spec(&tree(BaseJob::fibonacci(20, 0, 1), 3, 2, "insecure-test")),
        mixed(),
    ];
    for spec in jobs {
        let forecast = security::forecast(&spec).expect("compiles");
        assert_eq!(forecast, prepared(&spec));
        let report = security::report(&spec, &Cache::new(), &observer()).expect("compiles");
        assert_eq!(forecast, report);
    }
}

#[test]
fn the_forecast_knows_the_height_of_every_sequence() {
    // Around the powers of two, where a row more is a table twice as tall.
    for n in (0..8).chain(1000..1030) {
        let spec = spec(&Job { base: Some(BaseJob::fibonacci(n, 0, 1)), ..small_chain(0) });
        assert_eq!(security::forecast(&spec).expect("compiles"), prepared(&spec), "{n}");
    }
}

#[test]
fn a_file_has_the_report_of_its_job() {
    let spec = small_chain(2).resolve().expect("valid");
    let cache = Cache::new();
    let proof = chain::prove(&spec, &cache, &observer()).expect("proves");
    let bytes = proof.to_bytes().expect("encodes");
    let verified =
        verify_bytes(&bytes, &VerifyOptions::any_strength(), &Cache::new()).expect("valid");
    let of_job = security::report(&ProofSpec::Chain(spec.clone()), &cache, &observer());
    assert_eq!(verified.security, of_job.expect("compiles"));
    assert_eq!(verified.security.naive.bits, spec.naive_bits() as f64);
}

#[test]
fn json_has_the_names_that_others_read() {
    let json = serde_json::to_value(prepared(&spec(&small_chain(1)))).expect("serialises");
    for figure in ["naive", "conjectured", "proven"] {
        for field in ["bits", "regime", "term", "layer"] {
            assert!(!json[figure][field].is_null(), "{figure}.{field} is missing");
        }
    }
    assert_eq!(json["naive"]["regime"], "naive");
    assert_eq!(json["naive"]["term"], "queries");
    assert_eq!(json["layers"][0]["layer"], "base");
    let bits = json["proven"]["bits"].as_f64().expect("a number");
    assert_eq!((bits * 10.0).round() / 10.0, bits, "one decimal");
}
