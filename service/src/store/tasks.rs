//! The tasks in the queue, as far as the records have to do with them.
//!
//! The table is apalis's. Tasks are put there by apalis's own statement, inside of our transactions; what
//! else is done to the table is in this file.

use std::collections::HashSet;

use apalis_core::task::builder::TaskBuilder;
use apalis_core::task::task_id::TaskId;
use serde::{Deserialize, Serialize};
use sqlx::Row;
use ulid::Ulid;
use uuid::Uuid;

use super::rows::named;
use super::{Durability, Result, Store, Write};
use crate::model::JobId;

/// The one queue.
pub const QUEUE: &str = "arbor";
/// How often apalis begins a task whose handler says that it failed. Handlers say so only if the records
/// cannot be written, and then the worker waits; attempts at a node are counted in the records.
const QUEUE_ATTEMPTS: usize = 1_000_000;
/// Bits of a ULID below those that order it.
const ULID_RANDOM_BITS: u32 = 80;

/// What a worker is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// To plan a job.
    Plan {
        /// The job.
        job: JobId,
        /// Which time; a task of an earlier one does nothing.
        round: i64,
    },
    /// To prove a node.
    Prove {
        /// The job.
        job: JobId,
        /// The node's place in the plan.
        position: i64,
        /// Which time; a task of an earlier one does nothing.
        round: i64,
    },
}

/// When a task is taken: the highest priority first, then jobs as they came, then the order of the plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) priority: i64,
    pub(super) seq: i64,
    pub(super) turn: i64,
}

/// What was left over by the process that used the data folder before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Leases that were given up.
    pub leases: u64,
    /// Nodes that were being proved.
    pub nodes: u64,
}

impl Write {
    /// Puts a task into the queue. A second task with the same key does nothing.
    pub(super) async fn push(&mut self, task: Task, key: &str, turn: Turn) -> Result<()> {
        let args =
            serde_json::to_vec(&task).map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        // Apalis takes tasks by priority, then by time, then by id. The time is no time here: a small number
        // lies in the past whatever the clock says.
        #[expect(clippy::cast_sign_loss, reason = "apalis casts it back")]
        let task = TaskBuilder::new(args)
            .task_id(TaskId::from_ulid(ulid(turn.turn)))
            .idempotency_key(key)
            .priority(turn.priority as usize)
            .run_at_timestamp(turn.seq as u64)
            .max_attempts(QUEUE_ATTEMPTS)
            .build();
        apalis_sqlite::queries::push_tasks(self.connection(), QUEUE, &[task]).await.map_err(
            |error| match error {
                apalis_sqlite::Error::Database(error) => error,
                error => sqlx::Error::Encode(Box::new(error)),
            },
        )?;
        self.tasks = true;
        Ok(())
    }

    /// Makes a node ready and puts its task into the queue.
    pub(super) async fn make_ready(&mut self, seq: i64, position: i64) -> Result<()> {
        let row = sqlx::query(
            "UPDATE node SET state = 'ready', pending = 0, round = round + 1 \
             WHERE job = $1 AND position = $2 RETURNING id, round, turn",
        )
        .bind(seq)
        .bind(position)
        .fetch_one(self.connection())
        .await?;
        let round = row.try_get("round")?;
        let node: String = row.try_get("id")?;
        let turn = row.try_get("turn")?;
        self.push_node(seq, position, &node, round, turn).await
    }

    /// Puts the task of a node into the queue.
    pub(super) async fn push_node(
        &mut self,
        seq: i64,
        position: i64,
        node: &str,
        round: i64,
        turn: i64,
    ) -> Result<()> {
        let (job, priority) = self.job_turn(seq).await?;
        let key = format!("{job}/{node}#{round}");
        self.push(Task::Prove { job, position, round }, &key, Turn { priority, seq, turn }).await
    }

    /// Puts the task of planning a job into the queue.
    pub(super) async fn push_plan(&mut self, seq: i64) -> Result<()> {
        let round: i64 =
            sqlx::query_scalar("UPDATE job SET round = round + 1 WHERE seq = $1 RETURNING round")
                .bind(seq)
                .fetch_one(self.connection())
                .await?;
        let (job, priority) = self.job_turn(seq).await?;
        let key = format!("{job}/plan#{round}");
        self.push(Task::Plan { job, round }, &key, Turn { priority, seq, turn: 0 }).await
    }

    async fn job_turn(&mut self, seq: i64) -> Result<(JobId, i64)> {
        let row = sqlx::query("SELECT id, priority FROM job WHERE seq = $1")
            .bind(seq)
            .fetch_one(self.connection())
            .await?;
        Ok((named(&row.try_get::<String, _>("id")?)?, row.try_get("priority")?))
    }
}

/// An id that sorts by `turn`.
fn ulid(turn: i64) -> Ulid {
    let turn = u128::from(turn.unsigned_abs());
    let random = Uuid::new_v4().as_u128() & ((1 << ULID_RANDOM_BITS) - 1);
    Ulid((turn << ULID_RANDOM_BITS) | random)
}

impl Store {
    /// Gives up every lease. To be called before the first worker starts: whoever held one is gone, because
    /// only one process at a time has the data folder.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn recover(&self) -> Result<Recovered> {
        let mut write = self.write(Durability::Synced).await?;
        let leases = write.release_leases().await?;
        // A node that was being proved is ready again; the attempt is spent. Its task is still there.
        let nodes = sqlx::query("UPDATE node SET state = 'ready' WHERE state = 'running'")
            .execute(write.connection())
            .await?
            .rows_affected();
        sqlx::query("UPDATE job SET phase = NULL, phase_node = NULL WHERE phase IS NOT NULL")
            .execute(write.connection())
            .await?;
        sqlx::query("DELETE FROM Jobs WHERE job_type = $1 AND status IN ('Done', 'Killed')")
            .bind(QUEUE)
            .execute(write.connection())
            .await?;
        sqlx::query("DELETE FROM Workers").execute(write.connection()).await?;
        write.commit().await?;
        Ok(Recovered { leases, nodes })
    }

    /// Gives up every lease, because the worker that held them has ended.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn release_leases(&self) -> Result<u64> {
        let mut write = self.write(Durability::Process).await?;
        let leases = write.release_leases().await?;
        write.commit().await?;
        Ok(leases)
    }

    /// Removes the tasks that are done.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn sweep_tasks(&self) -> Result<u64> {
        let mut write = self.write(Durability::Process).await?;
        let swept =
            sqlx::query("DELETE FROM Jobs WHERE job_type = $1 AND status IN ('Done', 'Killed')")
                .bind(QUEUE)
                .execute(write.connection())
                .await?
                .rows_affected();
        write.commit().await?;
        Ok(swept)
    }

    /// Finds nodes that are ready, and jobs to be planned, without a live task, and nodes that are said to be
    /// proved but are not among `in_flight`, and gives each a task again. Gives their number, which is 0
    /// unless something went wrong.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn reconcile(&self, in_flight: &HashSet<(JobId, i64)>) -> Result<u64> {
        let mut write = self.write(Durability::Process).await?;
        let lost = sqlx::query(
            "SELECT job.seq, job.id, node.position, node.state FROM node \
             JOIN job ON job.seq = node.job \
             WHERE node.state IN ('ready', 'running') AND job.state IN ('queued', 'running') \
             AND NOT EXISTS (SELECT 1 FROM Jobs WHERE Jobs.job_type = $1 AND Jobs.idempotency_key = \
             job.id || '/' || node.id || '#' || node.round \
             AND Jobs.status IN ('Pending', 'Queued', 'Running', 'Failed'))",
        )
        .bind(QUEUE)
        .fetch_all(write.connection())
        .await?;
        let mut count = 0;
        for row in &lost {
            let job: JobId = named(&row.try_get::<String, _>("id")?)?;
            let position = row.try_get("position")?;
            if !in_flight.contains(&(job, position)) {
                write.make_ready(row.try_get("seq")?, position).await?;
                count += 1;
            }
        }
        let unplanned: Vec<(i64, String)> = sqlx::query_as(
            "SELECT seq, id FROM job WHERE state IN ('queued', 'running') AND nodes_total = 0 \
             AND NOT EXISTS (SELECT 1 FROM Jobs WHERE Jobs.job_type = $1 \
             AND Jobs.idempotency_key = job.id || '/plan#' || job.round \
             AND Jobs.status IN ('Pending', 'Queued', 'Running', 'Failed'))",
        )
        .bind(QUEUE)
        .fetch_all(write.connection())
        .await?;
        for (seq, id) in unplanned {
            if !in_flight.contains(&(named(&id)?, PLANNING)) {
                write.push_plan(seq).await?;
                count += 1;
            }
        }
        write.commit().await?;
        Ok(count)
    }
}

/// Stands for the position of a node while its job is planned.
pub const PLANNING: i64 = -1;

impl Write {
    async fn release_leases(&mut self) -> Result<u64> {
        let released = sqlx::query(
            "UPDATE Jobs SET status = 'Pending', lock_by = NULL, lock_at = NULL, done_at = NULL \
             WHERE job_type = $1 AND status IN ('Queued', 'Running', 'Failed')",
        )
        .bind(QUEUE)
        .execute(self.connection())
        .await?;
        self.tasks = true;
        Ok(released.rows_affected())
    }
}

impl Store {
    /// Tasks that wait for a worker.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn waiting_tasks(&self) -> Result<u64> {
        let waiting: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM Jobs WHERE job_type = $1 AND status = 'Pending'",
        )
        .bind(QUEUE)
        .fetch_one(&self.readers)
        .await?;
        Ok(super::rows::unsigned(waiting))
    }
}
