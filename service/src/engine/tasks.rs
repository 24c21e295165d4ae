//! What a worker does with a task of the queue.
//!
//! The queue may hand out a task twice. That is harmless: a task whose node is in the hands of this process,
//! has a result, or was put into the queue anew, does nothing.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use arbor_prover::{Observer, ProverError, Work, memory};
use tracing::Instrument;

use super::failure::Failure;
use super::inner::{Inner, Place, Running};
use super::progress::NodeObserver;
use super::stop::Reason;
use crate::admission::plan_bytes;
use crate::model::{JobId, JobRecord};
use crate::queue::{Handler, HandlerError};
use crate::store::{Begin, Begun, NewNode, PLANNING, PlannedJob, Task};
use crate::traces::What;

/// How often a proof store that fails is tried.
const STORAGE_LOOK: Duration = Duration::from_millis(500);

impl Handler for Inner {
    fn handle(
        self: Arc<Self>,
        task: Task,
    ) -> Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send>> {
        Box::pin(async move {
            let span = match task {
                Task::Plan { job, .. } => tracing::info_span!("plan", %job),
                Task::Prove { job, .. } => {
                    tracing::info_span!("node", %job, node = tracing::field::Empty)
                }
            };
            // By itself, so that a proof is stored even if the worker that began it has failed meanwhile.
            let done = tokio::spawn(async move { self.do_task(task).await }.instrument(span)).await;
            done.unwrap_or_else(|error| {
                tracing::error!(%error, "a task panicked");
                Ok(())
            })
        })
    }
}

impl Inner {
    async fn do_task(self: Arc<Self>, task: Task) -> Result<(), HandlerError> {
        let place: Place = match task {
            Task::Plan { job, .. } => (job, PLANNING),
            Task::Prove { job, position, .. } => (job, position),
        };
        // What is left in the queue now is found by the next process.
        if self.closing.is_cancelled() {
            return Ok(());
        }
        let Some(running) = self.take(place) else {
            metrics::counter!("arbor_tasks_redelivered_total").increment(1);
            return Ok(());
        };
        let done = match task {
            Task::Plan { job, round } => self.do_plan(job, round, running).await,
            Task::Prove { job, position, round } => {
                self.do_node(job, position, round, running).await
            }
        };
        // With the last node of a job its plan has let its circuits go.
        self.cache.shrink();
        done
    }

    async fn do_plan(
        self: &Arc<Self>,
        job: JobId,
        round: i64,
        running: Running,
    ) -> Result<(), HandlerError> {
        let attempts = self.config.engine.max_attempts;
        let now = self.times.now_ms();
        let begun = match self.store.begin_plan(job, round, attempts, now).await? {
            Begin::Go(begun) | Begin::File(begun) => begun,
            Begin::Crashed => return Ok(()),
            Begin::Stale => {
                self.stale();
                return Ok(());
            }
        };
        self.trace(&running, job, &begun, "plan").await;
        let Some(record) = self.store.job(job).await? else { return Ok(()) };
        let planned_work = self.plan(&record, begun.seq, &running).await;
        running.trace.ended(planned_work.as_ref().err().map(Failure::for_trace));
        match planned_work {
            Ok(work) => {
                let plan = planned(&work);
                self.works.put(job, work);
                self.store.planned(job, &plan).await?;
            }
            Err(Failure::Stopped(Reason::Shutdown)) => self.store.hand_back_plan(begun.seq).await?,
            Err(Failure::Stopped(_)) => self.works.drop_job(job),
            Err(failure) => {
                let (error, now) = (failure.describe(None), self.times.now_ms());
                self.log_failure(job, &failure);
                self.store.fail(begun.seq, None, &error, now).await?;
            }
        }
        Ok(())
    }

    /// A task that there is nothing left to do for.
    pub(super) fn stale(&self) {
        metrics::counter!("arbor_tasks_redelivered_total").increment(1);
    }

    /// The plan of a job, with what circuits it needs: kept, or made anew.
    pub(super) async fn plan(
        &self,
        record: &JobRecord,
        seq: i64,
        running: &Running,
    ) -> Result<Arc<Work>, Failure> {
        if let Some(work) = self.works.get(record.id) {
            return Ok(work);
        }
        let bytes = plan_bytes(&record.spec);
        let _memory = self.memory_for(bytes, running).await?;
        let leaves = self.store.leaves(seq).await?;
        let finished: Vec<_> = leaves.into_iter().map(|leaf| leaf.results).collect();
        let observer = self.observer(record.id, None, running);
        let (spec, cache) = (record.spec.clone(), Arc::clone(&self.cache));
        let planned =
            self.provers.run(move || Work::plan(&spec, &finished, &cache, &observer)).await;
        match planned {
            Ok(Ok(work)) => Ok(Arc::new(work)),
            Ok(Err(ProverError::Cancelled)) => Err(Failure::stopped(running)),
            Ok(Err(error)) => Err(Failure::Prover(error)),
            Err(_) => Err(Failure::Panicked),
        }
    }

    pub(super) fn observer(
        &self,
        job: JobId,
        node: Option<String>,
        running: &Running,
    ) -> Arc<dyn Observer> {
        let (stop, notes) = (Arc::clone(&running.stop), self.progress.clone());
        Arc::new(NodeObserver { job, node, stop, notes, trace: running.trace.clone() })
    }

    /// A span begins. That the records cannot say whose retry it is part of is no reason not to prove.
    pub(super) async fn trace(&self, running: &Running, job: JobId, begun: &Begun, kind: &str) {
        let run = self.traces.run_of(job).await.unwrap_or_default();
        let (node, kind) = (begun.node.clone(), kind.to_owned());
        running.trace.begin(What { kind, node, number: begun.attempt, run });
    }

    /// Waits until proofs can be stored, or for the request to stop: one job fails by a store that does not work,
    /// those after it need not.
    pub(super) async fn storage(&self, running: &Running) -> Result<(), Failure> {
        while !self.blobs.usable().await {
            tokio::select! {
                () = tokio::time::sleep(STORAGE_LOOK) => {}
                reason = running.stop.asked() => return Err(Failure::Stopped(reason)),
                () = self.closing.cancelled() => return Err(Failure::Stopped(Reason::Shutdown)),
            }
        }
        Ok(())
    }

    /// Waits for memory, or for the request to stop. Where memory is short, what is kept for nodes to come is let
    /// go, and what the allocator keeps is given back.
    pub(super) async fn memory_for(
        &self,
        bytes: u64,
        running: &Running,
    ) -> Result<crate::admission::Reservation, Failure> {
        if let Some(limit) = self.memory.beyond(bytes) {
            return Err(Failure::TooLarge { bytes, limit });
        }
        let tight = self.memory.is_tight(bytes);
        if tight {
            let in_flight = self.in_flight();
            self.works.keep_only(|job| in_flight.iter().any(|(of, _)| *of == job));
            self.proofs.clear();
        }
        let reserved = tokio::select! {
            reserved = self.memory.reserve(bytes) => reserved.ok_or(Failure::Memory { bytes })?,
            reason = running.stop.asked() => return Err(Failure::Stopped(reason)),
        };
        if tight {
            self.provers.run(memory::release_freed_memory).await.map_err(|_| Failure::Panicked)?;
        }
        Ok(reserved)
    }

    pub(super) fn log_failure(&self, job: JobId, failure: &Failure) {
        tracing::warn!(%job, error = %failure, "the job fails");
    }
}

/// A plan as the records have it.
fn planned(work: &Work) -> PlannedJob {
    let mut turns = vec![0; work.nodes().len()];
    for (turn, position) in work.depth_first().into_iter().enumerate() {
        turns[position] = turn;
    }
    let nodes = work.nodes().iter().zip(turns).map(|(node, turn)| NewNode {
        id: node.id.to_string(),
        kind: node.kind.name(),
        children: node.children.clone(),
        padding: node.padding,
        turn,
        leaf: node.finished,
    });
    PlannedJob { nodes: nodes.collect(), keys: Vec::new() }
}
