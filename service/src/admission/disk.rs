//! Room on the disk.

use std::path::Path;

/// Bytes that may still be written so that `min_free_bytes` stay free; none where the system does not say how
/// much is.
#[must_use]
pub fn spare(folder: &Path, min_free_bytes: u64) -> Option<u64> {
    let free = fs4::available_space(folder).ok()?;
    Some(free.saturating_sub(min_free_bytes))
}
