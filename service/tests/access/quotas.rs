//! How much the jobs of a name may take.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::*;

#[tokio::test]
async fn quotas_are_per_name_and_say_when_to_come_back() {
    let data = TempDir::new().unwrap();
    let waiting = make(data.path(), "--name waiting --role submit --max-queued 2");
    let running = make(data.path(), "--name running --role submit --max-running 1");
    let server = server_with(&data).start();
    // One runs, so that those that come next wait.
    let running = as_key(&server, &running);
    let job: Value = running.submit(&long()).await.json().await.unwrap();
    let id = job["id"].as_str().unwrap().to_owned();
    while running.get(&format!("/v1/jobs/{id}")).await.json::<Value>().await.unwrap()["state"]
        == "queued"
    {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
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
