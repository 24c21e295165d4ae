//! Leaves that are proofs of other jobs.

use sqlx::Row;

use super::rows::{json, parsed, signed, unsigned};
use super::{Result, Store, Write};
use crate::model::{JobId, JobState};

/// The proof of another job that is a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafProofRow {
    /// The other job.
    pub source: JobId,
    /// The proof of its root, in the blob store.
    pub hash: String,
    /// Its length.
    pub bytes: u64,
    /// What its bases come to, in order.
    pub results: Vec<Option<u32>>,
}

impl Store {
    /// Name and length of the proof of a job's root, if the job has succeeded.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn root_proof(&self, id: JobId) -> Result<Option<(String, u64)>> {
        let row: Option<(Option<String>, Option<i64>)> = sqlx::query_as(
            "SELECT node.hash, node.bytes FROM node JOIN job ON job.seq = node.job \
             WHERE job.id = $1 AND job.state = 'succeeded' ORDER BY node.position DESC LIMIT 1",
        )
        .bind(id.to_string())
        .fetch_optional(&self.readers)
        .await?;
        Ok(row.and_then(|(hash, bytes)| Some((hash?, unsigned(bytes?)))))
    }

    /// The finished leaves of a job, in order.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn leaves(&self, seq: i64) -> Result<Vec<LeafProofRow>> {
        let rows = sqlx::query("SELECT * FROM leaf WHERE job = $1 ORDER BY leaf")
            .bind(seq)
            .fetch_all(&self.readers)
            .await?;
        rows.iter()
            .map(|row| {
                let source: String = row.try_get("source")?;
                Ok(LeafProofRow {
                    source: super::rows::named(&source)?,
                    hash: row.try_get("hash")?,
                    bytes: unsigned(row.try_get("bytes")?),
                    results: parsed(&row.try_get::<String, _>("results")?)?,
                })
            })
            .collect()
    }
}

impl Write {
    /// Stores a finished leaf, unless the proof is not the other job's any more.
    pub(super) async fn insert_leaf(
        &mut self,
        seq: i64,
        leaf: usize,
        row: &LeafProofRow,
    ) -> Result<bool> {
        let inserted = sqlx::query(
            "INSERT INTO leaf (job, leaf, source, hash, bytes, results) \
             SELECT $1, $2, $3, $4, $5, $6 WHERE EXISTS (SELECT 1 FROM node \
             JOIN job ON job.seq = node.job WHERE job.id = $3 AND node.hash = $4)",
        )
        .bind(seq)
        .bind(signed(leaf as u64))
        .bind(row.source.to_string())
        .bind(&row.hash)
        .bind(signed(row.bytes))
        .bind(json(&row.results)?)
        .execute(self.connection())
        .await?;
        Ok(inserted.rows_affected() == 1)
    }

    /// Takes the proofs that the other jobs have now, where they have others: a proof that was damaged has
    /// been made again. Nodes of `seq` that stand for these leaves follow.
    pub(super) async fn refresh_leaves(&mut self, seq: i64) -> Result<()> {
        let rows = sqlx::query(
            "SELECT leaf.leaf, node.hash, node.bytes, job.state FROM leaf \
             JOIN job ON job.id = leaf.source \
             JOIN node ON node.job = job.seq AND node.position = job.nodes_total - 1 \
             WHERE leaf.job = $1 AND node.hash IS NOT NULL AND node.hash <> leaf.hash",
        )
        .bind(seq)
        .fetch_all(self.connection())
        .await?;
        for row in rows {
            if row.try_get::<String, _>("state")? != JobState::Succeeded.name() {
                continue;
            }
            let leaf: i64 = row.try_get("leaf")?;
            let (hash, bytes): (String, i64) = (row.try_get("hash")?, row.try_get("bytes")?);
            for statement in [
                "UPDATE leaf SET hash = $3, bytes = $4 WHERE job = $1 AND leaf = $2",
                "UPDATE node SET hash = $3, bytes = $4 WHERE job = $1 AND leaf = $2",
            ] {
                sqlx::query(statement)
                    .bind(seq)
                    .bind(leaf)
                    .bind(&hash)
                    .bind(bytes)
                    .execute(self.connection())
                    .await?;
            }
        }
        Ok(())
    }
}
