//! Trees from the command line, end to end, with parameters that are quick and prove nothing.

mod common;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use common::{arbor, assert_code, assert_refused, json, stdout, words};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder for the proofs of this target.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER.get_or_init(|| TempDir::new().expect("a temporary folder")).path()
}

fn path(name: &str) -> String {
    folder().join(name).display().to_string()
}

/// Writes a job file.
fn job(name: &str, job: &Value) -> String {
    let file = path(name);
    std::fs::write(&file, job.to_string()).expect("the job is written");
    file
}

/// Proves a tree and verifies it in a fresh process: what both of them print.
fn prove_and_verify(line: &str, name: &str) -> (Value, Value) {
    let file = path(name);
    let mut args = words(&format!("prove tree {line} --preset insecure-test --json --out"));
    args.push(file.clone());
    let proved = json(&arbor(args));
    let verified =
        json(&arbor(["verify", "--min-proven-bits", "0", &file, "--json"]))["proof"].clone();
    assert_eq!(proved["statement"], verified["statement"], "{line}");
    (proved, verified)
}

/// A tree of three leaves of two lengths, from a job file; made once.
fn three_leaves() -> PathBuf {
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(|| {
        let leaf = |n: u64| json!({"program": "fibonacci", "n": n});
        let leaves = json!([leaf(20), leaf(700), leaf(20)]);
        let tree = json!({"recursion": {"mode": "tree", "arity": 2, "leaves": leaves}});
        let file = job("three.json", &tree);
        let (proved, _) = prove_and_verify(&format!("--job {file}"), "three.arbor");
        let padding = json!([{"node": "1/1", "slot": 1}]);
        assert_eq!(proved["statement"]["padding"], padding);
        assert_eq!(proved["statement"]["leaves"].as_array().map(Vec::len), Some(3));
    });
    folder().join("three.arbor")
}

/// Chains of both programs, made once: their files.
fn chains() -> [String; 2] {
    static MADE: OnceLock<()> = OnceLock::new();
    let files = [path("keccak.arbor"), path("fibonacci.arbor")];
    MADE.get_or_init(|| {
        for (line, file) in
            ["keccak -n 2 --layers 1", "fibonacci -n 30 --layers 2"].iter().zip(&files)
        {
            let line = format!("prove {line} --preset insecure-test --out {file}");
            assert_code(&arbor(words(&line)), 0);
        }
    });
    files
}

fn inspect(file: &Path, leaf: &str) -> std::process::Output {
    arbor([
        OsStr::new("inspect"),
        file.as_os_str(),
        "--min-proven-bits=0".as_ref(),
        "--leaf".as_ref(),
        leaf.as_ref(),
        "--json".as_ref(),
    ])
}

#[test]
fn trees_of_one_and_two_levels() {
    for (line, proofs, leaves) in [
        ("--arity 2 --depth 1 -n 20", 3, 2),
        ("--arity 2 --depth 2 -n 20 --concurrent-pairs", 7, 4),
    ] {
        let (proved, verified) = prove_and_verify(line, &format!("tree-{proofs}.arbor"));
        let reports = proved["layers"].as_array().expect("reports");
        assert_eq!(reports.len(), proofs);
        assert_eq!(reports[0]["node"], "0/0");
        assert_eq!(reports[proofs - 1]["kind"], "merge");
        assert_eq!(verified["statement"]["leaves"].as_array().map(Vec::len), Some(leaves));
        assert_eq!(verified["statement"]["leaves"][1]["statement"]["base"]["a"], 1);
        assert_eq!(proved["concurrent"], line.contains("concurrent"));
    }
}

#[test]
fn leaves_of_different_lengths_are_brought_to_one_shape() {
    let file = three_leaves();
    let shape = json(&arbor([OsStr::new("inspect"), file.as_os_str(), "--json".as_ref()]));
    let nodes = shape["tree"]["nodes"].as_array().expect("nodes");
    assert!(nodes.iter().any(|node| node["kind"] == "wrap" && node["verifications"] == 1));
    let merges: Vec<_> = nodes.iter().filter(|node| node["kind"] == "merge").collect();
    assert_eq!(merges.len(), 3);
    let padding: Vec<_> = merges.iter().map(|node| node["padding"].as_u64()).collect();
    assert_eq!(padding, [Some(0), Some(1), Some(0)]);
    assert!(merges.iter().all(|node| node["verifications"] == 2));
    let text = stdout(&common::on("inspect", &file));
    assert!(text.contains("and 1 of padding") && text.contains("padding, not a leaf"), "{text}");
}

#[test]
fn finished_proofs_of_any_kind_become_leaves() {
    let [keccak, fibonacci] = chains();
    let three = three_leaves().display().to_string();
    let line = format!("--arity 4 {keccak} {fibonacci} {three} {fibonacci}");
    let (proved, verified) = prove_and_verify(&line, "over.arbor");
    let leaves = &verified["statement"]["leaves"];
    assert_eq!(leaves[0]["statement"]["base"]["inputs_bound"], false);
    assert_eq!(leaves[2]["statement"]["leaves"].as_array().map(Vec::len), Some(3));
    // The same file in two places: the statement shows both.
    assert_eq!(leaves[1]["statement"], leaves[3]["statement"]);
    assert_eq!([&leaves[1]["position"], &leaves[3]["position"]], [1, 3]);
    let merges = proved["layers"].as_array().expect("reports").iter();
    assert_eq!(merges.filter(|report| report["kind"] == "merge").count(), 1);
}

#[test]
fn every_leaf_is_found_by_its_way_to_the_root() {
    let file = three_leaves();
    let verified = json(&arbor(
        ["verify", "--min-proven-bits", "0", "--json"]
            .map(OsStr::new)
            .into_iter()
            .chain([file.as_os_str()]),
    ));
    let root = &verified["proof"]["node_digest"];
    for leaf in ["0", "1", "2"] {
        let inclusion = json(&inspect(&file, leaf));
        assert_eq!(&inclusion["root"], root, "{leaf}");
        assert_eq!(inclusion["included"], true);
        let steps = inclusion["steps"].as_array().expect("steps");
        // Each step takes up what the one below came to.
        let mut digest = &inclusion["statement_digest"];
        for step in steps {
            let slot = step["slot"].as_u64().expect("a slot") as usize;
            assert_eq!(&step["slots"][slot]["statement"], digest);
            assert_eq!(step["slots"][slot]["present"], true);
            digest = &step["digest"];
        }
        assert_eq!(digest, root);
    }
    // The last leaf shares its node with padding.
    let last = json(&inspect(&file, "2"));
    let steps = last["steps"].as_array().expect("steps");
    assert!(steps.iter().any(|step| step["slots"][1]["present"] == false), "{last}");
    assert_ne!(last["statement_digest"], json(&inspect(&file, "1"))["statement_digest"]);
    let text = stdout(&arbor([
        OsStr::new("inspect"),
        file.as_os_str(),
        "--min-proven-bits=0".as_ref(),
        "--leaf".as_ref(),
        "1".as_ref(),
    ]));
    assert!(text.contains("leaf 1 is in the proof") && text.contains("merge"), "{text}");
}

#[test]
fn a_chain_has_one_leaf() {
    let [_, fibonacci] = chains();
    let inclusion = json(&inspect(fibonacci.as_ref(), "0"));
    assert_eq!(inclusion["steps"].as_array().map(Vec::len), Some(2));
    assert_refused(&inspect(fibonacci.as_ref(), "1"), 2, &["--leaf 1", "1 leaves"]);
    assert_refused(&inspect(&three_leaves(), "3"), 2, &["--leaf 3", "3 leaves"]);
}

#[test]
fn the_plan_names_every_node_and_proves_nothing() {
    let plan = json(&arbor(words("prove tree --arity 3 --depth 2 --plan --json")));
    let nodes = plan["nodes"].as_array().expect("nodes");
    assert_eq!(nodes.len(), 9 + 3 + 1);
    for node in nodes {
        assert!(node["estimated_ms"].as_f64().expect("a time") > 0.0, "{node}");
        assert!(node["estimated_bytes"].as_u64().expect("bytes") > 0, "{node}");
        assert!(!node["tables"].as_array().expect("tables").is_empty(), "{node}");
    }
    assert_eq!(nodes[12]["children"][2], json!({"node": "1/2", "present": true}));
    assert!(plan["estimate"]["peak_bytes"].as_u64().expect("bytes") > 0);

    let [keccak, fibonacci] = chains();
    let line = format!("prove tree --arity 3 --plan {keccak} {fibonacci} --preset insecure-test");
    let text = stdout(&arbor(words(&line)));
    for word in ["finished chain of 1 layers", "wrap", "[", "ns for a cell", "GB of memory"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
}

#[test]
fn a_job_for_a_tree_needs_no_word_for_it() {
    let recursion = json!({"mode": "tree", "arity": 2, "depth": 1});
    let base = json!({"program": "fibonacci", "n": 20});
    let file = job("plain.json", &json!({"base": base, "recursion": recursion}));
    let out = path("plain.arbor");
    let line = format!("prove --job {file} --preset insecure-test --json --out {out}");
    let proved = json(&arbor(words(&line)));
    assert_eq!(proved["layers"].as_array().map(Vec::len), Some(3));
    assert_code(&arbor(["verify", "--min-proven-bits", "0", &out]), 0);
    let plan = json(&arbor(["prove", "--job", &file, "--plan", "--json"]));
    assert_eq!(plan["nodes"].as_array().map(Vec::len), Some(3));
}

#[test]
fn what_is_no_tree_is_refused() {
    let unknown = json!({"mode": "tree", "arity": 2, "leaves": [{"job": "abc"}, {"job": "abc"}]});
    let unknown = job("unknown.json", &json!({"recursion": unknown}));
    let [keccak, _] = chains();
    let cases: [(&str, i32, &[&str]); 12] = [
        ("--arity 1 --depth 1", 2, &["arity", "1", "2 to 8"]),
        ("--arity 9 --depth 1", 2, &["arity", "9", "2 to 8"]),
        ("--arity 2 --depth 0", 2, &["depth", "0"]),
        ("--arity 2 --depth 13", 2, &["depth", "13", "4096"]),
        ("--arity 8 --depth 64", 2, &["depth", "64"]),
        ("--arity 2", 2, &["depth", "leaves", "proof files"]),
        ("--arity 2 --depth 1 --seed 3", 2, &["--seed", "fibonacci"]),
        ("--arity 2 --depth 1 --leaf keccak -b 3", 2, &["-b", "keccak"]),
        (&format!("--arity 2 {keccak}"), 2, &["leaves", "1"]),
        (&format!("--arity 2 -n 3 {keccak} {keccak}"), 2, &["-n", "--depth"]),
        (&format!("--job {unknown}"), 2, &["abc", "no job of this id"]),
        ("--arity 2 --depth 1 --preset nowhere", 2, &["nowhere"]),
    ];
    for (line, code, says) in cases {
        let mut args = words(&format!("prove tree {line} --out"));
        args.push(path("refused.arbor"));
        assert_refused(&arbor(args), code, says);
    }
    assert!(!folder().join("refused.arbor").exists());
    for line in ["prove tree --depth 1 --out x", "prove -n 3 tree --arity 2 --depth 1 --out x"] {
        assert_code(&arbor(words(line)), 2);
    }
}

#[test]
fn a_leaf_that_is_no_valid_proof_is_refused_by_name() {
    let [keccak, fibonacci] = chains();
    let mut bytes = std::fs::read(&fibonacci).expect("the chain is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let damaged = path("damaged.arbor");
    std::fs::write(&damaged, bytes).expect("the copy is written");
    let foreign = job("foreign.arbor", &json!("no proof"));
    for (leaf, code) in [(damaged, 1), (foreign, 2), (path("missing.arbor"), 2)] {
        let out = path("never.arbor");
        let output = arbor(["prove", "tree", "--arity", "2", &keccak, &leaf, "--out", &out]);
        assert_refused(&output, code, &[&leaf]);
        assert!(!Path::new(&out).exists());
    }
}
