//! The spans of a job as a tree, and what must be true of it.

use std::collections::HashMap;

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use serde_json::Value;

use super::collector::attribute;

/// Phases of every node, in order. A base has nothing to restore, and that of Keccak no lookups.
const PHASES: [&str; 8] =
    ["restore", "fill", "commit", "logup", "quotient", "open", "verify", "store"];

/// The spans of one job.
pub(crate) struct Trace {
    pub(crate) spans: Vec<Span>,
}

impl Trace {
    /// Those of the trace whose id is that of the job.
    pub(crate) fn of(job: &str, all: &[Span]) -> Self {
        let id = job.replace('-', "");
        let mine = all.iter().filter(|span| hex(&span.trace_id) == id);
        Self { spans: mine.cloned().collect() }
    }

    /// The span without a parent. There is one.
    #[track_caller]
    pub(crate) fn root(&self) -> &Span {
        let roots: Vec<_> =
            self.spans.iter().filter(|span| span.parent_span_id.is_empty()).collect();
        assert_eq!(roots.len(), 1, "{roots:#?}");
        roots[0]
    }

    pub(crate) fn children(&self, parent: &Span) -> Vec<&Span> {
        self.spans.iter().filter(|span| span.parent_span_id == parent.span_id).collect()
    }

    /// Spans of nodes, by the id of the node.
    pub(crate) fn nodes(&self) -> HashMap<String, Vec<&Span>> {
        let mut nodes: HashMap<String, Vec<&Span>> = HashMap::new();
        for span in &self.spans {
            let node = attribute(&span.attributes, "arbor.node.id");
            if !node.is_empty() {
                nodes.entry(node).or_default().push(span);
            }
        }
        nodes
    }

    /// Every span has an id of its own and lies within its parent, which is there.
    #[track_caller]
    pub(crate) fn check_shape(&self) {
        let by_id: HashMap<_, _> =
            self.spans.iter().map(|span| (span.span_id.clone(), span)).collect();
        assert_eq!(by_id.len(), self.spans.len(), "a span came twice");
        for span in &self.spans {
            assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{span:#?}");
            assert_eq!((span.span_id.len(), span.trace_id.len()), (8, 16));
            if span.parent_span_id.is_empty() {
                continue;
            }
            let parent = by_id.get(&span.parent_span_id);
            let parent = parent.unwrap_or_else(|| panic!("{span:#?} has no parent"));
            assert!(
                parent.start_time_unix_nano <= span.start_time_unix_nano,
                "{parent:#?} {span:#?}"
            );
            assert!(span.end_time_unix_nano <= parent.end_time_unix_nano, "{parent:#?} {span:#?}");
        }
    }

    /// A span of a node that was proved has the phases of its report, one after the other, and they are as
    /// long as the report says, but for what a busy machine does between two looks at the clock.
    #[track_caller]
    pub(crate) fn check_phases(&self, node: &Span, report: &Value) {
        let phases = self.children(node);
        let mut end = node.start_time_unix_nano;
        let mut off = 0.0;
        for name in PHASES {
            let found: Vec<_> = phases.iter().filter(|span| span.name == name).collect();
            let reported = report["timings_ms"][name].as_f64();
            if reported == Some(0.0) {
                assert!(found.is_empty(), "{name}");
                continue;
            }
            let [phase] = found[..] else { panic!("{name} is not there once: {phases:#?}") };
            assert!(end <= phase.start_time_unix_nano, "{name} begins too early: {phases:#?}");
            end = phase.end_time_unix_nano;
            if let Some(millis) = reported {
                let took = (end - phase.start_time_unix_nano) as f64 / 1e6;
                off += (took - millis).abs();
            }
        }
        let total = report["timings_ms"]["total"].as_f64().unwrap();
        assert!(off < 100.0 + 0.1 * total, "{off} ms of {total}: {phases:#?} {report}");
        for key in ["proof_bytes", "peak_bytes", "queries", "permutations"] {
            let said = attribute(&node.attributes, &format!("arbor.node.{key}"));
            assert_eq!(said, report[key].to_string(), "{key}");
        }
        assert_ne!(attribute(&node.attributes, "arbor.node.tables"), "");
        assert!(attribute(&node.attributes, "arbor.node.rows").parse::<u64>().unwrap() > 1);
    }
}

/// Why a span came to nothing; none if it did not.
pub(crate) fn failure(span: &Span) -> Option<&str> {
    let status = span.status.as_ref()?;
    (status.code == StatusCode::Error as i32).then_some(&*status.message)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
