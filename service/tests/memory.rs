//! What keeping freed memory mapped is worth: page faults of the same layers in fresh processes.

mod common;

use common::{command, json, words};
use tempfile::TempDir;

/// Layers of the chain. The last three verify a layer of their own shape and are alike.
const LAYERS: usize = 5;
const STEADY: usize = 3;

/// Minor faults of each steady layer of a chain with the parameters of production.
fn steady_faults(retain: &str) -> Vec<u64> {
    let folder = TempDir::new().expect("a temporary folder");
    let mut args = words(&format!("prove fibonacci -n 100 --layers {LAYERS} --json --out"));
    args.push(folder.path().join("x.arbor").display().to_string());
    let output = command(args).env("ARBOR_RETAIN_MEMORY", retain).output();
    let report = json(&output.expect("the binary starts"));
    let layers = report["layers"].as_array().expect("reports");
    layers[layers.len() - STEADY..]
        .iter()
        .map(|layer| layer["minor_faults"].as_u64().expect("a number"))
        .collect()
}

#[test]
#[cfg(target_os = "linux")]
fn kept_memory_saves_nine_faults_of_ten() {
    let (given_back, kept) = (steady_faults("0"), steady_faults("1"));
    println!("minor faults of the steady layers: {given_back:?} given back, {kept:?} kept");
    let (given_back, kept): (u64, u64) = (given_back.iter().sum(), kept.iter().sum());
    // Three times 2^13 rows on 2^15 points by 252 columns are 24,000 pages, if none of them is a huge one.
    assert!(given_back > 100, "nothing was given back: {given_back} faults");
    assert!(10 * kept <= given_back, "{kept} faults with memory kept, {given_back} without");
}
