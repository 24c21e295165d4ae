//! What the engine measures. Names begin with `arbor_`.

use std::sync::Arc;

use arbor_prover::{LayerReport, memory};

use super::inner::Inner;
use crate::model::JobState;

/// Times of the phases of one proof.
pub(super) fn node(kind: &str, report: &LayerReport) {
    let t = &report.timings_ms;
    let phases = [
        ("prepare", t.prepare),
        ("restore", t.restore),
        ("fill", t.fill),
        ("commit", t.commit),
        ("logup", t.logup),
        ("quotient", t.quotient),
        ("open", t.open),
        ("verify", t.verify),
        ("total", t.total),
    ];
    for (phase, millis) in phases {
        metrics::histogram!("arbor_node_phase_seconds", "kind" => kind.to_owned(), "phase" => phase)
            .record(millis / 1e3);
    }
    metrics::histogram!("arbor_node_proof_bytes", "kind" => kind.to_owned())
        .record(report.proof_bytes as f64);
}

/// Jobs, queue, memory and cache, as they are now.
///
/// # Errors
/// The store's.
pub(super) async fn refresh(inner: &Arc<Inner>) -> Result<(), sqlx::Error> {
    let counts = inner.store.count_by_state().await?;
    for state in JobState::ALL {
        let count = counts.iter().find(|(of, _)| *of == state).map_or(0, |(_, count)| *count);
        metrics::gauge!("arbor_jobs", "state" => state.name()).set(count as f64);
    }
    metrics::gauge!("arbor_queue_tasks").set(inner.store.waiting_tasks().await? as f64);
    metrics::gauge!("arbor_webhooks_pending").set(inner.store.pending_deliveries().await? as f64);
    metrics::gauge!("arbor_nodes_running").set(inner.in_flight().len() as f64);
    let cache = inner.cache.stats();
    metrics::gauge!("arbor_cache_bytes").set(cache.bytes as f64);
    metrics::gauge!("arbor_cache_entries").set(cache.entries as f64);
    metrics::counter!("arbor_cache_hits_total").absolute(cache.hits);
    metrics::counter!("arbor_cache_misses_total").absolute(cache.misses);
    metrics::counter!("arbor_cache_evictions_total").absolute(cache.evictions);
    metrics::gauge!("arbor_memory_reserved_bytes").set(inner.memory.reserved() as f64);
    if let Some(limit) = inner.memory.limit() {
        metrics::gauge!("arbor_memory_limit_bytes").set(limit as f64);
    }
    if let Some(resident) = memory::resident_bytes() {
        metrics::gauge!("arbor_memory_resident_bytes").set(resident as f64);
    }
    if let Some(faults) = memory::minor_faults() {
        metrics::counter!("arbor_minor_faults_total").absolute(faults);
    }
    if let Ok(free) = fs4::available_space(&inner.folder) {
        metrics::gauge!("arbor_disk_free_bytes").set(free as f64);
    }
    Ok(())
}
