//! `arbor verify`: is this file a valid proof, and of what?

use std::path::PathBuf;

use arbor_prover::{Cache, Expected, Verified, VerifyFailure, VerifyOptions, format, verify};
use clap::Args;

use super::Format;
use super::job_args::read_text;
use crate::error::CliError;
use crate::output;

/// Largest statement file that is read.
const STATEMENT_BYTES: u64 = 1 << 20;

/// Below this many naive bits a proof is for tests, and `verify` says so.
const WEAK_BITS: usize = 80;

/// Verify a proof file and print what it proves.
///
/// Nothing but the file is needed: the keys that it must have are derived from its parameters, never read
/// from it. A file of more than 16 MiB is refused unread, and so is one whose keys would take more than
/// 4 GiB of memory to derive.
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
    /// Least proven bits of security (not supported yet)
    #[arg(long, value_name = "N")]
    min_proven_bits: Option<u32>,
}

/// Verifies and prints the statement.
pub(super) fn run(args: &VerifyArgs, format: Format) -> Result<(), CliError> {
    if args.min_proven_bits.is_some() {
        return Err(CliError::NotYet { what: "--min-proven-bits".to_owned() });
    }
    let expect = match &args.expect {
        Some(path) => Some(Expected::from_json(&read_text(path, STATEMENT_BYTES)?)?),
        None => None,
    };
    let options = VerifyOptions {
        expect,
        max_rows: args.max_rows,
        max_leaves: args.max_leaves,
        ..VerifyOptions::default()
    };
    let bytes = format::read_file(&args.file, &options.limits).map_err(VerifyFailure::from)?;
    let verified = verify::verify_bytes(&bytes, &options, &Cache::new())?;
    if verified.naive_bits < WEAK_BITS {
        eprintln!(
            "note: these parameters protect nothing: {} naive bits are what anybody forges",
            verified.naive_bits
        );
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
    output::line(format_args!(
        "{} naive bits (log blowup x queries + query grinding; not proven bits)",
        verified.naive_bits
    ))?;
    output::line(format_args!("node digest {}", verified.node_digest))?;
    output::line(format_args!(
        "keys derived in {:.1} ms, {} bytes verified in {:.1} ms",
        verified.derive_ms, verified.proof_bytes, verified.verify_ms
    ))
}
