//! Whether there is room for one more job, decided where it is stored: of many that come at once none takes
//! the room of another.

use sqlx::Row;

use super::rows::unsigned;
use super::{Result, Write};

/// What there is room for.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Most jobs that may wait or run, one more included.
    pub jobs: u64,
    /// Bytes that jobs may write, those that were admitted included; none if nobody knows.
    pub disk_bytes: Option<u64>,
}

/// What there is no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// Too many jobs wait or run.
    Queue {
        /// How many.
        live: u64,
    },
    /// The disk is too small for what is still to be written.
    Disk {
        /// Bytes that may be written.
        free: u64,
        /// Of these, what jobs that wait or run are still expected to write.
        promised: u64,
        /// What one more is expected to write.
        needed: u64,
    },
}

impl Write {
    /// Says what is missing for one more job, which is expected to write `bytes`.
    pub(super) async fn no_room(&mut self, room: &Room, bytes: u64) -> Result<Option<NoRoom>> {
        // A sum of numbers this large has a fraction, and does not overflow.
        let row = sqlx::query(
            "SELECT COUNT(*) AS live, TOTAL(CASE WHEN nodes_total = 0 THEN disk_bytes ELSE \
             1.0 * disk_bytes * (nodes_total - nodes_done) / nodes_total END) AS promised \
             FROM job WHERE state IN ('queued', 'running', 'cancelling')",
        )
        .fetch_one(self.connection())
        .await?;
        let live = unsigned(row.try_get("live")?);
        if live >= room.jobs {
            return Ok(Some(NoRoom::Queue { live }));
        }
        let Some(free) = room.disk_bytes else { return Ok(None) };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let promised = row.try_get::<f64, _>("promised")?.ceil() as u64;
        if promised.saturating_add(bytes) <= free {
            return Ok(None);
        }
        Ok(Some(NoRoom::Disk { free, promised, needed: bytes }))
    }
}
