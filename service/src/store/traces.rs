//! What the trace of a job is made of, besides what workers note.

use std::sync::PoisonError;

use serde::Deserialize;
use sqlx::Row;

use super::rows::{self, named, parsed, small};
use super::{Durability, Result, Store};
use crate::model::{JobId, JobRecord, JobState};
use crate::traces::TraceParent;

/// Who is told that a job has come to an end, once that is certain.
pub(crate) type OnEnd = Box<dyn Fn(JobId) + Send + Sync>;

/// A job, as its trace shows it.
#[derive(Clone, Debug)]
pub struct TracedJob {
    /// The job.
    pub record: JobRecord,
    /// Its states with the times in which it came to them, in order.
    pub states: Vec<(JobState, i64)>,
    /// What its submission was part of.
    pub parent: Option<TraceParent>,
    /// Jobs whose proofs are its leaves.
    pub sources: Vec<JobId>,
}

#[derive(Deserialize)]
struct StateEvent {
    state: JobState,
}

impl Store {
    /// One more who is told of jobs that end from now on.
    pub(crate) fn tell_ends(&self, told: OnEnd) {
        self.ends.write().unwrap_or_else(PoisonError::into_inner).push(told);
    }

    /// Notes what the submission of a job was part of.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn note_trace_parent(&self, job: JobId, parent: &str) -> Result<()> {
        let mut write = self.write(Durability::Process).await?;
        sqlx::query(
            "INSERT INTO trace (job, parent) SELECT seq, $2 FROM job WHERE id = $1 \
             ON CONFLICT (job) DO NOTHING",
        )
        .bind(job.to_string())
        .bind(parent)
        .execute(write.connection())
        .await?;
        write.commit().await
    }

    /// How often a job has come to an end.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn ends_before(&self, job: JobId) -> Result<u32> {
        let ends: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM event JOIN job ON job.seq = event.job WHERE job.id = $1 \
             AND event.kind = 'state' AND json_extract(event.data, '$.state') IN \
             ('succeeded', 'failed', 'cancelled', 'expired')",
        )
        .bind(job.to_string())
        .fetch_one(&self.readers)
        .await?;
        Ok(small(ends))
    }

    /// What the trace of a job shows; none if the job is gone.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn traced_job(&self, id: JobId) -> Result<Option<TracedJob>> {
        let mut reader = self.readers.begin().await?;
        let row = sqlx::query(
            "SELECT job.*, trace.parent AS trace_parent FROM job \
             LEFT JOIN trace ON trace.job = job.seq WHERE job.id = $1",
        )
        .bind(id.to_string())
        .fetch_optional(&mut *reader)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let seq: i64 = row.try_get("seq")?;
        let states: Vec<(String, i64)> = sqlx::query_as(
            "SELECT data, at_ms FROM event WHERE job = $1 AND kind = 'state' ORDER BY id",
        )
        .bind(seq)
        .fetch_all(&mut *reader)
        .await?;
        let sources: Vec<String> = sqlx::query_scalar(
            "SELECT source FROM leaf WHERE job = $1 GROUP BY source ORDER BY MIN(leaf)",
        )
        .bind(seq)
        .fetch_all(&mut *reader)
        .await?;
        reader.commit().await?;
        let state = |(data, at_ms): &(String, i64)| {
            parsed::<StateEvent>(data).map(|event| (event.state, *at_ms))
        };
        let parent: Option<String> = row.try_get("trace_parent")?;
        Ok(Some(TracedJob {
            record: rows::job(&row)?,
            states: states.iter().map(state).collect::<Result<_>>()?,
            parent: parent.and_then(|text| text.parse().ok()),
            sources: sources.iter().map(|source| named(source)).collect::<Result<_>>()?,
        }))
    }
}
