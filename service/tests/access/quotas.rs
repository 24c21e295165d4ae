//! How much the jobs of a name may take.

use reqwest::Method;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::server::Server;
use crate::support::*;

#[tokio::test]
async fn quotas_are_per_name_and_say_when_to_come_back() {
    let data = TempDir::new().unwrap();
    let waiting = make(data.path(), "--name waiting --role submit --max-queued 2");
    let running = make(data.path(), "--name running --role submit --max-running 1");
    let server = server_with(&data).start();
    // One runs, so that those that come next wait.
    let running = as_key(&server, &running);
    let id = submitted(&running, &long()).await;
    until(&running, &id, "running").await;
    let refused = running.submit(&quick()).await;
    assert!((1..=600).contains(&retry_after(&refused)));
    let body = problem(refused, 429, "quota-reached").await;
    assert!(body["detail"].as_str().unwrap().contains("the quota is 1"), "{body}");

    // Also when many come at once.
    let waiting = as_key(&server, &waiting);
    let job = quick();
    let all = futures::future::join_all((0..10).map(|_| waiting.submit(&job))).await;
    let admitted = all.iter().filter(|response| response.status() == 202).count();
    assert_eq!(admitted, 2);
    assert!(all.iter().all(|response| [202, 429].contains(&response.status().as_u16())));
    // A second key of that name changes nothing, another name is free.
    let second = make(data.path(), "--name waiting --role submit --max-queued 2");
    problem(as_key(&server, &second).submit(&quick()).await, 429, "quota-reached").await;
    let free = make(data.path(), "--name free --role submit");
    assert_eq!(as_key(&server, &free).submit(&quick()).await.status(), 202);
}

#[tokio::test]
async fn bytes_of_a_day_are_not_given_back_by_removal() {
    let data = TempDir::new().unwrap();
    let server = server_with(&data).start();
    let plan: Value = server.post("/v1/jobs:validate", &quick()).await.json().await.unwrap();
    let bytes = plan["estimate"]["disk_bytes"].as_u64().unwrap();
    let quota = bytes * 5 / 2;
    let key = make(data.path(), &format!("--name a --role submit --max-bytes-per-day {quota}"));
    let caller = as_key(&server, &key);
    for _ in 0..2 {
        let job: Value = caller.submit(&quick()).await.json().await.unwrap();
        let id = job["id"].as_str().unwrap();
        wait(&caller, id).await;
        assert_eq!(caller.send(Method::DELETE, &format!("/v1/jobs/{id}")).await.status(), 204);
    }
    let refused = caller.submit(&quick()).await;
    let wait = retry_after(&refused);
    assert!((23 * 3600..=24 * 3600 + 1).contains(&wait), "{wait}");
    problem(refused, 429, "quota-reached").await;
}

/// Cancels a job that waits.
async fn cancel(caller: &As<'_>, id: &str) {
    assert_eq!(caller.send(Method::DELETE, &format!("/v1/jobs/{id}")).await.status(), 202);
    until(caller, id, "cancelled").await;
}

async fn retry(caller: &As<'_>, id: &str) -> reqwest::Response {
    caller.send(Method::POST, &format!("/v1/jobs/{id}/retry")).await
}

/// A retry that is refused because a quota is reached, and when it may be tried again.
async fn refused(caller: &As<'_>, id: &str, says: &str) -> u64 {
    let response = retry(caller, id).await;
    let wait = retry_after(&response);
    let body = problem(response, 429, "quota-reached").await;
    assert!(body["detail"].as_str().unwrap().contains(says), "{body}");
    wait
}

#[tokio::test]
async fn a_retry_is_held_to_the_quotas_like_a_submission() {
    let data = TempDir::new().unwrap();
    let server = server_with(&data).start();
    let plan: Value = server.post("/v1/jobs:validate", &quick()).await.json().await.unwrap();
    let bytes = plan["estimate"]["disk_bytes"].as_u64().unwrap() * 5 / 2;
    let [queued, running, bytes, admin] = [
        "--name queued --role submit --max-queued 1".to_owned(),
        "--name running --role submit --max-running 1".to_owned(),
        format!("--name bytes --role submit --max-bytes-per-day {bytes}"),
        "--name ops --role admin".to_owned(),
    ]
    .map(|line| make(data.path(), &line));
    let [queued, running, bytes, admin] =
        [&queued, &running, &bytes, &admin].map(|key| as_key(&server, key));
    let blocker = submitted(&admin, &slow()).await;
    until(&admin, &blocker, "running").await;

    // Of jobs that wait.
    let first = submitted(&queued, &quick()).await;
    cancel(&queued, &first).await;
    let second = submitted(&queued, &quick()).await;
    assert!((1..=600).contains(&refused(&queued, &first, "the quota is 1").await));
    cancel(&queued, &second).await;
    assert_eq!(retry(&queued, &first).await.status(), 202);
    // What was put back counts.
    problem(queued.submit(&quick()).await, 429, "quota-reached").await;

    // Of bytes: once submitted and once tried again, with nothing proved in between.
    let job = submitted(&bytes, &quick()).await;
    cancel(&bytes, &job).await;
    assert_eq!(retry(&bytes, &job).await.status(), 202);
    cancel(&bytes, &job).await;
    let wait = refused(&bytes, &job, "24 hours").await;
    assert!((23 * 3600..=24 * 3600 + 1).contains(&wait), "{wait}");
    problem(bytes.submit(&quick()).await, 429, "quota-reached").await;
    // Who asks with a key without quotas is not held to those of others.
    assert_eq!(retry(&admin, &job).await.status(), 202);

    // Of jobs that run.
    let job = submitted(&running, &quick()).await;
    cancel(&running, &job).await;
    let long = submitted(&running, &slow()).await;
    cancel(&admin, &blocker).await;
    until(&running, &long, "running").await;
    refused(&running, &job, "running jobs: 1, the quota is 1").await;
    cancel(&running, &long).await;
    assert_eq!(retry(&running, &job).await.status(), 202);
}

#[tokio::test]
async fn a_retry_needs_a_place_in_the_queue() {
    let server = Server::builder().env("ARBOR_LIMITS__MAX_QUEUED", 2).start();
    let nobody = As { server: &server, key: None };
    let blocker = submitted(&nobody, &slow()).await;
    let job = submitted(&nobody, &quick()).await;
    cancel(&nobody, &job).await;
    let other = submitted(&nobody, &quick()).await;
    let full = retry(&nobody, &job).await;
    assert!(retry_after(&full) > 0);
    problem(full, 429, "queue-full").await;
    cancel(&nobody, &other).await;
    assert_eq!(retry(&nobody, &job).await.status(), 202);
    cancel(&nobody, &blocker).await;
}
