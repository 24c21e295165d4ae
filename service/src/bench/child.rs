//! Measurements of fresh processes of this same binary.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use arbor_prover::ChainSpec;
use serde_json::Value;

use crate::error::CliError;

/// Layers of the job whose peak memory is taken.
const PEAK_LAYERS: usize = 3;

/// Milliseconds that a fresh `arbor verify` takes, keys derived and all.
pub(super) fn verify_ms(file: &Path, threads: Option<usize>) -> Result<f64, CliError> {
    let start = Instant::now();
    // Any strength: what is measured need not be worth anything.
    let args = ["--min-proven-bits=0".into(), file.into()];
    run("verify", &args, threads)?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// Peak resident set of a fresh `arbor prove keccak` with the FRI parameters of `spec`, as the process
/// itself reports it at its end.
pub(super) fn keccak_peak_bytes(
    permutations: u64,
    spec: &ChainSpec,
    out: &Path,
    threads: Option<usize>,
) -> Result<f64, CliError> {
    let mut args: Vec<OsString> =
        vec!["keccak".into(), "-n".into(), permutations.to_string().into()];
    args.extend(["--layers".into(), PEAK_LAYERS.to_string().into(), "--out".into(), out.into()]);
    args.push("--json".into());
    for (prefix, fri) in [("", &spec.layer_fri), ("base-", &spec.base.fri)] {
        let values = [
            ("log-blowup", fri.log_blowup),
            ("max-log-arity", fri.max_log_arity),
            ("log-final-poly-len", fri.log_final_poly_len),
            ("cap-height", fri.cap_height),
            ("num-queries", fri.num_queries),
            ("batch-pow-bits", fri.batch_pow_bits),
            ("lookup-pow-bits", fri.lookup_pow_bits),
            ("ood-pow-bits", fri.ood_pow_bits),
            ("commit-pow-bits", fri.commit_pow_bits),
            ("query-pow-bits", fri.query_pow_bits),
        ];
        args.extend(values.map(|(name, value)| format!("--{prefix}{name}={value}").into()));
    }
    let output = run("prove", &args, threads)?;
    let report: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    report
        .and_then(|report| report.get("peak_bytes")?.as_f64())
        .ok_or(CliError::ChildOutput { command: "prove", expected: "its peak memory" })
}

/// Runs this binary to a successful end.
fn run(
    command: &'static str,
    args: &[OsString],
    threads: Option<usize>,
) -> Result<Output, CliError> {
    let failed = |source| CliError::File { path: "arbor".into(), source };
    let mut process = Command::new(std::env::current_exe().map_err(failed)?);
    process.arg(command).args(args);
    if let Some(threads) = threads {
        process.arg("--threads").arg(threads.to_string());
    }
    let output = process.output().map_err(failed)?;
    if output.status.success() {
        return Ok(output);
    }
    let stderr =
        String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
    Err(CliError::Child { command, status: output.status, stderr })
}
