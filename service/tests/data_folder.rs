//! Data folders that cannot be used as they are: proofs that may not be written, and records of a later version.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::server::{Server, quick_chain};
use reqwest::StatusCode;
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

/// Longest time for what happens within seconds.
const LIMIT: Duration = Duration::from_secs(60);

fn chain(layers: usize) -> Value {
    quick_chain(&json!({"program": "fibonacci", "n": 30}), layers)
}

/// A server that permissions mean something to. To root they mean nothing: then it runs as somebody else, and where
/// that is not possible this fails.
#[cfg(unix)]
fn unprivileged() -> Server {
    use std::os::unix::fs::MetadataExt;
    /// Who has no rights.
    const NOBODY: u32 = 65_534;
    let own = TempDir::new().unwrap();
    let builder = Server::builder();
    if own.path().metadata().unwrap().uid() == 0 {
        builder.uid(NOBODY).start()
    } else {
        builder.start()
    }
}

/// Sets the permissions of a folder and of those in it.
#[cfg(unix)]
fn chmod(folder: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let set = |path: &Path| std::fs::set_permissions(path, PermissionsExt::from_mode(mode));
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            set(&path).unwrap();
        }
    }
    set(folder).unwrap();
}

/// Waits until the readiness of a server has this status, and gives what it says.
async fn readiness(server: &Server, status: StatusCode) -> Value {
    let start = Instant::now();
    loop {
        let response = server.get("/readyz").await;
        let found = response.status();
        let body: Value = response.json().await.unwrap();
        if found == status {
            return body;
        }
        assert!(start.elapsed() < LIMIT, "{found}: {body}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The proof of a job is there, and is the one that it names.
async fn assert_proved(server: &Server, job: &Value) {
    assert_eq!(job["state"], "succeeded", "{job}");
    let proof = server.proof(job["id"].as_str().unwrap()).await;
    assert_eq!(job["proof"]["hash"], blake3::hash(&proof).to_hex().as_str());
}

#[tokio::test]
#[cfg(unix)]
async fn proofs_that_may_not_be_written_stop_the_queue_and_lose_nothing() {
    let server = unprivileged();
    let first = server.prove(&chain(1)).await;
    let blobs = server.data_dir().join("blobs");
    chmod(&blobs, 0o555);
    let id = server.submit(&chain(2)).await;
    let reason = readiness(&server, StatusCode::SERVICE_UNAVAILABLE).await;
    assert!(reason["detail"].as_str().unwrap().contains("could not be stored"), "{reason}");
    let refused = server.post("/v1/jobs", &chain(1)).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=600).contains(&wait), "{wait}");
    let refused: Value = refused.json().await.unwrap();
    assert!(refused["detail"].as_str().unwrap().contains("cannot be stored"), "{refused}");
    // What is there is served.
    assert_proved(&server, &first).await;

    // The job waits for the store, or gives up.
    let start = Instant::now();
    let mut job = server.job(&id).await;
    while job["finished_at_ms"].is_null() && start.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        job = server.job(&id).await;
    }
    let failed = job["state"] == "failed";
    if failed {
        assert_eq!(job["error"]["class"], "storage", "{job}");
        assert_eq!(job["error"]["retryable"], true, "{job}");
    } else {
        assert!(["queued", "running"].contains(&job["state"].as_str().unwrap()), "{job}");
    }

    chmod(&blobs, 0o755);
    readiness(&server, StatusCode::OK).await;
    if failed {
        let retried = server.post(&format!("/v1/jobs/{id}/retry"), &json!({})).await;
        assert_eq!(retried.status(), StatusCode::ACCEPTED);
    }
    assert_proved(&server, &server.wait(&id).await).await;
    assert_proved(&server, &server.prove(&chain(1)).await).await;
}

/// What a later version would have added to the notes of what a file has, ours and the queue's, and how to take it
/// away again.
const LATER: [[&str; 2]; 2] = [
    [
        "INSERT INTO _arbor_migrations \
         (version, description, installed_on, success, checksum, execution_time) \
         SELECT version + 10000000000, 'later', installed_on, success, checksum, execution_time \
         FROM _arbor_migrations ORDER BY version DESC LIMIT 1",
        "DELETE FROM _arbor_migrations WHERE description = 'later'",
    ],
    [
        "INSERT INTO _sqlx_migrations \
         (version, description, installed_on, success, checksum, execution_time) \
         SELECT version + 10000000000, 'later', installed_on, success, checksum, execution_time \
         FROM _sqlx_migrations ORDER BY version DESC LIMIT 1",
        "DELETE FROM _sqlx_migrations WHERE description = 'later'",
    ],
];

/// Changes one row of the records of a folder that no server uses.
async fn change(folder: &Path, statement: &'static str) {
    let file = format!("sqlite://{}/arbor.db", folder.display());
    let mut records = SqliteConnection::connect(&file).await.unwrap();
    let done = sqlx::query(statement).execute(&mut records).await.unwrap();
    assert_eq!(done.rows_affected(), 1, "{statement}");
    records.close().await.unwrap();
}

#[tokio::test]
async fn records_of_a_newer_version_are_refused_and_left_as_they_are() {
    let folder = TempDir::new().unwrap();
    let mut server = Server::builder().data_dir(folder.path()).start();
    let job = server.prove(&chain(1)).await;
    assert_eq!(server.terminate(LIMIT).code(), Some(0), "{}", server.log());
    drop(server);
    for [add, remove] in LATER {
        change(folder.path(), add).await;
        let (status, log) = Server::builder().data_dir(folder.path()).fail();
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(log.contains("newer version") && log.contains("arbor.db"), "{log}");
        assert!(!log.contains("panicked"), "{log}");
        change(folder.path(), remove).await;
    }
    let server = Server::builder().data_dir(folder.path()).start();
    assert_proved(&server, &server.job(job["id"].as_str().unwrap()).await).await;
}
