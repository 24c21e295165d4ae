//! A node begins, and its proof is stored.

use arbor_prover::LayerReport;
use arbor_prover::tree::ProofStatement;
use serde_json::json;
use sqlx::Row;

use super::rows::{json as to_json, named, signed};
use super::{Durability, Result, Store, Write};
use crate::model::{ErrorClass, EventKind, JobError, JobId, JobState, NodeState, ProofRef};

/// Whether a task has something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Begin {
    /// Yes.
    Go(Begun),
    /// The proof of the root is there, the file is not.
    File(Begun),
    /// No: it was done before, or the job does not want it any more.
    Stale,
    /// The worker died too often on it; the job has failed.
    Crashed,
}

/// A node that is being proved, or a job that is being planned.
#[derive(Clone, Debug, PartialEq)]
pub struct Begun {
    /// Number of the job.
    pub seq: i64,
    /// `level/index`; of a plan empty.
    pub node: String,
    /// What it is.
    pub kind: String,
    /// What it verifies, in order.
    pub children: Vec<Child>,
    /// Its own proof, where there is one.
    pub hash: Option<String>,
    /// Whether it is the last one.
    pub root: bool,
    /// How often it was begun since it last ended, this time included.
    pub attempt: u32,
}

/// A child of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its place in the plan.
    pub position: i64,
    /// `level/index`.
    pub node: String,
    /// Its proof in the blob store.
    pub hash: String,
}

/// A proof that is in the blob store.
#[derive(Clone, Debug)]
pub struct FinishedNode {
    /// Its name there.
    pub hash: String,
    /// Its length.
    pub bytes: u64,
    /// What it took; none if only the file was written.
    pub report: Option<LayerReport>,
    /// Of the root.
    pub root: Option<Root>,
}

/// What comes with the proof of the root.
#[derive(Clone, Debug)]
pub struct Root {
    /// The proof file.
    pub file: ProofRef,
    /// What it says.
    pub statement: ProofStatement,
    /// Digests of its keys, in hexadecimal.
    pub keys: Vec<String>,
}

impl Store {
    /// Begins to plan a job: counts the attempt.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn begin_plan(
        &self,
        job: JobId,
        round: i64,
        max_attempts: u32,
        now_ms: i64,
    ) -> Result<Begin> {
        let mut write = self.write(Durability::Process).await?;
        let row = sqlx::query(
            "UPDATE job SET attempts = attempts + 1 WHERE id = $1 AND round = $2 \
             AND nodes_total = 0 AND state IN ('queued', 'running') RETURNING seq, attempts",
        )
        .bind(job.to_string())
        .bind(round)
        .fetch_optional(write.connection())
        .await?;
        let Some(row) = row else { return Ok(Begin::Stale) };
        let seq = row.try_get("seq")?;
        if row.try_get::<i64, _>("attempts")? > i64::from(max_attempts) {
            write.fail(seq, &crashed(max_attempts, None), now_ms).await?;
            write.commit().await?;
            return Ok(Begin::Crashed);
        }
        write.commit().await?;
        Ok(Begin::Go(Begun {
            seq,
            node: String::new(),
            kind: "plan".to_owned(),
            children: Vec::new(),
            hash: None,
            root: false,
            attempt: super::rows::small(row.try_get("attempts")?),
        }))
    }

    /// Begins to prove a node: counts the start and the attempt.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn begin(
        &self,
        job: JobId,
        position: i64,
        round: i64,
        max_attempts: u32,
        now_ms: i64,
    ) -> Result<Begin> {
        let mut write = self.write(Durability::Process).await?;
        let row = sqlx::query(
            "SELECT job.seq, job.state AS job_state, job.proof_hash, job.nodes_total, node.id, \
             node.kind, node.state, node.hash, node.attempts FROM node \
             JOIN job ON job.seq = node.job \
             WHERE job.id = $1 AND node.position = $2 AND node.round = $3",
        )
        .bind(job.to_string())
        .bind(position)
        .bind(round)
        .fetch_optional(write.connection())
        .await?;
        let Some(row) = row else { return Ok(Begin::Stale) };
        let state: JobState = named(&row.try_get::<String, _>("job_state")?)?;
        if !matches!(state, JobState::Queued | JobState::Running) {
            return Ok(Begin::Stale);
        }
        let seq = row.try_get("seq")?;
        let root = row.try_get::<i64, _>("nodes_total")? == position + 1;
        let done = named::<NodeState>(&row.try_get::<String, _>("state")?)? == NodeState::Done;
        let filed = row.try_get::<Option<String>, _>("proof_hash")?.is_some();
        if done && (!root || filed) {
            return Ok(Begin::Stale);
        }
        let mut begun = Begun {
            seq,
            node: row.try_get("id")?,
            kind: row.try_get("kind")?,
            children: Vec::new(),
            hash: row.try_get("hash")?,
            root,
            attempt: super::rows::small(row.try_get("attempts")?).saturating_add(1),
        };
        if row.try_get::<i64, _>("attempts")? >= i64::from(max_attempts) {
            write.fail(seq, &crashed(max_attempts, Some(&begun.node)), now_ms).await?;
            write.commit().await?;
            return Ok(Begin::Crashed);
        }
        if done {
            write.count_attempt(seq, position).await?;
            write.commit().await?;
            return Ok(Begin::File(begun));
        }
        begun.children = write.children(seq, position).await?;
        write.start(&begun, position, state, now_ms).await?;
        write.commit().await?;
        Ok(Begin::Go(begun))
    }

    /// Notes that a node's proof is in the blob store, unless one was noted before, and puts the nodes into the
    /// queue that become possible by it. Says whether this proof is the one that counts.
    ///
    /// # Errors
    /// SQLite's; nothing happened then.
    pub async fn finish(
        &self,
        seq: i64,
        position: i64,
        finished: &FinishedNode,
        now_ms: i64,
    ) -> Result<bool> {
        let mut write = self.write(Durability::Synced).await?;
        let first = write.store_result(seq, position, finished, now_ms).await?;
        let filed = match &finished.root {
            Some(root) => write.store_file(seq, root).await?,
            None => false,
        };
        if !first && !filed {
            return Ok(false);
        }
        write.settle(seq, now_ms).await?;
        write.commit().await?;
        Ok(first)
    }
}

impl Write {
    async fn count_attempt(&mut self, seq: i64, position: i64) -> Result<()> {
        sqlx::query("UPDATE node SET attempts = attempts + 1 WHERE job = $1 AND position = $2")
            .bind(seq)
            .bind(position)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    async fn children(&mut self, seq: i64, position: i64) -> Result<Vec<Child>> {
        let rows = sqlx::query(
            "SELECT below.position, below.id, below.hash FROM edge JOIN node AS below \
             ON below.job = edge.job AND below.position = edge.child \
             WHERE edge.job = $1 AND edge.parent = $2 ORDER BY edge.slot",
        )
        .bind(seq)
        .bind(position)
        .fetch_all(self.connection())
        .await?;
        rows.iter()
            .map(|row| {
                Ok(Child {
                    position: row.try_get("position")?,
                    node: row.try_get("id")?,
                    hash: row.try_get::<Option<String>, _>("hash")?.unwrap_or_default(),
                })
            })
            .collect()
    }

    async fn start(
        &mut self,
        begun: &Begun,
        position: i64,
        state: JobState,
        now_ms: i64,
    ) -> Result<()> {
        let attempt: i64 = sqlx::query_scalar(
            "UPDATE node SET state = 'running', starts = starts + 1, attempts = attempts + 1 \
             WHERE job = $1 AND position = $2 RETURNING attempts",
        )
        .bind(begun.seq)
        .bind(position)
        .fetch_one(self.connection())
        .await?;
        if state == JobState::Queued {
            sqlx::query(
                "UPDATE job SET state = 'running', started_at_ms = COALESCE(started_at_ms, $2) \
                 WHERE seq = $1",
            )
            .bind(begun.seq)
            .bind(now_ms)
            .execute(self.connection())
            .await?;
            let state = json!({"state": JobState::Running});
            self.event(begun.seq, EventKind::State, &state, now_ms).await?;
            self.tell(begun.seq, JobState::Running, None).await?;
        }
        let started = json!({"node": begun.node, "kind": begun.kind, "attempt": attempt});
        self.event(begun.seq, EventKind::NodeStarted, &started, now_ms).await
    }

    /// First write wins.
    async fn store_result(
        &mut self,
        seq: i64,
        position: i64,
        finished: &FinishedNode,
        now_ms: i64,
    ) -> Result<bool> {
        let report = finished.report.as_ref().map(to_json).transpose()?;
        let row = sqlx::query(
            "UPDATE node SET state = 'done', hash = $3, bytes = $4, report = COALESCE($5, report), \
             finishes = finishes + 1, attempts = 0 \
             WHERE job = $1 AND position = $2 AND state <> 'done' RETURNING id, kind",
        )
        .bind(seq)
        .bind(position)
        .bind(&finished.hash)
        .bind(signed(finished.bytes))
        .bind(report)
        .fetch_optional(self.connection())
        .await?;
        let Some(row) = row else { return Ok(false) };
        sqlx::query("UPDATE job SET nodes_done = nodes_done + 1 WHERE seq = $1")
            .bind(seq)
            .execute(self.connection())
            .await?;
        let data = json!({
            "node": row.try_get::<String, _>("id")?,
            "kind": row.try_get::<String, _>("kind")?,
            "hash": finished.hash,
            "bytes": finished.bytes,
            "report": finished.report,
        });
        self.event(seq, EventKind::NodeFinished, &data, now_ms).await?;
        self.release_parents(seq, position).await?;
        Ok(true)
    }

    /// Counts down what waits for a node. Only here, and only if the node's result was stored just now.
    async fn release_parents(&mut self, seq: i64, position: i64) -> Result<()> {
        let parents = sqlx::query(
            "UPDATE node SET pending = pending - 1 WHERE job = $1 AND state = 'waiting' \
             AND position IN (SELECT parent FROM edge WHERE job = $1 AND child = $2) \
             RETURNING position, pending",
        )
        .bind(seq)
        .bind(position)
        .fetch_all(self.connection())
        .await?;
        let state: String = sqlx::query_scalar("SELECT state FROM job WHERE seq = $1")
            .bind(seq)
            .fetch_one(self.connection())
            .await?;
        if !matches!(named::<JobState>(&state)?, JobState::Queued | JobState::Running) {
            return Ok(());
        }
        for row in &parents {
            if row.try_get::<i64, _>("pending")? <= 0 {
                self.make_ready(seq, row.try_get("position")?).await?;
            }
        }
        Ok(())
    }

    async fn store_file(&mut self, seq: i64, root: &Root) -> Result<bool> {
        let stored = sqlx::query(
            "UPDATE job SET proof_hash = $2, proof_bytes = $3, statement = $4, keys = $5 \
             WHERE seq = $1 AND proof_hash IS NULL",
        )
        .bind(seq)
        .bind(&root.file.hash)
        .bind(signed(root.file.bytes))
        .bind(to_json(&root.statement)?)
        .bind(to_json(&root.keys)?)
        .execute(self.connection())
        .await?;
        Ok(stored.rows_affected() == 1)
    }
}

fn crashed(max_attempts: u32, node: Option<&str>) -> JobError {
    let what = node.map_or_else(|| "planning".to_owned(), |node| format!("node {node}"));
    JobError {
        class: ErrorClass::Crashed,
        message: format!("{what} was begun {max_attempts} times and never came to an end"),
        retryable: true,
        node: node.map(str::to_owned),
    }
}
