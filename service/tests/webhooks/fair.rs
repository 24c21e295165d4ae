//! One receiver, or one key, does not hold up the others.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::arbor;
use crate::common::server::Server;
use crate::receiver::{Answer, Receiver};
use crate::{PATIENCE, deliveries, job};

/// A server that waits for receivers for so many seconds.
fn patient(timeout_s: u64, concurrent: u32, per_receiver: u32) -> crate::Builder {
    Server::builder()
        .env("ARBOR_WEBHOOKS__ALLOW_HTTP", true)
        .env("ARBOR_WEBHOOKS__ALLOW_ADDRESSES", "127.0.0.0/8")
        .env("ARBOR_WEBHOOKS__TIMEOUT_S", timeout_s)
        .env("ARBOR_WEBHOOKS__CONCURRENT", concurrent)
        .env("ARBOR_WEBHOOKS__CONCURRENT_PER_RECEIVER", per_receiver)
        .env("ARBOR_ACCESS__REQUESTS_PER_SECOND", 0)
}

async fn stalling(address: &str) -> Receiver {
    Receiver::start(address, vec![Answer::Stall; 1000]).await
}

async fn until(what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_receiver_that_stalls_takes_its_own_places_alone() {
    let stalling = stalling("127.0.0.2:0").await;
    let healthy = Receiver::start("127.0.0.1:0", vec![]).await;
    // Every attempt at the one that stalls lasts longer than this test.
    let server = patient(120, 4, 2).start();
    for _ in 0..8 {
        server.prove(&job(&json!({"url": stalling.url("/")}))).await;
    }
    until("two are under way", || stalling.messages().len() == 2).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let done = server.prove(&job(&json!({"url": healthy.url("/")}))).await;
        ids.push(done["id"].as_str().unwrap().to_owned());
    }
    healthy.wait_for(3).await;
    for id in ids {
        crate::ended(&server, &id).await;
        assert_eq!(deliveries(&server, &id).await[0]["attempts"], 1);
    }
    // The host is what counts, whatever its port.
    let second = Receiver::start("127.0.0.2:0", vec![]).await;
    let waiting = server.prove(&job(&json!({"url": second.url("/")}))).await;
    let done = server.prove(&job(&json!({"url": healthy.url("/")}))).await;
    crate::ended(&server, done["id"].as_str().unwrap()).await;
    let waiting = deliveries(&server, waiting["id"].as_str().unwrap()).await;
    assert_eq!((&waiting[0]["state"], &waiting[0]["attempts"]), (&json!("pending"), &json!(0)));
    assert_eq!((stalling.connections(), second.connections()), (2, 0));
    let metrics = server.get("/metrics").await.text().await.unwrap();
    assert!(metrics.contains("arbor_webhooks_pending 9\n"), "{metrics}");
}

fn make(data: &TempDir, name: &str) -> String {
    let folder = data.path().to_str().unwrap();
    let line =
        ["--json", "keys", "create", "--name", name, "--role", "submit", "--data-dir", folder];
    crate::common::json(&arbor(line))["key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_key_with_many_receivers_that_stall_leaves_a_place_to_others() {
    let data = TempDir::new().unwrap();
    let [many, one] = ["many", "one"].map(|name| make(&data, name));
    let timeout_s = 3;
    let server = patient(timeout_s, 2, 1).data_dir(data.path()).start();
    let submit = async |key: &str, url: String| -> String {
        let request = server.client().post(server.url() + "/v1/jobs").bearer_auth(key);
        let response = request.json(&job(&json!({"url": url}))).send().await.unwrap();
        let job: Value = response.json().await.unwrap();
        job["id"].as_str().unwrap().to_owned()
    };
    // Names of one machine would do as well: six hosts, of which each is asked for three seconds.
    let mut receivers = Vec::new();
    for host in 2..8 {
        receivers.push(stalling(&format!("127.0.0.{host}:0")).await);
    }
    for receiver in receivers.iter().cycle().take(18) {
        submit(&many, receiver.url("/")).await;
    }
    let under_way = || receivers.iter().map(Receiver::connections).sum::<usize>();
    until("all places are taken", || under_way() >= 2).await;
    let healthy = Receiver::start("127.0.0.1:0", vec![]).await;
    submit(&one, healthy.url("/")).await;
    // The jobs before it are proved in milliseconds; its message waits for one attempt at most.
    let start = Instant::now();
    healthy.wait_for(1).await;
    assert!(start.elapsed() < Duration::from_secs(2 * timeout_s + 3), "{:?}", start.elapsed());
    assert!(under_way() <= 8, "the others have had their turn: {}", under_way());
}
