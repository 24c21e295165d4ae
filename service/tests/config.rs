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
fn a_variable_with_the_wrong_separator_is_not_ignored() {
    let error = from_environment("ARBOR_SERVER_LISTEN", "127.0.0.1:1").unwrap_err();
    assert!(error.contains("ARBOR_SERVER__LISTEN sets server.listen"), "{error}");
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
    ] {
        let error = from_file(text).unwrap_err();
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in {error}");
        }
    }
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
        matches!(value, Value::Integer(_) | Value::Boolean(_) | Value::String(_) | Value::Array(_))
    };
    for (section, options) in Table::try_from(Config::default()).unwrap() {
        for (option, value) in options.as_table().unwrap() {
            assert!(known(value), "{section}.{option}");
        }
    }
}
