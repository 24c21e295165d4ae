//! `arbor bench`: the figures of this machine, beside those that the project asks of itself.

use arbor_prover::LayerReport;
use arbor_prover::security::SecurityReport;
use clap::Args;

use super::Format;
use super::job_args::FriArgs;
use crate::bench::{Bench, LeafCost, Measured, ServiceCost, StrengthCost, Work};
use crate::error::CliError;
use crate::output;

/// What is measured unless `--work` says otherwise.
const DEFAULT_WORK: &str = "keccak,fibonacci,tree2,tree8";

/// Take the figures of the README on this machine.
///
/// Times are ratios to the base proof of 1,000 Keccak permutations in the same run, medians over --runs
/// after one warm-up run. A layer is restore + fill + prove, with its circuit prepared ahead.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What to measure: keccak, fibonacci, tree2, tree8, all of these, leaves (what a leaf costs in
    /// trees of 2 to 64), proven100 (what that preset costs), or service (what a server of its own
    /// adds); any ratio proves the Keccak base too
    #[arg(long, value_name = "WORK,…", value_delimiter = ',', default_value = DEFAULT_WORK)]
    work: Vec<String>,
    /// Runs over which the medians are taken
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: u16,
    /// Only rows, columns, cells, permutations and bytes, which are the same on every machine
    #[arg(long)]
    exact: bool,
    #[command(flatten)]
    fri: FriArgs,
}

/// Measures and prints.
pub(super) fn run(
    args: &BenchArgs,
    threads: Option<usize>,
    format: Format,
) -> Result<(), CliError> {
    let mut work = Vec::new();
    for name in args.work.iter().flat_map(|name| match name.trim() {
        "all" => DEFAULT_WORK.split(','),
        name => name.split(','),
    }) {
        let one = parse(name)?;
        if !work.contains(&one) {
            work.push(one);
        }
    }
    if args.exact && work.contains(&Work::Service) {
        return Err(CliError::Conflict { flag: "--exact", with: "--work service" });
    }
    let bench = Bench { work, runs: args.runs.into(), threads, fri: &args.fri };
    let measured = if args.exact { bench.exact()? } else { bench.timed()? };
    match (format, args.exact) {
        (Format::Json, false) => output::json(&measured),
        (Format::Json, true) => output::json(&measured.sizes()),
        (Format::Text, exact) => print(&measured, exact),
    }
}

/// One work by name.
fn parse(name: &str) -> Result<Work, CliError> {
    match name {
        "keccak" => Ok(Work::Keccak),
        "fibonacci" => Ok(Work::Fibonacci),
        "tree2" => Ok(Work::Tree2),
        "tree8" => Ok(Work::Tree8),
        "leaves" => Ok(Work::Leaves),
        "service" => Ok(Work::Service),
        "proven100" => Ok(Work::Proven100),
        other => Err(CliError::UnknownValue {
            flag: "--work",
            value: other.to_owned(),
            expected: "keccak, fibonacci, tree2, tree8, leaves, proven100, service or all",
        }),
    }
}

/// Prints the figures, then the layers and the tables behind them; times unless `exact`.
fn print(measured: &Measured, exact: bool) -> Result<(), CliError> {
    if let Some(cost) = &measured.service {
        output::line(service(cost))?;
    }
    if !measured.layers.is_empty() {
        chains(measured, exact)?;
    }
    if !measured.leaves.is_empty() {
        output::line(leaves(&measured.leaves))?;
    }
    if !measured.strength.is_empty() {
        output::line(strength(&measured.strength, exact))?;
    }
    for parameters in &measured.parameters {
        output::line(format_args!("{}: {}", parameters.proof, parameters.fri))?;
    }
    for line in measured.security.iter().flat_map(SecurityReport::lines) {
        output::line(line)?;
    }
    Ok(())
}

/// The figures that are required or wanted, and every layer behind them.
fn chains(measured: &Measured, exact: bool) -> Result<(), CliError> {
    let mut figures = output::table(["figure", "value", "required", "wanted", "reached"], 1);
    for figure in &measured.figures {
        figures.add_row([
            figure.name.to_owned(),
            figure.shown(figure.value),
            format!("≤ {}", figure.shown(figure.required)),
            format!("≤ {}", figure.shown(figure.wanted)),
            figure.verdict().to_owned(),
        ]);
    }
    output::line(figures)?;
    output::line(layers(measured, exact))?;
    output::line(tables(measured))?;
    Ok(())
}

/// What more proven bits cost, a set of parameters a line; times unless `exact`.
fn strength(costs: &[StrengthCost], exact: bool) -> comfy_table::Table {
    let times: &[&'static str] = if exact { &[] } else { &["total ms", "ratio"] };
    let sizes = ["queries", "permutations", "online cells", "ratio", "proof KB", "ratio"];
    let header = ["steady layer", "proven bits"].into_iter().chain(sizes);
    let mut table = output::table(header.chain(times.iter().copied()), 1);
    for cost in costs {
        let mut row = vec![
            cost.preset.to_owned(),
            format!("{:.1}", cost.proven_bits),
            cost.queries.to_string(),
            cost.permutations.to_string(),
            output::millions(cost.lde_cells),
            format!("{:.2}", cost.cells_ratio),
            output::kilobytes(cost.proof_bytes),
            format!("{:.2}", cost.bytes_ratio),
        ];
        row.extend(cost.total_ms.map(|ms| format!("{ms:.1}")));
        row.extend(cost.time_ratio.map(|ratio| format!("{ratio:.2}")));
        table.add_row(row);
    }
    table
}

/// What a leaf costs, a tree a line.
fn leaves(costs: &[LeafCost]) -> comfy_table::Table {
    let header = [
        "leaves",
        "arity",
        "proofs",
        "total s",
        "ms a leaf",
        "a leaf / base",
        "cells a leaf",
        "proof KB",
        "peak GB",
    ];
    let mut table = output::table(header, 0);
    for cost in costs {
        table.add_row([
            cost.leaves.to_string(),
            cost.arity.to_string(),
            cost.proofs.to_string(),
            format!("{:.2}", cost.total_ms / 1e3),
            format!("{:.0}", cost.leaf_ms),
            format!("{:.3}", cost.leaf_over_base),
            output::millions(cost.leaf_cells),
            output::kilobytes(cost.proof_bytes),
            format!("{:.2}", cost.peak_bytes as f64 / 1e9),
        ]);
    }
    table
}

/// What the service costs, a figure a line.
fn service(cost: &ServiceCost) -> comfy_table::Table {
    let mut table = output::table(["figure", "value", "required", "reached"], 1);
    for line in cost.lines() {
        table.add_row(line);
    }
    table
}

/// A layer a line. One that was compiled and not proved has no permutations and bytes to show.
fn layers(measured: &Measured, exact: bool) -> comfy_table::Table {
    let times: &[&'static str] = if exact { &[] } else { &["total ms", "verify ms"] };
    let sizes = ["permutations", "queries", "proof KB", "online cells"];
    let header = ["work", "layer"].into_iter().chain(times.iter().copied()).chain(sizes);
    let mut table = output::table(header, 1);
    for layer in &measured.layers {
        let report = &layer.report;
        let proved = |text: String| if report.proof_bytes == 0 { "–".to_owned() } else { text };
        let hashes = report.permutations > 0 || report.proof_bytes > 0;
        let mut row = vec![layer.work.to_owned(), place(report)];
        if !exact {
            row.push(format!("{:.1}", report.timings_ms.total));
            row.push(format!("{:.1}", report.timings_ms.verify));
        }
        row.extend([
            if hashes { report.permutations.to_string() } else { "–".to_owned() },
            report.queries.to_string(),
            proved(output::kilobytes(report.proof_bytes)),
            output::millions(cells(report)),
        ]);
        table.add_row(row);
    }
    table
}

/// Sizes of every table of every layer.
fn tables(measured: &Measured) -> comfy_table::Table {
    let header = ["work", "layer", "table", "rows", "main", "aux", "preprocessed", "online cells"];
    let mut table = output::table(header, 3);
    for layer in &measured.layers {
        for size in &layer.report.tables {
            table.add_row([
                layer.work.to_owned(),
                place(&layer.report),
                size.name.clone(),
                format!("2^{}", size.log_height),
                size.main.to_string(),
                size.aux.to_string(),
                size.preprocessed.to_string(),
                output::millions(size.lde_cells),
            ]);
        }
    }
    table
}

/// Which layer of a chain, or which node of a tree.
fn place(report: &LayerReport) -> String {
    report.node.clone().unwrap_or_else(|| report.layer.to_string())
}

/// Cells that a layer commits to online, over all tables.
fn cells(report: &LayerReport) -> u64 {
    report.tables.iter().map(|table| table.lde_cells).sum()
}
