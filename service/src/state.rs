//! What every route can reach.

use std::sync::{Arc, OnceLock};

use metrics_exporter_prometheus::PrometheusHandle;
use tokio_util::sync::CancellationToken;

use crate::access::{Limiter, folder_has_keys};
use crate::api::ProblemKind;
use crate::config::Config;
use crate::engine::Engine;
use crate::http::{ApiError, Caller};
use crate::streams::{NoPlace, Place, Streams};
use crate::verifier::Verifier;

/// When to come back if there is no place for a stream, in seconds.
const STREAMS_RETRY_S: u64 = 1;

/// What every route can reach. Cheap to clone.
#[derive(Clone)]
pub struct AppState {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    engine: OnceLock<Engine>,
    verifier: Verifier,
    metrics: PrometheusHandle,
    streams: Streams,
    limiter: Limiter,
    /// Whether the data folder had no keys when the process began.
    keyless: bool,
    shutdown: CancellationToken,
}

impl AppState {
    /// The state of a server whose engine starts later. When `shutdown` is cancelled, streams and waits end
    /// and `readyz` says no.
    #[must_use]
    pub fn new(
        config: Config,
        verifier: Verifier,
        metrics: PrometheusHandle,
        shutdown: CancellationToken,
    ) -> Self {
        let server = &config.server;
        let streams = Streams::new(server.max_streams, server.max_streams_per_name);
        let limiter = Limiter::new(config.access.requests_per_second, config.access.burst);
        let engine = OnceLock::new();
        let keyless = !folder_has_keys(&config.data.dir);
        let inner =
            Inner { config, engine, verifier, metrics, streams, limiter, keyless, shutdown };
        Self { inner: Arc::new(inner) }
    }

    /// The engine is there now. Only the first one counts.
    pub fn started(&self, engine: Engine) {
        let _ = self.inner.engine.set(engine);
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// The engine.
    ///
    /// # Errors
    /// [`ApiError`] (busy) while it starts.
    pub fn engine(&self) -> Result<&Engine, ApiError> {
        self.inner.engine.get().ok_or_else(|| ApiError::busy("the server is starting", 2))
    }

    /// What verifies uploaded files.
    #[must_use]
    pub fn verifier(&self) -> &Verifier {
        &self.inner.verifier
    }

    /// Renders the metrics.
    #[must_use]
    pub fn metrics(&self) -> &PrometheusHandle {
        &self.inner.metrics
    }

    /// Whether there were no keys when the process began. Once the engine is there, its records say what holds.
    #[must_use]
    pub fn began_without_keys(&self) -> bool {
        self.inner.keyless
    }

    /// Counts requests.
    #[must_use]
    pub fn limiter(&self) -> &Limiter {
        &self.inner.limiter
    }

    /// Cancelled when the server is to end.
    #[must_use]
    pub fn shutdown(&self) -> &CancellationToken {
        &self.inner.shutdown
    }

    /// A place for one event stream or long poll, given back when it is dropped.
    ///
    /// # Errors
    /// [`ApiError`]: busy if all are taken, limited if those of the caller's name are.
    pub fn stream(&self, caller: &Caller) -> Result<Place, ApiError> {
        self.inner.streams.place(caller.owner()).map_err(|taken| match taken {
            NoPlace::All(most) => ApiError::busy(
                format!("{most} event streams and long polls are open, no more are"),
                STREAMS_RETRY_S,
            ),
            NoPlace::Share(share) => ApiError::new(
                ProblemKind::RateLimited,
                format!("{share} event streams and long polls are open with keys of this name"),
            )
            .retry_after(STREAMS_RETRY_S),
        })
    }
}
