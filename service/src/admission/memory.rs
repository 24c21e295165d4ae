//! Room in memory.
//!
//! Counted in estimates: what the process takes anyway, and what the running nodes may come to, the circuits of
//! their jobs included.
//!
//! A submission is asked whether the job fits by itself: circuits that other jobs left behind do not count, because
//! they are given up for it. They count when a node starts: those that nobody needs are dropped until the rest fits
//! beside the node. Memory that the allocator holds on to serves the next proof, but not wherever it lies in
//! pieces: a node that might not fit beside it has it given back to the system first.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arbor_prover::estimate::PROCESS_BYTES;
use arbor_prover::{Cache, memory};
use tokio::sync::Notify;

use crate::engine::EngineError;

/// How long a node waits for memory that others than this process take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(500);
/// When to come back if the machine is short of memory.
const RETRY_AFTER_S: u64 = 30;

/// The memory of the process.
#[derive(Clone)]
pub struct Memory(Arc<Inner>);

struct Inner {
    limit: Option<u64>,
    cache: Arc<Cache>,
    reserved: Mutex<u64>,
    freed: Notify,
}

/// Memory for one node, until it is dropped.
pub struct Reservation {
    memory: Memory,
    bytes: u64,
}

impl Memory {
    /// Memory up to `limit_bytes`; 0 takes what the machine or the container has.
    #[must_use]
    pub fn new(limit_bytes: u64, cache: Arc<Cache>) -> Self {
        let limit = if limit_bytes == 0 { memory::limit_bytes() } else { Some(limit_bytes) };
        let (reserved, freed) = (Mutex::new(0), Notify::new());
        Self(Arc::new(Inner { limit, cache, reserved, freed }))
    }

    /// The limit, where one is known.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.0.limit
    }

    /// Refuses a job whose peak, what the process takes anyway included, would not fit if it ran alone.
    ///
    /// # Errors
    /// [`EngineError::TooLarge`] if it never does, [`EngineError::Busy`] if it does not now, because others
    /// use the memory.
    pub fn admit(&self, bytes: u64) -> Result<(), EngineError> {
        self.fits(bytes)?;
        match self.room() {
            Some(room) if bytes > room => {
                refused("memory");
                let (bytes, room) = (bytes.div_ceil(1 << 20), room >> 20);
                let reason = format!("the job needs {bytes} MiB of memory, {room} MiB are there");
                Err(EngineError::Busy { reason, retry_after_s: RETRY_AFTER_S, queue: false })
            }
            _ => Ok(()),
        }
    }

    /// Refuses what would never fit.
    ///
    /// # Errors
    /// [`EngineError::TooLarge`].
    pub fn fits(&self, bytes: u64) -> Result<(), EngineError> {
        match self.0.limit {
            Some(limit) if bytes > limit => {
                refused("size");
                let (got, limit) = (bytes.div_ceil(1 << 20), limit >> 20);
                Err(EngineError::TooLarge { what: "memory in MiB", got, limit })
            }
            _ => Ok(()),
        }
    }

    /// Reserves memory beside what the process takes anyway, without waiting.
    ///
    /// # Errors
    /// As [`Self::admit`]; busy too if running nodes have the memory.
    pub fn reserve_now(&self, bytes: u64) -> Result<Reservation, EngineError> {
        self.admit(PROCESS_BYTES.saturating_add(bytes))?;
        self.try_reserve(bytes).map_err(|reserved| {
            refused("memory");
            let (bytes, reserved) = (bytes.div_ceil(1 << 20), reserved >> 20);
            let reason =
                format!("{bytes} MiB of memory are needed, running proofs take {reserved}");
            EngineError::Busy { reason, retry_after_s: RETRY_AFTER_S, queue: false }
        })
    }

    /// The limit, if `bytes` do not fit into it beside what the process takes anyway.
    #[must_use]
    pub fn beyond(&self, bytes: u64) -> Option<u64> {
        self.0.limit.filter(|limit| PROCESS_BYTES.saturating_add(bytes) > *limit)
    }

    /// Waits until there is room for `bytes` beside what the process takes anyway: as long as other nodes run, and
    /// then a while more. Circuits are dropped from the cache where that helps. None if there is no room in the
    /// end.
    pub async fn reserve(&self, bytes: u64) -> Option<Reservation> {
        let mut alone_since: Option<Instant> = None;
        loop {
            let freed = self.0.freed.notified();
            match self.try_reserve(bytes) {
                Ok(reservation) => return Some(reservation),
                Err(0) => {
                    let since = *alone_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= PATIENCE || self.beyond(bytes).is_some() {
                        return None;
                    }
                }
                Err(_) => alone_since = None,
            }
            let _ = tokio::time::timeout(LOOK, freed).await;
        }
    }

    /// Reserves now, or gives what others have reserved.
    fn try_reserve(&self, bytes: u64) -> Result<Reservation, u64> {
        let mut reserved = self.0.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = self.room() {
            let needed = PROCESS_BYTES.saturating_add(*reserved).saturating_add(bytes);
            if needed > room {
                return Err(*reserved);
            }
            // What running nodes hold is in their reservations too, and is not dropped.
            self.0.cache.shrink_to(room - needed);
        }
        *reserved = reserved.saturating_add(bytes);
        Ok(Reservation { memory: self.clone(), bytes })
    }

    /// Whether what nobody needs any more must be let go for `bytes` more to fit: circuits, and memory that the
    /// allocator holds on to.
    #[must_use]
    pub fn is_tight(&self, bytes: u64) -> bool {
        let held = memory::resident_bytes().unwrap_or(0);
        self.room().is_some_and(|room| held.saturating_add(bytes) > room)
    }

    /// What the process may have in all right now: the limit, or what it has and the machine has left.
    fn room(&self) -> Option<u64> {
        let limit = self.0.limit?;
        match (memory::available_bytes(), memory::resident_bytes()) {
            (Some(free), Some(own)) => Some(limit.min(free + own)),
            _ => Some(limit),
        }
    }

    /// What the running nodes have reserved.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        *self.0.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(reason: &'static str) {
    metrics::counter!("arbor_admission_refused_total", "reason" => reason).increment(1);
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let inner = &self.memory.0;
        let mut reserved = inner.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        *reserved = reserved.saturating_sub(self.bytes);
        drop(reserved);
        inner.freed.notify_waiters();
    }
}
