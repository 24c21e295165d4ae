//! The names in MAP.md and the paths in ARCHITECTURE.md exist, and no constraint or phase is missing
//! from the map.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn map() -> String {
    fs::read_to_string(root().join("MAP.md")).expect("MAP.md is there")
}

/// What stands between backticks.
fn names(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// All files of Rust below `folder`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

fn text(files: &[PathBuf]) -> String {
    files.iter().map(|file| fs::read_to_string(file).expect("a source is UTF-8")).collect()
}

#[test]
fn every_path_exists() {
    let map = map();
    for path in names(&map).into_iter().filter(|name| name.ends_with(".rs")) {
        assert!(root().join(path).exists(), "{path}");
    }
}

#[test]
fn every_path_in_the_architecture_exists() {
    let workspace = root().join("..");
    let architecture = fs::read_to_string(workspace.join("ARCHITECTURE.md")).expect("it is there");
    let crates = ["circuits/", "prover/", "service/", "examples/", "configs/"];
    for path in names(&architecture) {
        if crates.iter().any(|folder| path.starts_with(folder)) {
            assert!(workspace.join(path).exists(), "{path}");
        }
    }
}

#[test]
fn every_function_and_type_exists() {
    let map = map();
    let sources = text(&sources(&root().join("src")));
    for name in names(&map) {
        if let Some(function) = name.strip_suffix("()") {
            let defined =
                ["(", "<"].iter().any(|end| sources.contains(&format!("fn {function}{end}")));
            assert!(defined, "{function}()");
        } else if name.starts_with(|first: char| first.is_ascii_uppercase()) {
            let kinds = ["struct", "enum", "const"];
            assert!(kinds.iter().any(|kind| sources.contains(&format!("{kind} {name}"))), "{name}");
        }
    }
}

#[test]
fn every_constraint_and_every_port_is_on_the_map() {
    let map = map();
    for table in ["arith", "hash"] {
        let files = ["air.rs", "permutation.rs"]
            .map(|file| root().join("src/tables").join(table).join(file));
        let existing: Vec<PathBuf> = files.into_iter().filter(|file| file.exists()).collect();
        for definition in text(&existing).split("fn ").skip(1) {
            let name = definition.split(['(', '<']).next().unwrap_or_default();
            if name.starts_with("constrain") || name.starts_with("interact") {
                assert!(map.contains(&format!("`{name}()`")), "{name}() of {table}");
            }
        }
    }
}

#[test]
fn every_phase_is_on_the_map() {
    let map = map();
    for folder in ["src/compiler", "src/filler"] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder of sources") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            if name.ends_with(".rs") && name != "tests.rs" {
                assert!(map.contains(&format!("`{folder}/{name}`")), "{folder}/{name}");
            }
        }
    }
}
