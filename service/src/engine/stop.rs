//! How a node that is being proved is asked to stop.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;

/// Why a node is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Reason {
    /// Its job was cancelled.
    Cancelled = 1,
    /// Its job's deadline passed.
    Expired = 2,
    /// The server ends.
    Shutdown = 3,
}

/// A request to stop. The first one counts.
#[derive(Debug, Default)]
pub(super) struct Stop {
    reason: AtomicU8,
    asked: Notify,
}

impl Stop {
    pub(super) fn ask(&self, reason: Reason) {
        let first =
            self.reason.compare_exchange(0, reason as u8, Ordering::AcqRel, Ordering::Acquire);
        if first.is_ok() {
            self.asked.notify_waiters();
        }
    }

    pub(super) fn reason(&self) -> Option<Reason> {
        match self.reason.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Reason::Cancelled),
            2 => Some(Reason::Expired),
            _ => Some(Reason::Shutdown),
        }
    }

    /// Returns as soon as somebody has asked.
    pub(super) async fn asked(&self) -> Reason {
        loop {
            let asked = self.asked.notified();
            tokio::pin!(asked);
            // From here on no request is missed.
            asked.as_mut().enable();
            if let Some(reason) = self.reason() {
                return reason;
            }
            asked.await;
        }
    }
}
