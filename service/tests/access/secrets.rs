//! No key is written down, anywhere.

use serde_json::Value;
use tempfile::TempDir;

use crate::common;
use crate::common::server::http_client;
use crate::common::{assert_code, stdout};
use crate::support::*;

#[tokio::test]
async fn the_command_line_sends_its_key_and_no_log_has_it() {
    let data = TempDir::new().unwrap();
    let key = make(data.path(), "--name a --role submit");
    let wrong = make(data.path(), "--name b --role read");
    let server = server_with(&data).env("RUST_LOG", "trace").start();
    let url = server.url();
    let secrets = [&key, &wrong].map(|key| key.rsplit('_').next().unwrap());
    let run = |args: &str, key: Option<&str>| {
        let mut command = common::command(common::words(args));
        command.args(["--server", &url]).env("RUST_LOG", "trace").env_remove("ARBOR_API_KEY");
        if let Some(key) = key {
            command.env("ARBOR_API_KEY", key);
        }
        let output = command.output().unwrap();
        let printed = stdout(&output) + &common::stderr(&output);
        assert!(!secrets.iter().any(|secret| printed.contains(secret)));
        output
    };
    let submit = "--json submit fibonacci -n 5 --layers 0 --preset insecure-test";
    assert_code(&run("health", None), 0);
    assert_code(&run(submit, None), 2);
    assert_code(&run(submit, Some(&wrong)), 2);
    let submitted = run(submit, Some(&key));
    assert_code(&submitted, 0);
    let job: Value = serde_json::from_slice(&submitted.stdout).unwrap();
    let id = job["id"].as_str().unwrap().to_owned();
    assert_code(&run(&format!("watch {id}"), Some(&key)), 0);
    let out = data.path().join("proof");
    assert_code(&run(&format!("get {id} --out {}", out.display()), Some(&key)), 0);
    // Sent in every place where a key could be logged.
    let elsewhere = format!("{url}/v1/jobs?key={key}");
    let _ = http_client().get(elsewhere).bearer_auth(&key).send().await.unwrap();
    as_key(&server, &format!("{key}0")).get("/v1/jobs").await;

    let log = server.log();
    assert!(log.contains("TRACE") && log.contains(id_of(&key)), "the log is of use");
    for key in [&key, &wrong] {
        let secret = key.rsplit('_').next().unwrap();
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None);
    }
    // Neither has the data folder, where only a hash is.
    for entry in std::fs::read_dir(data.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let secret = key.rsplit('_').next().unwrap().as_bytes();
            assert!(!bytes.windows(secret.len()).any(|part| part == secret), "{}", path.display());
        }
    }
}
