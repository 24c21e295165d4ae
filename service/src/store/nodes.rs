//! The nodes of a job, read.

use arbor_prover::LayerReport;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::rows::{named, parsed, small, unsigned};
use super::{Result, Store};
use crate::model::{JobId, NodeRecord, NodeState};

/// A node with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRow {
    /// Place in the plan.
    pub position: i64,
    /// Positions of the nodes that it verifies, in order.
    pub children: Vec<i64>,
    /// Of a finished leaf: which one, from 0.
    pub leaf: Option<i64>,
    /// The rest.
    pub record: NodeRecord,
}

impl Store {
    /// The nodes of a job, children before parents.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn nodes(&self, job: JobId) -> Result<Vec<NodeRow>> {
        match self.seq(job).await? {
            Some(seq) => self.node_rows(seq).await,
            None => Ok(Vec::new()),
        }
    }

    /// The number of a job.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn seq(&self, job: JobId) -> Result<Option<i64>> {
        sqlx::query_scalar("SELECT seq FROM job WHERE id = $1")
            .bind(job.to_string())
            .fetch_optional(&self.readers)
            .await
    }

    pub(super) async fn node_rows(&self, seq: i64) -> Result<Vec<NodeRow>> {
        let mut reader = self.readers.begin().await?;
        let rows = sqlx::query("SELECT * FROM node WHERE job = $1 ORDER BY position")
            .bind(seq)
            .fetch_all(&mut *reader)
            .await?;
        let edges: Vec<(i64, i64)> =
            sqlx::query_as("SELECT parent, child FROM edge WHERE job = $1 ORDER BY parent, slot")
                .bind(seq)
                .fetch_all(&mut *reader)
                .await?;
        reader.commit().await?;
        let mut nodes = rows.iter().map(node).collect::<Result<Vec<_>>>()?;
        let ids: Vec<String> = nodes.iter().map(|node| node.record.id.clone()).collect();
        let place = |position: i64| usize::try_from(position).ok();
        for (parent, child) in edges {
            let id = place(child).and_then(|child| ids.get(child));
            let parent = place(parent).and_then(|parent| nodes.get_mut(parent));
            if let (Some(parent), Some(id)) = (parent, id) {
                parent.children.push(child);
                parent.record.children.push(id.clone());
            }
        }
        Ok(nodes)
    }
}

fn node(row: &SqliteRow) -> Result<NodeRow> {
    let number = |name: &str| row.try_get::<i64, _>(name);
    let state: NodeState = named(&row.try_get::<String, _>("state")?)?;
    let report: Option<LayerReport> =
        row.try_get::<Option<String>, _>("report")?.map(|text| parsed(&text)).transpose()?;
    Ok(NodeRow {
        position: number("position")?,
        children: Vec::new(),
        leaf: row.try_get("leaf")?,
        record: NodeRecord {
            id: row.try_get("id")?,
            kind: row.try_get("kind")?,
            state,
            children: Vec::new(),
            padding: small(number("padding")?),
            hash: row.try_get("hash")?,
            bytes: row.try_get::<Option<i64>, _>("bytes")?.map(unsigned),
            report,
            starts: small(number("starts")?),
            finishes: small(number("finishes")?),
        },
    })
}
