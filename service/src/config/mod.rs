//! Everything that can be configured: defaults < file < environment < flags.
//!
//! Every option is described in `configs/service.toml`, which holds the defaults; a test keeps both
//! equal.

mod defaults;
mod error;
mod load;
mod sections;
mod standard;
mod telemetry;
mod validate;

use serde::{Deserialize, Serialize};

pub use error::{ConfigError, Origin};
pub use load::{Overrides, load, to_toml};
pub use sections::{
    AccessConfig, DataConfig, EngineConfig, LimitsConfig, LogConfig, LogFormat, MemoryConfig,
    MetricsAccess, RetentionConfig, ServerConfig, VerificationConfig, WebhooksConfig, parse_listen,
};
pub use telemetry::{EndpointError, HeaderError, SecretHeader, TelemetryConfig};
pub(crate) use validate::MAX_PROVEN_BITS;

/// The configuration of `arbor serve`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The listener and what a request may take.
    pub server: ServerConfig,
    /// Who may ask, and how often.
    pub access: AccessConfig,
    /// Where everything is kept.
    pub data: DataConfig,
    /// Queue and workers.
    pub engine: EngineConfig,
    /// What a job may ask for.
    pub limits: LimitsConfig,
    /// Memory and prepared circuits.
    pub memory: MemoryConfig,
    /// When finished jobs are removed.
    pub retention: RetentionConfig,
    /// `POST /v1/verifications`.
    pub verification: VerificationConfig,
    /// News of jobs to those who want to know.
    pub webhooks: WebhooksConfig,
    /// Traces of jobs.
    pub telemetry: TelemetryConfig,
    /// Logs.
    pub log: LogConfig,
}
