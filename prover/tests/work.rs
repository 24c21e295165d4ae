//! A job proved node by node, every proof stored and read again in between.

use std::sync::Arc;

use arbor_prover::tree::{LeafSpec, ProofSpec};
use arbor_prover::{
    BaseJob, Cache, FinalProof, Job, Observer, Preset, ProverError, Recursion, Silent,
    VerifyOptions, Work, WorkKind, verify_bytes,
};

fn observer() -> Arc<dyn Observer> {
    Arc::new(Silent)
}

fn spec(job: &Job) -> ProofSpec {
    let preset = Preset::named(&job.preset).expect("embedded");
    job.resolve_any(&preset, Vec::new()).expect("valid")
}

fn chain(base: BaseJob, layers: usize) -> ProofSpec {
    spec(&Job { preset: "insecure-test".to_owned(), ..Job::chain(base, layers) })
}

fn tree(arity: usize, depth: usize) -> ProofSpec {
    let recursion = Recursion::Tree { arity, depth: Some(depth), leaves: None };
    let base = BaseJob::fibonacci(20, 0, 1);
    spec(&Job { recursion, preset: "insecure-test".to_owned(), ..Job::chain(base, 0) })
}

/// Proves everything with a plan made anew for each node, as after a restart. Gives the stored proofs.
fn prove_apart(
    spec: &ProofSpec,
    finished: &[(Vec<u8>, Vec<Option<u32>>)],
    cache: &Cache,
) -> Vec<Vec<u8>> {
    let results: Vec<_> = finished.iter().map(|(_, results)| results.clone()).collect();
    let mut stored: Vec<Vec<u8>> = Vec::new();
    let nodes = Work::plan(spec, &results, cache, &observer()).expect("plans").nodes().to_vec();
    for (node, planned) in nodes.iter().enumerate() {
        let work = Work::plan(spec, &results, cache, &observer()).expect("plans");
        if let Some(position) = planned.finished {
            stored.push(finished[position].0.clone());
            continue;
        }
        let children: Vec<Arc<FinalProof>> = planned
            .children
            .iter()
            .map(|&child| Arc::new(work.decode(child, &stored[child]).expect("decodes")))
            .collect();
        let proved = work.prove(node, &children, cache, &observer()).expect("proves");
        assert_eq!(proved.bytes, proved.proof.to_bytes().expect("encodes"));
        assert_eq!(proved.report.proof_bytes, proved.bytes.len());
        stored.push(proved.bytes);
    }
    stored
}

/// Files of all nodes that stand by themselves, each verified by a verifier that knows nothing of the plan.
fn verified_files(
    spec: &ProofSpec,
    results: &[Vec<Option<u32>>],
    stored: &[Vec<u8>],
    cache: &Cache,
) -> Vec<bool> {
    let work = Work::plan(spec, results, cache, &observer()).expect("plans");
    let file = |(node, bytes): (usize, &Vec<u8>)| {
        let proof = work.decode(node, bytes).expect("decodes");
        work.verify(node, &proof, cache, &observer()).expect("valid");
        let file = work.node_file(node, bytes, cache, &observer()).expect("a file or none");
        if let Some(file) = &file {
            verify_bytes(file, &VerifyOptions::any_strength(), cache).expect("valid by itself");
        }
        file.is_some()
    };
    stored.iter().enumerate().map(file).collect()
}

#[test]
fn chains_node_by_node() {
    for base in [BaseJob::keccak(1, 7), BaseJob::fibonacci(30, 2, 3)] {
        let cache = Cache::new();
        let spec = chain(base, 3);
        let stored = prove_apart(&spec, &[], &cache);
        assert_eq!(stored.len(), 4);
        assert_eq!(verified_files(&spec, &[], &stored, &cache), [true; 4]);
    }
}

#[test]
fn a_tree_node_by_node() {
    let cache = Cache::new();
    let spec = tree(2, 2);
    let stored = prove_apart(&spec, &[], &cache);
    assert_eq!(verified_files(&spec, &[], &stored, &cache), [true; 7]);
}

#[test]
fn finished_proofs_of_every_form_are_leaves() {
    let cache = Cache::new();
    let inner =
        [chain(BaseJob::keccak(1, 1), 0), chain(BaseJob::fibonacci(9, 0, 1), 2), tree(2, 1)];
    let finished: Vec<(Vec<u8>, Vec<Option<u32>>)> = inner
        .iter()
        .map(|spec| {
            let work = Work::plan(spec, &[], &cache, &observer()).expect("plans");
            let stored = prove_apart(spec, &[], &cache);
            (stored[work.root()].clone(), work.results().to_vec())
        })
        .collect();
    let ProofSpec::Tree(mut outer) = tree(2, 1) else { panic!("a tree was asked for") };
    outer.leaves.truncate(1);
    outer.leaves.extend(inner.map(|spec| LeafSpec::Proof(Box::new(spec))));
    let outer = ProofSpec::Tree(outer);
    let stored = prove_apart(&outer, &finished, &cache);
    let results: Vec<_> = finished.iter().map(|(_, results)| results.clone()).collect();
    let alone = verified_files(&outer, &results, &stored, &cache);
    let work = Work::plan(&outer, &results, &cache, &observer()).expect("plans");
    for (node, alone) in work.nodes().iter().zip(&alone) {
        println!("{} {:?} {alone}", node.id, node.kind);
    }
    assert!(alone[..4].iter().all(|&alone| alone), "a leaf stands by itself");
    assert!(alone[work.root()]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let cache = Cache::new();
    let spec = tree(2, 1);
    let work = Work::plan(&spec, &[], &cache, &observer()).expect("plans");
    assert_eq!(work.nodes()[work.root()].kind, WorkKind::Merge);
    let leaf = work.prove(0, &[], &cache, &observer()).expect("proves");
    let leaf = Arc::new(leaf.proof);
    let one_short = work.prove(work.root(), &[Arc::clone(&leaf)], &cache, &observer());
    assert!(matches!(one_short, Err(ProverError::Statement { .. })));
    // The second leaf is another statement, which this proof does not prove.
    let twice = work.prove(work.root(), &[Arc::clone(&leaf), leaf], &cache, &observer());
    println!("{}", twice.err().expect("refused"));
    assert!(matches!(work.decode(0, &[1, 2, 3]), Err(ProverError::Decode { .. })));
    let ProofSpec::Tree(mut outer) = spec else { panic!("a tree was asked for") };
    outer.leaves.push(LeafSpec::Proof(Box::new(chain(BaseJob::keccak(1, 1), 0))));
    let missing = Work::plan(&ProofSpec::Tree(outer), &[], &cache, &observer());
    assert!(matches!(missing.err(), Some(ProverError::LeafProofs { leaf: 2 })));
}
