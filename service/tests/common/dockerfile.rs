//! Reads a Dockerfile and a .dockerignore as far as this project uses them. What it does not know makes
//! the test fail: then either the file is to be made plainer, or this reader has to learn.

// Every test target compiles this module and uses a part of it.
#![allow(dead_code, missing_docs, unreachable_pub)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One instruction: its name in capitals, and what follows.
pub type Instruction = (String, String);

/// A stage: its base image, its name, and its instructions.
pub struct Stage {
    pub image: String,
    pub name: Option<String>,
    pub instructions: Vec<Instruction>,
}

pub struct Dockerfile {
    /// Values of the arguments before the first stage.
    pub args: BTreeMap<String, String>,
    pub stages: Vec<Stage>,
}

/// The folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the workspace")
}

pub fn read(name: &str) -> String {
    let path = root().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Dockerfile {
    pub fn read() -> Self {
        let mut file = Self { args: BTreeMap::new(), stages: Vec::new() };
        for (name, rest) in instructions(&read("Dockerfile")) {
            match (name.as_str(), file.stages.last_mut()) {
                ("FROM", _) => {
                    let words: Vec<_> = rest.split_whitespace().collect();
                    let name = match words.as_slice() {
                        [_] => None,
                        [_, "AS", name] => Some((*name).to_owned()),
                        other => panic!("FROM {other:?}"),
                    };
                    let image = substitute(words[0], &file.args);
                    file.stages.push(Stage { image, name, instructions: Vec::new() });
                }
                ("ARG", None) => file.args.extend([argument(&rest)]),
                (_, None) => panic!("{name} before the first FROM"),
                (_, Some(stage)) => stage.instructions.push((name, rest)),
            }
        }
        file
    }

    /// The stage that is shipped.
    pub fn last(&self) -> &Stage {
        self.stages.last().expect("a stage")
    }
}

impl Stage {
    /// What follows every instruction of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.instructions.iter().filter(move |(found, _)| found == name).map(|(_, rest)| &**rest)
    }

    /// What follows the one instruction of this name.
    #[track_caller]
    pub fn one<'a>(&'a self, name: &'a str) -> &'a str {
        let all: Vec<_> = self.all(name).collect();
        assert_eq!(all.len(), 1, "{name}: {all:?}");
        all[0]
    }

    /// The default values of its arguments, and its environment.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::new();
        for (name, rest) in &self.instructions {
            match name.as_str() {
                "ARG" => variables.extend([argument(rest)]),
                "ENV" => {
                    for (name, value) in pairs(rest) {
                        let value = substitute(&value, &variables);
                        variables.insert(name, value);
                    }
                }
                _ => {}
            }
        }
        variables
    }
}

/// Joins continued lines and leaves comments out.
fn instructions(text: &str) -> Vec<Instruction> {
    let mut all = Vec::new();
    let mut line = String::new();
    for part in text.lines().map(str::trim).filter(|part| !part.starts_with('#')) {
        match part.strip_suffix('\\') {
            Some(part) => line.push_str(part),
            None => {
                line.push_str(part);
                if let Some((name, rest)) = std::mem::take(&mut line).split_once(' ') {
                    all.push((name.to_uppercase(), rest.trim().to_owned()));
                }
            }
        }
    }
    assert!(line.is_empty(), "the last line is continued");
    all
}

fn argument(rest: &str) -> (String, String) {
    let (name, value) = rest.split_once('=').expect("every ARG has a default");
    (name.to_owned(), value.to_owned())
}

/// `NAME=value NAME="a value"`.
fn pairs(rest: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = rest.trim();
    while let Some((name, after)) = rest.split_once('=') {
        let (value, left) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').expect("a closing quote"),
            None => after.split_once(' ').unwrap_or((after, "")),
        };
        pairs.push((name.to_owned(), value.to_owned()));
        rest = left.trim();
    }
    assert!(rest.is_empty(), "{rest}");
    pairs
}

/// Puts values in the place of `${NAME}`.
pub fn substitute(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut text = text.to_owned();
    for (name, value) in variables {
        text = text.replace(&format!("${{{name}}}"), value);
    }
    assert!(!text.contains('$'), "{text}");
    text
}

/// The words of a JSON array of strings: the only form of commands that needs no shell in the image.
pub fn words(json: &str) -> Vec<String> {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

/// Files of the context, as the engine would be given them: relative to the workspace.
pub fn context() -> Vec<PathBuf> {
    let ignore = Ignore::read();
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).expect("a folder") {
            let entry = entry.expect("an entry");
            let path = folder.join(entry.file_name());
            if entry.file_type().expect("a type").is_dir() {
                // Nothing below an excluded folder is asked for by a longer pattern here.
                if !ignore.excludes(&path) {
                    folders.push(path);
                }
            } else if !ignore.excludes(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// `*`, then `!NAME` for what is let in, then `**/NAME` and `**/*.EXTENSION` for what is not after all.
struct Ignore {
    allowed: Vec<String>,
    names: Vec<String>,
    extensions: Vec<String>,
}

impl Ignore {
    fn read() -> Self {
        let text = read(".dockerignore");
        let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        assert_eq!(lines.next(), Some("*"), ".dockerignore begins by leaving everything out");
        let mut ignore = Self { allowed: Vec::new(), names: Vec::new(), extensions: Vec::new() };
        for line in lines {
            let plain = |name: &str| !name.contains(['*', '?', '[', '!', '/', ' ']);
            let (list, name) = if let Some(extension) = line.strip_prefix("**/*.") {
                (&mut ignore.extensions, extension)
            } else if let Some(name) = line.strip_prefix("**/") {
                (&mut ignore.names, name)
            } else if let Some(name) = line.strip_prefix('!') {
                (&mut ignore.allowed, name)
            } else {
                panic!(".dockerignore: {line}");
            };
            assert!(plain(name), ".dockerignore: {line}");
            list.push(name.to_owned());
        }
        for name in &ignore.allowed {
            assert!(root().join(name).exists(), ".dockerignore lets in {name}, which is not there");
        }
        ignore
    }

    fn excludes(&self, path: &Path) -> bool {
        let mut parts = path.components().map(|part| part.as_os_str().to_string_lossy());
        let first = parts.next().expect("a path");
        let name = |part: &str| self.names.iter().any(|name| name == part);
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        !self.allowed.iter().any(|allowed| *allowed == first)
            || name(&first)
            || parts.any(|part| name(&part))
            || self.extensions.iter().any(|known| *known == extension)
    }
}
