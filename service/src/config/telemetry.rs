//! Traces: where they go, and of how many jobs.

use std::fmt;

use reqwest::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::standard;
use super::validate::Check;
use super::{ConfigError, Origin};
use crate::outbound::{Target, TargetError};

/// The only protocol that is spoken.
const PROTOCOL: &str = "http/protobuf";
/// Where a collector takes traces, below the endpoint.
pub(super) const PATH: &str = "/v1/traces";
/// What stands for the value of a header where a configuration is shown.
const HIDDEN: &str = "<hidden>";
/// The longest time for one request, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 600_000;
/// Most headers, and most attributes.
const MAX_PAIRS: usize = 64;

/// Traces of jobs, over OTLP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetryConfig {
    /// URL of the collector; `/v1/traces` is appended unless it ends so. Empty: there are no traces.
    pub otlp_endpoint: String,
    /// `http/protobuf`, the only one there is.
    pub otlp_protocol: String,
    /// Headers of every request.
    pub otlp_headers: Vec<SecretHeader>,
    /// Time for one request, in milliseconds.
    pub otlp_timeout_ms: u64,
    /// `service.name` of the traces.
    pub service_name: String,
    /// Further attributes of the resource, as `name=value`.
    pub resource_attributes: Vec<String>,
    /// Of how many jobs there are traces: 0 none, 1 all.
    pub sample_ratio: f64,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            otlp_endpoint: String::new(),
            otlp_protocol: PROTOCOL.to_owned(),
            otlp_headers: Vec::new(),
            otlp_timeout_ms: 10_000,
            service_name: "arbor".to_owned(),
            resource_attributes: Vec::new(),
            sample_ratio: 1.0,
        }
    }
}

impl TelemetryConfig {
    /// Whether there are traces.
    #[must_use]
    pub const fn enabled(&self) -> bool {
        !self.otlp_endpoint.is_empty()
    }

    /// Where spans are sent.
    ///
    /// # Errors
    /// The endpoint is no URL of http or https, or has a user, a query or a fragment.
    pub fn target(&self) -> Result<Target, EndpointError> {
        let target = Target::parse(&self.otlp_endpoint)?;
        if self.otlp_endpoint.contains('?') {
            return Err(EndpointError::Query);
        }
        let base = self.otlp_endpoint.trim_end_matches('/');
        if target.path().trim_end_matches('/').ends_with(PATH) {
            return Ok(Target::parse(base)?);
        }
        Ok(Target::parse(&format!("{base}{PATH}"))?)
    }
}

/// Why spans cannot be sent to an endpoint. What was given is not repeated: it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EndpointError {
    /// No URL that can be asked.
    #[error("{}", match .0 {
        TargetError::Scheme => "not a URL of http or https, such as http://127.0.0.1:4318".to_owned(),
        TargetError::Malformed => "not a URL, such as http://127.0.0.1:4318".to_owned(),
        other => other.to_string(),
    })]
    Target(#[from] TargetError),
    /// It has a query.
    #[error(
        "a query cannot be given in it; what a collector asks for goes into telemetry.otlp_headers"
    )]
    Query,
}

/// A header whose value is a secret: it is neither printed nor logged.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretHeader {
    name: HeaderName,
    value: HeaderValue,
}

impl SecretHeader {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &HeaderName {
        &self.name
    }

    /// Its value, marked as sensitive.
    #[must_use]
    pub const fn reveal(&self) -> &HeaderValue {
        &self.value
    }
}

impl fmt::Debug for SecretHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={HIDDEN}", self.name)
    }
}

impl From<SecretHeader> for String {
    fn from(header: SecretHeader) -> Self {
        format!("{header:?}")
    }
}

/// Why a header is none. What was given is not repeated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// There is no name before an equals sign.
    #[error("a header is given as name=value")]
    Form,
    /// The value has characters that none can have.
    #[error("the value of header {0} has characters that no header can have")]
    Value(HeaderName),
    /// The value is what stands for it where a configuration is printed.
    #[error("the value of header {0} is hidden here: give the value itself")]
    Hidden(HeaderName),
    /// The header is set by what is sent.
    #[error("header {0} is set by the server itself")]
    Reserved(HeaderName),
}

impl TryFrom<String> for SecretHeader {
    type Error = HeaderError;

    fn try_from(text: String) -> Result<Self, HeaderError> {
        let (name, value) = text.split_once('=').ok_or(HeaderError::Form)?;
        let name: HeaderName = name.trim().parse().map_err(|_| HeaderError::Form)?;
        let value = value.trim();
        if value == HIDDEN {
            return Err(HeaderError::Hidden(name));
        }
        let reserved =
            ["host", "content-type", "content-length", "transfer-encoding", "connection"];
        if reserved.contains(&name.as_str()) {
            return Err(HeaderError::Reserved(name));
        }
        let value = HeaderValue::from_str(value);
        let mut value = value.map_err(|_| HeaderError::Value(name.clone()))?;
        value.set_sensitive(true);
        Ok(Self { name, value })
    }
}

/// Refuses what makes no sense. Where traces are off, the standard variables of the environment do not matter:
/// they may be meant for others.
pub(super) fn validate(telemetry: &TelemetryConfig, check: &Check<'_>) -> Result<(), ConfigError> {
    let matters = |option: &str| {
        let standard =
            matches!(check.origin(option), Origin::Environment(name) if standard::is(&name));
        telemetry.enabled() || !standard
    };
    let option = "telemetry.otlp_protocol";
    if telemetry.otlp_protocol != PROTOCOL && matters(option) {
        let reason = format!("\"{}\" is not spoken, only {PROTOCOL} is", telemetry.otlp_protocol);
        return Err(check.refuse(option, reason));
    }
    if telemetry.enabled() {
        let refused =
            |error: EndpointError| check.refuse("telemetry.otlp_endpoint", error.to_string());
        telemetry.target().map_err(refused)?;
    }
    let option = "telemetry.otlp_timeout_ms";
    if matters(option) {
        check.within(option, telemetry.otlp_timeout_ms, 1, MAX_TIMEOUT_MS)?;
    }
    let option = "telemetry.sample_ratio";
    if !(0.0..=1.0).contains(&telemetry.sample_ratio) && matters(option) {
        let reason = format!("{} is not within 0 to 1", telemetry.sample_ratio);
        return Err(check.refuse(option, reason));
    }
    if telemetry.service_name.trim().is_empty() {
        return Err(check.refuse("telemetry.service_name", "a name is needed".to_owned()));
    }
    let option = "telemetry.resource_attributes";
    let named =
        |pair: &String| pair.split_once('=').is_some_and(|(name, _)| !name.trim().is_empty());
    if !telemetry.resource_attributes.iter().all(named) && matters(option) {
        return Err(check.refuse(option, "an attribute is given as name=value".to_owned()));
    }
    check.within(
        "telemetry.otlp_headers",
        telemetry.otlp_headers.len() as u64,
        0,
        MAX_PAIRS as u64,
    )?;
    check.within(option, telemetry.resource_attributes.len() as u64, 0, MAX_PAIRS as u64)
}
