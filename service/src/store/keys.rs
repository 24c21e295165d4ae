//! API keys, and what was used up under their names.

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::rows::{named, signed, unsigned};
use super::{Durability, Result, Store, Write};
use crate::access::{KeyRecord, Quota, Role};

/// The span over which bytes are counted, in milliseconds.
const DAY_MS: i64 = 24 * 3600 * 1000;

/// A quota that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverQuota {
    /// What is counted.
    pub what: QuotaKind,
    /// The quota.
    pub limit: u64,
    /// What is used.
    pub used: u64,
    /// What the job would use besides.
    pub needed: u64,
    /// When some of it is free again at the latest, where that is known, in milliseconds from now.
    pub free_in_ms: Option<u64>,
}

/// What a quota counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaKind {
    /// Jobs that wait.
    Queued,
    /// Jobs that run.
    Running,
    /// Bytes a day.
    Bytes,
}

impl Store {
    /// Stores a new key.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn add_key(&self, key: &KeyRecord, hash: &blake3::Hash) -> Result<()> {
        let mut write = self.write(Durability::Synced).await?;
        sqlx::query(
            "INSERT INTO api_key (id, name, role, hash, max_queued, max_running, max_bytes_per_day, \
             created_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(&key.id)
        .bind(&key.name)
        .bind(key.role.name())
        .bind(hash.to_hex().as_str())
        .bind(key.quota.max_queued.map(signed))
        .bind(key.quota.max_running.map(signed))
        .bind(key.quota.max_bytes_per_day.map(signed))
        .bind(key.created_at_ms)
        .execute(write.connection())
        .await?;
        write.commit().await
    }

    /// All keys, revoked ones included, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn keys(&self) -> Result<Vec<KeyRecord>> {
        let rows = sqlx::query("SELECT * FROM api_key ORDER BY created_at_ms, id")
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(record).collect()
    }

    /// A key and the hash of its secret, revoked or not.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn key(&self, id: &str) -> Result<Option<(KeyRecord, blake3::Hash)>> {
        let row = sqlx::query("SELECT * FROM api_key WHERE id = $1")
            .bind(id)
            .fetch_optional(&self.readers)
            .await?;
        row.map(|row| {
            let hash = blake3::Hash::from_hex(row.try_get::<String, _>("hash")?)
                .map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
            Ok((record(&row)?, hash))
        })
        .transpose()
    }

    /// Whether there is any key, a revoked one included.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn has_keys(&self) -> Result<bool> {
        let found: Option<i64> = sqlx::query_scalar("SELECT 1 FROM api_key LIMIT 1")
            .fetch_optional(&self.readers)
            .await?;
        Ok(found.is_some())
    }

    /// Makes a key invalid, for ever. Says whether there is such a key; one that was revoked before keeps its
    /// time.
    ///
    /// # Errors
    /// SQLite's.
    pub async fn revoke_key(&self, id: &str, now_ms: i64) -> Result<bool> {
        let mut write = self.write(Durability::Synced).await?;
        let revoked = sqlx::query(
            "UPDATE api_key SET revoked_at_ms = COALESCE(revoked_at_ms, $2) WHERE id = $1",
        )
        .bind(id)
        .bind(now_ms)
        .execute(write.connection())
        .await?;
        write.commit().await?;
        Ok(revoked.rows_affected() == 1)
    }
}

impl Write {
    /// Compares what is used under a name with a quota, before a job that is expected to take `bytes`.
    pub(super) async fn over_quota(
        &mut self,
        owner: &str,
        quota: &Quota,
        bytes: u64,
        now_ms: i64,
    ) -> Result<Option<OverQuota>> {
        let counted = [
            (QuotaKind::Queued, quota.max_queued, "queued"),
            (QuotaKind::Running, quota.max_running, "running"),
        ];
        for (what, limit, state) in counted {
            let Some(limit) = limit else { continue };
            let used: i64 =
                sqlx::query_scalar("SELECT COUNT(*) FROM job WHERE owner = $1 AND state = $2")
                    .bind(owner)
                    .bind(state)
                    .fetch_one(self.connection())
                    .await?;
            let used = unsigned(used);
            if used >= limit {
                return Ok(Some(OverQuota { what, limit, used, needed: 1, free_in_ms: None }));
            }
        }
        let Some(limit) = quota.max_bytes_per_day else { return Ok(None) };
        let row = sqlx::query(
            "SELECT COALESCE(SUM(bytes), 0) AS used, MIN(at_ms) AS first FROM usage \
             WHERE owner = $1 AND at_ms > $2",
        )
        .bind(owner)
        .bind(now_ms - DAY_MS)
        .fetch_one(self.connection())
        .await?;
        let used = unsigned(row.try_get("used")?);
        if used.saturating_add(bytes) <= limit {
            return Ok(None);
        }
        let first: Option<i64> = row.try_get("first")?;
        let free_in_ms = first.map(|first| unsigned(first + DAY_MS - now_ms));
        let what = QuotaKind::Bytes;
        Ok(Some(OverQuota { what, limit, used, needed: bytes, free_in_ms }))
    }

    /// Notes what a submission is expected to take, and forgets what is older than a day.
    pub(super) async fn use_up(&mut self, owner: &str, bytes: u64, now_ms: i64) -> Result<()> {
        sqlx::query("DELETE FROM usage WHERE at_ms <= $1")
            .bind(now_ms - DAY_MS)
            .execute(self.connection())
            .await?;
        sqlx::query("INSERT INTO usage (owner, at_ms, bytes) VALUES ($1, $2, $3)")
            .bind(owner)
            .bind(now_ms)
            .bind(signed(bytes))
            .execute(self.connection())
            .await?;
        Ok(())
    }
}

fn record(row: &SqliteRow) -> Result<KeyRecord> {
    let number = |name: &str| row.try_get::<Option<i64>, _>(name);
    Ok(KeyRecord {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        role: named::<Role>(&row.try_get::<String, _>("role")?)?,
        quota: Quota {
            max_queued: number("max_queued")?.map(unsigned),
            max_running: number("max_running")?.map(unsigned),
            max_bytes_per_day: number("max_bytes_per_day")?.map(unsigned),
        },
        created_at_ms: row.try_get("created_at_ms")?,
        revoked_at_ms: row.try_get("revoked_at_ms")?,
    })
}
