//! A job comes in: it is resolved, sized, admitted and stored.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arbor_prover::estimate::derive_any_bytes;
use arbor_prover::tree::{LeafSpec, ProofSpec, TreePlan};
use arbor_prover::{Job, Observer, ParamError, Preset, Silent, Work, WorkNode};

use super::{Engine, EngineError, Submission, Submitted, Validation};
use crate::access::Quota;
use crate::admission::{check_limits, plan_bytes, sizing, spare_disk};
use crate::model::{JobId, JobRecord, JobState, NodeRecord, NodeState, Sizing};
use crate::store::{
    LeafProofRow, NewJob, NoRoom, OverQuota, QuotaKind, Retried, Retry, Room, Stored,
};

use crate::webhooks::Destinations;

/// When to come back if too many jobs wait.
const RETRY_AFTER_S: u64 = 10;
/// When to come back if the disk is full: retention makes room, or somebody does.
const DISK_RETRY_AFTER_S: u64 = 60;

/// A job with all that follows from it.
struct Resolved {
    spec: ProofSpec,
    sizing: Sizing,
    leaves: Vec<LeafProofRow>,
}

impl Engine {
    pub(super) async fn do_submit(&self, submission: Submission) -> Result<Submitted, EngineError> {
        let inner = &self.inner;
        if inner.closing.is_cancelled() {
            return Err(EngineError::ShuttingDown);
        }
        let Submission { job, idempotency, owner, quota, viewer } = submission;
        let idempotency = idempotency.map(|(name, hash)| (name, hex(&hash)));
        if let Some((name, hash)) = &idempotency {
            // Whatever has changed since: a submission that was accepted is accepted.
            let before = inner.store.submitted_before(owner.as_deref(), name, hash).await?;
            if let Some(before) = before {
                return submitted(before);
            }
        }
        self.storable().await?;
        let resolved = self.resolve(&job, viewer.as_deref()).await?;
        self.admit(&job, &resolved)?;
        let now_ms = inner.times.now_ms();
        let new = NewJob {
            id: JobId::new(),
            deadline_at_ms: deadline(&job, now_ms),
            job,
            spec: resolved.spec,
            sizing: resolved.sizing,
            owner,
            quota,
            idempotency,
            now_ms,
            leaves: resolved.leaves,
            room: self.room(),
        };
        let submitted = submitted(inner.store.insert(&new).await?)?;
        if submitted.fresh
            && let Some(seconds) = new.job.deadline_s
        {
            inner.set_deadline(new.id, Duration::from_secs(seconds));
        }
        Ok(submitted)
    }

    pub(super) async fn do_validate(
        &self,
        job: &Job,
        viewer: Option<&str>,
    ) -> Result<Validation, EngineError> {
        let resolved = self.resolve(job, viewer).await?;
        check_limits(job, &resolved.spec, &self.inner.config.limits)?;
        self.inner.memory.fits(resolved.sizing.peak_bytes)?;
        let nodes = match simple_plan(&resolved.spec) {
            Some(nodes) => nodes,
            None => self.plan_with_circuits(&resolved).await?,
        };
        Ok(Validation { spec: resolved.spec, nodes, sizing: resolved.sizing })
    }

    pub(super) async fn do_retry(&self, id: JobId, quota: Quota) -> Result<JobRecord, EngineError> {
        let inner = &self.inner;
        if inner.closing.is_cancelled() {
            return Err(EngineError::ShuttingDown);
        }
        let no_such_job = || EngineError::NoSuchJob { id };
        let record = inner.store.job(id).await?.ok_or_else(no_such_job)?;
        if !record.state.is_retryable() {
            return Err(EngineError::NotRetryable { state: record.state });
        }
        self.storable().await?;
        inner.memory.admit(record.sizing.peak_bytes)?;
        let now_ms = inner.times.now_ms();
        let retry = Retry {
            job: id,
            quota,
            room: self.room(),
            deadline_at_ms: deadline(&record.job, now_ms),
            now_ms,
        };
        match inner.store.retry(&retry).await? {
            Retried::Queued => {
                if let Some(seconds) = record.job.deadline_s {
                    inner.set_deadline(id, Duration::from_secs(seconds));
                }
                inner.store.job(id).await?.ok_or_else(no_such_job)
            }
            Retried::NoSuchJob => Err(no_such_job()),
            Retried::NotRetryable(state) => Err(EngineError::NotRetryable { state }),
            Retried::NoRoom(missing) => Err(no_room(missing)),
            Retried::OverQuota(over) => Err(over_quota(over)),
        }
    }

    /// What a job resolves to, the jobs that are its leaves included.
    async fn resolve(&self, job: &Job, viewer: Option<&str>) -> Result<Resolved, EngineError> {
        if let Some(webhook) = &job.webhook {
            let destinations = Destinations::new(&self.inner.config.webhooks);
            let checked = destinations.check(&webhook.url);
            checked.map_err(|reason| EngineError::Webhook { reason })?;
        }
        let preset = Preset::named(&job.preset)?;
        let mut specs = HashMap::new();
        let mut leaves = Vec::new();
        for (leaf, text) in job.leaf_jobs() {
            let (spec, row) = self.leaf_job(leaf, text, viewer).await?;
            specs.insert(leaf, spec);
            leaves.push(row);
        }
        let resolved = move |job: &Job, preset: &Preset| {
            job.resolve_finding(preset, &mut |leaf, id: &str| {
                let found = specs.get(&leaf).cloned();
                found.ok_or_else(|| ParamError::LeafJob { leaf, job: id.to_owned() })
            })
        };
        let plain = Preset { min_proven_bits: None, ..preset.clone() };
        let mut spec = resolved(job, &plain)?;
        if preset.min_proven_bits.is_some() {
            // What is promised takes the circuits, so first comes what costs nothing.
            check_limits(job, &spec, &self.inner.config.limits)?;
            self.inner.memory.fits(sizing(&spec).peak_bytes)?;
            let (bytes, job) = (derive_any_bytes(&spec), job.clone());
            spec = self.compiling(bytes, move || resolved(&job, &preset)).await??;
        }
        Ok(Resolved { sizing: sizing(&spec), spec, leaves })
    }

    /// The proof of another job, as a leaf.
    async fn leaf_job(
        &self,
        leaf: usize,
        text: &str,
        viewer: Option<&str>,
    ) -> Result<(ProofSpec, LeafProofRow), EngineError> {
        let refused = |reason: &str| EngineError::LeafJob { leaf, reason: reason.to_owned() };
        let source: JobId = text.parse().map_err(|_| refused("not the id of a job"))?;
        let store = &self.inner.store;
        let record = store.job(source).await?;
        // Another's job looks as if it were not there.
        let record = record
            .filter(|record| viewer.is_none() || viewer == record.owner.as_deref())
            .ok_or_else(|| refused("there is no such job"))?;
        let proof = store.root_proof(source).await?;
        match (record.state, proof, record.statement) {
            (JobState::Succeeded, Some((hash, bytes)), Some(statement)) => {
                let results = statement.results();
                Ok((record.spec, LeafProofRow { source, hash, bytes, results }))
            }
            (state, ..) => Err(refused(&format!("the job is {state} and has no proof"))),
        }
    }

    /// Refuses a job whose proofs could not be stored now.
    async fn storable(&self) -> Result<(), EngineError> {
        if self.inner.blobs.usable().await {
            return Ok(());
        }
        metrics::counter!("arbor_admission_refused_total", "reason" => "storage").increment(1);
        let reason = "proofs cannot be stored at the moment".to_owned();
        Err(EngineError::Busy { reason, retry_after_s: RETRY_AFTER_S, queue: false })
    }

    fn admit(&self, job: &Job, resolved: &Resolved) -> Result<(), EngineError> {
        let inner = &self.inner;
        check_limits(job, &resolved.spec, &inner.config.limits)?;
        inner.memory.admit(resolved.sizing.peak_bytes)
    }

    /// What there is room for now.
    fn room(&self) -> Room {
        let config = &self.inner.config;
        Room {
            jobs: config.limits.max_queued as u64,
            disk_bytes: spare_disk(&self.inner.folder, config.data.min_free_bytes),
        }
    }

    /// The plan of a tree whose leaves differ: what brings them to one shape depends on the circuits.
    async fn plan_with_circuits(
        &self,
        resolved: &Resolved,
    ) -> Result<Vec<NodeRecord>, EngineError> {
        let inner = &self.inner;
        let _one_at_a_time = inner.node_files.acquire().await.map_err(|_| EngineError::Panicked)?;
        let memory = inner.memory.reserve(plan_bytes(&resolved.spec)).await;
        let Some(memory) = memory else {
            let reason = "there is no memory to plan the job now".to_owned();
            return Err(EngineError::Busy { reason, retry_after_s: RETRY_AFTER_S, queue: false });
        };
        let finished: Vec<_> = resolved.leaves.iter().map(|leaf| leaf.results.clone()).collect();
        let (spec, cache) = (resolved.spec.clone(), Arc::clone(&inner.cache));
        let planned = tokio::task::spawn_blocking(move || {
            let observer: Arc<dyn Observer> = Arc::new(Silent);
            let work = Work::plan(&spec, &finished, &cache, &observer);
            drop(memory);
            work
        });
        let work = planned.await.map_err(|_| EngineError::Panicked)??;
        Ok(records(work.nodes()))
    }
}

fn submitted(stored: Stored) -> Result<Submitted, EngineError> {
    match stored {
        Stored::Fresh(record) => {
            metrics::counter!("arbor_jobs_submitted_total").increment(1);
            Ok(Submitted { record: *record, fresh: true })
        }
        Stored::Known(record) => Ok(Submitted { record: *record, fresh: false }),
        Stored::Conflict => Err(EngineError::IdempotencyConflict),
        Stored::NoRoom(missing) => Err(no_room(missing)),
        Stored::OverQuota(over) => Err(over_quota(over)),
        Stored::LeafGone { leaf } => Err(EngineError::LeafJob {
            leaf,
            reason: "the job was removed, or its proof is being made again".to_owned(),
        }),
    }
}

fn no_room(missing: NoRoom) -> EngineError {
    let (counted, reason, retry_after_s, queue) = match missing {
        NoRoom::Queue { live } => {
            let reason = format!("waiting and running jobs: {live}, as many as this server takes");
            ("queue", reason, RETRY_AFTER_S, true)
        }
        NoRoom::Disk { free, promised, needed } => {
            let reason = format!(
                "{} MiB of disk can be used, admitted jobs take {} MiB, this one takes {} MiB",
                free >> 20,
                promised.div_ceil(1 << 20),
                needed.div_ceil(1 << 20)
            );
            ("disk", reason, DISK_RETRY_AFTER_S, false)
        }
    };
    metrics::counter!("arbor_admission_refused_total", "reason" => counted).increment(1);
    EngineError::Busy { reason, retry_after_s, queue }
}

fn over_quota(over: OverQuota) -> EngineError {
    metrics::counter!("arbor_admission_refused_total", "reason" => "quota").increment(1);
    let OverQuota { what, limit, used, needed, free_in_ms } = over;
    let reason = match what {
        QuotaKind::Queued => format!("waiting jobs: {used}, the quota is {limit}"),
        QuotaKind::Running => format!("running jobs: {used}, the quota is {limit}"),
        QuotaKind::Bytes => format!(
            "bytes a day: jobs of the last 24 hours take {used}, this one {needed}, the quota is {limit}"
        ),
    };
    // No time helps where the job alone is more than the quota.
    let retry_after_s =
        (needed <= limit).then(|| free_in_ms.map_or(RETRY_AFTER_S, |millis| millis / 1000 + 1));
    EngineError::Quota { reason, retry_after_s }
}

fn deadline(job: &Job, now_ms: i64) -> Option<i64> {
    let seconds = i64::try_from(job.deadline_s?).unwrap_or(i64::MAX);
    Some(now_ms.saturating_add(seconds.saturating_mul(1000)))
}

fn hex(hash: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().to_string()
}

/// The plan of a chain, or of a tree whose leaves are one base each and of one size.
fn simple_plan(spec: &ProofSpec) -> Option<Vec<NodeRecord>> {
    match spec {
        ProofSpec::Chain(chain) => Some(
            (0..=chain.layers)
                .map(|layer| {
                    let children = layer.checked_sub(1).map(|below| format!("{below}/0"));
                    let kind = if layer == 0 { "base" } else { "layer" };
                    record(format!("{layer}/0"), kind, children.into_iter().collect(), 0)
                })
                .collect(),
        ),
        ProofSpec::Tree(tree) => {
            let mut bases = tree.leaves.iter().map(|leaf| match leaf {
                LeafSpec::Base(base) => Some(base.without_inputs()),
                LeafSpec::Proof(_) => None,
            });
            let first = bases.next().flatten()?;
            if !bases.all(|base| base.as_ref() == Some(&first)) {
                return None;
            }
            let plan = TreePlan::new(&vec![0; tree.leaves.len()], tree.arity);
            let id = |node: usize| plan.nodes[node].id.to_string();
            let nodes = plan.nodes.iter().enumerate().map(|(position, node)| {
                let present = node.inputs.iter().filter(|input| input.present);
                let children: Vec<String> = present.map(|input| id(input.node)).collect();
                let kind = if node.inputs.is_empty() { "base" } else { "merge" };
                let padding = node.inputs.len() - children.len();
                record(id(position), kind, children, padding)
            });
            Some(nodes.collect())
        }
    }
}

fn records(nodes: &[WorkNode]) -> Vec<NodeRecord> {
    let id = |position: &usize| nodes[*position].id.to_string();
    nodes
        .iter()
        .map(|node| {
            let children = node.children.iter().map(id).collect();
            record(node.id.to_string(), node.kind.name(), children, node.padding)
        })
        .collect()
}

fn record(id: String, kind: &str, children: Vec<String>, padding: usize) -> NodeRecord {
    NodeRecord {
        id,
        kind: kind.to_owned(),
        state: if children.is_empty() { NodeState::Ready } else { NodeState::Waiting },
        children,
        padding: u32::try_from(padding).unwrap_or(u32::MAX),
        hash: None,
        bytes: None,
        report: None,
        starts: 0,
        finishes: 0,
    }
}
