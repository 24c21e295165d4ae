//! From what was noted to the messages of OTLP.

use arbor_prover::tree::ProofSpec;
use arbor_prover::{LayerReport, Recursion};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use super::attempt::Notes;
use super::ids::{fresh_span_id, root_span_id, trace_id};
use super::parent::TraceParent;
use crate::model::{JobId, JobRecord, JobState};
use crate::store::TracedJob;

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;
/// Flags of every span: sampled, and its parent is of this service.
const FLAGS: u32 = 0x1 | HAS_IS_REMOTE;
/// Whether the context is another service's is known; and that it is.
const HAS_IS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;
/// Most events of the span of a job: changes of its state.
const MAX_EVENTS: usize = 128;

/// An attribute.
pub(super) fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

/// An attribute that is a text.
pub(super) fn text(key: &str, value: impl Into<String>) -> KeyValue {
    attribute(key, Value::StringValue(value.into()))
}

fn number(key: &str, value: impl TryInto<i64>) -> KeyValue {
    attribute(key, Value::IntValue(value.try_into().unwrap_or(i64::MAX)))
}

fn texts(key: &str, values: impl IntoIterator<Item = String>) -> KeyValue {
    let value = |text| AnyValue { value: Some(Value::StringValue(text)) };
    let values = values.into_iter().map(value).collect();
    attribute(key, Value::ArrayValue(ArrayValue { values }))
}

fn failed(message: String) -> Status {
    Status { message, code: StatusCode::Error as i32 }
}

fn span(job: JobId, id: [u8; 8], parent: Option<[u8; 8]>, name: &str) -> Span {
    Span {
        trace_id: trace_id(job).to_vec(),
        span_id: id.to_vec(),
        parent_span_id: parent.map(|id| id.to_vec()).unwrap_or_default(),
        flags: FLAGS,
        name: name.to_owned(),
        kind: SpanKind::Internal as i32,
        ..Span::default()
    }
}

/// The span of a node or a plan, and those of its phases.
pub(super) fn of_attempt(job: JobId, notes: &Notes) -> Vec<Span> {
    let own = fresh_span_id();
    let what = &notes.what;
    let mut node = span(job, own, Some(root_span_id(job, what.run)), &what.kind);
    node.start_time_unix_nano = notes.start_ns;
    node.end_time_unix_nano = notes.end_ns;
    node.attributes = vec![text("arbor.job.id", job.to_string())];
    if !what.node.is_empty() {
        node.attributes.push(text("arbor.node.id", &what.node));
        node.attributes.push(text("arbor.node.kind", &what.kind));
        node.attributes.push(number("arbor.node.attempt", what.number));
    }
    if let Some(report) = &notes.report {
        node.attributes.extend(of_report(report));
    }
    node.status = notes.failure.clone().map(failed);
    let mut spans = vec![node];
    spans.extend(notes.phases.iter().map(|phase| {
        let mut span = span(job, fresh_span_id(), Some(own), &phase.name);
        span.start_time_unix_nano = phase.start_ns;
        span.end_time_unix_nano = phase.end_ns.unwrap_or(notes.end_ns).max(phase.start_ns);
        span
    }));
    spans
}

fn of_report(report: &LayerReport) -> Vec<KeyValue> {
    let tables = report.tables.iter();
    let rows: u64 = tables.clone().map(|table| 1 << table.log_height.min(62)).sum();
    let cells: u64 = tables.clone().map(|table| table.lde_cells).sum();
    vec![
        texts(
            "arbor.node.tables",
            tables.map(|table| format!("{} 2^{}", table.name, table.log_height)),
        ),
        number("arbor.node.rows", rows),
        number("arbor.node.cells", cells),
        number("arbor.node.permutations", report.permutations),
        number("arbor.node.queries", report.queries),
        number("arbor.node.proof_bytes", report.proof_bytes),
        number("arbor.node.peak_bytes", report.peak_bytes),
        number("arbor.node.minor_faults", report.minor_faults),
    ]
}

/// The span of a job that has ended: the root of its trace, or, of a retry, one below. `latest_ns` is when the
/// last of its nodes ended, as far as this process knows.
pub(super) fn of_job(traced: &TracedJob, latest_ns: u64) -> Option<Span> {
    let (run, states) = last_run(&traced.states)?;
    let record = &traced.record;
    let parent = (run > 0).then(|| root_span_id(record.id, 0));
    let name = if run == 0 { "job" } else { "job again" };
    let mut root = span(record.id, root_span_id(record.id, run), parent, name);
    let (first, last) = (states.first()?, states.last()?);
    let begun = if run == 0 { record.created_at_ms } else { first.1 };
    root.start_time_unix_nano = nanos(begun);
    // The records have whole milliseconds, rounded down.
    let end = (nanos(last.1) + MS).max(latest_ns);
    root.end_time_unix_nano = end.max(root.start_time_unix_nano);
    root.attributes = of_record(record, last.0, run);
    root.events = states.iter().take(MAX_EVENTS).map(event).collect();
    root.dropped_events_count =
        u32::try_from(states.len().saturating_sub(MAX_EVENTS)).unwrap_or(u32::MAX);
    root.links = traced.sources.iter().map(|&job| link_to_job(job)).collect();
    if run == 0 {
        root.links.extend(traced.parent.as_ref().map(link_to_parent));
    }
    root.status = match (last.0, &record.error) {
        (JobState::Succeeded, _) => None,
        (_, Some(error)) => Some(failed(error.message.clone())),
        (state, None) => Some(failed(state.to_string())),
    };
    Some(root)
}

/// What happened since the end before the last one, and how many ends there were before.
fn last_run(states: &[(JobState, i64)]) -> Option<(u32, &[(JobState, i64)])> {
    let ends = |states: &[(JobState, i64)]| {
        states
            .iter()
            .enumerate()
            .filter(|(_, (state, _))| state.is_final())
            .map(|(at, _)| at)
            .collect()
    };
    let ends: Vec<usize> = ends(states);
    let last = *ends.last()?;
    let first = ends.len().checked_sub(2).map_or(0, |before| ends[before] + 1);
    Some((u32::try_from(ends.len() - 1).ok()?, &states[first..=last]))
}

fn of_record(record: &JobRecord, state: JobState, run: u32) -> Vec<KeyValue> {
    let bases = record.spec.bases();
    let mut programs: Vec<&str> = bases.iter().map(|base| base.program.name()).collect();
    programs.sort_unstable();
    programs.dedup();
    let mode = match &record.spec {
        ProofSpec::Chain(_) => "chain",
        ProofSpec::Tree(_) => "tree",
    };
    let mut attributes = vec![
        text("arbor.job.id", record.id.to_string()),
        text("arbor.job.state", state.name()),
        text("arbor.job.program", programs.join(",")),
        text("arbor.job.preset", &record.job.preset),
        text("arbor.job.recursion", mode),
        number("arbor.job.priority", record.job.priority),
        number("arbor.job.retry", run),
        number("arbor.job.leaves", bases.len()),
        number("arbor.nodes", record.nodes_total),
        number("arbor.nodes.done", record.nodes_done),
    ];
    match &record.job.recursion {
        Recursion::Chain { layers } => attributes.push(number("arbor.job.layers", *layers)),
        Recursion::Tree { arity, .. } => attributes.push(number("arbor.job.arity", *arity)),
    }
    if let Some(proof) = &record.proof {
        attributes.push(number("arbor.job.proof_bytes", proof.bytes));
    }
    attributes
}

fn event(&(state, at_ms): &(JobState, i64)) -> Event {
    Event { time_unix_nano: nanos(at_ms), name: state.name().to_owned(), ..Event::default() }
}

/// To the trace of a job whose proof is a leaf.
fn link_to_job(job: JobId) -> Link {
    Link {
        trace_id: trace_id(job).to_vec(),
        span_id: root_span_id(job, 0).to_vec(),
        attributes: vec![text("arbor.link", "leaf")],
        flags: HAS_IS_REMOTE,
        ..Link::default()
    }
}

/// To what the submission was part of.
fn link_to_parent(parent: &TraceParent) -> Link {
    Link {
        trace_id: parent.trace_id().to_vec(),
        span_id: parent.span_id().to_vec(),
        attributes: vec![text("arbor.link", "submission")],
        flags: u32::from(parent.flags()) | HAS_IS_REMOTE | IS_REMOTE,
        ..Link::default()
    }
}

fn nanos(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0).saturating_mul(MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use JobState::{Cancelled, Failed, Queued, Running, Succeeded};

    #[test]
    fn each_end_has_what_happened_since_the_one_before() {
        let states =
            [(Queued, 1), (Running, 2), (Failed, 3), (Queued, 4), (Cancelled, 5), (Queued, 6)];
        assert_eq!(last_run(&states[..2]), None);
        assert_eq!(last_run(&states[..3]), Some((0, &states[..3])));
        assert_eq!(last_run(&states[..4]), Some((0, &states[..3])));
        assert_eq!(last_run(&states), Some((1, &states[3..5])));
        assert_eq!(last_run(&[(Succeeded, 1)]), Some((0, &[(Succeeded, 1)][..])));
    }
}
