//! Waits for a change of a job.

use std::time::Duration;

use tokio::time::Instant;

use super::ApiError;
use super::prefer::Wait;
use crate::model::{JobId, JobRecord};
use crate::state::AppState;

/// Pause after the engine let go of a job's changes: it is being removed, or has just ended.
const PAUSE: Duration = Duration::from_millis(100);

/// The job as soon as `enough`, or as it stands when the time is over or the server ends.
pub(super) async fn wait_for(
    state: &AppState,
    id: JobId,
    wait: Wait,
    enough: impl Fn(&JobRecord) -> bool,
) -> Result<JobRecord, ApiError> {
    let engine = state.engine()?;
    let deadline = Instant::now() + wait.duration();
    loop {
        // Asked for before the record is read: no change is missed.
        let mut changes = engine.changes(id);
        let record = engine.job(id).await?;
        if enough(&record) {
            return Ok(record);
        }
        tokio::select! {
            changed = changes.changed() => {
                if changed.is_err() {
                    tokio::time::sleep_until(deadline.min(Instant::now() + PAUSE)).await;
                }
            }
            () = tokio::time::sleep_until(deadline) => return Ok(record),
            () = state.shutdown().cancelled() => return Ok(record),
        }
        if Instant::now() >= deadline {
            return Ok(engine.job(id).await?);
        }
    }
}
