//! Runs the examples, which `cargo test` builds beside this test.

use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

/// The example `name`, next to the folder of this test's binary.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this test has a path");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("target/<profile>/deps");
    let path = profile.join("examples").join(name);
    assert!(path.exists(), "{} is built by `cargo test` without --test", path.display());
    path
}

fn run(name: &str, line: &str) -> Output {
    let mut command = Command::new(example(name));
    command.args(line.split_whitespace()).env("RUST_LOG", "info");
    command.output().expect("the example starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn chains_are_proved_verified_and_timed() {
    let folder = TempDir::new().expect("a temporary folder");
    let quick = "--num-recursive-layers 2 --security-level 12 --query-pow-bits 2";
    for (name, work) in [("recursive_keccak", "-n 2"), ("recursive_fibonacci", "-n 10")] {
        let file = folder.path().join(name);
        let output = run(name, &format!("{work} {quick} --out {}", file.display()));
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{name}: {stderr}");
        for word in ["total ms", "verified in", "next: cargo run"] {
            assert!(stdout.contains(word), "{name}: {word} is not in {stdout}");
        }
        assert!(stderr.matches("total_ms").count() >= 3, "{name}: {stderr}");
        assert!(file.exists(), "{name}");
    }
}

#[test]
fn trees_are_proved_verified_and_timed() {
    let folder = TempDir::new().expect("a temporary folder");
    let quick = "--field koala-bear -n 10 --security-level 12 --query-pow-bits 2";
    for (tree, nodes) in [("", 3), ("--arity 3 --num-recursive-layers 1 --concurrent-pairs", 4)] {
        let file = folder.path().join("tree.arbor");
        let output =
            run("recursive_aggregation", &format!("{tree} {quick} --out {}", file.display()));
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{tree}: {stderr}");
        for word in ["1/0", "merge", "leaf 1", "verified in", "next: cargo run"] {
            assert!(stdout.contains(word), "{tree}: {word} is not in {stdout}");
        }
        assert_eq!(stderr.matches("total_ms").count(), nodes, "{tree}: {stderr}");
        assert!(file.exists(), "{tree}");
    }
}

#[test]
fn lanes_are_accepted_and_explained() {
    let folder = TempDir::new().expect("a temporary folder");
    let flags = "--public-lanes 1 --alu-lanes 2 --horner-packed-steps 3 --recompose-lanes 4";
    let quick = "-n 3 --num-recursive-layers 0 --security-level 12 --query-pow-bits 2";
    let file = folder.path().join("x.arbor");
    let output = run("recursive_fibonacci", &format!("{flags} {quick} --out {}", file.display()));
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert_eq!(stderr.matches("has no effect").count(), 4, "{stderr}");
}

#[test]
fn what_does_not_exist_is_refused_by_name() {
    let cases = [("--zk", "--zk"), ("--field baby-bear", "baby-bear"), ("--hash keccak", "keccak")];
    for (flags, says) in cases {
        let output = run("recursive_keccak", flags);
        assert_eq!(output.status.code(), Some(2), "{flags}");
        let stderr = text(&output.stderr);
        assert!(stderr.contains(says) && stderr.contains("not supported yet"), "{stderr}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_work() {
    let output = run("recursive_keccak", "-n 100000 --log-blowup 1 --out /nowhere/x.arbor");
    assert_eq!(output.status.code(), Some(2));
    let stderr = text(&output.stderr);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("/nowhere/x.arbor") && output.stdout.is_empty(), "{stderr}");
}

#[test]
fn help_says_where_defaults_are_tuned() {
    let output = run("recursive_keccak", "--help");
    assert!(text(&output.stdout).matches("tuned").count() >= 3);
}

#[test]
fn an_air_of_ones_own_is_wrapped() {
    let output = run("own_air", "");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("proved and wrapped"));
}
