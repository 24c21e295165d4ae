//! The nodes of a job, once it is planned.

use sqlx::Row;

use super::nodes::NodeRow;
use super::rows::{json, signed};
use super::{Durability, Result, Store, Write};
use crate::model::JobId;

/// A node of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNode {
    /// `level/index`.
    pub id: String,
    /// `base`, `layer`, `merge` or `finished`.
    pub kind: &'static str,
    /// Positions of the nodes that it verifies, in order.
    pub children: Vec<usize>,
    /// Slots that pad.
    pub padding: usize,
    /// Place in the order that keeps the fewest proofs.
    pub turn: usize,
    /// Of a finished leaf: which one.
    pub leaf: Option<usize>,
}

/// A job that was planned.
#[derive(Clone, Debug)]
pub struct PlannedJob {
    /// Nodes, children before parents, the root last.
    pub nodes: Vec<NewNode>,
    /// Digests of the keys, in hexadecimal; empty if they are not known yet.
    pub keys: Vec<String>,
}

impl Store {
    /// Stores the plan of a job and puts the nodes without children into the queue. Does nothing if the job
    /// is planned already.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn planned(&self, job: JobId, plan: &PlannedJob) -> Result<()> {
        let mut write = self.write(Durability::Process).await?;
        let Some((seq, state)) = write.state(job).await? else { return Ok(()) };
        let updated = sqlx::query(
            "UPDATE job SET nodes_total = $2, keys = $3, attempts = 0 \
             WHERE seq = $1 AND nodes_total = 0",
        )
        .bind(seq)
        .bind(signed(plan.nodes.len() as u64))
        .bind(json(&plan.keys)?)
        .execute(write.connection())
        .await?;
        if updated.rows_affected() == 0 {
            return Ok(());
        }
        for (position, node) in plan.nodes.iter().enumerate() {
            write.insert_node(seq, position, node).await?;
        }
        write.adopt_leaves(seq).await?;
        if !state.is_final() {
            write.queue_ready(seq).await?;
        }
        write.commit().await
    }

    /// The nodes of a job, in the order of the plan.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn plan_of(&self, seq: i64) -> Result<Vec<NodeRow>> {
        self.node_rows(seq).await
    }
}

impl Write {
    async fn insert_node(&mut self, seq: i64, position: usize, node: &NewNode) -> Result<()> {
        sqlx::query(
            "INSERT INTO node (job, position, id, kind, state, padding, turn, pending, leaf) \
             VALUES ($1, $2, $3, $4, 'waiting', $5, $6, $7, $8)",
        )
        .bind(seq)
        .bind(signed(position as u64))
        .bind(&node.id)
        .bind(node.kind)
        .bind(signed(node.padding as u64))
        .bind(signed(node.turn as u64))
        .bind(signed(node.children.len() as u64))
        .bind(node.leaf.map(|leaf| signed(leaf as u64)))
        .execute(self.connection())
        .await?;
        for (slot, &child) in node.children.iter().enumerate() {
            sqlx::query("INSERT INTO edge (job, parent, slot, child) VALUES ($1, $2, $3, $4)")
                .bind(seq)
                .bind(signed(position as u64))
                .bind(signed(slot as u64))
                .bind(signed(child as u64))
                .execute(self.connection())
                .await?;
        }
        Ok(())
    }

    /// The proofs of finished leaves are there already.
    async fn adopt_leaves(&mut self, seq: i64) -> Result<()> {
        sqlx::query(
            "UPDATE node SET state = 'done', \
             hash = (SELECT leaf.hash FROM leaf WHERE leaf.job = $1 AND leaf.leaf = node.leaf), \
             bytes = (SELECT leaf.bytes FROM leaf WHERE leaf.job = $1 AND leaf.leaf = node.leaf) \
             WHERE job = $1 AND leaf IS NOT NULL",
        )
        .bind(seq)
        .execute(self.connection())
        .await?;
        sqlx::query(
            "UPDATE job SET nodes_done = \
             (SELECT COUNT(*) FROM node WHERE job = $1 AND state = 'done') WHERE seq = $1",
        )
        .bind(seq)
        .execute(self.connection())
        .await?;
        self.touch(seq).await
    }

    /// Counts children anew and puts every node that can be proved into the queue; gives their number.
    pub(super) async fn queue_ready(&mut self, seq: i64) -> Result<usize> {
        sqlx::query(
            "UPDATE node SET state = 'waiting', pending = (SELECT COUNT(*) FROM edge \
             JOIN node AS below ON below.job = edge.job AND below.position = edge.child \
             WHERE edge.job = node.job AND edge.parent = node.position AND below.state <> 'done') \
             WHERE job = $1 AND state IN ('waiting', 'ready', 'failed')",
        )
        .bind(seq)
        .execute(self.connection())
        .await?;
        let ready = sqlx::query(
            "SELECT position FROM node WHERE job = $1 AND state = 'waiting' AND pending = 0 \
             ORDER BY turn",
        )
        .bind(seq)
        .fetch_all(self.connection())
        .await?;
        for row in &ready {
            self.make_ready(seq, row.try_get("position")?).await?;
        }
        Ok(ready.len())
    }
}
