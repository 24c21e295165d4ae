//! Verifies files that are sent in: on threads of its own, a bounded number at a time.

use std::sync::Arc;
use std::time::Duration;

use arbor_prover::estimate::derive_any_bytes;
use arbor_prover::security::Policy;
use arbor_prover::{
    Cache, Expected, Limits, ProofFile, Verified, VerifyFailure, VerifyOptions, verify_bytes,
};
use bytes::Bytes;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::admission::Reservation;
use crate::config::VerificationConfig;

/// Verifies files that are sent in.
#[derive(Debug)]
pub struct Verifier {
    places: Arc<Semaphore>,
    /// Bytes of files that may still come.
    room: Arc<Semaphore>,
    timeout: Duration,
    options: VerifyOptions,
    #[cfg(feature = "parallel")]
    pool: rayon::ThreadPool,
}

/// Bytes of memory for each byte of a file, while it is decoded: see [`Limits`].
const DECODED_BYTES: u64 = 50;

/// Files of the greatest length that there is memory for while they are sent.
const FILES_AT_A_TIME: usize = 16;

/// The right to verify one file.
#[derive(Debug)]
pub struct Place {
    _permit: OwnedSemaphorePermit,
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The file.
    pub file: Bytes,
    /// What it must say.
    pub expect: Option<Expected>,
    /// How secure it must be.
    pub policy: Policy,
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoVerdict {
    /// It takes too long. It goes on by itself and holds its place until it ends.
    #[error("the verification took more than {seconds} s")]
    Timeout {
        /// The limit.
        seconds: u64,
    },
    /// The thread is gone: an error of ours.
    #[error("the verification did not end")]
    Lost,
}

/// The verifier's threads could not be started.
#[derive(Debug, Error)]
#[error("verification.threads: {reason}")]
pub struct StartError {
    reason: String,
}

/// A verdict: what was proved, or why the file is not accepted.
pub type Outcome = Result<Verified, VerifyFailure>;

impl Verifier {
    /// Starts the threads.
    ///
    /// # Errors
    /// They cannot be started.
    pub fn new(config: &VerificationConfig) -> Result<Self, StartError> {
        Ok(Self {
            places: Arc::new(Semaphore::new(config.concurrent)),
            room: Arc::new(Semaphore::new(FILES_AT_A_TIME * config.max_bytes)),
            timeout: Duration::from_secs(config.timeout_s),
            options: VerifyOptions {
                limits: Limits { file_bytes: config.max_bytes, ..Limits::default() },
                expect: None,
                max_rows: Some(config.max_rows),
                max_leaves: Some(config.max_leaves),
                max_derive_bytes: Some(config.max_derive_bytes),
                policy: Policy { min_proven_bits: config.min_proven_bits },
            },
            #[cfg(feature = "parallel")]
            pool: rayon::ThreadPoolBuilder::new()
                .num_threads(config.threads)
                .thread_name(|i| format!("verify-{i}"))
                .build()
                .map_err(|error| StartError { reason: error.to_string() })?,
        })
    }

    /// A place, if one is free.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        Arc::clone(&self.places).try_acquire_owned().ok().map(|_permit| Place { _permit })
    }

    /// Room for bytes of a file that is being sent, if there is some.
    #[must_use]
    pub fn hold(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let bytes = u32::try_from(bytes).ok()?;
        Arc::clone(&self.room).try_acquire_many_owned(bytes).ok()
    }

    /// What is accepted unless somebody asks for more or for less.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        self.options.policy
    }

    /// Bytes of memory that verifying this file may take, circuits that are not prepared yet included.
    #[must_use]
    pub fn memory(&self, file: &[u8]) -> u64 {
        let decoded = (file.len() as u64).saturating_mul(DECODED_BYTES);
        // What is refused before anything is derived derives nothing.
        let derived = ProofFile::parse(file, &self.options.limits)
            .ok()
            .filter(|file| file.header.spec.validate().is_ok())
            .map_or(0, |file| derive_any_bytes(&file.header.spec));
        decoded.saturating_add(derived.min(self.options.max_derive_bytes.unwrap_or(u64::MAX)))
    }

    /// Verifies a file, and holds `memory` meanwhile. A caller that goes away does not stop it, nor free its place.
    ///
    /// # Errors
    /// No verdict within the time.
    pub async fn verify(
        &self,
        place: Place,
        question: Question,
        cache: Arc<Cache>,
        memory: Reservation,
    ) -> Result<Outcome, NoVerdict> {
        let Question { file, expect, policy } = question;
        let options = VerifyOptions { expect, policy, ..self.options.clone() };
        let (send, receive) = oneshot::channel();
        self.spawn(move || {
            let held = (place, memory);
            let outcome = verify_bytes(&file, &options, &cache);
            // Whoever has the answer may ask again at once.
            drop(held);
            // Nobody may be waiting any more.
            let _ = send.send(outcome);
        });
        match tokio::time::timeout(self.timeout, receive).await {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(_)) => Err(NoVerdict::Lost),
            Err(_) => Err(NoVerdict::Timeout { seconds: self.timeout.as_secs() }),
        }
    }

    /// Runs `work` away from the threads that answer requests. A panic ends the work alone.
    #[cfg(feature = "parallel")]
    fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        self.pool.spawn(move || {
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {
                tracing::error!("a verification panicked");
            }
        });
    }

    #[cfg(not(feature = "parallel"))]
    fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        drop(tokio::task::spawn_blocking(work));
    }
}
