//! What every metric is, and with which labels a counter begins.

use crate::model::{ErrorClass, JobState};

/// With which labels a counter is there from the start, at 0: a rate needs a value before the first event.
pub(super) enum Begins {
    /// With none.
    Bare,
    /// With each of these values of one label.
    Each(&'static str, &'static [&'static str]),
    /// With each pair of these values of two labels.
    Pairs([&'static str; 2], &'static [[&'static str; 2]]),
    /// It does not: its labels come with the events, or somebody else sets its value.
    Later,
}

use Begins::{Bare, Each, Later, Pairs};

/// What becomes of a proof, by how it was made.
const FINISHED: [[&str; 2]; 6] = [
    ["base", "stored"],
    ["base", "late"],
    ["layer", "stored"],
    ["layer", "late"],
    ["merge", "stored"],
    ["merge", "late"],
];

/// States in which a job has ended, each with the classes of errors that it can have.
const ENDED: [[&str; 2]; 8] = [
    [JobState::Succeeded.name(), NO_CLASS],
    [JobState::Failed.name(), ErrorClass::Parameters.name()],
    [JobState::Failed.name(), ErrorClass::Resources.name()],
    [JobState::Failed.name(), ErrorClass::Storage.name()],
    [JobState::Failed.name(), ErrorClass::Crashed.name()],
    [JobState::Failed.name(), ErrorClass::Internal.name()],
    [JobState::Cancelled.name(), NO_CLASS],
    [JobState::Expired.name(), ErrorClass::Deadline.name()],
];
/// The class of a job that ended without an error.
pub(super) const NO_CLASS: &str = "none";

/// Counters: name, what is counted, and how it begins.
pub(super) const COUNTERS: &[(&str, &str, Begins)] = &[
    (
        "arbor_access_ended_total",
        "Event streams and waits that ended because their key was revoked",
        Bare,
    ),
    (
        "arbor_admission_refused_total",
        "Jobs that were not admitted, by reason",
        Each("reason", &["limit", "size", "memory", "disk", "queue", "quota", "storage"]),
    ),
    (
        "arbor_blobs_damaged_total",
        "Stored proofs that were missing or damaged, and are made again",
        Bare,
    ),
    ("arbor_cache_evictions_total", "Prepared circuits that had to make room for others", Later),
    ("arbor_cache_hits_total", "Prepared circuits that were found in the cache", Later),
    ("arbor_cache_misses_total", "Circuits that had to be prepared", Later),
    ("arbor_http_rate_limited_total", "Requests beyond the rate of their key or address", Bare),
    ("arbor_http_requests_total", "Requests, by method, route and status", Later),
    (
        "arbor_jobs_ended_total",
        "Jobs that ended, by state and class of the error; one that is retried ends again",
        Pairs(["state", "class"], &ENDED),
    ),
    (
        "arbor_jobs_retired_total",
        "Finished jobs that were removed because their time was over",
        Bare,
    ),
    ("arbor_jobs_submitted_total", "Jobs that were admitted", Bare),
    ("arbor_minor_faults_total", "Page faults of the process without a read from disk", Later),
    (
        "arbor_nodes_finished_total",
        "Proofs that were made, by kind; late ones had been made by somebody else before",
        Pairs(["kind", "result"], &FINISHED),
    ),
    (
        "arbor_nodes_started_total",
        "Proofs that were begun, by kind",
        Each("kind", &["base", "layer", "merge"]),
    ),
    ("arbor_reconciled_total", "Nodes without a task that were put into the queue again", Bare),
    (
        "arbor_tasks_redelivered_total",
        "Tasks of the queue that there was nothing left to do for",
        Bare,
    ),
    (
        "arbor_trace_spans_dropped_total",
        "Spans of traces that were not sent, by reason",
        Each("reason", &["full", "refused", "shutdown", "records"]),
    ),
    ("arbor_trace_spans_sent_total", "Spans of traces that the collector has taken", Bare),
    (
        "arbor_webhook_attempts_total",
        "Webhooks that were sent, by what came of it",
        Each("result", &["delivered", "pending", "abandoned"]),
    ),
];

/// Gauges: name, and what is measured.
pub(super) const GAUGES: &[(&str, &str)] = &[
    ("arbor_cache_bytes", "Memory of the prepared circuits in the cache"),
    ("arbor_cache_entries", "Prepared circuits in the cache"),
    ("arbor_disk_free_bytes", "Free space where the data folder is"),
    ("arbor_http_connections", "Open connections"),
    ("arbor_jobs", "Jobs in the records, by state"),
    ("arbor_memory_limit_bytes", "Memory that the process may use"),
    ("arbor_memory_reserved_bytes", "Memory that is set aside for what is being proved"),
    ("arbor_memory_resident_bytes", "Memory that the process has"),
    ("arbor_nodes_running", "Nodes that are being planned or proved"),
    ("arbor_queue_tasks", "Tasks that wait in the queue"),
    ("arbor_webhooks_pending", "Webhooks that are to be sent, now or later"),
];

/// Histograms: name, and what is measured.
pub(super) const HISTOGRAMS: &[(&str, &str)] = &[
    (
        "arbor_http_request_seconds",
        "Time from a request to the head of its answer, by route and status",
    ),
    ("arbor_node_phase_seconds", "Time of a proof, by kind and phase"),
    ("arbor_node_proof_bytes", "Size of a proof, by kind"),
];
