//! The defaults, one by one. `configs/service.toml` says the same.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::{
    AccessConfig, DataConfig, EngineConfig, LimitsConfig, LogConfig, LogFormat, MemoryConfig,
    MetricsAccess, RetentionConfig, ServerConfig, VerificationConfig, WebhooksConfig,
};

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            allow_remote: false,
            allowed_hosts: Vec::new(),
            max_connections: 1_024,
            header_timeout_s: 15,
            max_header_bytes: 32 << 10,
            body_timeout_s: 30,
            write_timeout_s: 30,
            max_body_bytes: 1 << 20,
            request_timeout_s: 30,
            max_wait_s: 60,
            keep_alive_s: 15,
            max_streams: 256,
            max_streams_per_name: 64,
            shutdown_grace_s: 60,
        }
    }
}

impl Default for AccessConfig {
    fn default() -> Self {
        Self {
            requests_per_second: 50,
            burst: 200,
            cors_origins: Vec::new(),
            metrics: MetricsAccess::Local,
        }
    }
}

impl Default for DataConfig {
    fn default() -> Self {
        Self { dir: PathBuf::from("arbor-data"), min_free_bytes: 1 << 30 }
    }
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            threads: 0,
            concurrent_nodes: 1,
            heartbeat_ms: 5_000,
            missed_heartbeats: 4,
            max_attempts: 5,
            reconcile_s: 10,
        }
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            max_num_hashes: 100_000,
            max_n: 1 << 20,
            max_layers: 64,
            max_depth: 10,
            max_leaves: 1024,
            max_queued: 1_000,
            max_labels: 32,
            max_deadline_s: 7 * 24 * 3600,
        }
    }
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            limit_bytes: 0,
            cache_bytes: 2 << 30,
            idle_release_s: 0,
            warm: Vec::new(),
            touch_bytes: 0,
        }
    }
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self { finished_s: 7 * 24 * 3600, every_s: 600 }
    }
}

impl Default for VerificationConfig {
    fn default() -> Self {
        Self {
            max_bytes: 16 << 20,
            concurrent: 2,
            threads: 1,
            timeout_s: 30,
            max_rows: 1 << 20,
            max_leaves: 1024,
            max_derive_bytes: 4 << 30,
            min_proven_bits: arbor_prover::security::DEFAULT_MIN_PROVEN_BITS,
        }
    }
}

impl Default for WebhooksConfig {
    fn default() -> Self {
        Self {
            allow_http: false,
            allow_private: false,
            allow_addresses: Vec::new(),
            max_attempts: 12,
            first_delay_ms: 5_000,
            max_delay_s: 3_600,
            timeout_s: 10,
            concurrent: 8,
            concurrent_per_receiver: 2,
        }
    }
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: "info".to_owned() }
    }
}
