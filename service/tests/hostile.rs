//! Two hundred mutants of proof files through `arbor verify`: every one ends with 1, 2 or 3, soon, with one
//! line on standard error, and never with a panic. `arbor inspect`, which believes them, does not panic either,
//! and prints nothing that a terminal would take for a command.

mod common;
#[path = "../../prover/tests/hostile/engine.rs"]
mod engine;

use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{arbor, assert_code, assert_refused, command};
use engine::{Rng, mutant, same_proof};
use tempfile::TempDir;

const FILES: usize = 200;
const SEED: u64 = 0x7665_7269_6679;
/// What one run may take, its start and the derivation of keys included.
const MOST_TIME: Duration = Duration::from_secs(20);
/// What one run may hold, in KiB.
const MOST_MEMORY: u64 = 1 << 20;

/// The arguments that check `file`: the one place for a change of policy.
fn verify(file: &Path) -> Vec<String> {
    let limits = ["--max-rows", "1024", "--min-proven-bits", "0"].map(str::to_owned);
    let args = ["verify".to_owned(), file.display().to_string()];
    args.into_iter().chain(limits).collect()
}

/// The output of a run and the most memory it was seen to hold, in KiB.
fn watched(file: &Path) -> (Output, u64) {
    let mut child = command(verify(file))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let (start, mut peak) = (Instant::now(), 0);
    while child.try_wait().expect("a child").is_none() {
        peak = peak.max(peak_kib(child.id()).unwrap_or(0));
        if start.elapsed() > MOST_TIME {
            child.kill().expect("it still runs");
            panic!("{} takes more than {MOST_TIME:?}", file.display());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    (child.wait_with_output().expect("it has ended"), peak)
}

fn inspect(file: &Path) {
    let output = arbor(["inspect".as_ref(), file.as_os_str()]);
    if output.status.code() != Some(0) {
        let code = output.status.code().unwrap_or(-1);
        assert!((1..=3).contains(&code), "{}: {output:?}", file.display());
        assert_refused(&output, code, &[]);
    }
    let printed = [output.stdout, output.stderr].concat();
    let commands = printed.iter().any(|byte| byte.is_ascii_control() && *byte != b'\n');
    assert!(!commands, "{}: {}", file.display(), String::from_utf8_lossy(&printed));
}

fn peak_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[test]
fn mutants_end_with_a_code_and_a_line() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/verify");
    let seeds = ["base", "layer", "tree"].map(|name| format!("{corpus}/{name}.arbor"));
    for seed in &seeds {
        assert_code(&arbor(verify(Path::new(seed))), 0);
    }
    let seeds = seeds.map(|path| std::fs::read(path).expect("a seed"));
    let folder = TempDir::new().expect("a temporary folder");
    let (next, codes) = (AtomicUsize::new(0), [const { AtomicUsize::new(0) }; 4]);
    let (slowest, largest) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= FILES {
                        return;
                    }
                    let bytes = mutant(&mut Rng(SEED + number as u64), &seeds);
                    let file = folder.path().join(format!("{number}.arbor"));
                    std::fs::write(&file, &bytes).expect("written");
                    inspect(&file);
                    let start = Instant::now();
                    let (output, kib) = watched(&file);
                    let time = start.elapsed().as_millis() as usize;
                    slowest.fetch_max(time, Ordering::Relaxed);
                    largest.fetch_max(kib as usize, Ordering::Relaxed);
                    assert!(kib < MOST_MEMORY, "mutant {number} holds {kib} KiB");
                    let code = output.status.code().unwrap_or(-1);
                    // A header in other words over the same proof is no forgery.
                    let same = code == 0 && seeds.iter().any(|seed| same_proof(seed, &bytes));
                    if !same {
                        assert!((1..=3).contains(&code), "mutant {number}: {output:?}");
                        assert_refused(&output, code, &[]);
                    }
                    codes[code as usize].fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    println!(
        "{FILES} mutants, by exit code {codes:?}; slowest {} ms, largest {} MiB",
        slowest.into_inner(),
        largest.into_inner() >> 10
    );
}
