//! What happens by itself: deadlines, the reconciler, retention, gauges, and memory that is given back.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arbor_prover::memory;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::inner::Inner;
use super::metering;
use super::stop::Reason;
use crate::blobs::BlobError;
use crate::model::{ErrorClass, JobError, JobId};

/// How often deadlines are looked at.
const DEADLINES: Duration = Duration::from_millis(250);
/// How often gauges are set.
const GAUGES: Duration = Duration::from_secs(2);
/// Jobs that are removed, or objects that are looked at, without letting others in between.
const BATCH: usize = 64;

/// Starts everything that happens by itself.
pub(super) fn spawn(inner: &Arc<Inner>) -> Vec<JoinHandle<()>> {
    let config = &inner.config;
    let reconcile = Duration::from_secs(config.engine.reconcile_s.max(1));
    let retention = Duration::from_secs(config.retention.every_s.max(1));
    vec![
        every(inner, DEADLINES, "deadlines", |inner| async move {
            let expired = expire_overdue(&inner).await;
            release_idle_memory(&inner).await;
            expired
        }),
        every(inner, GAUGES, "gauges", |inner| async move {
            inner.blobs.usable().await;
            metering::refresh(&inner).await
        }),
        every(inner, reconcile, "reconciler", |inner| async move { reconcile_lost(&inner).await }),
        every(inner, retention, "retention", |inner| async move { retain(&inner).await }),
    ]
}

/// Does something again and again until the engine ends. An error is logged: the next round may do better.
fn every<F, Fut, E>(
    inner: &Arc<Inner>,
    period: Duration,
    what: &'static str,
    round: F,
) -> JoinHandle<()>
where
    F: Fn(Arc<Inner>) -> Fut + Send + 'static,
    Fut: Future<Output = Result<(), E>> + Send,
    E: std::fmt::Display,
{
    let inner = Arc::clone(inner);
    tokio::spawn(async move {
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = inner.closing.cancelled() => return,
            }
            if let Err(error) = round(Arc::clone(&inner)).await {
                tracing::warn!(what, %error, "a round failed");
            }
        }
    })
}

async fn expire_overdue(inner: &Inner) -> Result<(), sqlx::Error> {
    for job in inner.overdue() {
        let error = JobError {
            class: ErrorClass::Deadline,
            message: "the deadline has passed".to_owned(),
            retryable: true,
            node: None,
        };
        match inner.store.expire(job, &error, inner.times.now_ms()).await {
            Ok(true) => inner.stop_job(job, Reason::Expired),
            Ok(false) => {}
            Err(error) => {
                inner.set_deadline(job, Duration::ZERO);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Gives freed memory back to the system after a quiet time.
async fn release_idle_memory(inner: &Arc<Inner>) {
    let quiet = inner.config.memory.idle_release_s;
    let busy = inner.busy_ms.load(Ordering::Relaxed);
    if quiet == 0 || busy < 0 || !inner.is_idle() {
        return;
    }
    let now = i64::try_from(inner.times.monotonic().as_millis()).unwrap_or(i64::MAX);
    let quiet = i64::try_from(quiet.saturating_mul(1000)).unwrap_or(i64::MAX);
    if now - busy < quiet
        || inner.busy_ms.compare_exchange(busy, -1, Ordering::Relaxed, Ordering::Relaxed).is_err()
    {
        return;
    }
    inner.works.clear();
    inner.proofs.clear();
    inner.cache.shrink();
    let released = inner.provers.run(|| {
        let before = memory::resident_bytes().unwrap_or(0);
        memory::release_freed_memory();
        before.saturating_sub(memory::resident_bytes().unwrap_or(0))
    });
    if let Ok(bytes) = released.await {
        tracing::info!(mib = bytes >> 20, "memory given back after a quiet time");
    }
}

async fn reconcile_lost(inner: &Inner) -> Result<(), sqlx::Error> {
    let lost = inner.store.reconcile(&inner.in_flight()).await?;
    if lost > 0 {
        metrics::counter!("arbor_reconciled_total").increment(lost);
        tracing::warn!(lost, "nodes without a task were put into the queue again");
    }
    inner.store.sweep_tasks().await.map(|_| ())
}

/// Removes jobs whose time is over, and objects that no row refers to.
async fn retain(inner: &Inner) -> Result<(), super::EngineError> {
    let keep = inner.config.retention.finished_s;
    if keep > 0 {
        let keep = i64::try_from(keep.saturating_mul(1000)).unwrap_or(i64::MAX);
        let before = inner.times.now_ms().saturating_sub(keep);
        loop {
            let jobs = inner.store.finished_before(before, BATCH as u32).await?;
            let last = jobs.len() < BATCH;
            for job in jobs {
                inner.remove(job).await?;
                metrics::counter!("arbor_jobs_retired_total").increment(1);
            }
            if last {
                break;
            }
        }
    }
    for names in inner.blobs.list().await.map_err(blob_error)?.chunks(BATCH) {
        inner.remove_unreferenced(names).await?;
    }
    Ok(())
}

fn blob_error(error: BlobError) -> super::EngineError {
    match error {
        BlobError::Store { source } => source.into(),
        BlobError::Damaged { hash } => super::EngineError::Corrupt { node: hash },
    }
}

impl Inner {
    /// Removes a job that has ended, and the proofs that nothing else refers to. Says whether there was
    /// such a job.
    pub(super) async fn remove(&self, job: JobId) -> Result<bool, super::EngineError> {
        let Some(names) = self.store.remove(job).await? else { return Ok(false) };
        self.works.drop_job(job);
        self.remove_unreferenced(&names).await?;
        Ok(true)
    }

    async fn remove_unreferenced(&self, names: &[String]) -> Result<(), super::EngineError> {
        let _collecting = self.blobs.collecting().await;
        for name in names {
            if !self.store.refers_to(name).await? {
                self.blobs.remove(name).await.map_err(blob_error)?;
            }
        }
        Ok(())
    }
}
