//! `/v1/jobs/{id}/timings`: what the proofs took, as JSON or CSV.

use std::fmt::Write;

use arbor_prover::Timings;
use axum::Json;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};

use super::ApiError;
use super::owned::OwnJob;
use super::query::{Query, refuse};
use crate::api::{NodeTimings, TimingsView};
use crate::state::AppState;

/// Columns of the table.
const COLUMNS: &str = "id,layer,kind,prepare_ms,restore_ms,fill_ms,commit_ms,logup_ms,quotient_ms,\
open_ms,verify_ms,total_ms,permutations,queries,proof_bytes,minor_faults,peak_bytes";

/// What the proofs took
///
/// A report for each proof that is there, as JSON, or as a table with `accept: text/csv` or `format=csv`.
#[utoipa::path(get, path = "/v1/jobs/{id}/timings", operation_id = "get_timings", tag = "jobs",
    params(
        ("id" = String, Path, description = "Id of the job"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; goes before `accept`"),
    ),
    responses(
        (status = 200, description = "The reports", content((TimingsView = "application/json"), (String = "text/csv"))),
        (status = 404, description = "No such job", body = crate::api::Problem, content_type = "application/problem+json"),
    ))]
pub(super) async fn get(
    State(state): State<AppState>,
    OwnJob(record): OwnJob,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = Query::of(&uri, &["format"])?;
    let csv = match query.one("format")? {
        None => prefers_csv(&headers),
        Some("csv") => true,
        Some("json") => false,
        Some(_) => return Err(refuse("format", "\"format\" must be json or csv".to_owned())),
    };
    let engine = state.engine()?;
    let nodes = engine.nodes(record.id).await?;
    let made = nodes.iter().filter(|node| node.kind != "finished").count();
    let layers: Vec<_> = nodes
        .into_iter()
        .filter_map(|node| Some(NodeTimings { id: node.id, report: node.report? }))
        .collect();
    if csv {
        let headers = [(CONTENT_TYPE, "text/csv; charset=utf-8"), (VARY, "accept")];
        return Ok((headers, table(&layers)).into_response());
    }
    let view = TimingsView {
        job: record.id.to_string(),
        state: record.state,
        nodes: made,
        sum_ms: sum(&layers),
        layers,
    };
    Ok(([(VARY, "accept")], Json(view)).into_response())
}

/// Whether CSV is asked for, and JSON not before it.
fn prefers_csv(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(','));
    let first = ranges
        .map(|range| range.split(';').next().unwrap_or_default().trim())
        .find(|range| ["text/csv", "application/json"].contains(range));
    first == Some("text/csv")
}

fn sum(layers: &[NodeTimings]) -> Timings {
    layers.iter().map(|layer| &layer.report.timings_ms).fold(Timings::default(), |sum, t| Timings {
        prepare: sum.prepare + t.prepare,
        restore: sum.restore + t.restore,
        fill: sum.fill + t.fill,
        commit: sum.commit + t.commit,
        logup: sum.logup + t.logup,
        quotient: sum.quotient + t.quotient,
        open: sum.open + t.open,
        verify: sum.verify + t.verify,
        total: sum.total + t.total,
    })
}

/// No value has a comma or a quote: all are numbers, ids or kinds.
fn table(layers: &[NodeTimings]) -> String {
    let mut text = format!("{COLUMNS}\n");
    for NodeTimings { id, report } in layers {
        let t = &report.timings_ms;
        let _ = write!(text, "{id},{},{}", report.layer, report.kind);
        let times = [
            t.prepare, t.restore, t.fill, t.commit, t.logup, t.quotient, t.open, t.verify, t.total,
        ];
        for time in times {
            let _ = write!(text, ",{time:.3}");
        }
        let _ = writeln!(
            text,
            ",{},{},{},{},{}",
            report.permutations,
            report.queries,
            report.proof_bytes,
            report.minor_faults,
            report.peak_bytes
        );
    }
    text
}
