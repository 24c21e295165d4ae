//! Tells the binary which commit and which Plonky3 it is built from. Neither is needed to build.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rustc-env=ARBOR_COMMIT={}", commit().as_deref().unwrap_or("unknown"));
    println!("cargo::rustc-env=ARBOR_PLONKY3={}", plonky3().as_deref().unwrap_or("unknown"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../Cargo.lock");
    println!("cargo::rerun-if-env-changed=ARBOR_COMMIT");
}

/// What `ARBOR_COMMIT` says, as where an image is built without `.git`; else the commit that is checked
/// out, if this is a checkout and git is there to say so.
fn commit() -> Option<String> {
    if let Ok(commit) = std::env::var("ARBOR_COMMIT") {
        let plain = commit.bytes().all(|byte| byte.is_ascii_alphanumeric());
        return (plain && !commit.is_empty()).then_some(commit);
    }
    // A source archive has no `.git`. `logs/HEAD` changes with every commit, and while it is not there
    // yet, cargo asks again each time.
    if Path::new("../.git").exists() {
        println!("cargo::rerun-if-changed=../.git/logs/HEAD");
    }
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let commit = text.trim();
    (output.status.success() && !commit.is_empty()).then(|| commit.to_owned())
}

/// The version of Plonky3 that the lockfile names.
fn plonky3() -> Option<String> {
    let lock = std::fs::read_to_string("../Cargo.lock").ok()?;
    let (_, after) = lock.split_once("name = \"p3-batch-stark\"\nversion = \"")?;
    let (version, _) = after.split_once('"')?;
    Some(version.to_owned())
}
