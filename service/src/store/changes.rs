//! Who waits for a change of which job.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use crate::model::JobId;

/// Watchers by job. A job that nobody watches takes no room.
#[derive(Default)]
pub(super) struct Changes(Mutex<HashMap<JobId, watch::Sender<i64>>>);

impl Changes {
    pub(super) fn subscribe(&self, job: JobId) -> watch::Receiver<i64> {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|_, sender| sender.receiver_count() > 0);
        watched.entry(job).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    pub(super) fn publish(&self, job: JobId, revision: i64) {
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = watched.get(&job) {
            sender.send_replace(revision);
        }
    }
}
