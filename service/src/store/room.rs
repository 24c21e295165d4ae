//! Whether there is room for one more job, decided where it is stored: of many that come at once none takes
//! the room of another.

use sqlx::Row;

use super::rows::unsigned;
use super::{Result, Write};

/// What a job is still expected to write, as SQL gives it: the share of the nodes that are not done, and everything
/// as long as there is no plan. A float, because neither the product nor a sum of them overflows.
macro_rules! bytes_left {
    () => {
        "(CASE WHEN nodes_total = 0 THEN 1.0 * disk_bytes \
         ELSE 1.0 * disk_bytes * MAX(nodes_total - nodes_done, 0) / nodes_total END)"
    };
}
pub(super) use bytes_left;

/// Bytes that SQL gave as a float, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
pub(super) fn whole(bytes: f64) -> u64 {
    bytes.ceil() as u64
}

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
        let row = sqlx::query(concat!(
            "SELECT COUNT(*) AS live, TOTAL(",
            bytes_left!(),
            ") AS promised FROM job WHERE state IN ('queued', 'running', 'cancelling')",
        ))
        .fetch_one(self.connection())
        .await?;
        let live = unsigned(row.try_get("live")?);
        if live >= room.jobs {
            return Ok(Some(NoRoom::Queue { live }));
        }
        let Some(free) = room.disk_bytes else { return Ok(None) };
        let promised = whole(row.try_get("promised")?);
        if promised.saturating_add(bytes) <= free {
            return Ok(None);
        }
        Ok(Some(NoRoom::Disk { free, promised, needed: bytes }))
    }
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection, SqliteConnection};

    use super::whole;

    #[tokio::test]
    async fn what_is_done_is_not_written_again() {
        let mut memory = SqliteConnection::connect("sqlite::memory:").await.expect("a database");
        for ((bytes, done, total), left) in [
            ((100, 0, 0), 100),
            ((100, 0, 4), 100),
            ((100, 3, 4), 25),
            ((100, 4, 4), 0),
            ((7, 9, 3), 0),
            ((i64::MAX, 0, 3), 1 << 63),
        ] {
            let found: f64 = sqlx::query_scalar(concat!(
                "SELECT ",
                bytes_left!(),
                " FROM (SELECT $1 AS disk_bytes, $2 AS nodes_done, $3 AS nodes_total)"
            ))
            .bind(bytes)
            .bind(done)
            .bind(total)
            .fetch_one(&mut memory)
            .await
            .expect("a number");
            assert_eq!(whole(found), left, "{done} of {total} nodes are done");
        }
    }
}
