//! What a tree must not be made to say. Every file here is well-formed and carries a valid proof of
//! its root circuit; what it claims is not what was proved.

use std::sync::Arc;

use arbor_circuits::child::ChildInput;
use arbor_circuits::config::F;
use arbor_circuits::timed_pcs::NoPhases;
use arbor_prover::base::PreparedBase;
use arbor_prover::format::assemble;
use arbor_prover::key::to_hex;
use arbor_prover::proof::FinalProof;
use arbor_prover::tree::{
    LeafSpec, PreparedProof, PreparedTree, ProofSpec, ProofStatement, RunOptions, TreeSpec,
    TreeStatement, prepare, prove,
};
use arbor_prover::{
    BaseJob, BaseSpec, Cache, Header, Job, Observer, Preset, Program, ProofFile, Recursion, Silent,
    VerifyFailure, VerifyOptions, Work, verify_bytes,
};

const N: u64 = 20;

fn observer() -> Arc<dyn Observer> {
    Arc::new(Silent)
}

/// A tree of arity 2 over Fibonacci leaves with these first elements.
fn spec(starts: &[u64]) -> TreeSpec {
    let preset = Preset::named("insecure-test").expect("embedded");
    let job = Job {
        recursion: Recursion::Tree { arity: 2, depth: Some(1), leaves: None },
        ..Job::chain(BaseJob::fibonacci(N, 0, 1), 0)
    };
    let ProofSpec::Tree(mut spec) = job.resolve_any(&preset, vec![]).expect("valid") else {
        panic!("a tree was asked for");
    };
    let LeafSpec::Base(first) = spec.leaves[0].clone() else { panic!("leaves are bases") };
    let leaf = |&a: &u64| {
        let program = Program::Fibonacci { n: N, a, b: 1 };
        LeafSpec::Base(BaseSpec { program, ..first.clone() })
    };
    spec.leaves = starts.iter().map(leaf).collect();
    spec
}

fn base_of(spec: &TreeSpec, leaf: usize) -> &BaseSpec {
    let LeafSpec::Base(base) = &spec.leaves[leaf] else { panic!("leaves are bases") };
    base
}

/// A base proof with all that a layer must be told.
struct Leaf {
    prepared: PreparedBase,
    proof: FinalProof,
    publics: Vec<Vec<F>>,
}

impl Leaf {
    fn prove(base: &BaseSpec) -> Self {
        let prepared = PreparedBase::prepare(base).expect("compiles");
        let publics = base.program.public_values(base.program.result());
        let trace = prepared.trace(&base.program, &publics).expect("fills");
        let proof = prepared.prove(trace, &publics, Arc::new(NoPhases)).expect("proves");
        Self { prepared, proof, publics: vec![publics] }
    }

    fn input(&self, present: bool) -> ChildInput<'_> {
        ChildInput {
            proof: self.proof.as_child(),
            public_values: &self.publics,
            preprocessed: self.prepared.preprocessed_cap(),
            present,
        }
    }
}

/// A valid proof of the root circuit of `tree` over these children, whatever the plan says.
fn root_over(tree: &PreparedTree, children: &[ChildInput<'_>]) -> FinalProof {
    let circuit = tree.root();
    let restored = circuit.restore(children).expect("shapes fit");
    let filled = circuit.fill(&restored).expect("fills");
    let (proof, digest) = circuit.prove(filled, Arc::new(NoPhases)).expect("proves");
    circuit.verify(&proof, &digest).expect("a valid proof of what its digest says");
    FinalProof::Batch(proof)
}

/// A file that claims `spec` with the results that it should have, around `proof`.
fn file(spec: &TreeSpec, tree: &PreparedTree, proof: &FinalProof) -> Vec<u8> {
    let results = spec.bases().into_iter().map(|base| base.program.result());
    let statement = TreeStatement::new(spec, &mut results.collect::<Vec<_>>().into_iter());
    sealed(spec, statement, tree, proof)
}

fn sealed(
    spec: &TreeSpec,
    statement: TreeStatement,
    tree: &PreparedTree,
    proof: &FinalProof,
) -> Vec<u8> {
    let header = Header {
        plonky3: "0.8.0".to_owned(),
        spec: ProofSpec::Tree(spec.clone()),
        statement: ProofStatement::Tree(statement),
        keys: tree.keys().iter().map(to_hex).collect(),
    };
    assemble(&header, &proof.to_bytes().expect("encodes")).expect("encodes")
}

fn failure(bytes: &[u8]) -> VerifyFailure {
    verify_bytes(bytes, &VerifyOptions::any_strength(), &Cache::new())
        .expect_err("must be rejected")
}

fn prepared(spec: &TreeSpec) -> PreparedTree {
    prepare(spec, &Cache::new(), &observer()).expect("compiles")
}

#[test]
fn the_same_way_with_the_right_children_is_accepted() {
    let spec = spec(&[1, 2]);
    let tree = prepared(&spec);
    let leaves = [Leaf::prove(base_of(&spec, 0)), Leaf::prove(base_of(&spec, 1))];
    let proof = root_over(&tree, &[leaves[0].input(true), leaves[1].input(true)]);
    let bytes = file(&spec, &tree, &proof);
    verify_bytes(&bytes, &VerifyOptions::any_strength(), &Cache::new()).expect("valid");
}

#[test]
fn a_child_swapped_for_another_valid_proof_is_rejected() {
    let claimed = spec(&[1, 2]);
    let other = spec(&[1, 3]);
    let tree = prepared(&claimed);
    let leaves = [Leaf::prove(base_of(&other, 0)), Leaf::prove(base_of(&other, 1))];
    let proof = root_over(&tree, &[leaves[0].input(true), leaves[1].input(true)]);
    assert!(matches!(failure(&file(&claimed, &tree, &proof)), VerifyFailure::Rejected { .. }));
}

#[test]
fn two_children_exchanged_are_rejected() {
    let spec = spec(&[1, 2]);
    let tree = prepared(&spec);
    let leaves = [Leaf::prove(base_of(&spec, 0)), Leaf::prove(base_of(&spec, 1))];
    let proof = root_over(&tree, &[leaves[1].input(true), leaves[0].input(true)]);
    assert!(matches!(failure(&file(&spec, &tree, &proof)), VerifyFailure::Rejected { .. }));
}

#[test]
fn an_altered_leaf_statement_is_rejected() {
    let spec = spec(&[1, 2]);
    let tree = prepared(&spec);
    let proof = prove(&spec, vec![], RunOptions::default(), &Cache::new(), &observer())
        .expect("proves")
        .proof;
    let mut results: Vec<Option<u32>> =
        spec.bases().into_iter().map(|base| base.program.result()).collect();
    results[1] = results[1].map(|result| result + 1);
    let statement = TreeStatement::new(&spec, &mut results.into_iter());
    let bytes = sealed(&spec, statement, &tree, &proof);
    assert!(matches!(failure(&bytes), VerifyFailure::Rejected { .. }));

    // Parameters and statement that disagree are seen before any proof is looked at.
    let other = self::spec(&[1, 7]);
    let results = spec.bases().into_iter().map(|base| base.program.result());
    let statement = TreeStatement::new(&spec, &mut results.collect::<Vec<_>>().into_iter());
    let bytes = sealed(&other, statement, &tree, &proof);
    assert!(matches!(failure(&bytes), VerifyFailure::Statement));
}

#[test]
fn a_child_circuit_of_the_same_shape_with_another_key_is_rejected() {
    let spec = spec(&[1, 2]);
    let tree = prepared(&spec);
    // One addition more: another program, another key, the same shape.
    let longer = BaseSpec {
        program: Program::Fibonacci { n: N + 1, a: 1, b: 1 },
        ..base_of(&spec, 0).clone()
    };
    let leaves = [Leaf::prove(&longer), Leaf::prove(base_of(&spec, 1))];
    assert_eq!(leaves[0].prepared.shape().digest(), leaves[1].prepared.shape().digest());
    assert_ne!(leaves[0].prepared.key_digest(), leaves[1].prepared.key_digest());
    let proof = root_over(&tree, &[leaves[0].input(true), leaves[1].input(true)]);
    assert!(matches!(failure(&file(&spec, &tree, &proof)), VerifyFailure::Rejected { .. }));
}

#[test]
fn a_child_of_weaker_parameters_is_refused_and_cannot_be_claimed() {
    let spec = spec(&[1, 2]);
    let tree = prepared(&spec);
    let mut weak = base_of(&spec, 0).clone();
    weak.fri.num_queries -= 1;
    let leaves = [Leaf::prove(&weak), Leaf::prove(base_of(&spec, 1))];
    let children = [leaves[0].input(true), leaves[1].input(true)];
    tree.root().restore(&children).expect_err("the shape fixes the number of queries");

    // A whole tree of weak leaves, sealed as one of strong leaves.
    let mut weak_spec = spec.clone();
    for leaf in &mut weak_spec.leaves {
        if let LeafSpec::Base(base) = leaf {
            base.fri.num_queries -= 1;
        }
    }
    let proof = prove(&weak_spec, vec![], RunOptions::default(), &Cache::new(), &observer())
        .expect("proves")
        .proof;
    assert!(matches!(failure(&file(&spec, &tree, &proof)), VerifyFailure::Rejected { .. }));
}

#[test]
fn a_node_presented_as_a_leaf_is_rejected() {
    let four = spec(&[1, 2, 3, 4]);
    let two = spec(&[1, 2]);
    let proof = prove(&four, vec![], RunOptions::default(), &Cache::new(), &observer())
        .expect("proves")
        .proof;
    let tree = prepared(&two);
    assert!(matches!(failure(&file(&two, &tree, &proof)), VerifyFailure::Rejected { .. }));

    // Nor does the circuit over leaves take nodes.
    let halves = spec(&[1, 2]);
    let half =
        prove(&halves, vec![], RunOptions::default(), &Cache::new(), &observer()).expect("proves");
    let digests = tree.statement_digests(
        &mut halves
            .bases()
            .into_iter()
            .map(|base| base.program.public_values(base.program.result())),
    );
    let publics = arbor_prover::chain::layer_public_values(&digests[digests.len() - 1]);
    let node = ChildInput {
        proof: half.proof.as_child(),
        public_values: &publics,
        preprocessed: Some(tree.root().preprocessed_cap()),
        present: true,
    };
    tree.root().restore(&[node, node]).expect_err("a node has not the shape of a leaf");
}

#[test]
fn a_padded_leaf_claimed_as_a_distinct_one_is_rejected() {
    let three = spec(&[1, 2, 3]);
    let four = spec(&[1, 2, 3, 3]);
    let proof =
        prove(&three, vec![], RunOptions::default(), &Cache::new(), &observer()).expect("proves");
    assert_eq!(proof.statement.padding.len(), 1);
    let tree = prepared(&four);
    assert!(matches!(failure(&file(&four, &tree, &proof.proof)), VerifyFailure::Rejected { .. }));
}

#[test]
fn a_flipped_presence_bit_is_rejected() {
    let spec = spec(&[1, 2]);
    let tree = prepared(&spec);
    let leaves = [Leaf::prove(base_of(&spec, 0)), Leaf::prove(base_of(&spec, 1))];
    let proof = root_over(&tree, &[leaves[0].input(true), leaves[1].input(false)]);
    assert!(matches!(failure(&file(&spec, &tree, &proof)), VerifyFailure::Rejected { .. }));
}

#[test]
fn files_of_trees_survive_a_round_trip_and_no_flip_of_a_header_byte() {
    let spec = spec(&[1, 2]);
    let proof =
        prove(&spec, vec![], RunOptions::default(), &Cache::new(), &observer()).expect("proves");
    let bytes = proof.to_bytes().expect("encodes");
    let parsed = ProofFile::parse(&bytes, &arbor_prover::Limits::default()).expect("parses");
    assert_eq!(parsed.header.spec, ProofSpec::Tree(spec));
    for position in (0..200).step_by(7) {
        let mut flipped = bytes.clone();
        flipped[position] ^= 1;
        failure(&flipped);
    }
}

#[test]
fn parameters_of_layers_that_a_tree_has_not_are_no_part_of_what_it_says() {
    let honest = spec(&[1, 2]);
    let tree = prepared(&honest);
    let proof = prove(&honest, vec![], RunOptions::default(), &Cache::new(), &observer())
        .expect("proves")
        .proof;
    let mut stronger = honest.clone();
    stronger.layer_fri.num_queries = 512;
    // The circuits and the keys are the same: nothing but this rule speaks against it.
    assert_eq!(prepared(&stronger).keys(), tree.keys());
    assert!(matches!(failure(&file(&stronger, &tree, &proof)), VerifyFailure::UnusedParameters));

    // What is proved with such parameters says what is true.
    let own = ProofSpec::Tree(stronger.clone());
    let work = Work::plan(&own, &[], &Cache::new(), &observer()).expect("a plan");
    assert_eq!(work.spec(), &ProofSpec::Tree(honest.clone()));

    // Where there are such layers, they are what they are.
    let mut two_levels = spec(&[1, 2, 3, 4]);
    two_levels.layer_fri.num_queries += 1;
    assert_eq!(prepared(&two_levels).canonical(&two_levels), two_levels);

    // The same inside of another tree.
    let inside = |inner: &TreeSpec| {
        let leaf = LeafSpec::Proof(Box::new(ProofSpec::Tree(inner.clone())));
        ProofSpec::Tree(TreeSpec { leaves: vec![leaf; 2], ..honest.clone() })
    };
    let nested = PreparedProof::prepare(&inside(&stronger), &Cache::new(), &observer());
    let canonical = nested.expect("circuits").canonical(&inside(&stronger));
    assert_eq!(canonical, inside(&honest));
}
