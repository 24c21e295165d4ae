//! What goes to standard output: JSON alone, or text for people.

use std::io::{self, Write};
use std::path::Path;

use arbor_circuits::config::FriConfig;
use arbor_prover::{LayerReport, PreparedInfo, TableReport};
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use serde::Serialize;

use crate::error::CliError;

/// Prints `text` and a line feed. A reader that has gone away (`| head`) is no error.
///
/// # Errors
/// If standard output cannot be written to.
pub fn line(text: impl std::fmt::Display) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::Output(error)),
        _ => Ok(()),
    }
}

/// Prints `value` as JSON.
///
/// # Errors
/// If standard output cannot be written to.
pub fn json(value: &impl Serialize) -> Result<(), CliError> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| CliError::Output(error.into()))?;
    line(text)
}

/// `text` of somebody else's without what a terminal would act upon, cut where nobody reads on.
#[must_use]
pub fn printable(text: &str) -> String {
    const LONGEST: usize = 2_000;
    let acts = |c: char| c.is_control() || turns(c);
    text.chars().take(LONGEST).map(|c| if acts(c) { ' ' } else { c }).collect()
}

/// Whether a character changes the direction of those that follow (UAX #9), so that a line reads as another.
const fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Finds out before the work whether its result can be written.
///
/// # Errors
/// If `out` is something else than a file, or no file can be made where it shall be.
pub fn check_writable(out: &Path) -> Result<(), CliError> {
    let failed = |source| CliError::File { path: out.to_owned(), source };
    if out == Path::new("-") {
        let reason = "proofs are not written to standard output; ./- is a file of this name";
        return Err(failed(io::Error::other(reason)));
    }
    // A finished proof is moved to its place, which would put a file where a device or a pipe is.
    match std::fs::metadata(out) {
        Ok(found) if found.is_dir() => return Err(failed(io::ErrorKind::IsADirectory.into())),
        Ok(found) if !found.is_file() => {
            return Err(failed(io::Error::other("not a regular file")));
        }
        _ => {}
    }
    let folder = match out.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    std::fs::metadata(folder).map_err(failed)?;
    // The file vanishes when it is dropped, here at once. Its error would name it, so only the kind is told.
    tempfile::NamedTempFile::new_in(folder).map(drop).map_err(|error| failed(error.kind().into()))
}

/// An empty table whose columns are aligned to the right, the first `left` to the left.
#[must_use]
pub fn table(header: impl IntoIterator<Item = &'static str>, left: usize) -> Table {
    let mut table = Table::new();
    table
        .load_style(UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    for (index, column) in table.column_iter_mut().enumerate() {
        let alignment = if index < left { CellAlignment::Left } else { CellAlignment::Right };
        column.set_cell_alignment(alignment);
    }
    table
}

/// Timings and sizes, a layer or a node a line.
#[must_use]
pub fn timings(reports: &[LayerReport]) -> Table {
    let tree = reports.iter().any(|report| report.node.is_some());
    let header = [
        if tree { "node" } else { "layer" },
        "kind",
        "tables",
        "restore",
        "fill",
        "commit",
        "logup",
        "quotient",
        "open",
        "total ms",
        "verify ms",
        "proof KB",
    ];
    let mut table = table(header, 3);
    for report in reports {
        let ms = &report.timings_ms;
        table.add_row([
            report.node.clone().unwrap_or_else(|| report.layer.to_string()),
            report.kind.to_string(),
            heights(&report.tables),
            format!("{:.1}", ms.restore),
            format!("{:.1}", ms.fill),
            format!("{:.1}", ms.commit),
            format!("{:.1}", ms.logup),
            format!("{:.1}", ms.quotient),
            format!("{:.1}", ms.open),
            format!("{:.1}", ms.total),
            format!("{:.1}", ms.verify),
            kilobytes(report.proof_bytes),
        ]);
    }
    table
}

/// What was prepared, a circuit a line.
#[must_use]
pub fn circuits(infos: &[PreparedInfo]) -> Table {
    let mut table =
        table(["layer", "kind", "tables", "key", "LDE cells", "prepare ms", "kept MB"], 4);
    for info in infos {
        let cells: u64 = info.tables.iter().map(|table| table.lde_cells).sum();
        table.add_row([
            info.layer.to_string(),
            info.kind.to_string(),
            heights(&info.tables),
            info.key.chars().take(16).collect(),
            millions(cells),
            format!("{:.1}", info.prepare_ms),
            format!("{:.1}", info.preprocessed_bytes as f64 / 1e6),
        ]);
    }
    table
}

/// FRI parameters in one line, grinding only where there is any.
#[must_use]
pub fn fri(fri: &FriConfig) -> String {
    let mut text = format!(
        "blowup 2^{}, {} queries, arity 2^{}, final polynomial 2^{}, cap 2^{}",
        fri.log_blowup, fri.num_queries, fri.max_log_arity, fri.log_final_poly_len, fri.cap_height
    );
    let sites = [
        ("batch", fri.batch_pow_bits),
        ("lookup", fri.lookup_pow_bits),
        ("ood", fri.ood_pow_bits),
        ("commit", fri.commit_pow_bits),
        ("query", fri.query_pow_bits),
    ];
    for (site, bits) in sites {
        if bits > 0 {
            text.push_str(&format!(", {site} grinding {bits}"));
        }
    }
    text
}

/// Names and heights of tables in one cell.
#[must_use]
pub fn heights(tables: &[TableReport]) -> String {
    let cells: Vec<_> =
        tables.iter().map(|table| format!("{} 2^{}", table.name, table.log_height)).collect();
    cells.join(", ")
}

/// Thousands of bytes.
#[must_use]
pub fn kilobytes(bytes: usize) -> String {
    format!("{:.1}", bytes as f64 / 1e3)
}

/// Millions.
#[must_use]
pub fn millions(count: u64) -> String {
    format!("{:.2} M", count as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn what_a_terminal_acts_upon_is_left_out() {
        let text = "a\u{1b}[31mb\nc\u{202e}d\u{2066}e\u{9b}f\u{fc}";
        assert_eq!(printable(text), "a [31mb c d e f\u{fc}");
        assert_eq!(printable(&"x".repeat(5_000)).len(), 2_000);
    }
}
