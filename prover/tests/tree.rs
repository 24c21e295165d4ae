//! Trees: proved, written, verified from their bytes.

use std::sync::Arc;

use arbor_prover::tree::{LeafSpec, ProofSpec, RunOptions, TreeProof, TreeSpec, prove};
use arbor_prover::{
    BaseJob, Cache, Job, Observer, Preset, Recursion, Silent, VerifyOptions, verify_bytes,
};

fn observer() -> Arc<dyn Observer> {
    Arc::new(Silent)
}

fn job(arity: usize, depth: usize) -> Job {
    Job {
        recursion: Recursion::Tree { arity, depth: Some(depth), leaves: None },
        preset: "insecure-test".to_owned(),
        ..Job::chain(BaseJob::fibonacci(20, 0, 1), 0)
    }
}

fn spec(job: &Job) -> TreeSpec {
    let preset = Preset::named(&job.preset).expect("embedded");
    match job.resolve_any(&preset, Vec::new()).expect("valid") {
        ProofSpec::Tree(spec) => spec,
        ProofSpec::Chain(_) => panic!("a tree was asked for"),
    }
}

fn proved(spec: &TreeSpec, cache: &Cache, options: RunOptions) -> TreeProof {
    prove(spec, Vec::new(), options, cache, &observer()).expect("proves")
}

#[test]
fn a_tree_of_two_levels_is_proved_and_verified_from_its_bytes() {
    let cache = Cache::new();
    let spec = spec(&job(2, 2));
    assert_eq!(spec.leaves.len(), 4);
    let proof = proved(&spec, &cache, RunOptions::default());
    assert_eq!(proof.reports.len(), 7);
    let bytes = proof.to_bytes().expect("encodes");
    let verified =
        verify_bytes(&bytes, &VerifyOptions::any_strength(), &Cache::new()).expect("valid");
    println!("{}", verified.statement);
    assert_eq!(verified.statement.results().len(), 4);
}

#[test]
fn nodes_of_a_level_may_be_proved_at_the_same_time() {
    let cache = Cache::new();
    let spec = spec(&job(2, 2));
    let proof = proved(&spec, &cache, RunOptions { concurrent_pairs: true });
    assert!(proof.concurrent);
    let bytes = proof.to_bytes().expect("encodes");
    verify_bytes(&bytes, &VerifyOptions::any_strength(), &cache).expect("valid");
}

#[test]
fn deeper_trees_prepare_no_more_circuits() {
    let prepared = |depth| {
        let cache = Cache::new();
        arbor_prover::tree::prepare(&spec(&job(2, depth)), &cache, &observer()).expect("compiles");
        cache.prepared()
    };
    assert_eq!(prepared(5), prepared(3));
}

#[test]
fn leaves_of_different_shapes_are_brought_to_one() {
    let cache = Cache::new();
    let mut spec = spec(&job(2, 1));
    let other = job(2, 1);
    let longer = Job { base: Some(BaseJob::fibonacci(700, 3, 4)), ..other };
    let LeafSpec::Base(base) = &self::spec(&longer).leaves[1] else { panic!("a base") };
    spec.leaves.push(LeafSpec::Base(base.clone()));
    let proof = proved(&spec, &cache, RunOptions::default());
    let bytes = proof.to_bytes().expect("encodes");
    let verified = verify_bytes(&bytes, &VerifyOptions::any_strength(), &cache).expect("valid");
    println!("{}", verified.statement);
    for report in &proof.reports {
        println!("{:?} {:?} {:?}", report.node, report.kind, report.tables);
    }
}
