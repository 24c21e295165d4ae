//! What a job is expected to take, before anything of it is done.

use arbor_prover::ChainSpec;
use arbor_prover::estimate::{derive_any_bytes, estimate_any, estimate_base};
use arbor_prover::tree::{LeafSpec, ProofSpec, TreePlan};

use crate::model::Sizing;

/// Bytes of estimated memory that two cores turn into a proof in a millisecond. Rough: `arbor bench` takes
/// 150 ms for a steady layer of an estimated 180 MB.
const BYTES_PER_MS: u64 = 1_200_000;
/// Bytes of a proof for one query: opened rows, paths, folding rounds. Measured: 2.5 to 9 KB.
const BYTES_PER_QUERY: u64 = 9_000;
/// Bytes of a proof beside its queries.
const BYTES_PER_PROOF: u64 = 20_000;

/// What a job is expected to take.
#[must_use]
pub fn sizing(spec: &ProofSpec) -> Sizing {
    let estimate = estimate_any(spec);
    let (bases, layers) = proofs(spec);
    let work = bases * estimate.base_bytes + layers * estimate.layer_bytes;
    let queries = most_queries(spec);
    // Every node, and the last one again in the proof file.
    let stored = bases + layers + 1;
    Sizing {
        peak_bytes: estimate.peak_bytes,
        prove_ms: work / BYTES_PER_MS,
        disk_bytes: stored * (BYTES_PER_PROOF + queries * BYTES_PER_QUERY),
    }
}

/// Memory that proving a node takes, by its kind.
#[must_use]
pub fn node_bytes(spec: &ProofSpec, kind: &str) -> u64 {
    let estimate = estimate_any(spec);
    if kind == "base" { estimate.base_bytes } else { estimate.layer_bytes }
}

/// Memory that planning takes: of a chain the key of its base, of a tree all circuits.
#[must_use]
pub fn plan_bytes(spec: &ProofSpec) -> u64 {
    match spec {
        ProofSpec::Chain(chain) => estimate_base(&chain.base),
        ProofSpec::Tree(_) => derive_any_bytes(spec),
    }
}

/// Bases and layers to be proved. Layers that bring leaves to one shape are counted as one for each leaf
/// where leaves differ.
fn proofs(spec: &ProofSpec) -> (u64, u64) {
    match spec {
        ProofSpec::Chain(chain) => (1, chain.layers as u64),
        ProofSpec::Tree(tree) => {
            let bases =
                tree.leaves.iter().filter(|leaf| matches!(leaf, LeafSpec::Base(_))).count() as u64;
            let alike = tree.leaves.iter().all(|leaf| shape(leaf) == shape(&tree.leaves[0]));
            let plan = TreePlan::new(&vec![usize::from(!alike); tree.leaves.len()], tree.arity);
            (bases, (plan.nodes.len() - tree.leaves.len()) as u64)
        }
    }
}

/// Equal for leaves whose proofs have one shape.
fn shape(leaf: &LeafSpec) -> LeafSpec {
    match leaf {
        LeafSpec::Base(base) => LeafSpec::Base(base.without_inputs()),
        LeafSpec::Proof(proof) => match proof.as_ref() {
            ProofSpec::Chain(chain) => {
                let base = chain.base.without_inputs();
                let chain = ChainSpec { base, ..chain.clone() };
                LeafSpec::Proof(Box::new(ProofSpec::Chain(chain)))
            }
            ProofSpec::Tree(_) => leaf.clone(),
        },
    }
}

fn most_queries(spec: &ProofSpec) -> u64 {
    let layers = match spec {
        ProofSpec::Chain(chain) => [chain.layer_fri.num_queries, chain.last_fri.num_queries],
        ProofSpec::Tree(tree) => [tree.layer_fri.num_queries, tree.last_fri.num_queries],
    };
    let bases = spec.bases().into_iter().map(|base| base.fri.num_queries);
    bases.chain(layers).max().unwrap_or(0) as u64
}
