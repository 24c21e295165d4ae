//! Trees at their full size, from the command line. `scripts/heavy` runs these.

mod common;

use common::{arbor, assert_code, json, words};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Proves with the default preset, verifies in a fresh process, and gives what both print.
fn prove_and_verify(folder: &TempDir, line: &str) -> (Value, Value) {
    let file = folder.path().join("x.arbor").display().to_string();
    let mut args = words(&format!("prove tree {line} --json --out"));
    args.push(file.clone());
    let proved = json(&arbor(args));
    let verified =
        json(&arbor(["verify", "--min-proven-bits", "0", &file, "--json"]))["proof"].clone();
    assert_eq!(proved["statement"], verified["statement"], "{line}");
    (proved, verified)
}

fn leaves(verified: &Value) -> usize {
    verified["statement"]["leaves"].as_array().map_or(0, Vec::len)
}

#[test]
fn two_to_one_of_depth_1_to_4_and_eight_to_one_of_depth_1_and_2() {
    let folder = TempDir::new().expect("a temporary folder");
    let plan = |line: &str| json(&arbor(words(&format!("prove tree {line} --plan --json"))));
    for (arity, depth) in [(2_usize, 1), (2, 2), (2, 3), (2, 4), (8, 1), (8, 2)] {
        let line = format!("--arity {arity} --depth {depth}");
        let (proved, verified) = prove_and_verify(&folder, &line);
        assert_eq!(leaves(&verified), arity.pow(depth), "{line}");
        let peak = proved["peak_bytes"].as_u64().expect("a peak");
        let estimated = plan(&line)["estimate"]["peak_bytes"].as_u64().expect("an estimate");
        assert!(peak <= estimated, "{line}: {peak} bytes, estimated {estimated}");
    }
}

#[test]
fn uneven_trees_of_3_and_9_leaves() {
    let folder = TempDir::new().expect("a temporary folder");
    for (arity, count, padding) in [(2, 3, 1), (8, 9, 13)] {
        let leaf = |i: usize| json!({"program": "fibonacci", "n": 1000, "a": i});
        let leaves: Vec<Value> = (0..count).map(leaf).collect();
        let recursion = json!({"mode": "tree", "arity": arity, "leaves": leaves});
        let job = folder.path().join("job.json");
        std::fs::write(&job, json!({ "recursion": recursion }).to_string()).expect("written");
        let (_, verified) = prove_and_verify(&folder, &format!("--job {}", job.display()));
        assert_eq!(self::leaves(&verified), count);
        let slots = verified["statement"]["padding"].as_array().map(Vec::len);
        assert_eq!(slots, Some(padding), "{count} leaves");
    }
}

#[test]
fn two_keccak_sizes_and_two_fibonacci_lengths_in_one_tree() {
    let folder = TempDir::new().expect("a temporary folder");
    let leaves = json!([
        {"program": "keccak", "num_hashes": 4},
        {"program": "fibonacci", "n": 100},
        {"program": "keccak", "num_hashes": 100},
        {"program": "fibonacci", "n": 10_000},
    ]);
    let job = folder.path().join("job.json");
    let recursion = json!({"mode": "tree", "arity": 2, "leaves": leaves});
    std::fs::write(&job, json!({ "recursion": recursion }).to_string()).expect("written");
    let (_, verified) = prove_and_verify(&folder, &format!("--job {}", job.display()));
    assert_eq!(self::leaves(&verified), 4);
}

#[test]
fn a_tree_over_a_chain_and_a_tree() {
    let folder = TempDir::new().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (chain, tree) = (file("chain.arbor"), file("tree.arbor"));
    let lines = [
        format!("prove keccak -n 100 --layers 2 --out {chain}"),
        format!("prove tree --arity 2 --depth 1 --out {tree}"),
    ];
    for line in lines {
        assert_code(&arbor(words(&line)), 0);
    }
    let (_, verified) = prove_and_verify(&folder, &format!("--arity 3 {chain} {tree} {chain}"));
    assert_eq!(leaves(&verified), 3);
}

#[test]
fn pairs_at_the_same_time_take_no_longer() {
    let folder = TempDir::new().expect("a temporary folder");
    let wall_ms = |flag: &str| {
        let (proved, _) = prove_and_verify(&folder, &format!("--arity 2 --depth 4 {flag}"));
        proved["wall_ms"].as_f64().expect("a time")
    };
    // The best of three by turns: what else the machine does can only make a run longer.
    let (mut sequential, mut concurrent) = (f64::MAX, f64::MAX);
    for _ in 0..3 {
        sequential = sequential.min(wall_ms(""));
        concurrent = concurrent.min(wall_ms("--concurrent-pairs"));
    }
    println!("16 leaves: {sequential:.0} ms one by one, {concurrent:.0} ms in pairs");
    assert!(concurrent <= 1.05 * sequential, "{concurrent} ms against {sequential} ms");
}
