//! What happened to jobs.

use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::rows::{json, named, parsed};
use super::{Result, Store, Write};
use crate::model::{Event, EventKind, JobId};

impl Store {
    /// At most `limit` events of a job with ids above `after`, in order.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn events(&self, job: JobId, after: i64, limit: u32) -> Result<Vec<Event>> {
        let rows = sqlx::query(
            "SELECT event.id, event.kind, event.data, event.at_ms FROM event \
             JOIN job ON job.seq = event.job WHERE job.id = $1 AND event.id > $2 \
             ORDER BY event.id LIMIT $3",
        )
        .bind(job.to_string())
        .bind(after)
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(Event {
                    id: row.try_get("id")?,
                    kind: named(&row.try_get::<String, _>("kind")?)?,
                    data: parsed(&row.try_get::<String, _>("data")?)?,
                    at_ms: row.try_get("at_ms")?,
                })
            })
            .collect()
    }
}

impl Write {
    /// Appends an event to a job and raises the job's revision. Times of events of one job never decrease,
    /// whatever the clock says.
    pub(super) async fn event(
        &mut self,
        seq: i64,
        kind: EventKind,
        data: &Value,
        now_ms: i64,
    ) -> Result<()> {
        let row = sqlx::query(
            "UPDATE job SET last_event = last_event + 1, revision = revision + 1, last_event_at_ms = \
             CASE WHEN last_event_at_ms > $2 THEN last_event_at_ms ELSE $2 END WHERE seq = $1 \
             RETURNING id, revision, last_event, last_event_at_ms",
        )
        .bind(seq)
        .bind(now_ms)
        .fetch_one(self.connection())
        .await?;
        sqlx::query("INSERT INTO event (job, id, kind, data, at_ms) VALUES ($1, $2, $3, $4, $5)")
            .bind(seq)
            .bind(row.try_get::<i64, _>("last_event")?)
            .bind(kind.name())
            .bind(json(data)?)
            .bind(row.try_get::<i64, _>("last_event_at_ms")?)
            .execute(self.connection())
            .await?;
        self.changed(&row)
    }

    /// Raises the revision of a job.
    pub(super) async fn touch(&mut self, seq: i64) -> Result<()> {
        let row = sqlx::query(
            "UPDATE job SET revision = revision + 1 WHERE seq = $1 RETURNING id, revision",
        )
        .bind(seq)
        .fetch_one(self.connection())
        .await?;
        self.changed(&row)
    }

    fn changed(&mut self, row: &SqliteRow) -> Result<()> {
        let job = named(&row.try_get::<String, _>("id")?)?;
        let revision = row.try_get("revision")?;
        self.changed.push((job, revision));
        Ok(())
    }
}
