//! A job that has ended without a proof begins again.

use sqlx::Row;

use super::keys::OverQuota;
use super::room::{NoRoom, Room, bytes_left, whole};
use super::rows::named;
use super::{Durability, Result, Store, Write};
use crate::access::Quota;
use crate::model::{JobId, JobState};

/// A job that is to begin again.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// The job.
    pub job: JobId,
    /// How much may be used under the name of its owner.
    pub quota: Quota,
    /// What there is room for.
    pub room: Room,
    /// When it stops being wanted.
    pub deadline_at_ms: Option<i64>,
    /// Now.
    pub now_ms: i64,
}

/// What a retry came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retried {
    /// The job is in the queue again.
    Queued,
    /// There is no such job.
    NoSuchJob,
    /// It has a proof, or has not ended.
    NotRetryable(JobState),
    /// There is no room for one more job.
    NoRoom(NoRoom),
    /// The owner's quota is reached.
    OverQuota(OverQuota),
}

impl Store {
    /// Puts a failed, cancelled or expired job back into the queue, keeping the nodes that are done. It counts
    /// under the name of its owner as a submission does, with the bytes of what is still to be proved.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn retry(&self, retry: &Retry) -> Result<Retried> {
        let mut write = self.write(Durability::Synced).await?;
        let row = sqlx::query(concat!(
            "SELECT seq, state, owner, ",
            bytes_left!(),
            " AS bytes_left FROM job WHERE id = $1"
        ))
        .bind(retry.job.to_string())
        .fetch_optional(write.connection())
        .await?;
        let Some(row) = row else { return Ok(Retried::NoSuchJob) };
        let state: JobState = named(&row.try_get::<String, _>("state")?)?;
        if !state.is_retryable() {
            return Ok(Retried::NotRetryable(state));
        }
        let left = whole(row.try_get("bytes_left")?);
        if let Some(missing) = write.no_room(&retry.room, left).await? {
            return Ok(Retried::NoRoom(missing));
        }
        if let Some(owner) = row.try_get::<Option<String>, _>("owner")? {
            if let Some(over) = write.over_quota(&owner, &retry.quota, left, retry.now_ms).await? {
                return Ok(Retried::OverQuota(over));
            }
            write.use_up(&owner, left, retry.now_ms).await?;
        }
        write.begin_again(row.try_get("seq")?, retry).await?;
        write.commit().await?;
        Ok(Retried::Queued)
    }
}

impl Write {
    async fn begin_again(&mut self, seq: i64, retry: &Retry) -> Result<()> {
        sqlx::query(
            "UPDATE job SET error = NULL, finished_at_ms = NULL, deadline_at_ms = $2, attempts = 0 \
             WHERE seq = $1",
        )
        .bind(seq)
        .bind(retry.deadline_at_ms)
        .execute(self.connection())
        .await?;
        sqlx::query("UPDATE node SET attempts = 0 WHERE job = $1")
            .bind(seq)
            .execute(self.connection())
            .await?;
        self.enter(seq, JobState::Queued, None, retry.now_ms).await?;
        self.refresh_leaves(seq).await?;
        self.requeue(seq).await
    }
}
