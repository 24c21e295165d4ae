//! Collects the metrics of this process for Prometheus.

use std::time::Duration;

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

/// Bounds of every histogram of seconds: a request takes a millisecond, a base proof minutes.
const SECONDS: [f64; 16] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];
/// Time between two rounds of upkeep, without which histograms grow.
const UPKEEP: Duration = Duration::from_secs(5);

/// Makes this process collect its metrics.
///
/// # Errors
/// It does already.
pub fn install() -> Result<PrometheusHandle, BuildError> {
    let handle = builder()?.install_recorder()?;
    describe_counter!("arbor_http_requests_total", "Requests, by method, route and status");
    describe_histogram!(
        "arbor_http_request_seconds",
        Unit::Seconds,
        "Time from a request to the head of its answer, by route and status"
    );
    describe_gauge!("arbor_http_connections", "Open connections");
    describe_counter!(
        "arbor_http_rate_limited_total",
        "Requests beyond the rate of their key or address"
    );
    describe_counter!(
        "arbor_access_ended_total",
        "Event streams and waits that ended because their key was revoked"
    );
    describe_gauge!("arbor_webhooks_pending", "Webhooks that are to be sent");
    describe_counter!(
        "arbor_webhook_attempts_total",
        "Webhooks that were sent, by what came of it"
    );
    describe_counter!(
        "arbor_trace_spans_sent_total",
        "Spans of traces that the collector has taken"
    );
    describe_counter!(
        "arbor_trace_spans_dropped_total",
        "Spans of traces that were not sent, by reason"
    );
    // So that they are there, and 0, before anything happens.
    counter!("arbor_http_rate_limited_total").increment(0);
    counter!("arbor_access_ended_total").increment(0);
    counter!("arbor_trace_spans_sent_total").increment(0);
    for reason in ["full", "refused", "shutdown", "records"] {
        counter!("arbor_trace_spans_dropped_total", "reason" => reason).increment(0);
    }
    for state in ["delivered", "pending", "abandoned"] {
        counter!("arbor_webhook_attempts_total", "result" => state).increment(0);
    }
    for reason in ["limit", "size", "memory", "disk", "queue", "quota"] {
        counter!("arbor_admission_refused_total", "reason" => reason).increment(0);
    }
    Ok(handle)
}

/// A handle that collects nothing of this process: for routers that are tried without a server.
///
/// # Errors
/// The builder's, of which there are none for these settings.
pub fn detached() -> Result<PrometheusHandle, BuildError> {
    Ok(builder()?.build_recorder().handle())
}

fn builder() -> Result<PrometheusBuilder, BuildError> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
}

/// Keeps the histograms small, for ever.
pub async fn upkeep(handle: PrometheusHandle) {
    let mut ticks = tokio::time::interval(UPKEEP);
    loop {
        ticks.tick().await;
        handle.run_upkeep();
    }
}
