//! Where the configuration of a server comes from, and what is refused.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use arbor_service::config::{Config, LogFormat, Overrides, load, to_toml};
use tempfile::TempDir;
use toml::{Table, Value};

/// The documented file of this repository.
const DOCUMENTED: &str = include_str!("../../configs/service.toml");

fn environment(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn file(folder: &TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("service.toml");
    std::fs::write(&path, text).unwrap();
    path
}

fn from_file(text: &str) -> Result<Config, String> {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, text);
    load(Some(&path), environment(&[]), &Overrides::default()).map_err(|error| error.to_string())
}

fn from_environment(name: &str, value: &str) -> Result<Config, String> {
    let variables = environment(&[(name, value)]);
    load(None, variables, &Overrides::default()).map_err(|error| error.to_string())
}

#[test]
fn the_documented_file_holds_the_default_of_every_option() {
    let documented: Table = DOCUMENTED.parse().unwrap();
    assert_eq!(documented, Table::try_from(Config::default()).unwrap());
    assert_eq!(from_file(DOCUMENTED).unwrap(), Config::default());
}

#[test]
fn every_option_is_described_where_it_is_set() {
    let lines: Vec<_> = DOCUMENTED.lines().collect();
    for (i, line) in lines.iter().enumerate() {
        let is_option = !line.starts_with('#') && !line.is_empty();
        assert!(!is_option || lines[i - 1].starts_with('#'), "{line} has no comment");
    }
}

#[test]
fn flags_go_before_the_environment_and_that_before_the_file() {
    let folder = TempDir::new().unwrap();
    let path = file(
        &folder,
        "[limits]\nmax_layers = 1\nmax_depth = 1\n[engine]\nthreads = 1\n[memory]\nwarm = [\"blowup8\"]\n",
    );
    let variables = environment(&[
        ("ARBOR_LIMITS__MAX_DEPTH", "2"),
        ("ARBOR_ENGINE__THREADS", "2"),
        ("ARBOR_MEMORY__WARM", "default, insecure-test"),
        ("ARBOR_LOG__FORMAT", "json"),
        ("ARBOR_SERVER__LISTEN", "[::1]:0"),
    ]);
    let flags = Overrides { threads: Some(3), ..Overrides::default() };
    let config = load(Some(&path), variables, &flags).unwrap();
    assert_eq!(config.limits.max_layers, 1);
    assert_eq!(config.limits.max_depth, 2);
    assert_eq!(config.engine.threads, 3);
    assert_eq!(config.memory.warm, ["default", "insecure-test"]);
    assert_eq!(config.log.format, LogFormat::Json);
    assert_eq!(config.server.listen.to_string(), "[::1]:0");
    assert_eq!(config.limits.max_leaves, Config::default().limits.max_leaves);
}

#[test]
fn what_is_printed_resolves_to_the_same() {
    let mut config = Config::default();
    config.memory.warm = vec!["default".to_owned()];
    config.engine.heartbeat_ms = 1_234;
    assert_eq!(from_file(&to_toml(&config).unwrap()).unwrap(), config);
}

#[test]
fn unknown_options_are_refused_with_name_and_origin() {
    let error = from_file("[server]\nlistn = \"127.0.0.1:1\"\n").unwrap_err();
    for part in ["server.listn", "service.toml", "listen"] {
        assert!(error.contains(part), "{error}");
    }
    let error = from_file("[sever]\nlisten = \"127.0.0.1:1\"\n").unwrap_err();
    assert!(error.contains("sever") && error.contains("server"), "{error}");
    let error = from_file("listen = \"127.0.0.1:1\"\n").unwrap_err();
    assert!(error.contains("no option listen"), "{error}");
    for name in ["ARBOR_SERVER__LISTN", "ARBOR_SEVER__LISTEN", "ARBOR_SERVER__LISTEN__PORT"] {
        let error = from_environment(name, "1").unwrap_err();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn a_variable_without_its_section_or_separator_is_not_ignored() {
    for name in ["ARBOR_SERVER_LISTEN", "ARBOR_LISTEN"] {
        let error = from_environment(name, "127.0.0.1:1").unwrap_err();
        assert!(error.contains("ARBOR_SERVER__LISTEN sets server.listen"), "{error}");
    }
    for other in
        ["ARBOR_SERVER", "ARBOR_RETAIN_MEMORY", "ARBOR_PORT_8080_TCP", "ARBOR_SERVICE_HOST"]
    {
        assert_eq!(from_environment(other, "0"), Ok(Config::default()), "{other}");
    }
}

#[test]
fn values_of_the_wrong_type_name_option_and_origin() {
    for (text, option) in [
        ("[server]\nmax_streams = \"many\"\n", "server.max_streams"),
        ("[server]\nmax_streams = -1\n", "server.max_streams"),
        ("[server]\nmax_streams = 1.5\n", "server.max_streams"),
        ("[server]\nlisten = \"nowhere\"\n", "server.listen"),
        ("[server]\nlisten = 8080\n", "server.listen"),
        ("[server]\nlisten = \"localhost:80\"\n", "expected IP:PORT"),
        ("[memory]\nwarm = \"default\"\n", "memory.warm"),
        ("[memory]\nwarm = [1]\n", "memory.warm"),
        ("[log]\nformat = \"xml\"\n", "log.format"),
    ] {
        let error = from_file(text).unwrap_err();
        assert!(error.contains(option) && error.contains("service.toml"), "{text}: {error}");
    }
    for (name, value, option) in [
        ("ARBOR_SERVER__MAX_STREAMS", "many", "server.max_streams"),
        ("ARBOR_SERVER__ALLOW_REMOTE", "yes", "server.allow_remote"),
        ("ARBOR_SERVER__LISTEN", "8080", "server.listen"),
    ] {
        let error = from_environment(name, value).unwrap_err();
        assert!(error.contains(option) && error.contains(name), "{error}");
    }
}

#[test]
fn values_out_of_bounds_name_option_origin_and_bounds() {
    for (text, parts) in [
        ("[limits]\nmax_layers = 65\n", ["limits.max_layers", "65", "0 to 64"]),
        ("[server]\nmax_header_bytes = 1\n", ["server.max_header_bytes", "1", "8192 to"]),
        ("[server]\nrequest_timeout_s = 0\n", ["server.request_timeout_s", "0", "1 to"]),
        ("[engine]\nconcurrent_nodes = 0\n", ["engine.concurrent_nodes", "0", "1 to"]),
        ("[memory]\nwarm = [\"fast\"]\n", ["memory.warm", "fast", "insecure-test"]),
        ("[log]\nfilter = \"a=b=c\"\n", ["log.filter", "a=b=c", "service.toml"]),
        ("[data]\ndir = \"\"\n", ["data.dir", "folder", "service.toml"]),
        (
            "[server]\nallowed_hosts = [\"http://x/\"]\n",
            ["server.allowed_hosts", "http://x/", "host"],
        ),
        ("[server]\nallowed_hosts = [\"x:80\"]\n", ["server.allowed_hosts", "x:80", "host"]),
    ] {
        let error = from_file(text).unwrap_err();
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in {error}");
        }
    }
}

#[test]
fn numbers_with_a_fraction_come_from_everywhere() {
    assert_eq!(from_file("[telemetry]\nsample_ratio = 1\n").unwrap().telemetry.sample_ratio, 1.0);
    assert_eq!(from_file("[telemetry]\nsample_ratio = 0.5\n").unwrap().telemetry.sample_ratio, 0.5);
    let name = "ARBOR_TELEMETRY__SAMPLE_RATIO";
    assert_eq!(from_environment(name, "0.25").unwrap().telemetry.sample_ratio, 0.25);
    for value in ["half", "1.5", "-0.1", "nan", "inf"] {
        let error = from_environment(name, value).unwrap_err();
        assert!(error.contains("telemetry.sample_ratio") && error.contains(name), "{error}");
    }
}

#[test]
fn the_usual_variables_of_traces_go_before_the_file_and_after_our_own() {
    let folder = TempDir::new().unwrap();
    let path = file(
        &folder,
        "[telemetry]\notlp_endpoint = \"http://file\"\nservice_name = \"file\"\notlp_timeout_ms = 7\n",
    );
    let variables = environment(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4318"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:4318/x/v1/traces"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%2Cb, x-tenant = t"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
        ("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "gzip"),
        ("OTEL_EXPORTER_OTLP_INSECURE", ""),
        ("OTEL_SERVICE_NAME", "usual"),
        ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", "0.125"),
        ("ARBOR_TELEMETRY__SERVICE_NAME", "own"),
    ]);
    let telemetry = load(Some(&path), variables, &Overrides::default()).unwrap().telemetry;
    assert_eq!(telemetry.otlp_endpoint, "http://traces:4318/x/v1/traces");
    assert_eq!(telemetry.target().unwrap().path(), "/x/v1/traces");
    assert_eq!((telemetry.otlp_timeout_ms, telemetry.sample_ratio), (250, 0.125));
    assert_eq!(telemetry.service_name, "own");
    let headers: Vec<_> = telemetry
        .otlp_headers
        .iter()
        .map(|header| (header.name().as_str(), header.reveal().to_str().unwrap()))
        .collect();
    assert_eq!(headers, [("api-key", "a,b"), ("x-tenant", "t")]);
    for (base, path) in [
        ("http://c", "/v1/traces"),
        ("http://c:4318/", "/v1/traces"),
        ("https://c/otlp", "/otlp/v1/traces"),
        ("https://c/otlp/v1/traces/", "/otlp/v1/traces"),
    ] {
        let flags = Overrides { otlp_endpoint: Some(base.to_owned()), ..Overrides::default() };
        let telemetry = load(None, environment(&[]), &flags).unwrap().telemetry;
        assert_eq!(telemetry.target().unwrap().path(), path, "{base}");
    }
}

#[test]
fn traces_that_cannot_be_sent_as_asked_are_refused_once_they_are_on() {
    for (name, value) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "/ca.pem"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:4318/traces"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
        ("OTEL_SDK_DISABLED", "perhaps"),
    ] {
        let on = [("ARBOR_TELEMETRY__OTLP_ENDPOINT", "http://c:4318"), (name, value)];
        let error = load(None, environment(&on), &Overrides::default()).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
        if !name.ends_with("ENDPOINT") {
            assert!(!from_environment(name, value).unwrap().telemetry.enabled(), "{name}");
        }
    }
    // What a file says is refused in any case.
    let error = from_file("[telemetry]\notlp_protocol = \"grpc\"\n").unwrap_err();
    assert!(
        error.contains("telemetry.otlp_protocol") && error.contains("http/protobuf"),
        "{error}"
    );
    for endpoint in
        ["c:4318", "grpc://c", "http://", "http://u:p4ss@c", "http://c#x", "http://c?k=p4ss"]
    {
        let error = from_environment("ARBOR_TELEMETRY__OTLP_ENDPOINT", endpoint).unwrap_err();
        assert!(error.contains("telemetry.otlp_endpoint") && !error.contains("p4ss"), "{error}");
    }
}

#[test]
fn secrets_are_not_repeated_by_what_refuses_them() {
    let secret = "c0ffee";
    for text in [
        format!("[telemetry]\notlp_headers = [\"{secret}\"]\n"),
        format!("[telemetry]\notlp_headers = [\"bad name={secret}\"]\n"),
        format!("[telemetry]\notlp_headers = [\"a={secret}\\u0007\"]\n"),
        format!("[telemetry]\notlp_headers = [\"host={secret}\"]\n"),
        format!("[telemetry]\notlp_headers = [\"a={secret}]\n"),
        format!("[telemetry]\notlp_headers = \"a={secret}\"\n"),
    ] {
        let error = from_file(&text).unwrap_err();
        assert!(!error.contains(secret), "{error}");
        assert!(error.contains("otlp_headers") || error.contains("line 2"), "{error}");
    }
    let mut config = from_file(&format!("[telemetry]\notlp_headers = [\"a={secret}\"]\n")).unwrap();
    let printed = to_toml(&config).unwrap();
    assert!(printed.contains("a=<hidden>") && !printed.contains(secret), "{printed}");
    assert!(!format!("{config:?}").contains(secret));
    // What is printed does not pass for a configuration whose secret it would be.
    let error = from_file(&printed).unwrap_err();
    assert!(error.contains("telemetry.otlp_headers") && error.contains("hidden"), "{error}");
    config.telemetry.otlp_headers.clear();
    assert_eq!(from_file(&to_toml(&config).unwrap()).unwrap(), config);
}

#[test]
fn an_address_that_others_reach_needs_a_word() {
    for address in ["0.0.0.0:0", "192.0.2.1:80", "[::]:0"] {
        let error = from_environment("ARBOR_SERVER__LISTEN", address).unwrap_err();
        assert!(error.contains("--allow-remote") && error.contains(address), "{error}");
        let variables = environment(&[
            ("ARBOR_SERVER__LISTEN", address),
            ("ARBOR_SERVER__ALLOW_REMOTE", "true"),
        ]);
        assert!(load(None, variables, &Overrides::default()).is_ok());
    }
    for address in ["127.0.0.1:0", "127.8.8.8:1", "[::1]:0"] {
        assert!(from_environment("ARBOR_SERVER__LISTEN", address).is_ok());
    }
}

#[test]
fn a_file_that_is_not_there_or_not_toml_is_refused() {
    let missing = load(Some(Path::new("/nowhere/x.toml")), environment(&[]), &Overrides::default());
    assert!(missing.unwrap_err().to_string().contains("/nowhere/x.toml"));
    let error = from_file("[server\n").unwrap_err();
    assert!(error.contains("service.toml") && error.contains("line 1"), "{error}");
    let error = from_file("[server]\nmax_wait_s = 1\nmax_wait_s = 2\n").unwrap_err();
    assert!(error.contains("duplicate key"), "{error}");
}

#[test]
fn every_value_type_in_the_table_can_come_from_the_environment() {
    // The loader turns text into the type of the default; a type it does not know would be refused as text.
    let known = |value: &Value| {
        use Value::{Array, Boolean, Float, Integer, String};
        matches!(value, Integer(_) | Float(_) | Boolean(_) | String(_) | Array(_))
    };
    for (section, options) in Table::try_from(Config::default()).unwrap() {
        for (option, value) in options.as_table().unwrap() {
            assert!(known(value), "{section}.{option}");
        }
    }
}
