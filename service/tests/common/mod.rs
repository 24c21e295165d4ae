//! Runs the binary and looks at what it prints.

// Every test target compiles this module and uses a part of it.
#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod server;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

/// The binary with `args`, an environment of its own, and no terminal.
pub fn arbor<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    command(args).output().expect("the binary starts")
}

/// The same, to be run by the caller.
pub fn command<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_arbor"));
    command
        .args(args)
        .env_remove("RUST_LOG")
        .env_remove("ARBOR_RETAIN_MEMORY")
        .env_remove("ARBOR_API_KEY")
        .env_remove("ARBOR_CA_FILE")
        .env_remove("ARBOR_ALLOW_HTTP")
        .stdin(Stdio::null());
    command
}

/// Splits a command line at its spaces.
pub fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("standard output is UTF-8")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("standard error is UTF-8")
}

/// The exit code, with what was printed if it is another one.
#[track_caller]
pub fn assert_code(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}\n{}", stdout(output), stderr(output));
}

/// A failure of the program itself: `code`, nothing on standard output, one line that says every one of
/// `says`, and no panic.
#[track_caller]
pub fn assert_refused(output: &Output, code: i32, says: &[&str]) {
    assert_code(output, code);
    assert_eq!(stdout(output), "");
    let stderr = stderr(output);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    for word in says {
        assert!(stderr.contains(word), "{word:?} is not in {stderr:?}");
    }
}

/// All of standard output as one JSON value.
#[track_caller]
pub fn json(output: &Output) -> Value {
    assert_code(output, 0);
    serde_json::from_slice(&output.stdout).expect("standard output is JSON and nothing else")
}

/// A folder with a proof of F(5) and one layer over it, made once for each test target.
pub struct Proved {
    pub folder: TempDir,
    pub bytes: Vec<u8>,
}

impl Proved {
    pub fn get() -> &'static Self {
        static PROVED: OnceLock<Proved> = OnceLock::new();
        PROVED.get_or_init(|| {
            let folder = TempDir::new().expect("a temporary folder");
            let file = folder.path().join("proof.arbor");
            let mut args = words("prove fibonacci -n 5 --layers 1 --preset insecure-test --out");
            args.push(file.display().to_string());
            assert_code(&arbor(args), 0);
            let bytes = std::fs::read(file).expect("the proof is written");
            Self { folder, bytes }
        })
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("proof.arbor")
    }

    /// A copy of the proof that `change` has had its way with.
    pub fn changed(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
        let mut bytes = self.bytes.clone();
        change(&mut bytes);
        let file = self.folder.path().join(name);
        std::fs::write(&file, bytes).expect("the copy is written");
        file
    }
}

/// Runs `command FILE`; a file of any strength is verified, since those of the tests have none.
pub fn on(command: &str, file: &std::path::Path) -> Output {
    let any: &[&str] = if command == "verify" { &["--min-proven-bits", "0"] } else { &[] };
    let words = std::iter::once(command).chain(any.iter().copied());
    arbor(words.map(OsStr::new).chain([file.as_os_str()]))
}
