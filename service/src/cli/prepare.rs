//! `arbor prepare`: builds the circuits of a chain and says how long that takes.

use std::sync::Arc;

use arbor_prover::{Cache, ChainSpec, Observer, PreparedInfo, chain};
use clap::Args;
use serde::Serialize;

use super::Format;
use super::job_args::{JobArgs, ProgramName};
use crate::error::CliError;
use crate::output;
use crate::progress::Progress;

/// Build the circuits of a chain ahead, and time that.
///
/// A chain of any length needs at most three circuits, or four if the last layer has parameters of its
/// own. They live as long as the process: this command is for measuring, and for the digests of the
/// keys. Without a program it prepares the chains of every program.
#[derive(Debug, Args)]
pub struct PrepareArgs {
    #[command(flatten)]
    job: JobArgs,
}

/// The circuits of one chain.
#[derive(Serialize)]
struct Circuits {
    program: &'static str,
    circuits: Vec<PreparedInfo>,
}

/// Prepares and prints one line a circuit.
pub(super) fn run(args: &PrepareArgs, format: Format) -> Result<(), CliError> {
    let specs = if args.job.program.is_none() && args.job.job.is_none() {
        let programs = [ProgramName::Keccak, ProgramName::Fibonacci];
        programs
            .iter()
            .map(|&name| args.job.resolve_as(Some(name)))
            .collect::<Result<Vec<_>, _>>()?
    } else {
        vec![args.job.resolve()?]
    };
    let cache = Cache::new();
    let chains =
        specs.iter().map(|spec| prepare(spec, &cache)).collect::<Result<Vec<_>, CliError>>()?;
    if format == Format::Json {
        return output::json(&serde_json::json!({ "chains": chains }));
    }
    for chain in &chains {
        output::line(chain.program)?;
        output::line(output::circuits(&chain.circuits))?;
    }
    Ok(())
}

/// Prepares with progress on a terminal.
fn prepare(spec: &ChainSpec, cache: &Cache) -> Result<Circuits, CliError> {
    let progress = Progress::chain(spec.layers);
    let observer: Arc<dyn Observer> = progress.clone();
    let prepared = chain::prepare(spec, cache, &observer);
    progress.finish();
    Ok(Circuits { program: spec.base.program.name(), circuits: prepared?.infos().to_vec() })
}
