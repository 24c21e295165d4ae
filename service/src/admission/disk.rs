//! Room on the disk.

use std::path::Path;

use crate::engine::EngineError;

/// When to come back if the disk is full: retention makes room, or somebody does.
const RETRY_AFTER_S: u64 = 60;

/// Refuses a job for whose proofs there is no room. Where the system does not say how much is free, nothing
/// is refused.
///
/// # Errors
/// [`EngineError::Busy`].
pub fn check(folder: &Path, min_free_bytes: u64, disk_bytes: u64) -> Result<(), EngineError> {
    let needed = min_free_bytes.saturating_add(disk_bytes);
    match fs4::available_space(folder) {
        Ok(free) if free < needed => {
            metrics::counter!("arbor_admission_refused_total", "reason" => "disk").increment(1);
            let reason = format!(
                "{} MiB of disk are free, {} MiB are needed",
                free >> 20,
                needed.div_ceil(1 << 20)
            );
            Err(EngineError::Busy { reason, retry_after_s: RETRY_AFTER_S, queue: false })
        }
        _ => Ok(()),
    }
}
