//! Jobs come to an end: done, failed, cancelled or expired.

use serde_json::json;
use sqlx::Row;

use super::rows::{json as to_json, named};
use super::{Durability, Result, Store, Write};
use crate::model::{EventKind, JobError, JobId, JobState};

impl Store {
    /// Ends a job with an error, unless it has ended. A job that is being cancelled is cancelled instead.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn fail(
        &self,
        seq: i64,
        position: Option<i64>,
        error: &JobError,
        now_ms: i64,
    ) -> Result<()> {
        let mut write = self.write(Durability::Synced).await?;
        if let Some(position) = position {
            write.leave(seq, position, "failed").await?;
        }
        write.fail(seq, error, now_ms).await?;
        write.settle(seq, now_ms).await?;
        write.commit().await
    }

    /// A node was interrupted. It is ready again and the attempt does not count. With `requeue` it goes back
    /// into the queue.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn hand_back(
        &self,
        seq: i64,
        position: i64,
        requeue: bool,
        now_ms: i64,
    ) -> Result<()> {
        let mut write = self.write(Durability::Process).await?;
        let left = write.leave(seq, position, "ready").await?;
        sqlx::query(
            "UPDATE node SET attempts = attempts - 1 \
             WHERE job = $1 AND position = $2 AND attempts > 0",
        )
        .bind(seq)
        .bind(position)
        .execute(write.connection())
        .await?;
        if left && requeue {
            write.make_ready(seq, position).await?;
        }
        write.settle(seq, now_ms).await?;
        write.commit().await
    }

    /// Planning was interrupted: the attempt does not count, and the task goes back into the queue.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn hand_back_plan(&self, seq: i64) -> Result<()> {
        let mut write = self.write(Durability::Process).await?;
        sqlx::query("UPDATE job SET attempts = attempts - 1 WHERE seq = $1 AND attempts > 0")
            .bind(seq)
            .execute(write.connection())
            .await?;
        write.push_plan(seq).await?;
        write.commit().await
    }

    /// Asks for a job to be cancelled. Gives its state afterwards; none if there is no such job.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn cancel(&self, job: JobId, now_ms: i64) -> Result<Option<JobState>> {
        let mut write = self.write(Durability::Synced).await?;
        let Some((seq, state)) = write.state(job).await? else { return Ok(None) };
        if state.is_final() || state == JobState::Cancelling {
            return Ok(Some(state));
        }
        write.enter(seq, JobState::Cancelling, None, now_ms).await?;
        write.settle(seq, now_ms).await?;
        let state = write.state(job).await?.map(|(_, state)| state);
        write.commit().await?;
        Ok(state)
    }

    /// Ends the jobs that were being cancelled when the process before ended.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn settle_cancelling(&self, now_ms: i64) -> Result<()> {
        let mut write = self.write(Durability::Process).await?;
        let jobs: Vec<i64> = sqlx::query_scalar("SELECT seq FROM job WHERE state = 'cancelling'")
            .fetch_all(write.connection())
            .await?;
        for seq in jobs {
            write.settle(seq, now_ms).await?;
        }
        write.commit().await
    }

    /// Ends a job whose deadline has passed, unless it has ended.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn expire(&self, job: JobId, error: &JobError, now_ms: i64) -> Result<bool> {
        let mut write = self.write(Durability::Synced).await?;
        let Some((seq, state)) = write.state(job).await? else { return Ok(false) };
        if state.is_final() {
            return Ok(false);
        }
        write.enter(seq, JobState::Expired, Some(error), now_ms).await?;
        write.commit().await?;
        Ok(true)
    }

    /// A stored proof turned out to be damaged: its node is proved again, and a finished job is running
    /// again. Gives whether it was set back; not if somebody else did so before, or if the proof is that of
    /// another job.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn set_back(&self, job: JobId, hash: &str, now_ms: i64) -> Result<bool> {
        let mut write = self.write(Durability::Synced).await?;
        let Some((seq, state)) = write.state(job).await? else { return Ok(false) };
        let nodes = sqlx::query(
            "UPDATE node SET state = 'waiting', hash = NULL, bytes = NULL \
             WHERE job = $1 AND hash = $2 AND state = 'done' AND leaf IS NULL",
        )
        .bind(seq)
        .bind(hash)
        .execute(write.connection())
        .await?
        .rows_affected();
        let file = sqlx::query(
            "UPDATE job SET proof_hash = NULL, proof_bytes = NULL WHERE seq = $1 AND proof_hash = $2",
        )
        .bind(seq)
        .bind(hash)
        .execute(write.connection())
        .await?
        .rows_affected();
        if nodes + file == 0 {
            return Ok(false);
        }
        sqlx::query(
            "UPDATE job SET nodes_done = \
             (SELECT COUNT(*) FROM node WHERE job = $1 AND state = 'done') WHERE seq = $1",
        )
        .bind(seq)
        .execute(write.connection())
        .await?;
        if state == JobState::Succeeded {
            // It was in time: what is made again has no deadline.
            sqlx::query(
                "UPDATE job SET finished_at_ms = NULL, deadline_at_ms = NULL WHERE seq = $1",
            )
            .bind(seq)
            .execute(write.connection())
            .await?;
            write.enter(seq, JobState::Running, None, now_ms).await?;
        }
        if matches!(state, JobState::Succeeded | JobState::Running | JobState::Queued) {
            write.requeue(seq).await?;
        }
        write.commit().await?;
        Ok(true)
    }
}

impl Write {
    /// A node that was being proved is not any more. Says whether it was.
    async fn leave(&mut self, seq: i64, position: i64, state: &'static str) -> Result<bool> {
        let left = sqlx::query(
            "UPDATE node SET state = $3 WHERE job = $1 AND position = $2 AND state = 'running'",
        )
        .bind(seq)
        .bind(position)
        .bind(state)
        .execute(self.connection())
        .await?;
        Ok(left.rows_affected() == 1)
    }

    /// Puts whatever can be done for a job into the queue: its plan, its nodes, or its file.
    pub(super) async fn requeue(&mut self, seq: i64) -> Result<()> {
        let row = sqlx::query("SELECT nodes_total, nodes_done, proof_hash FROM job WHERE seq = $1")
            .bind(seq)
            .fetch_one(self.connection())
            .await?;
        let (total, done): (i64, i64) = (row.try_get("nodes_total")?, row.try_get("nodes_done")?);
        let filed = row.try_get::<Option<String>, _>("proof_hash")?.is_some();
        if total == 0 {
            return self.push_plan(seq).await;
        }
        self.queue_ready(seq).await?;
        if done == total && !filed {
            self.push_file(seq, total - 1).await?;
        }
        Ok(())
    }

    /// Puts the task of writing the proof file into the queue: that of the root, whose proof is there.
    async fn push_file(&mut self, seq: i64, root: i64) -> Result<()> {
        let row = sqlx::query(
            "UPDATE node SET round = round + 1 WHERE job = $1 AND position = $2 \
             RETURNING id, round, turn",
        )
        .bind(seq)
        .bind(root)
        .fetch_one(self.connection())
        .await?;
        let (node, round, turn): (String, i64, i64) =
            (row.try_get("id")?, row.try_get("round")?, row.try_get("turn")?);
        self.push_node(seq, root, &node, round, turn).await
    }

    /// Ends a job with an error, unless it has ended or is being cancelled.
    pub(super) async fn fail(&mut self, seq: i64, error: &JobError, now_ms: i64) -> Result<()> {
        let state: Option<String> = sqlx::query_scalar("SELECT state FROM job WHERE seq = $1")
            .bind(seq)
            .fetch_optional(self.connection())
            .await?;
        // Removed meanwhile.
        let Some(state) = state else { return Ok(()) };
        let state: JobState = named(&state)?;
        if state.is_final() || state == JobState::Cancelling {
            return Ok(());
        }
        self.enter(seq, JobState::Failed, Some(error), now_ms).await
    }

    /// Ends a job that has all it needs, or that was to be cancelled and of which nothing runs any more.
    pub(super) async fn settle(&mut self, seq: i64, now_ms: i64) -> Result<()> {
        let row = sqlx::query(
            "SELECT state, nodes_total, nodes_done, proof_hash, \
             (SELECT COUNT(*) FROM node WHERE job = $1 AND state = 'running') AS proving \
             FROM job WHERE seq = $1",
        )
        .bind(seq)
        .fetch_optional(self.connection())
        .await?;
        // Removed meanwhile.
        let Some(row) = row else { return Ok(()) };
        let state: JobState = named(&row.try_get::<String, _>("state")?)?;
        let number = |name: &str| row.try_get::<i64, _>(name);
        let whole = number("nodes_total")? > 0 && number("nodes_total")? == number("nodes_done")?;
        let filed = row.try_get::<Option<String>, _>("proof_hash")?.is_some();
        match state {
            JobState::Queued | JobState::Running if whole && filed => {
                self.enter(seq, JobState::Succeeded, None, now_ms).await
            }
            JobState::Queued | JobState::Running if whole => {
                self.push_file(seq, number("nodes_total")? - 1).await
            }
            JobState::Cancelling if number("proving")? == 0 => {
                self.enter(seq, JobState::Cancelled, None, now_ms).await
            }
            _ => Ok(()),
        }
    }

    /// Changes the state of a job, with the event that says so.
    pub(super) async fn enter(
        &mut self,
        seq: i64,
        state: JobState,
        error: Option<&JobError>,
        now_ms: i64,
    ) -> Result<()> {
        let finished = state.is_final().then_some(now_ms);
        sqlx::query(
            "UPDATE job SET state = $2, error = $3, finished_at_ms = COALESCE($4, finished_at_ms), \
             phase = NULL, phase_node = NULL WHERE seq = $1",
        )
        .bind(seq)
        .bind(state.name())
        .bind(error.map(to_json).transpose()?)
        .bind(finished)
        .execute(self.connection())
        .await?;
        let mut data = json!({"state": state});
        if let (Some(error), Some(object)) = (error, data.as_object_mut()) {
            object.insert("error".to_owned(), json!(error));
        }
        self.event(seq, EventKind::State, &data, now_ms).await?;
        if state.is_final() {
            let class = error.map(|error| error.class);
            self.ended.extend(self.changed.last().map(|&(job, _)| (job, state, class)));
        }
        self.tell(seq, state, error).await
    }
}
