//! The main job at its full size, from the command line. `scripts/heavy` runs these.

mod common;

use common::{arbor, assert_code, json, words};
use tempfile::TempDir;

/// Proves with the default preset, verifies, and gives the statement.
fn prove_and_verify(line: &str) -> serde_json::Value {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("x.arbor").display().to_string();
    let mut args = words(&format!("prove {line} --out"));
    args.push(file.clone());
    assert_code(&arbor(args), 0);
    json(&arbor(["verify", "--min-proven-bits", "0", &file, "--json"]))["proof"]["statement"]
        .clone()
}

#[test]
fn keccak_of_100_to_1_366() {
    // 1,366 × 24 = 32,784 is just above 2^15 rows.
    for (n, log_rows) in [(100, 12), (1_000, 15), (1_365, 15), (1_366, 16)] {
        let statement = prove_and_verify(&format!("keccak -n {n} --layers 3"));
        assert_eq!(statement["base"]["log_rows"], log_rows, "{n}");
    }
}

#[test]
fn fibonacci_of_10_000() {
    let statement = prove_and_verify("fibonacci -n 10000 --layers 3");
    let (mut f, mut next) = (0_u64, 1);
    for _ in 0..10_000 {
        (f, next) = (next, (f + next) % 0x7f00_0001);
    }
    assert_eq!(statement["base"]["result"], f);
}

#[test]
fn a_chain_of_10_with_each_preset() {
    for preset in ["default", "proven-100", "compact", "blowup8", "insecure-test"] {
        let statement = prove_and_verify(&format!("fibonacci --layers 10 --preset {preset}"));
        assert_eq!(statement["layers"], 10, "{preset}");
    }
}

#[test]
fn fri_parameters_at_their_ends() {
    let ends = [
        "--log-blowup 1",
        "--log-blowup 4",
        "--max-log-arity 1",
        "--max-log-arity 4",
        "--log-final-poly-len 0 --cap-height 0",
        "--log-final-poly-len 8",
        "--cap-height 0",
        "--num-queries 1",
        "--num-queries 512",
        "--security-level 1",
        "--batch-pow-bits 8 --lookup-pow-bits 8 --ood-pow-bits 8 --commit-pow-bits 8",
        "--batch-pow-bits 1 --lookup-pow-bits 2 --ood-pow-bits 3 --commit-pow-bits 4",
        "--batch-pow-bits 24 --lookup-pow-bits 24",
        "--ood-pow-bits 24 --query-pow-bits 24",
        "--commit-pow-bits 20",
        "--query-pow-bits 0",
        "--base-log-blowup 1 --log-blowup 4 --final-log-blowup 2",
        "--base-num-queries 1 --final-max-log-arity 1 --final-cap-height 0",
    ];
    for flags in ends {
        prove_and_verify(&format!("fibonacci -n 1 --layers 2 {flags}"));
    }
}
