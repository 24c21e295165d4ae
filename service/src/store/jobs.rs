//! Jobs: submitted, read, listed.

use arbor_prover::Job;
use arbor_prover::tree::ProofSpec;
use serde_json::json;
use sqlx::{QueryBuilder, Row, Sqlite};

use super::filter;
use super::keys::OverQuota;
use super::leaves::LeafProofRow;
use super::room::{NoRoom, Room};
use super::rows::{self, json as to_json, signed};
use super::{Durability, Result, Store, Write};
use crate::access::Quota;
use crate::model::{EventKind, JobFilter, JobId, JobRecord, JobState, Page, Sizing};

/// A job that was admitted.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Its id.
    pub id: JobId,
    /// As submitted.
    pub job: Job,
    /// What it resolved to.
    pub spec: ProofSpec,
    /// What it is expected to take.
    pub sizing: Sizing,
    /// Who submits.
    pub owner: Option<String>,
    /// How much the owner may use.
    pub quota: Quota,
    /// The client's name for the submission, and BLAKE3 of its body in hexadecimal.
    pub idempotency: Option<(String, String)>,
    /// When it stops being wanted.
    pub deadline_at_ms: Option<i64>,
    /// Now.
    pub now_ms: i64,
    /// Proofs of other jobs that are leaves.
    pub leaves: Vec<LeafProofRow>,
    /// What there is room for.
    pub room: Room,
}

/// What a submission came to.
#[derive(Clone, Debug)]
pub enum Stored {
    /// A new job, in the queue.
    Fresh(Box<JobRecord>),
    /// The job of the same submission before.
    Known(Box<JobRecord>),
    /// The key was used for another body.
    Conflict,
    /// There is no room for one more job.
    NoRoom(NoRoom),
    /// The owner's quota is reached.
    OverQuota(OverQuota),
    /// A leaf's proof is not what it was when the job was resolved.
    LeafGone {
        /// Which one among the finished leaves.
        leaf: usize,
    },
}

impl Store {
    /// Stores a job with its labels and leaves, and puts it into the queue; or finds the one that the same
    /// submission made before.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn insert(&self, new: &NewJob) -> Result<Stored> {
        let mut write = self.write(Durability::Synced).await?;
        if let Some(known) = write.known(new).await? {
            return Ok(known);
        }
        let bytes = new.sizing.disk_bytes;
        if let Some(missing) = write.no_room(&new.room, bytes).await? {
            return Ok(Stored::NoRoom(missing));
        }
        if let Some(owner) = &new.owner {
            if let Some(over) = write.over_quota(owner, &new.quota, bytes, new.now_ms).await? {
                return Ok(Stored::OverQuota(over));
            }
            write.use_up(owner, bytes, new.now_ms).await?;
        }
        let seq = write.insert_job(new).await?;
        for (leaf, row) in new.leaves.iter().enumerate() {
            if !write.insert_leaf(seq, leaf, row).await? {
                return Ok(Stored::LeafGone { leaf });
            }
        }
        let state = json!({"state": JobState::Queued});
        write.event(seq, EventKind::State, &state, new.now_ms).await?;
        write.push_plan(seq).await?;
        let record = write.job(seq).await?;
        write.commit().await?;
        Ok(Stored::Fresh(Box::new(record)))
    }

    /// The job that a submission with this key made before, if there is one; [`Stored::Conflict`] if it came
    /// with another body.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn submitted_before(
        &self,
        owner: Option<&str>,
        name: &str,
        body_hash: &str,
    ) -> Result<Option<Stored>> {
        let row = sqlx::query(
            "SELECT job.*, idempotency.body_hash AS submitted FROM idempotency \
             JOIN job ON job.seq = idempotency.job \
             WHERE idempotency.owner = $1 AND idempotency.name = $2",
        )
        .bind(owner.unwrap_or_default())
        .bind(name)
        .fetch_optional(&self.readers)
        .await?;
        row.map(|row| {
            if row.try_get::<String, _>("submitted")? == body_hash {
                rows::job(&row).map(|job| Stored::Known(Box::new(job)))
            } else {
                Ok(Stored::Conflict)
            }
        })
        .transpose()
    }

    /// A job, if there is one of this id.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn job(&self, id: JobId) -> Result<Option<JobRecord>> {
        let row = sqlx::query("SELECT * FROM job WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.readers)
            .await?;
        row.as_ref().map(rows::job).transpose()
    }

    /// A page of jobs, newest first, beginning after `cursor`.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn jobs(
        &self,
        filter: &JobFilter,
        cursor: Option<JobId>,
        limit: u32,
    ) -> Result<Page> {
        let mut query: QueryBuilder<Sqlite> =
            QueryBuilder::new("SELECT job.* FROM job WHERE 1 = 1");
        filter::push(&mut query, filter, cursor);
        query.push(" ORDER BY seq DESC LIMIT ").push_bind(i64::from(limit) + 1);
        let rows = query.build().fetch_all(&self.readers).await?;
        let mut jobs = rows.iter().map(rows::job).collect::<Result<Vec<_>>>()?;
        let more = jobs.len() > limit as usize;
        jobs.truncate(limit as usize);
        let next = if more { jobs.last().map(|job| job.id) } else { None };
        Ok(Page { jobs, next })
    }

    /// Numbers of jobs by state.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn count_by_state(&self) -> Result<Vec<(JobState, u64)>> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("SELECT state, COUNT(*) FROM job GROUP BY state")
                .fetch_all(&self.readers)
                .await?;
        rows.iter().map(|(state, n)| Ok((rows::named(state)?, rows::unsigned(*n)))).collect()
    }

    /// Jobs that wait or run, with their deadlines.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn live(&self) -> Result<Vec<JobRecord>> {
        let rows = sqlx::query(
            "SELECT * FROM job WHERE state IN ('queued', 'running', 'cancelling') ORDER BY seq",
        )
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(rows::job).collect()
    }
}

impl Write {
    async fn known(&mut self, new: &NewJob) -> Result<Option<Stored>> {
        let Some((name, body_hash)) = &new.idempotency else { return Ok(None) };
        let row = sqlx::query(
            "SELECT job.*, idempotency.body_hash AS submitted FROM idempotency \
             JOIN job ON job.seq = idempotency.job \
             WHERE idempotency.owner = $1 AND idempotency.name = $2",
        )
        .bind(new.owner.clone().unwrap_or_default())
        .bind(name)
        .fetch_optional(self.connection())
        .await?;
        let Some(row) = row else { return Ok(None) };
        if row.try_get::<String, _>("submitted")? == *body_hash {
            return Ok(Some(Stored::Known(Box::new(rows::job(&row)?))));
        }
        Ok(Some(Stored::Conflict))
    }

    async fn insert_job(&mut self, new: &NewJob) -> Result<i64> {
        let (mode, programs) = filter::facets(&new.spec);
        let seq: i64 = sqlx::query_scalar(
            "INSERT INTO job (id, state, priority, body, spec, mode, programs, peak_bytes, prove_ms, \
             disk_bytes, owner, created_at_ms, deadline_at_ms, version, webhook_url, webhook_events) \
             VALUES ($1, 'queued', $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
             RETURNING seq",
        )
        .bind(new.id.to_string())
        .bind(new.job.priority)
        .bind(to_json(&new.job)?)
        .bind(to_json(&new.spec)?)
        .bind(mode)
        .bind(programs)
        .bind(signed(new.sizing.peak_bytes))
        .bind(signed(new.sizing.prove_ms))
        .bind(signed(new.sizing.disk_bytes))
        .bind(new.owner.clone())
        .bind(new.now_ms)
        .bind(new.deadline_at_ms)
        .bind(env!("CARGO_PKG_VERSION"))
        .bind(new.job.webhook.as_ref().map(|webhook| webhook.url.clone()))
        .bind(new.job.webhook.as_ref().map(|webhook| webhook.events.name()))
        .fetch_one(self.connection())
        .await?;
        if let Some((name, body_hash)) = &new.idempotency {
            sqlx::query(
                "INSERT INTO idempotency (owner, name, body_hash, job) VALUES ($1, $2, $3, $4)",
            )
            .bind(new.owner.clone().unwrap_or_default())
            .bind(name)
            .bind(body_hash)
            .bind(seq)
            .execute(self.connection())
            .await?;
        }
        for (name, value) in &new.job.labels {
            sqlx::query("INSERT INTO label (job, name, value) VALUES ($1, $2, $3)")
                .bind(seq)
                .bind(name)
                .bind(value)
                .execute(self.connection())
                .await?;
        }
        Ok(seq)
    }

    /// The job of this number.
    pub(super) async fn job(&mut self, seq: i64) -> Result<JobRecord> {
        let row = sqlx::query("SELECT * FROM job WHERE seq = $1")
            .bind(seq)
            .fetch_one(self.connection())
            .await?;
        rows::job(&row)
    }

    /// Number and state of a job, if there is one of this id.
    pub(super) async fn state(&mut self, id: JobId) -> Result<Option<(i64, JobState)>> {
        let row = sqlx::query("SELECT seq, state FROM job WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(self.connection())
            .await?;
        row.map(|row| Ok((row.try_get("seq")?, rows::named(&row.try_get::<String, _>("state")?)?)))
            .transpose()
    }
}
