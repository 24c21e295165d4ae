//! `arbor verify`: is this file a valid proof, and of what?

use std::path::PathBuf;

use arbor_prover::security::{DEFAULT_MIN_PROVEN_BITS, Policy};
use arbor_prover::{Cache, Expected, Verified, VerifyFailure, VerifyOptions, format, verify};
use clap::Args;

use super::Format;
use super::job_args::read_text;
use crate::error::CliError;
use crate::output;

/// Largest statement file that is read.
const STATEMENT_BYTES: u64 = 1 << 20;

/// Verify a proof file and print what it proves.
///
/// Nothing but the file is needed: the keys that it must have are derived from its parameters, never read
/// from it. A file of more than 16 MiB is refused unread, and so is one whose keys would take more than
/// 4 GiB of memory to derive.
///
/// What a file says of its own parameters makes them no better: a proof whose weakest layer has fewer
/// proven bits than --min-proven-bits is refused with 1, valid or not.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Proof file
    file: PathBuf,
    /// Statement that the proof must have; fields that the file leaves out may be anything
    #[arg(long, value_name = "STATEMENT.json")]
    expect: Option<PathBuf>,
    /// Most rows of any table whose key may be derived
    #[arg(long, value_name = "N")]
    max_rows: Option<usize>,
    /// Most base proofs below the proof
    #[arg(long, value_name = "N")]
    max_leaves: Option<usize>,
    /// Least proven bits of security; 0 accepts proofs that anybody can forge
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MIN_PROVEN_BITS)]
    min_proven_bits: u32,
}

/// Verifies and prints the statement.
pub(super) fn run(args: &VerifyArgs, format: Format) -> Result<(), CliError> {
    let expect = match &args.expect {
        Some(path) => Some(Expected::from_json(&read_text(path, STATEMENT_BYTES)?)?),
        None => None,
    };
    let options = VerifyOptions {
        expect,
        max_rows: args.max_rows,
        max_leaves: args.max_leaves,
        policy: Policy { min_proven_bits: args.min_proven_bits },
        ..VerifyOptions::default()
    };
    let bytes = format::read_file(&args.file, &options.limits).map_err(VerifyFailure::from)?;
    let verified = verify::verify_bytes(&bytes, &options, &Cache::new())?;
    let proven = &verified.security.proven;
    if proven.bits < f64::from(DEFAULT_MIN_PROVEN_BITS) {
        eprintln!("note: these parameters protect nothing that matters: {proven}");
    }
    match format {
        Format::Json => output::json(&serde_json::json!({ "valid": true, "proof": verified })),
        Format::Text => print(&verified),
    }
}

/// Prints for people.
fn print(verified: &Verified) -> Result<(), CliError> {
    output::line("valid")?;
    for line in verified.statement.lines() {
        output::line(line)?;
    }
    for line in verified.security.lines() {
        output::line(line)?;
    }
    output::line(format_args!("policy: {}", verified.policy))?;
    output::line(format_args!("node digest {}", verified.node_digest))?;
    output::line(format_args!(
        "keys derived in {:.1} ms, {} bytes verified in {:.1} ms",
        verified.derive_ms, verified.proof_bytes, verified.verify_ms
    ))
}
