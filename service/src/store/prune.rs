//! Jobs are removed, and with them the proofs that nothing else refers to.

use sqlx::Row;

use super::rows::named;
use super::{Durability, Result, Store};
use crate::model::JobId;

impl Store {
    /// Finished jobs that ended before `before_ms`, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn finished_before(&self, before_ms: i64, limit: u32) -> Result<Vec<JobId>> {
        let ids: Vec<String> = sqlx::query_scalar(
            "SELECT id FROM job WHERE finished_at_ms < $1 \
             AND state IN ('succeeded', 'failed', 'cancelled', 'expired') \
             ORDER BY finished_at_ms LIMIT $2",
        )
        .bind(before_ms)
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await?;
        ids.iter().map(|id| named(id)).collect()
    }

    /// Removes a job that has ended, with its nodes, events and keys. Gives the names of the proofs that it
    /// referred to; none if there is no such job, or if it has not ended.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn remove(&self, job: JobId) -> Result<Option<Vec<String>>> {
        let mut write = self.write(Durability::Process).await?;
        let Some((seq, state)) = write.state(job).await? else { return Ok(None) };
        if !state.is_final() {
            return Ok(None);
        }
        let hashes: Vec<String> = sqlx::query_scalar(
            "SELECT hash FROM node WHERE job = $1 AND hash IS NOT NULL \
             UNION SELECT hash FROM leaf WHERE job = $1 \
             UNION SELECT proof_hash FROM job WHERE seq = $1 AND proof_hash IS NOT NULL",
        )
        .bind(seq)
        .fetch_all(write.connection())
        .await?;
        sqlx::query("DELETE FROM job WHERE seq = $1").bind(seq).execute(write.connection()).await?;
        write.changed.push((job, i64::MAX));
        write.commit().await?;
        Ok(Some(hashes))
    }

    /// Whether a row refers to a proof.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn refers_to(&self, hash: &str) -> Result<bool> {
        let row = sqlx::query(
            "SELECT EXISTS (SELECT 1 FROM node WHERE hash = $1) \
             OR EXISTS (SELECT 1 FROM leaf WHERE hash = $1) \
             OR EXISTS (SELECT 1 FROM job WHERE proof_hash = $1) AS found",
        )
        .bind(hash)
        .fetch_one(&self.readers)
        .await?;
        row.try_get("found")
    }
}
