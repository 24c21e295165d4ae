//! That sketches are what the circuits come to.

use std::sync::Arc;

use arbor_circuits::child::ChildShape;
use arbor_circuits::config::FriConfig;

use super::*;
use crate::tree::PreparedProof;
use crate::{BaseJob, Cache, FriOverrides, Job, Observer, Preset, Recursion, Silent};

/// Trees of a shape, without what a sketch does not know.
fn trees(shape: &ChildShape) -> Vec<Vec<(usize, usize)>> {
    let matrices = |tree: &arbor_circuits::child::InputTree| {
        tree.matrices.iter().map(|m| (m.width, m.num_points())).collect()
    };
    shape.trees.iter().map(matrices).collect()
}

fn assert_same(shape: &ChildShape, sketch: &Sketch, what: &str) {
    assert_eq!(shape.log_heights()[0], sketch.log_height, "{what}: {sketch:?}");
    assert_eq!(shape.fri(), &sketch.fri, "{what}");
    let sketched: Vec<Vec<_>> = sketch.trees().map(<[_]>::to_vec).collect();
    assert_eq!(trees(shape), sketched, "{what}");
    let arities: Vec<usize> = sketch.rounds().into_iter().map(|(arity, _)| arity).collect();
    assert_eq!(shape.log_arities, arities, "{what}");
}

fn spec(job: &Job) -> ProofSpec {
    let preset = Preset::named(&job.preset).expect("a preset");
    job.resolve_any(&preset, Vec::new()).expect("valid")
}

fn chain(base: BaseJob, preset: &str) -> ProofSpec {
    spec(&Job { preset: preset.to_owned(), ..Job::chain(base, 5) })
}

fn tree(base: BaseJob, arity: usize, depth: usize, preset: &str) -> ProofSpec {
    let recursion = Recursion::Tree { arity, depth: Some(depth), leaves: None };
    spec(&Job { recursion, preset: preset.to_owned(), ..Job::chain(base, 0) })
}

/// Compares every proof of a plan with its sketch. Rows are bounded from above, and closely.
fn compare(spec: &ProofSpec, what: &str) {
    let observer: Arc<dyn Observer> = Arc::new(Silent);
    let prepared = PreparedProof::prepare(spec, &Cache::new(), &observer).expect("circuits");
    let outlook = Outlook::of(spec);
    match prepared {
        PreparedProof::Chain(chain) => {
            assert_same(&chain.base().shape(), &outlook.bases[0], what);
            for (layer, sketch) in outlook.layers.iter().enumerate() {
                let circuit = chain.layer(layer + 1).expect("a layer");
                let below = match layer {
                    0 => outlook.bases[0],
                    _ => outlook.layers[layer - 1],
                };
                let name = format!("{what}, layer {}", layer + 1);
                assert_rows(circuit, &[below], &name);
                assert_same(&circuit.shape(), sketch, &name);
            }
        }
        PreparedProof::Tree(tree) => {
            let nodes = &tree.plan().nodes;
            assert_eq!(nodes.len(), outlook.bases.len() + outlook.layers.len(), "{what}");
            let sketches: Vec<Sketch> =
                outlook.bases.iter().chain(&outlook.layers).copied().collect();
            for (node, circuit) in (0..nodes.len()).filter_map(|n| Some((n, tree.layer(n)?))) {
                let children: Vec<Sketch> =
                    nodes[node].inputs.iter().map(|input| sketches[input.node]).collect();
                let name = format!("{what}, node {}", nodes[node].id);
                assert_rows(circuit, &children, &name);
                assert_same(&circuit.shape(), &sketches[node], &name);
            }
        }
    }
}

/// The two tables have no more rows than the sketches say, and nearly as many.
fn assert_rows(circuit: &arbor_circuits::layer::PreparedLayer, children: &[Sketch], what: &str) {
    let rows: Vec<u64> = circuit.tables().iter().map(|table| table.rows as u64).collect();
    let (gates, hashes) = (Sketch::gates_of(children), Sketch::hashes_of(children));
    println!("{what}: E {} of {gates}, H {} of {hashes}", rows[0], rows[1]);
    for (rows, most) in [(rows[0], gates), (rows[1], hashes)] {
        assert!(rows <= most, "{what}: {rows} rows, {most} expected at most");
        let slack = 3_000 * children.len() as u64;
        assert!(20 * most <= 21 * rows + slack, "{what}: {rows} rows, {most} expected at most");
    }
}

#[test]
fn chains_are_sketched_as_they_are_compiled() {
    for preset in ["default", "proven-100", "blowup8", "insecure-test"] {
        compare(&chain(BaseJob::keccak(10, 1), preset), &format!("keccak 10, {preset}"));
        compare(&chain(BaseJob::fibonacci(100, 0, 1), preset), &format!("fibonacci 100, {preset}"));
        compare(
            &chain(BaseJob::fibonacci(9_000, 0, 1), preset),
            &format!("fibonacci 9000, {preset}"),
        );
    }
}

#[test]
fn trees_are_sketched_as_they_are_compiled() {
    for preset in ["default", "proven-100", "insecure-test"] {
        let small = BaseJob::fibonacci(100, 0, 1);
        compare(&tree(small.clone(), 2, 3, preset), &format!("2-to-1, {preset}"));
        compare(&tree(small, 8, 1, preset), &format!("8-to-1, {preset}"));
        compare(&tree(BaseJob::keccak(4, 1), 2, 1, preset), &format!("keccak 2-to-1, {preset}"));
    }
}

#[test]
fn parameters_of_every_kind_are_sketched() {
    let overrides = [
        FriOverrides {
            log_blowup: Some(1),
            log_final_poly_len: Some(3),
            ..FriOverrides::default()
        },
        FriOverrides { log_blowup: Some(4), max_log_arity: Some(1), ..FriOverrides::default() },
        FriOverrides { cap_height: Some(0), commit_pow_bits: Some(3), ..FriOverrides::default() },
        FriOverrides { num_queries: Some(7), batch_pow_bits: Some(9), ..FriOverrides::default() },
    ];
    for fri in overrides {
        let job = Job { fri, ..Job::chain(BaseJob::fibonacci(300, 0, 1), 3) };
        compare(&spec(&job), &format!("{fri:?}"));
    }
}

#[test]
fn a_long_chain_costs_no_more_thought_than_a_short_one() {
    let job = |layers| spec(&Job::chain(BaseJob::fibonacci(100, 0, 1), layers));
    let outlook = Outlook::of(&job(64));
    assert_eq!(outlook.layers.len(), 64);
    assert_eq!(outlook.layer_circuits.len(), Outlook::of(&job(8)).layer_circuits.len());
    let fri: FriConfig = outlook.layers[0].fri;
    assert!(outlook.layers.iter().all(|layer| layer.fri == fri));
}
