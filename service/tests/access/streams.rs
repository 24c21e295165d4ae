//! Streams and waits, of which each name has a share.

use std::time::{Duration, Instant};

use reqwest::Method;
use tempfile::TempDir;

use crate::support::*;

#[tokio::test]
async fn a_name_has_its_share_of_streams_and_leaves_the_others_theirs() {
    let data = TempDir::new().unwrap();
    let server = server_with(&data).env("ARBOR_SERVER__MAX_STREAMS_PER_NAME", 2).start();
    let [first, second, admin] =
        ["--name a --role submit", "--name a --role read", "--name ops --role admin"]
            .map(|line| make(data.path(), line));
    let [first, second, admin] = [&first, &second, &admin].map(|key| as_key(&server, key));
    let id = submitted(&first, &slow()).await;
    let path = format!("/v1/jobs/{id}");
    let events = format!("{path}/events");

    // The share is the name's, whichever of its keys is used.
    let open = [first.get(&events).await, second.get(&events).await];
    assert!(open.iter().all(|stream| stream.status() == 200), "{open:?}");
    for caller in [&first, &second] {
        let long_poll = caller.request(Method::GET, &path).header("prefer", "wait=1");
        for refused in [caller.get(&events).await, long_poll.send().await.unwrap()] {
            assert!((1..=60).contains(&retry_after(&refused)));
            problem(refused, 429, "rate-limited").await;
        }
    }
    // What needs no place is answered: also a submission, which does not wait then.
    assert_eq!(second.get(&path).await.status(), 200);
    let submission = first.request(Method::POST, "/v1/jobs").header("prefer", "wait=20");
    let submission = submission.json(&quick()).send().await.unwrap();
    assert_eq!(submission.status(), 202);
    assert!(!submission.headers().contains_key("preference-applied"));

    let others = [admin.get(&events).await, admin.get(&events).await];
    assert!(others.iter().all(|stream| stream.status() == 200), "{others:?}");
    problem(admin.get(&events).await, 429, "rate-limited").await;

    // Who leaves makes room, for the own name.
    let [left, _kept] = open;
    drop(left);
    let start = Instant::now();
    while second.get(&events).await.status() != 200 {
        assert!(start.elapsed() < Duration::from_secs(20), "the place is still taken");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    problem(admin.get(&events).await, 429, "rate-limited").await;
}
