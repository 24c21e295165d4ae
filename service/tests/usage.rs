//! What the command line accepts and refuses before any work.

mod common;

use common::{arbor, assert_code, assert_refused, json, stderr, stdout, words};
use tempfile::TempDir;

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let output = arbor(["--help"]);
    assert_code(&output, 0);
    for word in [
        "prove",
        "prepare",
        "verify",
        "inspect",
        "security",
        "bench",
        "Exit codes",
        "ARBOR_RETAIN_MEMORY",
    ] {
        assert!(stdout(&output).contains(word), "{word}");
    }
}

#[test]
fn long_help_has_each_fri_flag_three_times_and_short_help_none() {
    let long = stdout(&arbor(["prove", "--help"]));
    let short = stdout(&arbor(["prove", "-h"]));
    let names = [
        "log-blowup",
        "max-log-arity",
        "log-final-poly-len",
        "cap-height",
        "security-level",
        "num-queries",
        "batch-pow-bits",
        "lookup-pow-bits",
        "ood-pow-bits",
        "commit-pow-bits",
        "query-pow-bits",
    ];
    for name in names {
        for prefix in ["", "base-", "final-"] {
            assert!(long.contains(&format!("--{prefix}{name}")), "--{prefix}{name}");
        }
        assert!(!short.contains(&format!("--{name}")), "--{name}");
    }
}

#[test]
fn version_names_commit_format_plonky3_and_cpu() {
    let output = arbor(["--version"]);
    assert_code(&output, 0);
    let text = stdout(&output);
    assert!(text.starts_with("arbor 0."), "{text}");
    for word in ["commit", "proof format 1", "Plonky3 0.8.0", "CPU features"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
}

#[test]
fn usage_errors_end_with_2() {
    let lines = [
        "",
        "frobnicate",
        "serve --listen nowhere",
        "security sha256",
        "prove",
        "prove tree --arity 2 --out x",
        "prove keccak",
        "prove keccak --out x --no-such-flag",
        "prove keccak -n minus --out x",
        "prove keccak -n -1 --out x",
        "prove fibonacci --layers 1.5 --out x",
        "verify",
        "bench --runs 0",
    ];
    for line in lines {
        let output = arbor(words(line));
        assert_code(&output, 2);
        assert_eq!(stdout(&output), "", "{line}");
        assert!(!stderr(&output).contains("panicked"), "{line}");
    }
}

#[test]
fn what_does_not_exist_is_refused_by_name() {
    assert_code(&arbor(words("verify x.arbor --min-proven-bits many")), 2);
    assert_refused(&arbor(words("prepare --preset proven-120")), 2, &["proven-120", "60 to 110"]);
    assert_refused(&arbor(words("bench --work poseidon")), 2, &["poseidon", "keccak, fibonacci"]);
}

#[test]
fn impossible_parameters_are_refused_with_the_value_and_what_is_allowed() {
    let cases: [(&str, i32, &[&str]); 12] = [
        ("keccak -n 0", 2, &["num_hashes", "0"]),
        ("keccak -n 174763", 3, &["174763", "174762"]),
        ("fibonacci -a 2130706433", 2, &["2130706433"]),
        ("fibonacci --seed 1", 2, &["--seed", "fibonacci"]),
        ("keccak -a 1", 2, &["-a", "keccak"]),
        ("keccak --log-blowup 5", 2, &["log_blowup", "5", "1 to 4"]),
        ("keccak --base-max-log-arity 0", 2, &["base.fri.max_log_arity", "0", "1 to 4"]),
        ("keccak --final-num-queries 513", 2, &["final.fri.num_queries", "513", "512"]),
        ("keccak --cap-height 9", 2, &["cap_height", "9"]),
        ("keccak --query-pow-bits 25", 2, &["query_pow_bits", "25", "24"]),
        ("keccak --layers 100000", 2, &["layers", "100000"]),
        ("keccak --preset nowhere", 2, &["nowhere", "default"]),
    ];
    for (line, code, says) in cases {
        assert_refused(&arbor(words(&format!("prove {line} --plan"))), code, says);
    }
}

#[test]
fn a_job_beyond_memory_is_refused_with_the_estimate() {
    let folder = TempDir::new().expect("a temporary folder");
    let plan = json(&arbor(words("prove keccak -n 174762 --plan --json")));
    let needed = plan["estimate"]["peak_bytes"].as_u64().expect("an estimate");
    // Where there is so much memory, the job would be taken.
    if arbor_prover::memory::available_bytes().is_none_or(|available| available >= needed) {
        return;
    }
    let mut args = words("prove keccak -n 174762 --out");
    args.push(folder.path().join("x.arbor").display().to_string());
    let mebibytes = (needed >> 20).to_string();
    assert_refused(&arbor(args), 3, &[&mebibytes, "MiB of memory", "available"]);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder is there").count(), 0);
}

#[test]
fn a_refused_job_leaves_no_file() {
    let folder = TempDir::new().expect("a temporary folder");
    let out = folder.path().join("x.arbor");
    let mut args = words("prove keccak -n 0 --out");
    args.push(out.display().to_string());
    assert_refused(&arbor(args), 2, &["num_hashes"]);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder is there").count(), 0);
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_work() {
    let folder = TempDir::new().expect("a temporary folder");
    for out in [folder.path().to_owned(), folder.path().join("missing/x.arbor")] {
        let mut args = words("prove keccak -n 100000 --out");
        args.push(out.display().to_string());
        let output = arbor(args);
        assert_refused(&output, 2, &[out.to_str().expect("a UTF-8 path")]);
        assert!(
            !stderr(&output).contains("at path"),
            "a file is named that the user does not know"
        );
    }
}

#[test]
fn a_proof_is_not_written_to_standard_output() {
    assert_refused(
        &arbor(words("prove fibonacci -n 1 --out -")),
        2,
        &["-: proofs are not written"],
    );
}

#[test]
#[cfg(unix)]
fn a_device_is_not_replaced_by_a_proof() {
    use std::os::unix::fs::FileTypeExt;

    let folder = TempDir::new().expect("a temporary folder");
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket is made");
    let mut args = words("prove fibonacci -n 1 --layers 0 --preset insecure-test --out");
    args.push(socket.display().to_string());
    assert_refused(&arbor(args), 2, &["socket", "not a regular file"]);
    assert!(std::fs::metadata(&socket).expect("it is there").file_type().is_socket());
}

#[test]
fn a_plan_has_a_step_for_the_base_and_each_layer() {
    let plan = json(&arbor(words("prove keccak -n 1000 --layers 3 --plan --json")));
    let steps = plan["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 4);
    assert_eq!(steps[0]["kind"], "base");
    assert!(steps[1..].iter().all(|step| step["kind"] == "layer"));
    assert!(plan["estimate"]["peak_bytes"].as_u64().expect("an estimate") > 1 << 30);

    let text = stdout(&arbor(words("prove fibonacci --plan")));
    for word in ["fibonacci", "layer 2", "naive bits", "memory"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
}

#[test]
fn flags_win_over_the_job_and_the_job_over_the_preset() {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("job.json");
    let job = r#"{"base": {"program": "keccak", "num_hashes": 7}, "recursion": {"mode": "chain", "layers": 2},
                  "fri": {"num_queries": 11, "query_pow_bits": 3}}"#;
    std::fs::write(&file, job).expect("the job is written");
    let file = file.display().to_string();

    let plan = json(&arbor(["prove", "--job", &file, "--plan", "--json"]));
    let steps = plan["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 3);
    assert!(steps[1]["fri"].as_str().expect("FRI").contains("11 queries"));

    let args =
        ["prove", "--job", &file, "--layers", "1", "--num-queries", "12", "--plan", "--json"];
    let plan = json(&arbor(args));
    let steps = plan["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 2);
    let fri = steps[1]["fri"].as_str().expect("FRI");
    assert!(fri.contains("12 queries") && fri.contains("query grinding 3"), "{fri}");
}

#[test]
fn a_security_level_derives_the_queries_rounded_up() {
    let line = "prove keccak --security-level 100 --query-pow-bits 15 --log-blowup 2 --plan --json";
    let plan = json(&arbor(words(line)));
    assert!(plan["steps"][1]["fri"].as_str().expect("FRI").contains("43 queries"));
    assert_eq!(plan["naive_bits"], 101);
}

#[test]
fn jobs_with_unknown_fields_or_impossible_trees_are_refused() {
    let folder = TempDir::new().expect("a temporary folder");
    let cases = [
        (r#"{"base": {"program": "keccak", "hashes": 7}}"#, "hashes"),
        (r#"{"base": {"program": "keccak"}, "colour": "green"}"#, "colour"),
        (r#"{"base": {"program": "keccak", "num_hashes": 1.5}}"#, "1.5"),
        (
            r#"{"base": {"program": "keccak"}, "recursion": {"mode": "tree", "arity": 9, "depth": 1}}"#,
            "arity",
        ),
        ("{", "line 1"),
    ];
    for (job, says) in cases {
        let file = folder.path().join("job.json");
        std::fs::write(&file, job).expect("the job is written");
        let output = arbor(["prove", "--job", file.to_str().expect("a UTF-8 path"), "--plan"]);
        assert_refused(&output, 2, &[says]);
    }
}

#[test]
fn a_preset_may_be_a_file() {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "[layer]\nnum_queries = 17\n").expect("the preset is written");
    let args =
        ["prove", "keccak", "--plan", "--json", "--preset", file.to_str().expect("a UTF-8 path")];
    let plan = json(&arbor(args));
    assert!(plan["steps"][1]["fri"].as_str().expect("FRI").contains("17 queries"));
}
