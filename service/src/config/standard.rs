//! The variables of the environment that every exporter of OpenTelemetry knows, as options of `telemetry`.
//!
//! They go before the file and after `ARBOR_TELEMETRY__*`. Those of traces go before those of all signals. An
//! empty one is as if it were not there. One that asks for what there is not is refused as soon as traces are
//! on; as long as they are off it may be meant for others.
//!
//! Source: the OpenTelemetry specification, "Environment Variable Specification" and "OTLP Exporter
//! Configuration".

use std::borrow::Cow;
use std::collections::BTreeMap;

use toml::Value;

use super::telemetry::PATH;
use super::{ConfigError, Origin};

/// What the names of all of them begin with.
const PREFIX: &str = "OTEL_";
/// Those of exporters over OTLP.
const OTLP: &str = "OTEL_EXPORTER_OTLP_";
/// Signals that are not sent.
const OTHERS: [&str; 3] = ["METRICS_", "LOGS_", "PROFILES_"];

/// What the variables say.
#[derive(Debug, Default)]
pub(super) struct Standard {
    /// Options below `telemetry` with their values and the variables that set them, in order of precedence, the
    /// strongest last.
    pub(super) options: Vec<(&'static str, Value, String)>,
    /// The first variable that asks for what there is not.
    pub(super) unsupported: Option<ConfigError>,
}

/// Whether a variable is one of these.
pub(super) fn is(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Reads them.
///
/// # Errors
/// A value that cannot be read at all: a time that is no number, say.
pub(super) fn read<'a>(
    variables: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> Result<Standard, ConfigError> {
    let mut found = BTreeMap::new();
    let mut standard = Standard::default();
    for (name, value) in variables.filter(|(name, _)| is(name)) {
        match value.map(str::trim) {
            Some("") => {}
            Some(value) => {
                found.insert(name, value);
            }
            None => standard.refuse(name, "not UTF-8"),
        }
    }
    for (suffix, option) in
        [("ENDPOINT", "otlp_endpoint"), ("PROTOCOL", "otlp_protocol"), ("HEADERS", "otlp_headers")]
    {
        for (name, value) in of_traces(&found, suffix) {
            if suffix == "ENDPOINT" && name.contains("TRACES") && !value.ends_with(PATH) {
                standard.refuse(&name, "only an address that ends with /v1/traces can be used");
            }
            let value = match suffix {
                "HEADERS" => pairs(value),
                _ => Value::String(value.to_owned()),
            };
            standard.options.push((option, value, name));
        }
    }
    for (name, value) in of_traces(&found, "TIMEOUT") {
        match value.parse() {
            Ok(millis) => standard.options.push(("otlp_timeout_ms", Value::Integer(millis), name)),
            Err(_) => standard.refuse(&name, "not a number of milliseconds"),
        }
    }
    standard.of_all_signals(&found);
    standard.sampler(&found);
    standard.not_there(&found);
    standard.switched_off(&found);
    Ok(standard)
}

/// The variable of all signals, then that of traces.
fn of_traces<'a>(found: &BTreeMap<&str, &'a str>, suffix: &str) -> Vec<(String, &'a str)> {
    let names = [format!("{OTLP}{suffix}"), format!("{OTLP}TRACES_{suffix}")];
    names.into_iter().filter_map(|name| Some((name.clone(), *found.get(name.as_str())?))).collect()
}

impl Standard {
    fn refuse(&mut self, name: &str, reason: &str) {
        self.unsupported.get_or_insert_with(|| ConfigError::Refused {
            option: name.to_owned(),
            origin: Origin::Environment(name.to_owned()),
            reason: reason.to_owned(),
        });
    }

    fn of_all_signals(&mut self, found: &BTreeMap<&str, &str>) {
        if let Some(attributes) = found.get("OTEL_RESOURCE_ATTRIBUTES") {
            let name = "OTEL_RESOURCE_ATTRIBUTES".to_owned();
            self.options.push(("resource_attributes", pairs(attributes), name));
        }
        if let Some(service) = found.get("OTEL_SERVICE_NAME") {
            let value = Value::String((*service).to_owned());
            self.options.push(("service_name", value, "OTEL_SERVICE_NAME".to_owned()));
        }
    }

    /// The trace of a job has no parent, so that the samplers that ask one come to the same as the others.
    fn sampler(&mut self, found: &BTreeMap<&str, &str>) {
        let name = "OTEL_TRACES_SAMPLER";
        let Some(sampler) = found.get(name) else { return };
        let ratio = match sampler.strip_prefix("parentbased_").unwrap_or(sampler) {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => {
                let name = "OTEL_TRACES_SAMPLER_ARG";
                match found.get(name).map_or(Ok(1.0), |ratio| ratio.parse()) {
                    Ok(ratio) => ratio,
                    Err(_) => return self.refuse(name, "not a number from 0 to 1"),
                }
            }
            _ => {
                return self.refuse(
                    name,
                    "none of always_on, always_off, traceidratio and their \
                    parentbased_ forms",
                );
            }
        };
        self.options.push(("sample_ratio", Value::Float(ratio), name.to_owned()));
    }

    /// Options of exporters that this one has not.
    fn not_there(&mut self, found: &BTreeMap<&str, &str>) {
        let known = ["ENDPOINT", "PROTOCOL", "HEADERS", "TIMEOUT"];
        for (name, value) in found {
            let Some(option) = name.strip_prefix(OTLP) else { continue };
            if OTHERS.iter().any(|other| option.starts_with(other)) {
                continue;
            }
            let option = option.strip_prefix("TRACES_").unwrap_or(option);
            let none = option == "COMPRESSION" && *value == "none";
            if !known.contains(&option) && !none {
                self.refuse(name, "there is no such option");
            }
        }
    }

    fn switched_off(&mut self, found: &BTreeMap<&str, &str>) {
        let mut off = None;
        let name = "OTEL_TRACES_EXPORTER";
        match found.get(name).copied() {
            None | Some("otlp") => {}
            Some("none") => off = Some(name),
            Some(_) => self.refuse(name, "neither otlp nor none"),
        }
        let name = "OTEL_SDK_DISABLED";
        match found.get(name).map(|value| value.to_ascii_lowercase()).as_deref() {
            None | Some("false") => {}
            Some("true") => off = Some(name),
            Some(_) => self.refuse(name, "neither true nor false"),
        }
        if let Some(name) = off {
            self.options.push(("otlp_endpoint", Value::String(String::new()), name.to_owned()));
        }
    }
}

/// A list as `name=value,name=value`, where what is no letter or digit may be written as `%2C`.
fn pairs(text: &str) -> Value {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    Value::Array(items.map(|item| Value::String(decoded(item).into_owned())).collect())
}

/// `%XX` as the byte that it stands for. What is no such thing, or comes to no text, stays as it is.
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let pair = pair.and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(plain).map_or(Cow::Borrowed(text), Cow::Owned)
}
