//! Collects the metrics of this process for Prometheus.

mod table;

use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use crate::model::{ErrorClass, JobState};
use table::{Begins, COUNTERS, GAUGES, HISTOGRAMS, NO_CLASS};

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
    for (name, text, begins) in COUNTERS {
        describe_counter!(*name, *text);
        begin(name, begins);
    }
    for (name, text) in GAUGES {
        describe_gauge!(*name, *text);
    }
    for (name, text) in HISTOGRAMS {
        describe_histogram!(*name, *text);
    }
    Ok(handle)
}

fn begin(name: &'static str, begins: &Begins) {
    match *begins {
        Begins::Bare => counter!(name).increment(0),
        Begins::Each(label, values) => {
            for &value in values {
                counter!(name, label => value).increment(0);
            }
        }
        Begins::Pairs([first, second], values) => {
            for &[one, other] in values {
                counter!(name, first => one, second => other).increment(0);
            }
        }
        Begins::Later => {}
    }
}

/// Counts the end of a job.
pub(crate) fn job_ended(state: JobState, class: Option<ErrorClass>) {
    let class = class.map_or(NO_CLASS, ErrorClass::name);
    counter!("arbor_jobs_ended_total", "state" => state.name(), "class" => class).increment(1);
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
