//! `arbor inspect`: what a file says about itself.

use std::path::PathBuf;

use arbor_prover::format::{self, FORMAT_VERSION};
use arbor_prover::tree::ProofSpec;
use arbor_prover::{ChainSpec, Limits, ProofFile, VerifyFailure};
use clap::Args;

use super::Format;
use crate::error::CliError;
use crate::output;

/// Print what a proof file says about itself. Its checksum is checked, its proof is not.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Proof file
    file: PathBuf,
}

/// Parses the file and prints its header.
pub(super) fn run(args: &InspectArgs, format: Format) -> Result<(), CliError> {
    let limits = Limits::default();
    let bytes = format::read_file(&args.file, &limits).map_err(VerifyFailure::from)?;
    let file = ProofFile::parse(&bytes, &limits).map_err(VerifyFailure::from)?;
    match format {
        Format::Json => output::json(&serde_json::json!({
            "verified": false,
            "format": FORMAT_VERSION,
            "file_bytes": bytes.len(),
            "proof_bytes": file.proof.len(),
            "header": file.header,
        })),
        Format::Text => print(&file, bytes.len()),
    }
}

/// Prints for people.
fn print(file: &ProofFile, bytes: usize) -> Result<(), CliError> {
    let header = &file.header;
    output::line("not verified; the file says:")?;
    for line in header.statement.lines() {
        output::line(line)?;
    }
    print_parameters(&header.spec)?;
    for key in &header.keys {
        output::line(format_args!("key {key}"))?;
    }
    output::line(format_args!(
        "format {FORMAT_VERSION}, made with Plonky3 {}, {bytes} bytes, {} of them the proof",
        header.plonky3,
        file.proof.len()
    ))
}

/// FRI parameters of every proof below.
fn print_parameters(spec: &ProofSpec) -> Result<(), CliError> {
    match spec {
        ProofSpec::Chain(chain) => print_chain(chain),
        ProofSpec::Tree(tree) => {
            output::line(format_args!("layers: {}", output::fri(&tree.layer_fri)))?;
            output::line(format_args!("root: {}", output::fri(&tree.last_fri)))
        }
    }
}

fn print_chain(spec: &ChainSpec) -> Result<(), CliError> {
    for layer in 0..=spec.layers {
        let name = if layer == 0 { "base".to_owned() } else { format!("layer {layer}") };
        output::line(format_args!("{name}: {}", output::fri(spec.fri_of(layer))))?;
        if layer == 3 && spec.layers > 4 {
            return output::line("…");
        }
    }
    Ok(())
}
