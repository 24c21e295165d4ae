//! `arbor security`, the policy of `verify`, and the figures in `inspect`.

mod common;

use common::{Proved, arbor, assert_code, assert_refused, json, on, stdout, words};

#[test]
fn a_job_has_three_figures_with_what_binds_them() {
    let output = arbor(words("security keccak -n 4 --layers 1"));
    assert_code(&output, 0);
    let text = stdout(&output);
    for word in ["proven security", "conjectured security", "naive count 124.0", "Johnson, m ="] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
    let report = json(&arbor(words("security keccak -n 4 --layers 1 --json")));
    assert_eq!(report["naive"]["bits"], 124.0);
    assert_eq!(report["layers"].as_array().expect("layers").len(), 2);
    assert!(report["proven"]["bits"].as_f64().expect("bits") > 60.0);
}

#[test]
fn flags_presets_and_trees_are_those_of_prove() {
    let bits = |line: &str| {
        let report = json(&arbor(words(&format!("security {line} --json"))));
        report["proven"]["bits"].as_f64().expect("bits")
    };
    assert!(bits("fibonacci -n 10 --preset proven-100") >= 100.0);
    assert!(bits("fibonacci -n 10 --preset insecure-test") < 10.0);
    assert!(bits("fibonacci -n 10 --base-num-queries 2 --base-query-pow-bits 0") < 5.0);
    assert!(bits("fibonacci -n 10 --arity 2 --depth 1 --preset proven-80") >= 80.0);
    let refused = arbor(words("security fibonacci -n 10 --preset proven-100 --num-queries 9"));
    assert_refused(&refused, 2, &["100 proven bits", "queries"]);
}

#[test]
fn without_a_program_it_is_keccak_and_says_so() {
    let output = arbor(words("security --json"));
    let note = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(note.contains("note: of keccak"), "{note}");
    assert_eq!(json(&output), json(&arbor(words("security keccak --json"))));
    let soundcalc = stdout(&arbor(words("security --soundcalc")));
    assert_eq!(soundcalc, stdout(&arbor(words("security keccak --soundcalc"))));
}

#[test]
fn a_file_has_the_figures_of_its_job() {
    let file = Proved::get().file().display().to_string();
    let job = "security fibonacci -n 5 --layers 1 --preset insecure-test --json";
    let of_job = json(&arbor(words(job)));
    let of_file = json(&arbor(["security", &file, "--json"]));
    assert_eq!(of_file, of_job);
    assert_eq!(json(&arbor(["inspect", &file, "--json"]))["security"], of_job);
    let verified = json(&arbor(["verify", &file, "--min-proven-bits", "0", "--json"]));
    assert_eq!(verified["proof"]["security"], of_job);
    assert!(stdout(&on("inspect", &Proved::get().file())).contains("proven security"));
    assert_refused(&arbor(["security", &file, "-n", "5"]), 2, &["-n", "proof file"]);
    assert_refused(&arbor(words("security /nowhere/x.arbor")), 2, &["/nowhere/x.arbor"]);
}

#[test]
fn a_valid_proof_below_the_policy_ends_with_1_and_both_numbers() {
    let file = Proved::get().file().display().to_string();
    let bits = json(&arbor(["security", &file, "--json"]))["proven"]["bits"].clone();
    let bits = bits.as_f64().expect("bits");
    let has = format!("{bits:.1} bits");
    assert_refused(&arbor(["verify", &file]), 1, &[&has, "60 proven bits", "queries of"]);
    let more = (bits.floor() as u32 + 1).to_string();
    let output = arbor(["verify", &file, "--min-proven-bits", &more]);
    assert_refused(&output, 1, &[&has, &format!("{more} proven bits")]);
    let enough = (bits.floor() as u32).to_string();
    let output = arbor(["verify", &file, "--min-proven-bits", &enough]);
    assert_code(&output, 0);
    assert!(stdout(&output).contains(&format!("policy: at least {enough} proven bits")));
}

#[test]
fn the_input_of_soundcalc_is_toml_alone() {
    let output = arbor(words("security fibonacci -n 10 --layers 2 --soundcalc"));
    assert_code(&output, 0);
    let text = stdout(&output);
    assert!(text.starts_with("[zkevm]\n"), "{text}");
    assert_eq!(text.matches("[[circuits]]").count(), 3);
    assert_eq!(text.matches("[[circuits.lookups]]").count(), 3);
    assert_code(&arbor(words("security fibonacci --soundcalc --json")), 2);
}

#[test]
fn what_more_bits_cost_is_printed() {
    let text = stdout(&arbor(words("bench --work proven100 --exact")));
    assert!(text.contains("proven-100") && text.contains("queries"), "{text}");
}
