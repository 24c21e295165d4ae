//! What is open with a key ends soon after the key is revoked.

use std::time::{Duration, Instant};

use futures::StreamExt;
use reqwest::{Method, Response};
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

use crate::common;
use crate::common::server::Server;
use crate::common::{assert_code, stderr};
use crate::support::*;

/// Within this time after its key is revoked everything has ended that is open with it, as the README has it.
const BOUND: Duration = Duration::from_secs(5);

/// An event stream, of which something has come.
async fn follow(caller: &As<'_>, id: &str) -> impl StreamExt<Item = reqwest::Result<bytes::Bytes>> {
    let response = caller.get(&format!("/v1/jobs/{id}/events")).await;
    assert_eq!(response.status(), 200);
    let mut stream = Box::pin(response.bytes_stream());
    stream.next().await.unwrap().unwrap();
    stream
}

/// How long it takes until a stream ends, in order.
async fn end(mut stream: impl StreamExt<Item = reqwest::Result<bytes::Bytes>> + Unpin) -> Duration {
    let start = Instant::now();
    while let Some(chunk) = stream.next().await {
        chunk.unwrap();
        assert!(start.elapsed() < 4 * BOUND, "it goes on");
    }
    start.elapsed()
}

#[tokio::test]
async fn streams_and_waits_end_with_their_key_and_no_others() {
    let data = TempDir::new().unwrap();
    let server = server_with(&data).env("ARBOR_SERVER__KEEP_ALIVE_S", 1).start();
    let [lost, kept, admin] = [
        make(data.path(), "--name a --role submit"),
        make(data.path(), "--name a --role read"),
        make(data.path(), "--name ops --role admin"),
    ];
    let [lost_caller, kept_caller, admin] = [&lost, &kept, &admin].map(|key| as_key(&server, key));
    let blocker = submitted(&admin, &slow()).await;
    let id = submitted(&lost_caller, &quick()).await;
    let path = format!("/v1/jobs/{id}");
    let [open, other] = [follow(&lost_caller, &id).await, follow(&kept_caller, &id).await];
    let long_poll = |caller: &As<'_>| {
        let request = caller.request(Method::GET, &path).header("prefer", "wait=60");
        tokio::spawn(async move { (request.send().await.unwrap(), Instant::now()) })
    };
    let (poll, other_poll) = (long_poll(&lost_caller), long_poll(&kept_caller));
    let submission = lost_caller.request(Method::POST, "/v1/jobs").header("prefer", "wait=60");
    let submission = submission.json(&quick());
    let submission: tokio::task::JoinHandle<Response> =
        tokio::spawn(async move { submission.send().await.unwrap() });
    let mut watch = common::command(common::words(&format!("watch {id}")));
    watch.args(["--server", &server.url()]).env("ARBOR_API_KEY", &lost);
    let watch = tokio::task::spawn_blocking(move || watch.output().unwrap());
    // They are under way: they would end by themselves after a minute.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!poll.is_finished() && !submission.is_finished() && !watch.is_finished());

    let revoked = Instant::now();
    common::json(&revoke(data.path(), id_of(&lost)));
    assert!(end(open).await < BOUND);
    let (answer, at) = poll.await.unwrap();
    assert!(at.duration_since(revoked) < BOUND + Duration::from_secs(1));
    problem(answer, 401, "unauthorized").await;
    problem(submission.await.unwrap(), 401, "unauthorized").await;
    let watch = watch.await.unwrap();
    assert_code(&watch, 2);
    assert!(stderr(&watch).contains("revoked"), "{}", stderr(&watch));
    assert!(revoked.elapsed() < BOUND + Duration::from_secs(2), "{:?}", revoked.elapsed());
    assert!(server.metric("arbor_access_ended_total").await >= 4.0);

    // The other key of that name was looked after all the while, and is told the end.
    assert!(!other_poll.is_finished());
    assert_eq!(admin.send(Method::DELETE, &format!("/v1/jobs/{blocker}")).await.status(), 202);
    let text: Vec<_> = other.map(|chunk| chunk.unwrap()).collect::<Vec<_>>().await.concat();
    assert!(String::from_utf8(text).unwrap().contains("succeeded"));
    assert_eq!(other_poll.await.unwrap().0.status(), 200);
    // The submission was made all the same.
    let jobs: serde_json::Value = kept_caller.get("/v1/jobs").await.json().await.unwrap();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 2);
}

fn revoke(data: &std::path::Path, id: &str) -> std::process::Output {
    let line = format!("--json keys revoke {id} --data-dir {}", data.display());
    common::arbor(common::words(&line))
}

#[tokio::test]
async fn what_was_open_without_a_key_ends_when_one_is_needed() {
    let server = Server::start();
    let nobody = As { server: &server, key: None };
    submitted(&nobody, &slow()).await;
    let id = submitted(&nobody, &quick()).await;
    let open = follow(&nobody, &id).await;
    make(server.data_dir(), "--name first --role read");
    assert!(end(open).await < BOUND);
}

#[tokio::test]
async fn a_stream_ends_when_its_key_may_less_than_before() {
    let data = TempDir::new().unwrap();
    let server = server_with(&data).start();
    let [ops, other] =
        ["admin", "submit"].map(|role| make(data.path(), &format!("--name {role} --role {role}")));
    let (ops, other) = (as_key(&server, &ops), as_key(&server, &other));
    submitted(&other, &slow()).await;
    // Of another name: an admin sees it.
    let id = submitted(&other, &quick()).await;
    let (open, kept) = (follow(&ops, &id).await, follow(&other, &id).await);
    let records = format!("sqlite://{}/arbor.db", data.path().display());
    let mut records = SqliteConnection::connect(&records).await.unwrap();
    let lowered = sqlx::query("UPDATE api_key SET role = 'submit' WHERE role = 'admin'");
    assert_eq!(lowered.execute(&mut records).await.unwrap().rows_affected(), 1);
    assert!(end(open).await < BOUND);
    let kept = tokio::time::timeout(Duration::from_millis(500), end(kept)).await;
    assert!(kept.is_err(), "it goes on");
}
