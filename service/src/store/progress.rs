//! What is being done for a job right now.

use serde_json::json;
use sqlx::Row;

use super::{Durability, Result, Store};
use crate::model::{EventKind, JobId, Phase};

impl Store {
    /// Notes a phase of a job that waits or runs.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn progress(&self, job: JobId, phase: &Phase, now_ms: i64) -> Result<()> {
        let mut write = self.write(Durability::Process).await?;
        let row = sqlx::query(
            "UPDATE job SET phase_node = $2, phase = $3 \
             WHERE id = $1 AND state IN ('queued', 'running', 'cancelling') \
             RETURNING seq, nodes_done, nodes_total",
        )
        .bind(job.to_string())
        .bind(&phase.node)
        .bind(&phase.name)
        .fetch_optional(write.connection())
        .await?;
        let Some(row) = row else { return Ok(()) };
        let data = json!({
            "nodes_done": row.try_get::<i64, _>("nodes_done")?,
            "nodes_total": row.try_get::<i64, _>("nodes_total")?,
            "phase": phase,
        });
        write.event(row.try_get("seq")?, EventKind::Progress, &data, now_ms).await?;
        write.commit().await
    }
}
