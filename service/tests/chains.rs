//! Chains from the command line, end to end, with parameters that are quick and prove nothing.

mod common;

use std::process::{Command, Stdio};
use std::time::Duration;

use common::{arbor, assert_code, assert_refused, command, json, stderr, stdout, words};
use tempfile::TempDir;

/// Proves into a folder of its own, verifies, and gives the report of `prove` and that of `verify`.
fn prove_and_verify(line: &str) -> (serde_json::Value, serde_json::Value) {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("x.arbor").display().to_string();
    let mut args = words(&format!("prove {line} --preset insecure-test --json --out"));
    args.push(file.clone());
    let proved = json(&arbor(args));
    let verified = json(&arbor(["verify", "--min-proven-bits", "0", &file, "--json"]));
    let files = std::fs::read_dir(folder.path()).expect("the folder is there").count();
    assert_eq!(files, 1, "nothing but the proof is written");
    (proved, verified)
}

#[test]
fn fibonacci_chains_of_every_length() {
    for layers in [0, 1, 2, 3, 4] {
        let (proved, verified) = prove_and_verify(&format!("fibonacci -n 10 --layers {layers}"));
        assert_eq!(proved["layers"].as_array().expect("reports").len(), layers + 1);
        assert_eq!(verified["proof"]["statement"]["base"]["result"], 55);
        assert_eq!(verified["proof"]["statement"]["layers"], layers);
        assert_eq!(proved["statement"], verified["proof"]["statement"]);
    }
}

#[test]
fn keccak_says_what_is_claimed_only() {
    let (_, verified) = prove_and_verify("keccak -n 2 --seed 9 --layers 1");
    let base = &verified["proof"]["statement"]["base"];
    assert_eq!(base["inputs_bound"], false);
    assert_eq!(base["claimed"]["num_hashes"], 2);
    assert_eq!(base["claimed"]["seed"], 9);
}

#[test]
fn the_last_layer_may_have_parameters_of_its_own() {
    let (proved, _) = prove_and_verify("fibonacci -n 3 --layers 2 --final-num-queries 4");
    assert_eq!(proved["layers"][2]["queries"], 4);
    assert_ne!(proved["layers"][1]["queries"], 4);
}

#[test]
fn reports_have_every_field_and_the_phases_add_up() {
    let (proved, _) = prove_and_verify("fibonacci -n 100 --layers 2");
    let peak = proved["peak_bytes"].as_u64().expect("a peak");
    for report in proved["layers"].as_array().expect("reports") {
        assert!(report["peak_bytes"].as_u64().expect("a peak") <= peak, "{peak}: {report}");
        let fields = [
            "layer",
            "kind",
            "tables",
            "permutations",
            "queries",
            "proof_bytes",
            "minor_faults",
            "peak_bytes",
        ];
        for field in fields {
            assert!(!report[field].is_null(), "{field} is not in {report}");
        }
        let ms = |name: &str| report["timings_ms"][name].as_f64().expect("a time");
        assert!(ms("prepare") >= 0.0 && ms("verify") > 0.0);
        let phases = ["restore", "fill", "commit", "logup", "quotient", "open"];
        let sum: f64 = phases.into_iter().map(ms).sum();
        // A millisecond of slack: these layers take a few.
        assert!((ms("total") - sum).abs() <= 0.05 * ms("total") + 1.0, "{report}");
    }
}

#[test]
fn phases_are_the_whole_layer_within_5_percent() {
    let folder = TempDir::new().expect("a temporary folder");
    let mut args = words("prove fibonacci -n 100 --layers 3 --json --out");
    args.push(folder.path().join("x.arbor").display().to_string());
    let proved = json(&arbor(args));
    for report in proved["layers"].as_array().expect("reports") {
        let ms = |name: &str| report["timings_ms"][name].as_f64().expect("a time");
        let phases = ["restore", "fill", "commit", "logup", "quotient", "open"];
        let sum: f64 = phases.into_iter().map(ms).sum();
        assert!((ms("total") - sum).abs() <= 0.05 * ms("total"), "{report}");
    }
}

#[test]
fn exact_figures_have_no_times() {
    let output = arbor(words("bench --exact --preset insecure-test --json"));
    let measured = json(&output);
    let names: Vec<_> =
        measured["figures"].as_array().expect("figures").iter().map(|f| &f["name"]).collect();
    let expected = [
        "steady_lde_cells",
        "steady_permutations",
        "keccak_layer1_lde_cells",
        "steady_proof_bytes",
    ];
    assert_eq!(names, expected);
    assert!(!stdout(&output).contains("_ms"), "no times");
    assert!(measured["security"]["proven"]["bits"].as_f64().expect("bits") < 60.0, "for tests");
    let works: Vec<_> =
        measured["layers"].as_array().expect("layers").iter().map(|l| &l["work"]).collect();
    for work in ["keccak", "fibonacci-100", "tree2", "tree8"] {
        assert!(works.contains(&&work.into()), "{work}");
    }
    let text = stdout(&arbor(words("bench --exact --preset insecure-test")));
    assert!(!text.contains(" ms"), "{text}");
}

#[test]
fn what_proven_bits_cost_is_measured_and_its_sizes_have_no_times() {
    let measured = json(&arbor(words("bench --exact --work proven100 --json")));
    let costs = measured["strength"].as_array().expect("two chains");
    assert_eq!(costs.len(), 2);
    assert_eq!(costs[0]["cells_ratio"], 1.0);
    assert!(costs[0]["proven_bits"].as_f64() >= Some(60.0));
    assert!(costs[1]["proven_bits"].as_f64() >= Some(100.0));
    assert!(costs[1]["queries"].as_u64() > costs[0]["queries"].as_u64());
    assert!(costs[1]["cells_ratio"].as_f64() >= Some(1.0));
    assert!(costs[1]["time_ratio"].is_null());
}

#[test]
fn text_has_the_timings_and_the_next_command() {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("x.arbor").display().to_string();
    let mut args = words("prove fibonacci -n 8 --layers 1 --preset insecure-test --out");
    args.push(file.clone());
    let output = arbor(args);
    assert_code(&output, 0);
    let text = stdout(&output);
    for word in ["total ms", "F(8) = 21", &format!("next: arbor verify {file}")] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
    assert_eq!(stderr(&output), "", "no progress where nobody looks");
}

#[test]
fn logs_go_to_standard_error() {
    let folder = TempDir::new().expect("a temporary folder");
    let mut args = words("prove fibonacci -n 8 --layers 1 --preset insecure-test --json --out");
    args.push(folder.path().join("x.arbor").display().to_string());
    let output = command(args).env("RUST_LOG", "info").output().expect("the binary starts");
    json(&output);
    let logged = stderr(&output);
    assert!(logged.matches("proved").count() >= 2, "{logged}");
    assert!(logged.contains("total_ms"), "{logged}");
}

#[test]
fn a_longer_chain_prepares_no_more_circuits() {
    let circuits = |layers: usize| {
        let line = format!("prepare fibonacci --preset insecure-test --json --layers {layers}");
        json(&arbor(words(&line)))["chains"][0]["circuits"].as_array().expect("circuits").clone()
    };
    let (four, ten) = (circuits(4), circuits(10));
    let keys = |circuits: &[serde_json::Value]| -> Vec<_> {
        circuits.iter().map(|circuit| circuit["key"].clone()).collect()
    };
    assert_eq!(keys(&four), keys(&ten));
    let layers = four.iter().filter(|circuit| circuit["kind"] == "layer").count();
    assert!(layers <= 3, "{layers} circuits");
}

#[test]
fn threads_are_bounded_and_zero_is_refused() {
    let output = arbor(words("prove fibonacci --plan --threads 0"));
    assert_refused(&output, 2, &["--threads", "at least 1"]);
    let folder = TempDir::new().expect("a temporary folder");
    let mut args =
        words("prove fibonacci -n 8 --layers 1 --preset insecure-test --threads 1 --out");
    args.push(folder.path().join("x.arbor").display().to_string());
    assert_code(&arbor(args), 0);
}

#[test]
#[cfg(unix)]
fn an_interrupted_proof_ends_with_130_and_leaves_no_file() {
    let folder = TempDir::new().expect("a temporary folder");
    let mut args =
        words("prove keccak -n 300 --layers 0 --preset insecure-test --query-pow-bits 24 --out");
    args.push(folder.path().join("x.arbor").display().to_string());
    let child = command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    std::thread::sleep(Duration::from_millis(300));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill runs").success());
    let output = child.wait_with_output().expect("the binary ends");
    assert_refused(&output, 130, &["interrupted"]);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder is there").count(), 0);
}

#[test]
fn prepare_without_a_program_prepares_them_all() {
    let prepared = json(&arbor(words("prepare --preset insecure-test --layers 1 --json")));
    let programs: Vec<_> = prepared["chains"]
        .as_array()
        .expect("chains")
        .iter()
        .map(|chain| &chain["program"])
        .collect();
    assert_eq!(programs, ["keccak", "fibonacci"]);
}
