//! `arbor inspect`: what a file says about itself.

use std::path::PathBuf;

use arbor_prover::format::{self, FORMAT_VERSION};
use arbor_prover::tree::ProofSpec;
use arbor_prover::{ChainSpec, Limits, Policy, ProofFile, SecurityReport, VerifyFailure};
use clap::Args;

use super::inspect_tree::Shape;
use super::{Format, inspect_leaf, security};
use crate::error::CliError;
use crate::output;

/// Print what a proof file says about itself. Its checksum is checked, its proof is not.
///
/// With --leaf the proof is verified, and one leaf is shown to be in it by the way from the leaf to the
/// root.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Proof file
    file: PathBuf,
    /// Check that the leaf at this position, from 0, is in the proof, and print the way to the root
    #[arg(long, value_name = "I")]
    leaf: Option<usize>,
    /// With --leaf: least proven bits of security that the proof must have [default: 60]
    #[arg(long, value_name = "N", requires = "leaf")]
    min_proven_bits: Option<u32>,
}

/// Parses the file and prints its header.
pub(super) fn run(args: &InspectArgs, format: Format) -> Result<(), CliError> {
    if let Some(leaf) = args.leaf {
        let policy = args.min_proven_bits.map(|min_proven_bits| Policy { min_proven_bits });
        return inspect_leaf::run(&args.file, leaf, policy.unwrap_or_default(), format);
    }
    let limits = Limits::default();
    let bytes = format::read_file(&args.file, &limits).map_err(VerifyFailure::from)?;
    let file = ProofFile::parse(&bytes, &limits).map_err(VerifyFailure::from)?;
    let shape = match file.header.spec {
        ProofSpec::Chain(_) => None,
        ProofSpec::Tree(_) => Shape::of(&file)?,
    };
    // A header can be read whose circuits would cost too much.
    let security = security::of_file(&file).map_err(|error| error.to_string());
    match format {
        Format::Json => output::json(&serde_json::json!({
            "verified": false,
            "format": FORMAT_VERSION,
            "file_bytes": bytes.len(),
            "proof_bytes": file.proof.len(),
            "header": file.header,
            "tree": shape,
            "security": security.as_ref().ok(),
        })),
        Format::Text => print(&file, shape.as_ref(), &security, bytes.len()),
    }
}

/// Prints for people.
fn print(
    file: &ProofFile,
    shape: Option<&Shape>,
    security: &Result<SecurityReport, String>,
    bytes: usize,
) -> Result<(), CliError> {
    let header = &file.header;
    output::line("not verified; the file says:")?;
    for line in header.statement.lines() {
        output::line(line)?;
    }
    if let Some(shape) = shape {
        shape.print()?;
    }
    print_parameters(&header.spec)?;
    match security {
        Ok(report) => report.lines().into_iter().try_for_each(output::line)?,
        Err(reason) => output::line(format_args!("security not known: {reason}"))?,
    }
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
