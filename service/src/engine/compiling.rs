//! What circuits are compiled for although nothing is proved: figures of security, and parameters that promise
//! some. One at a time, away from the threads that answer requests, and with its memory counted.

use std::sync::Arc;
use std::time::Duration;

use arbor_prover::estimate::derive_any_bytes;
use arbor_prover::tree::ProofSpec;
use serde_json::Value;

use super::{Engine, EngineError};
use crate::security::security_of;

/// How long somebody waits for the one before.
const PATIENCE: Duration = Duration::from_secs(15);
/// When to come back after that.
const RETRY_AFTER_S: u64 = 10;

impl Engine {
    /// The figures of a proof with these parameters.
    ///
    /// # Errors
    /// [`EngineError::Busy`] if others compile or there is no memory; parameters for which no circuit can be
    /// built.
    pub async fn security(&self, spec: ProofSpec) -> Result<Value, EngineError> {
        let bytes = derive_any_bytes(&spec);
        self.compiling(bytes, move || security_of(&spec)).await?
    }

    /// Does `work`, which compiles circuits of so many bytes. Once it is begun it goes on, and holds its place,
    /// whether somebody waits for it or not.
    pub(super) async fn compiling<T: Send + 'static>(
        &self,
        bytes: u64,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let inner = &self.inner;
        let place = Arc::clone(&inner.compiling).acquire_owned();
        let place = tokio::time::timeout(PATIENCE, place).await.map_err(|_| {
            let reason = "the circuits of other jobs are being compiled".to_owned();
            EngineError::Busy { reason, retry_after_s: RETRY_AFTER_S, queue: false }
        })?;
        let held = (place.map_err(|_| EngineError::Panicked)?, inner.memory.reserve_now(bytes)?);
        let done = tokio::task::spawn_blocking(move || {
            let _held = held;
            work()
        });
        done.await.map_err(|_| EngineError::Panicked)
    }
}
