//! What `verify` and `inspect` make of files of every kind.

mod common;

use std::path::Path;

use common::{Proved, arbor, assert_code, assert_refused, json, on, stdout, words};

/// Bytes before the header: magic, version, reserved, two lengths.
const PRELUDE: usize = 24;
/// Where the format version stands.
const VERSION: usize = 8;

#[test]
fn a_valid_file_is_valid_and_says_what_it_proves() {
    let output = on("verify", &Proved::get().file());
    assert_code(&output, 0);
    let text = stdout(&output);
    for word in
        ["valid", "F(5) = 5", "chain of 1 layer", "proven security", "naive", "queries", "policy"]
    {
        assert!(text.contains(word), "{word} is not in {text}");
    }
}

#[test]
fn json_is_alone_on_standard_output() {
    let file = Proved::get().file().display().to_string();
    let verified = json(&arbor(["verify", "--min-proven-bits", "0", &file, "--json"]));
    assert_eq!(verified["valid"], true);
    let inspected = json(&arbor(["inspect", &file, "--json"]));
    assert_eq!(inspected["verified"], false);
    assert_eq!(inspected["format"], 1);
    assert_eq!(inspected["header"]["statement"], verified["proof"]["statement"]);
}

#[test]
fn inspect_says_that_it_verifies_nothing() {
    let output = on("inspect", &Proved::get().file());
    assert_code(&output, 0);
    assert!(stdout(&output).starts_with("not verified"));
}

#[test]
fn files_that_are_no_proofs_end_with_2() {
    let proved = Proved::get();
    let foreign = [
        proved.changed("empty", Vec::clear),
        proved.changed("text", |bytes| *bytes = b"a letter to the editor".to_vec()),
        proved.changed("zeros", |bytes| bytes.fill(0)),
        proved.changed("magic", |bytes| bytes[1] ^= 1),
    ];
    for command in ["verify", "inspect"] {
        for file in &foreign {
            assert_refused(&on(command, file), 2, &["not an Arbor proof file"]);
        }
        assert_refused(&on(command, Path::new("/nowhere/x.arbor")), 2, &["/nowhere/x.arbor"]);
        assert_refused(&on(command, proved.folder.path()), 2, &["cannot be read"]);
    }
}

#[test]
fn other_versions_end_with_2_and_name_both() {
    let file = Proved::get().changed("version", |bytes| bytes[VERSION] += 1);
    for command in ["verify", "inspect"] {
        assert_refused(&on(command, &file), 2, &["version 2", "version 1"]);
    }
}

#[test]
fn truncated_files_end_with_1() {
    let proved = Proved::get();
    let len = proved.bytes.len();
    for keep in [9, PRELUDE - 1, PRELUDE, PRELUDE + 40, len / 2, len - 33, len - 1] {
        let file = proved.changed(&format!("truncated-{keep}"), |bytes| bytes.truncate(keep));
        for command in ["verify", "inspect"] {
            assert_refused(&on(command, &file), 1, &[]);
        }
    }
    let longer = proved.changed("longer", |bytes| bytes.push(0));
    assert_refused(&on("verify", &longer), 1, &["corrupt"]);
}

#[test]
fn flipped_bits_are_found_everywhere() {
    let proved = Proved::get();
    let len = proved.bytes.len();
    for place in [10, PRELUDE, PRELUDE + 100, len / 3, len / 2, len - 33, len - 32, len - 1] {
        let file = proved.changed(&format!("flipped-{place}"), |bytes| bytes[place] ^= 0x10);
        for command in ["verify", "inspect"] {
            assert_refused(&on(command, &file), 1, &["corrupt"]);
        }
    }
}

#[test]
fn lengths_over_the_limits_end_with_3_or_are_corrupt() {
    let file = Proved::get().changed("header", |bytes| bytes[12..16].fill(0xff));
    assert_refused(&on("verify", &file), 3, &["limit"]);
    let file = Proved::get().changed("proof", |bytes| bytes[16..24].fill(0xff));
    assert_refused(&on("verify", &file), 3, &["limit"]);
}

#[test]
fn limits_of_the_caller_hold() {
    let file = Proved::get().file().display().to_string();
    assert_refused(
        &arbor(["verify", "--min-proven-bits", "0", &file, "--max-rows", "4"]),
        3,
        &["rows", "limit is 4"],
    );
    assert_refused(
        &arbor(["verify", "--min-proven-bits", "0", &file, "--max-leaves", "0"]),
        3,
        &["leaves"],
    );
    assert_code(&arbor(["verify", "--min-proven-bits", "0", &file, "--max-leaves", "1"]), 0);
}

#[test]
fn a_valid_proof_of_something_else_ends_with_1() {
    let proved = Proved::get();
    let file = proved.file().display().to_string();
    let expect = |name: &str, text: &str| {
        let path = proved.folder.path().join(name);
        std::fs::write(&path, text).expect("the statement is written");
        arbor([
            "verify",
            "--min-proven-bits",
            "0",
            &file,
            "--expect",
            path.to_str().expect("a UTF-8 path"),
        ])
    };
    let statement = json(&arbor(["inspect", &file, "--json"]))["header"]["statement"].clone();
    assert_code(&expect("same.json", &statement.to_string()), 0);

    let mut other = statement.clone();
    other["layers"] = 2.into();
    assert_refused(&expect("layers.json", &other.to_string()), 1, &["layers", "1", "2"]);
    let mut other = statement;
    other["base"]["result"] = 6.into();
    assert_refused(&expect("result.json", &other.to_string()), 1, &["result", "5", "6"]);

    assert_refused(&expect("list.json", "[1]"), 2, &["expected statement"]);
    assert_refused(&expect("broken.json", "{"), 2, &["expected statement"]);
    let missing = arbor(words(&format!("verify {file} --expect /nowhere/s.json")));
    assert_refused(&missing, 2, &["/nowhere/s.json"]);
}
