//! What the README tells to paste is pasted.

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::server::Server;
use common::{arbor, assert_code, stderr, stdout};
use tempfile::TempDir;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The blocks of shell in the README.
fn blocks() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("README.md")).expect("the README");
    let mut blocks = Vec::new();
    let mut rest = text.as_str();
    while let Some((_, after)) = rest.split_once("\n```sh\n") {
        let (block, after) = after.split_once("\n```").expect("the end of a block");
        blocks.push(block.to_owned());
        rest = after;
    }
    blocks
}

/// The one block that contains `word`.
#[track_caller]
fn block(word: &str) -> String {
    let found: Vec<_> = blocks().into_iter().filter(|block| block.contains(word)).collect();
    assert_eq!(found.len(), 1, "{word} in {found:?}");
    found.into_iter().next().expect("one")
}

/// Runs a block in `folder` with the binary on the path, asking `server`.
fn paste(block: &str, folder: &Path, server: &Server) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_arbor")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("bash")
        .args(["-euo", "pipefail", "-c", block])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", binary.display()))
        .env("ARBOR_SERVER", server.url())
        .stdin(Stdio::null())
        .output()
        .expect("bash")
}

fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !found {
        println!("{tool} is not installed: nothing was run");
    }
    found
}

#[test]
fn a_job_by_curl() {
    if !has("curl") {
        return;
    }
    let server = Server::start();
    let folder = TempDir::new().expect("a temporary folder");
    let output = paste(&block("curl -sSfN"), folder.path(), &server);
    assert_code(&output, 0);
    let text = stdout(&output);
    for word in ["event: node-finished", "\"succeeded\"", "total", "valid"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
    assert_code(&arbor([Path::new("verify"), &folder.path().join("proof.arbor")]), 0);
}

#[test]
fn a_job_by_the_tool() {
    let server = Server::start();
    let folder = TempDir::new().expect("a temporary folder");
    let output = paste(&block("arbor submit keccak"), folder.path(), &server);
    assert_code(&output, 0);
    assert!(stdout(&output).contains("succeeded"), "{}", stdout(&output));
    assert_code(&arbor([Path::new("verify"), &folder.path().join("proof.arbor")]), 0);
}

#[test]
fn a_job_by_python() {
    if !has("python3") {
        return;
    }
    let line = block("examples/python/submit.py");
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(words[..2], ["python3", "examples/python/submit.py"], "{line}");
    let server = Server::start();
    let folder = TempDir::new().expect("a temporary folder");
    let run = |url: &str| {
        let mut python = Command::new("python3");
        python.arg(root().join("examples/python/submit.py")).args([url, "x.arbor"]);
        python.current_dir(folder.path()).output().expect("python3")
    };
    let output = run(&server.url());
    assert_code(&output, 0);
    let text = stdout(&output);
    assert_eq!(text.lines().filter(|line| line.contains(" ms ")).count(), 3, "{text}");
    assert_code(&arbor([Path::new("verify"), &folder.path().join("x.arbor")]), 0);
    assert_code(&run("http://127.0.0.1:1"), 1);
}

#[tokio::test]
async fn a_backup_of_a_running_server_and_what_is_restored_from_it() {
    if !has("sqlite3") {
        return;
    }
    let folder = TempDir::new().expect("a temporary folder");
    let mut server = Server::builder().data_dir(&folder.path().join("arbor-data")).start();
    let job = |layers: u32| {
        serde_json::json!({
            "base": {"program": "fibonacci", "n": 1000},
            "recursion": {"mode": "chain", "layers": layers},
        })
    };
    let done = server.prove(&job(1)).await;
    let done = done["id"].as_str().expect("an id");
    let proof = server.proof(done).await;
    let running = server.submit(&job(12)).await;
    assert_code(&paste(&block(".backup"), folder.path(), &server), 0);
    server.kill();

    let restored = Server::builder().data_dir(&folder.path().join("backup")).start();
    assert_eq!(restored.proof(done).await, proof);
    assert_eq!(restored.wait(&running).await["state"], "succeeded");
}

#[test]
fn the_readme_names_every_command() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("the README");
    let help = stdout(&arbor(["--help"]));
    let commands = help.split_once("Commands:").expect("commands").1;
    let mut named = 0;
    for line in commands.lines().take_while(|line| !line.starts_with("Options")) {
        // A long description goes on in a line that is indented further.
        let name = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '));
        let Some(name) = name.and_then(|rest| rest.split(' ').next()) else { continue };
        if name == "help" {
            continue;
        }
        named += 1;
        let mentioned = [format!("`{name} "), format!("`{name}`"), format!("arbor {name}")];
        assert!(mentioned.iter().any(|form| text.contains(form)), "{name} is not in the README");
    }
    assert!(named > 10, "{named}");
    assert!(stderr(&arbor(["nonsense"])).contains("unrecognized"));
}

#[tokio::test]
async fn the_readme_names_metrics_that_there_are() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("the README");
    let server = Server::start();
    let job = serde_json::json!({
        "base": {"program": "fibonacci", "n": 5}, "preset": "insecure-test",
        "recursion": {"mode": "chain", "layers": 1},
    });
    server.prove(&job).await;
    let metrics = server.get("/metrics").await.text().await.expect("text");
    let mut named = 0;
    for name in text.split('`').filter(|word| word.starts_with("arbor_")) {
        named += 1;
        assert!(metrics.contains(&format!("# TYPE {name} ")), "{name} is not in {metrics}");
    }
    assert!(named > 5, "{named}");
}

#[test]
fn the_readme_says_what_compose_does() {
    let compose = std::fs::read_to_string(root().join("compose.yaml")).expect("compose.yaml");
    let text = std::fs::read_to_string(root().join("README.md")).expect("the README");
    let grace = compose.lines().find_map(|line| line.trim().strip_prefix("stop_grace_period: "));
    let seconds = grace.expect("a grace period").trim_end_matches('s');
    assert!(text.contains(&format!("waits {seconds} s")));
}
