//! Proofs of every level: bases, layers one upon the other, wraps, merges.

use std::sync::Arc;

use arbor_circuits::child::{ChildInput, ChildShape};
use arbor_circuits::config::{Cap, F, FriConfig};
use arbor_circuits::filler::restore::Misfit;
use arbor_circuits::layer::PreparedLayer;
use arbor_circuits::timed_pcs::NoPhases;
use arbor_prover::base::PreparedBase;
use arbor_prover::format::assemble;
use arbor_prover::key::to_hex;
use arbor_prover::tree::{self, LeafSpec, NodeKind, PreparedTree, ProofSpec, TreeSpec};
use arbor_prover::{
    BaseSpec, Cache, ChainSpec, FinalProof, Header, Observer, PreparedChain, Silent, chain,
};
use p3_field::PrimeCharacteristicRing;

use super::mutant::{Mutant, Proof};
use super::verdict::{Native, Subject};
use crate::bounds::{WEAK, fibonacci, keccak};
use crate::files::header;

/// So few queries and so low caps that every one of them can be changed.
const FEW: FriConfig =
    FriConfig { log_final_poly_len: 3, cap_height: 2, num_queries: 2, max_log_arity: 3, ..WEAK };

/// A proof with its public values.
struct Proved {
    proof: FinalProof,
    publics: Vec<Vec<F>>,
}

impl Proved {
    fn input<'a>(&'a self, preprocessed: Option<&'a Cap>, present: bool) -> ChildInput<'a> {
        ChildInput {
            proof: self.proof.as_child(),
            public_values: &self.publics,
            preprocessed,
            present,
        }
    }

    fn mutant(&self, cap: Option<&Cap>) -> Mutant {
        let bytes = self.proof.to_bytes().expect("encodes");
        let decodes = "its own encoding decodes";
        let proof = match &self.proof {
            FinalProof::Uni(_) => Proof::Uni(arbor_prover::proof::decode(&bytes).expect(decodes)),
            FinalProof::Batch(_) => {
                Proof::Batch(arbor_prover::proof::decode(&bytes).expect(decodes))
            }
        };
        Mutant { proof, publics: self.publics.clone(), cap: cap.cloned() }
    }
}

fn observer() -> Arc<dyn Observer> {
    Arc::new(Silent)
}

fn prove_base(base: &PreparedBase, spec: &BaseSpec) -> Proved {
    let publics = spec.program.public_values(spec.program.result());
    let trace = base.trace(&spec.program, &publics).expect("fills");
    let proof = base.prove(trace, &publics, Arc::new(NoPhases)).expect("proves");
    Proved { proof, publics: vec![publics] }
}

fn prove_layer(layer: &PreparedLayer, children: &[ChildInput<'_>]) -> Proved {
    let restored = layer.restore(children).expect("shapes fit");
    let filled = layer.fill(&restored).expect("fills");
    let (proof, digest) = layer.prove(filled, Arc::new(NoPhases)).expect("proves");
    Proved { proof: FinalProof::Batch(proof), publics: PreparedLayer::public_values(&digest) }
}

/// The header of a file whose last proof is that of `layer`.
fn chain_header(spec: &ChainSpec, prepared: &PreparedChain, layer: usize) -> Header {
    let spec = ProofSpec::Chain(ChainSpec { layers: layer, ..spec.clone() });
    Header { keys: prepared.keys()[..=layer].iter().map(to_hex).collect(), ..header(&spec) }
}

fn chain_of(base: BaseSpec, layers: usize) -> ChainSpec {
    ChainSpec { base, layers, layer_fri: FEW, last_fri: FEW }
}

/// One subject for each proof of a chain but the last, whose circuit judges the one before.
fn subjects_of(spec: &ChainSpec, run: impl Fn(&Subject<'_>)) {
    let cache = Cache::new();
    let prepared = chain::prepare(spec, &cache, &observer()).expect("compiles");
    let mut top = prove_base(prepared.base(), &spec.base);
    for level in 0..spec.layers {
        let cap = match prepared.layer(level) {
            Some(layer) => Some(layer.preprocessed_cap()),
            None => prepared.base().preprocessed_cap(),
        };
        let (native, shape): (Native<'_>, ChildShape) = match prepared.layer(level) {
            Some(layer) => (Native::Layer(layer), layer.shape()),
            None => (Native::Base(prepared.base()), prepared.base().shape()),
        };
        let above = prepared.layer(level + 1).expect("a layer of the chain");
        run(&Subject {
            name: format!("{}, layer {level}", spec.base.program.name()),
            honest: top.mutant(cap),
            shape,
            native,
            above,
            children: vec![top.input(cap, true)],
            slot: 0,
            file: Some((chain_header(spec, &prepared, level), &cache)),
        });
        if level + 1 < spec.layers {
            let next = prove_layer(above, &[top.input(cap, true)]);
            top = next;
        }
    }
}

/// A base proof of `p3-uni-stark`.
pub(crate) fn keccak_subject(run: impl Fn(&Subject<'_>)) {
    subjects_of(&chain_of(keccak(1, FEW), 1), run);
}

/// A base proof of `p3-batch-stark`, the two layers that differ in shape, and one that is like all
/// further ones.
pub(crate) fn chain_subjects(run: impl Fn(&Subject<'_>)) {
    subjects_of(&chain_of(fibonacci(20, FEW), 4), run);
}

fn prove_node(tree: &PreparedTree, spec: &TreeSpec, node: usize) -> Proved {
    if let Some(base) = tree.base(node) {
        let LeafSpec::Base(leaf) = &spec.leaves[node] else { panic!("leaves are bases") };
        return prove_base(base, leaf);
    }
    let inputs = &tree.plan().nodes[node].inputs;
    let children: Vec<Proved> =
        inputs.iter().map(|input| prove_node(tree, spec, input.node)).collect();
    let children: Vec<ChildInput<'_>> = children
        .iter()
        .zip(inputs)
        .map(|(child, input)| child.input(tree.preprocessed(input.node), input.present))
        .collect();
    prove_layer(tree.layer(node).expect("a layer"), &children)
}

/// The proof in `slot` of `node`. `file` is what it is the whole of, if anything.
fn node_subject(
    spec: &TreeSpec,
    tree: &PreparedTree,
    (node, slot): (usize, usize),
    file: Option<(Header, &Cache)>,
    run: impl Fn(&Subject<'_>),
) {
    let inputs = &tree.plan().nodes[node].inputs;
    let children: Vec<Proved> =
        inputs.iter().map(|input| prove_node(tree, spec, input.node)).collect();
    let child = inputs[slot].node;
    let (native, shape) = match (tree.layer(child), tree.base(child)) {
        (Some(layer), _) => (Native::Layer(layer), layer.shape()),
        (None, Some(base)) => (Native::Base(base), base.shape()),
        (None, None) => panic!("no finished proofs here"),
    };
    let kind = tree.plan().nodes[child].kind;
    run(&Subject {
        name: format!("tree, {kind:?} in slot {slot} of node {}", tree.plan().nodes[node].id),
        honest: children[slot].mutant(tree.preprocessed(child)),
        shape,
        native,
        above: tree.layer(node).expect("a layer"),
        children: children
            .iter()
            .zip(inputs)
            .map(|(child, input)| child.input(tree.preprocessed(input.node), input.present))
            .collect(),
        slot,
        file,
    });
}

fn tree_of(lengths: &[u64]) -> TreeSpec {
    let leaf = |&n: &u64| LeafSpec::Base(fibonacci(n, FEW));
    TreeSpec { arity: 2, leaves: lengths.iter().map(leaf).collect(), layer_fri: FEW, last_fri: FEW }
}

/// A leaf in the second slot of a merge, a merge in the second slot of the root, and the wrap of a leaf
/// of another shape than the others.
pub(crate) fn tree_subjects(run: impl Fn(&Subject<'_>)) {
    let cache = Cache::new();
    let prepare = |spec: &TreeSpec| tree::prepare(spec, &cache, &observer()).expect("compiles");

    let (four, two) = (tree_of(&[10, 11, 12, 13]), tree_of(&[12, 13]));
    let tree = prepare(&four);
    let root = tree.plan().root();
    let merge = tree.plan().nodes[root].inputs[1].node;
    let whole = Header {
        keys: prepare(&two).keys().iter().map(to_hex).collect(),
        ..header(&ProofSpec::Tree(two))
    };
    node_subject(&four, &tree, (merge, 1), None, &run);
    node_subject(&four, &tree, (root, 1), Some((whole, &cache)), &run);

    let mixed = tree_of(&[10, 3000]);
    let tree = prepare(&mixed);
    let root = tree.plan().root();
    let wrap = tree.plan().nodes[root].inputs[1].node;
    assert_eq!(tree.plan().nodes[wrap].kind, NodeKind::Wrap);
    node_subject(&mixed, &tree, (root, 1), None, &run);
}

/// Files of false proofs: a base of either kind, a layer over a false base, a merge of which one leaf is
/// false. The layers are those of a prover that leaves out every check of its own.
pub(crate) fn false_files() -> Vec<(&'static str, Vec<u8>)> {
    let cache = Cache::new();
    let file = |header: &Header, proof: &FinalProof| {
        assemble(header, &proof.to_bytes().expect("encodes")).expect("encodes")
    };
    let mut files = vec![];
    for (what, base) in [("Keccak", keccak(1, FEW)), ("Fibonacci", fibonacci(20, FEW))] {
        let spec = chain_of(base, 1);
        let prepared = chain::prepare(&spec, &cache, &observer()).expect("compiles");
        let lie = prove_falsely(prepared.base(), &spec.base);
        files.push((what, file(&chain_header(&spec, &prepared, 0), &lie.proof)));
        if what == "Fibonacci" {
            let child = lie.input(prepared.base().preprocessed_cap(), true);
            let layer = prove_unchecked(prepared.layer(1).expect("a layer"), &[child]);
            files.push(("a layer", file(&chain_header(&spec, &prepared, 1), &layer.proof)));
        }
    }
    let spec = tree_of(&[10, 11]);
    let tree = tree::prepare(&spec, &cache, &observer()).expect("compiles");
    let LeafSpec::Base(second) = &spec.leaves[1] else { panic!("leaves are bases") };
    let leaves =
        [prove_node(&tree, &spec, 0), prove_falsely(tree.base(1).expect("a base"), second)];
    let inputs = [0, 1].map(|leaf| leaves[leaf].input(tree.preprocessed(leaf), true));
    let root = prove_unchecked(tree.root(), &inputs);
    let keys = tree.keys().iter().map(to_hex).collect();
    files.push(("a merge", file(&Header { keys, ..header(&ProofSpec::Tree(spec)) }, &root.proof)));
    files
}

/// A proof from a trace with one cell changed.
fn prove_falsely(base: &PreparedBase, spec: &BaseSpec) -> Proved {
    let publics = spec.program.public_values(spec.program.result());
    let mut trace = base.trace(&spec.program, &publics).expect("fills");
    let cell = trace.width * 5 + 3;
    trace.values[cell] += F::ONE;
    let proof = base.prove(trace, &publics, Arc::new(NoPhases)).expect("proves");
    Proved { proof, publics: vec![publics] }
}

fn prove_unchecked(layer: &PreparedLayer, children: &[ChildInput<'_>]) -> Proved {
    let restored = layer.restore_with(children, Misfit::Zeros).expect("shapes fit");
    let filled = layer.fill(&restored).expect("fills");
    let (proof, digest) = layer.prove(filled, Arc::new(NoPhases)).expect("proves");
    Proved { proof: FinalProof::Batch(proof), publics: PreparedLayer::public_values(&digest) }
}
