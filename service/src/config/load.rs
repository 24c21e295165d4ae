//! Puts the sources together.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

use super::error::Origin;
use super::{Config, ConfigError, LogFormat, standard, validate};

/// The file that is read if it is there and no other is named.
const DEFAULT_FILE: &str = "configs/service.toml";
/// What the names of options in the environment begin with.
const PREFIX: &str = "ARBOR_";
/// What separates section and option there.
const SEPARATOR: &str = "__";

/// Options that the command line sets; they go before every other source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `server.listen`.
    pub listen: Option<SocketAddr>,
    /// `server.allow_remote`, which a flag can only switch on.
    pub allow_remote: bool,
    /// `data.dir`.
    pub data_dir: Option<PathBuf>,
    /// `engine.threads`.
    pub threads: Option<usize>,
    /// `memory.warm`, if there is any.
    pub warm: Vec<String>,
    /// `memory.idle_release_s`.
    pub idle_release_s: Option<u64>,
    /// `telemetry.otlp_endpoint`.
    pub otlp_endpoint: Option<String>,
    /// `log.format`.
    pub log_format: Option<LogFormat>,
}

/// The configuration from defaults, file, environment and flags, validated.
///
/// Without `file` it is `configs/service.toml`, if there is one. Of the environment only names of the form
/// `ARBOR_SECTION__OPTION` are taken, and for traces those that begin with `OTEL_`.
///
/// # Errors
/// The first option that is refused, with its origin.
pub fn load(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    flags: &Overrides,
) -> Result<Config, ConfigError> {
    let mut merged = Merged::defaults()?;
    let default_file = Path::new(DEFAULT_FILE);
    match file {
        Some(path) => merged.file(path)?,
        None if default_file.is_file() => merged.file(default_file)?,
        None => {}
    }
    let variables: Vec<_> = environment.into_iter().collect();
    let unsupported = merged.standard(&variables)?;
    merged.environment(variables)?;
    let (mut config, mut origins) = merged.finish()?;
    apply(flags, &mut config, &mut origins);
    validate::validate(&config, &origins)?;
    match unsupported {
        Some(error) if config.telemetry.enabled() => Err(error),
        _ => Ok(config),
    }
}

/// The configuration as a file that says the same, but for secrets: something else stands for them, which no
/// configuration can have.
///
/// # Errors
/// The encoder's, of which there are none for this type.
pub fn to_toml(config: &Config) -> Result<String, toml::ser::Error> {
    toml::to_string(config)
}

/// Where each option was set, by `section.option`; what is missing has its default.
pub(super) type Origins = BTreeMap<String, Origin>;

/// Options under construction.
struct Merged {
    values: Table,
    origins: Origins,
}

impl Merged {
    fn defaults() -> Result<Self, ConfigError> {
        let values = Table::try_from(Config::default()).map_err(|error| ConfigError::Refused {
            option: "defaults".to_owned(),
            origin: Origin::Default,
            reason: error.to_string(),
        })?;
        Ok(Self { values, origins: Origins::new() })
    }

    fn file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let table: Table = text.parse().map_err(|source| syntax(path, &text, &source))?;
        let origin = Origin::File(path.to_owned());
        for (section, options) in table {
            let Value::Table(options) = options else {
                return Err(self.unknown(&section, origin));
            };
            if !self.values.contains_key(&section) {
                return Err(self.unknown(&section, origin));
            }
            for (option, value) in options {
                self.set(&section, &option, value, origin.clone())?;
            }
        }
        Ok(())
    }

    /// Takes the variables that every exporter of traces knows. Gives why not all of them can be followed.
    fn standard(
        &mut self,
        variables: &[(OsString, OsString)],
    ) -> Result<Option<ConfigError>, ConfigError> {
        let named =
            variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str())));
        let standard = standard::read(named)?;
        for (option, value, name) in standard.options {
            self.set("telemetry", option, value, Origin::Environment(name))?;
        }
        Ok(standard.unsupported)
    }

    fn environment(
        &mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(), ConfigError> {
        for (name, value) in variables {
            let Some(name) = name.to_str() else { continue };
            let Some(path) = name.strip_prefix(PREFIX) else { continue };
            let origin = Origin::Environment(name.to_owned());
            let lower = path.to_ascii_lowercase();
            let Some((section, option)) = lower.split_once(SEPARATOR) else {
                self.refuse_incomplete(&lower, origin)?;
                continue;
            };
            let refused = |reason: String| ConfigError::Refused {
                option: format!("{section}.{option}"),
                origin: origin.clone(),
                reason,
            };
            let Some(text) = value.to_str() else { return Err(refused("not UTF-8".to_owned())) };
            let Some(known) = self.known(section, option) else {
                return Err(self.unknown(&format!("{section}.{option}"), origin));
            };
            let value = parse_as(known, text).map_err(refused)?;
            self.set(section, option, value, origin.clone())?;
        }
        Ok(())
    }

    /// `ARBOR_SERVER_LISTEN` and `ARBOR_LISTEN` would be ignored without a word; other names are other programs'.
    fn refuse_incomplete(&self, lower: &str, origin: Origin) -> Result<(), ConfigError> {
        let meant = self.values.iter().find_map(|(section, options)| {
            let after = |section: &str| lower.strip_prefix(section)?.strip_prefix('_');
            let option = after(section).unwrap_or(lower);
            options.as_table()?.contains_key(option).then(|| (section.clone(), option.to_owned()))
        });
        let Some((section, option)) = meant else { return Ok(()) };
        Err(ConfigError::Unknown {
            hint: format!(
                "; {PREFIX}{}{SEPARATOR}{} sets {section}.{option}",
                section.to_ascii_uppercase(),
                option.to_ascii_uppercase()
            ),
            option: lower.to_owned(),
            origin,
        })
    }

    /// The present value of an option, if there is such an option.
    fn known(&self, section: &str, option: &str) -> Option<&Value> {
        self.values.get(section)?.as_table()?.get(option)
    }

    fn unknown(&self, option: &str, origin: Origin) -> ConfigError {
        let section = option.split('.').next().unwrap_or_default();
        let names = |table: &Table| table.keys().cloned().collect::<Vec<_>>().join(", ");
        let hint = match self.values.get(section).and_then(Value::as_table) {
            Some(options) => format!("; section {section} has {}", names(options)),
            None => format!("; sections are {}", names(&self.values)),
        };
        ConfigError::Unknown { option: option.to_owned(), origin, hint }
    }

    fn set(
        &mut self,
        section: &str,
        option: &str,
        value: Value,
        origin: Origin,
    ) -> Result<(), ConfigError> {
        let path = format!("{section}.{option}");
        let Some(known) = self.known(section, option) else {
            return Err(self.unknown(&path, origin));
        };
        let value = match (known, value) {
            (Value::Float(_), Value::Integer(whole)) => Value::Float(whole as f64),
            (_, value) => value,
        };
        if !known.same_type(&value) {
            let reason = format!("expected {}, got {}", known.type_str(), value.type_str());
            return Err(ConfigError::Refused { option: path, origin, reason });
        }
        if let Some(Value::Table(options)) = self.values.get_mut(section) {
            options.insert(option.to_owned(), value);
        }
        self.origins.insert(path, origin);
        Ok(())
    }

    fn finish(self) -> Result<(Config, Origins), ConfigError> {
        let Self { values, origins } = self;
        let mut track = serde_path_to_error::Track::new();
        let tracked = serde_path_to_error::Deserializer::new(Value::Table(values), &mut track);
        match Config::deserialize(tracked) {
            Ok(config) => Ok((config, origins)),
            Err(error) => {
                let path = track.path().to_string();
                let option = path.split('[').next().unwrap_or(&path).to_owned();
                let origin = origins.get(&option).cloned().unwrap_or_default();
                let reason = error.message().trim().to_owned();
                Err(ConfigError::Refused { option, origin, reason })
            }
        }
    }
}

/// Says where a file is no TOML, without what stands there: it may be a secret.
fn syntax(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    ConfigError::Syntax {
        path: path.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before.chars().rev().take_while(|&c| c != '\n').count() + 1,
        reason: error.message().replace('\n', ", "),
    }
}

/// Reads a variable as the type that the option has.
fn parse_as(known: &Value, text: &str) -> Result<Value, String> {
    match known {
        Value::Integer(_) => text
            .replace('_', "")
            .parse()
            .map(Value::Integer)
            .map_err(|_| format!("\"{text}\" is not an integer")),
        Value::Float(_) => {
            text.parse().map(Value::Float).map_err(|_| format!("\"{text}\" is not a number"))
        }
        Value::Boolean(_) => text
            .parse()
            .map(Value::Boolean)
            .map_err(|_| format!("\"{text}\" is neither true nor false")),
        Value::Array(_) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Ok(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
        _ => Ok(Value::String(text.to_owned())),
    }
}

fn apply(flags: &Overrides, config: &mut Config, origins: &mut Origins) {
    let mut set = |option: &str| origins.insert(option.to_owned(), Origin::Flag);
    if let Some(listen) = flags.listen {
        config.server.listen = listen;
        set("server.listen");
    }
    if flags.allow_remote {
        config.server.allow_remote = true;
        set("server.allow_remote");
    }
    if let Some(dir) = &flags.data_dir {
        config.data.dir.clone_from(dir);
        set("data.dir");
    }
    if let Some(threads) = flags.threads {
        config.engine.threads = threads;
        set("engine.threads");
    }
    if !flags.warm.is_empty() {
        config.memory.warm.clone_from(&flags.warm);
        set("memory.warm");
    }
    if let Some(seconds) = flags.idle_release_s {
        config.memory.idle_release_s = seconds;
        set("memory.idle_release_s");
    }
    if let Some(endpoint) = &flags.otlp_endpoint {
        config.telemetry.otlp_endpoint.clone_from(endpoint);
        set("telemetry.otlp_endpoint");
    }
    if let Some(format) = flags.log_format {
        config.log.format = format;
        set("log.format");
    }
}
