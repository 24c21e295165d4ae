//! Messages about jobs: written down with the change that they tell of, and how they fared.

use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use super::rows::{json as to_json, named, small, unsigned};
use super::{Durability, Result, Store, Write};
use crate::model::{Delivery, DeliveryState, JobError, JobId, JobState};
use crate::outbound::Target;
use crate::webhooks::Secret;

/// The owner of jobs that came without a key, in the table of secrets.
const NOBODY: &str = "";

/// A message whose time has come.
#[derive(Clone, Debug)]
pub struct DueDelivery {
    /// Its name.
    pub id: String,
    /// Whose job it is about.
    pub owner: Option<String>,
    /// Who receives it.
    pub receiver: String,
    /// Where it goes.
    pub url: String,
    /// What it says.
    pub body: String,
    /// How often it was sent.
    pub attempts: u32,
}

/// How an attempt ended.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Where the message stands now.
    pub state: DeliveryState,
    /// When it is to be sent again.
    pub next_at_ms: Option<i64>,
    /// Status of the answer.
    pub status: Option<u16>,
    /// Why it was not taken.
    pub error: Option<String>,
}

impl Store {
    /// The messages about a job, in the order of what they tell of.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn deliveries(&self, job: JobId) -> Result<Vec<Delivery>> {
        let rows = sqlx::query(
            "SELECT delivery.* FROM delivery JOIN job ON job.seq = delivery.job \
             WHERE job.id = $1 ORDER BY delivery.event",
        )
        .bind(job.to_string())
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(delivery).collect()
    }

    /// At most `limit` messages whose time has come, without those that are `under_way` and those to receivers
    /// that are `full`. Owners come in turns, and each owner's receivers, those that have waited longest first:
    /// however many one has, the others' are among them.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn due_deliveries(
        &self,
        now_ms: i64,
        under_way: &[&str],
        full: &[&str],
        limit: usize,
    ) -> Result<Vec<DueDelivery>> {
        let rows = sqlx::query(
            "WITH due AS (\
                SELECT delivery.id, delivery.next_at_ms, COALESCE(job.owner, '') AS owner, \
                ROW_NUMBER() OVER (PARTITION BY delivery.receiver, job.owner \
                    ORDER BY delivery.next_at_ms, delivery.id) AS turn \
                FROM delivery JOIN job ON job.seq = delivery.job WHERE delivery.next_at_ms <= $1 \
                AND delivery.id NOT IN (SELECT value FROM json_each($2)) \
                AND delivery.receiver NOT IN (SELECT value FROM json_each($3))), \
             chosen AS (\
                SELECT id, owner, next_at_ms, \
                ROW_NUMBER() OVER (PARTITION BY owner ORDER BY turn, next_at_ms, id) AS place FROM due \
                ORDER BY place, next_at_ms, id LIMIT $4) \
             SELECT chosen.owner, delivery.id, delivery.receiver, delivery.url, delivery.body, \
             delivery.attempts FROM chosen JOIN delivery ON delivery.id = chosen.id \
             ORDER BY chosen.place, chosen.next_at_ms, chosen.id",
        )
        .bind(now_ms)
        .bind(to_json(&under_way)?)
        .bind(to_json(&full)?)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(&self.readers)
        .await?;
        let due = rows.iter().map(|row| {
            let owner: String = row.try_get("owner")?;
            Ok(DueDelivery {
                id: row.try_get("id")?,
                owner: Some(owner).filter(|owner| owner != NOBODY),
                receiver: row.try_get("receiver")?,
                url: row.try_get("url")?,
                body: row.try_get("body")?,
                attempts: small(row.try_get("attempts")?),
            })
        });
        due.collect()
    }

    /// How many messages are to be sent, now or later.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn pending_deliveries(&self) -> Result<u64> {
        let count: i64 =
            sqlx::query_scalar("SELECT COUNT(*) FROM delivery WHERE next_at_ms IS NOT NULL")
                .fetch_one(&self.readers)
                .await?;
        Ok(unsigned(count))
    }

    /// When the next message is to be sent after `now_ms`; none if none waits.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn next_delivery(&self, now_ms: i64) -> Result<Option<i64>> {
        sqlx::query_scalar("SELECT MIN(next_at_ms) FROM delivery WHERE next_at_ms > $1")
            .bind(now_ms)
            .fetch_one(&self.readers)
            .await
    }

    /// Notes how an attempt ended.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn note_attempt(&self, id: &str, attempt: &Attempt, now_ms: i64) -> Result<()> {
        let mut write = self.write(Durability::Process).await?;
        sqlx::query(
            "UPDATE delivery SET state = $2, next_at_ms = $3, last_status = $4, last_error = $5, \
             last_at_ms = $6, attempts = attempts + 1 WHERE id = $1",
        )
        .bind(id)
        .bind(attempt.state.name())
        .bind(attempt.next_at_ms)
        .bind(attempt.status.map(i64::from))
        .bind(&attempt.error)
        .bind(now_ms)
        .execute(write.connection())
        .await?;
        write.commit().await
    }

    /// Brings the times of all that waits down to `latest_ms`: a clock that has gone back must not make them
    /// wait for it.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn bound_deliveries(&self, latest_ms: i64) -> Result<()> {
        let mut write = self.write(Durability::Process).await?;
        sqlx::query("UPDATE delivery SET next_at_ms = $1 WHERE next_at_ms > $1")
            .bind(latest_ms)
            .execute(write.connection())
            .await?;
        write.commit().await
    }

    /// What signs the messages of an owner; `fresh` becomes it if there is none, or if it is to be `replaced`.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn webhook_secret(
        &self,
        owner: Option<&str>,
        fresh: &Secret,
        replace: bool,
        now_ms: i64,
    ) -> Result<Secret> {
        let owner = owner.unwrap_or(NOBODY);
        let found = "SELECT secret FROM webhook_secret WHERE owner = $1";
        if !replace {
            let known: Option<Vec<u8>> =
                sqlx::query_scalar(found).bind(owner).fetch_optional(&self.readers).await?;
            if let Some(known) = known {
                return Ok(Secret::from_bytes(known));
            }
        }
        let mut write = self.write(Durability::Synced).await?;
        let insert = if replace {
            "INSERT OR REPLACE INTO webhook_secret (owner, secret, created_at_ms) VALUES ($1, $2, $3)"
        } else {
            "INSERT OR IGNORE INTO webhook_secret (owner, secret, created_at_ms) VALUES ($1, $2, $3)"
        };
        sqlx::query(insert)
            .bind(owner)
            .bind(fresh.as_bytes())
            .bind(now_ms)
            .execute(write.connection())
            .await?;
        // Of two that come at once the first one counts.
        let secret: Vec<u8> =
            sqlx::query_scalar(found).bind(owner).fetch_one(write.connection()).await?;
        write.commit().await?;
        Ok(Secret::from_bytes(secret))
    }
}

impl Write {
    /// Writes the message down that tells of the job's last event, which was a change of its state, if somebody
    /// wants to know.
    pub(super) async fn tell(
        &mut self,
        seq: i64,
        state: JobState,
        error: Option<&JobError>,
    ) -> Result<()> {
        let row = sqlx::query(
            "SELECT id, webhook_url, webhook_events, last_event, last_event_at_ms, proof_hash, \
             proof_bytes FROM job WHERE seq = $1 AND webhook_url IS NOT NULL",
        )
        .bind(seq)
        .fetch_optional(self.connection())
        .await?;
        let Some(row) = row else { return Ok(()) };
        if !state.is_final() && row.try_get::<String, _>("webhook_events")? != "state" {
            return Ok(());
        }
        let at_ms: i64 = row.try_get("last_event_at_ms")?;
        let event: i64 = row.try_get("last_event")?;
        let mut data = json!({
            "id": row.try_get::<String, _>("id")?,
            "state": state,
            "event": event,
            "error": error,
        });
        let hash: Option<String> = row.try_get("proof_hash")?;
        if state == JobState::Succeeded
            && let Some(object) = data.as_object_mut()
        {
            let bytes: Option<i64> = row.try_get("proof_bytes")?;
            object.insert("proof".to_owned(), json!({"hash": hash, "bytes": bytes}));
        }
        let body = json!({"type": format!("job.{state}"), "at_ms": at_ms, "data": data});
        let url: String = row.try_get("webhook_url")?;
        let receiver = Target::parse(&url).map_or_else(|_| url.clone(), |target| target.receiver());
        sqlx::query(
            "INSERT INTO delivery (id, job, event, url, receiver, body, state, created_at_ms, \
             next_at_ms) VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $7)",
        )
        .bind(Uuid::now_v7().to_string())
        .bind(seq)
        .bind(event)
        .bind(url)
        .bind(receiver)
        .bind(to_json(&body)?)
        .bind(at_ms)
        .execute(self.connection())
        .await?;
        self.told = true;
        Ok(())
    }
}

fn delivery(row: &SqliteRow) -> Result<Delivery> {
    let status: Option<i64> = row.try_get("last_status")?;
    Ok(Delivery {
        id: row.try_get("id")?,
        event: row.try_get("event")?,
        url: row.try_get("url")?,
        state: named(&row.try_get::<String, _>("state")?)?,
        attempts: small(row.try_get("attempts")?),
        created_at_ms: row.try_get("created_at_ms")?,
        next_at_ms: row.try_get("next_at_ms")?,
        last_at_ms: row.try_get("last_at_ms")?,
        last_status: status.and_then(|status| u16::try_from(status).ok()),
        last_error: row.try_get("last_error")?,
    })
}
