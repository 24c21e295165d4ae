//! Webhooks, from a spawned server to receivers on this machine that take messages, fail, stall and redirect.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod fair;
mod receiver;
mod secrets;

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::arbor;
use common::server::{Builder, Server};
use hmac::{Hmac, KeyInit, Mac};
use receiver::{Answer, Message, Receiver};
use reqwest::StatusCode;
use serde_json::{Value, json};
use sha2::Sha256;

/// Longest time for a message to arrive, or to be given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that sends to one address of this machine, and does not wait long.
fn server() -> Builder {
    Server::builder()
        .env("ARBOR_WEBHOOKS__ALLOW_HTTP", true)
        .env("ARBOR_WEBHOOKS__ALLOW_ADDRESSES", "127.0.0.1/32")
        .env("ARBOR_WEBHOOKS__FIRST_DELAY_MS", 20)
        .env("ARBOR_WEBHOOKS__MAX_DELAY_S", 1)
        .env("ARBOR_WEBHOOKS__TIMEOUT_S", 1)
        .env("ARBOR_WEBHOOKS__MAX_ATTEMPTS", 4)
}

fn job(webhook: &Value) -> Value {
    json!({
        "base": {"program": "fibonacci", "n": 5},
        "recursion": {"mode": "chain", "layers": 0},
        "preset": "insecure-test",
        "webhook": webhook,
    })
}

async fn deliveries(server: &Server, id: &str) -> Vec<Value> {
    let list = server.get_json(&format!("/v1/jobs/{id}/webhooks")).await;
    list["deliveries"].as_array().unwrap().clone()
}

/// Waits until the only message of a job is as it should be.
async fn settled(server: &Server, id: &str, is: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let all = deliveries(server, id).await;
        if let [one] = &all[..]
            && is(one)
        {
            return one.clone();
        }
        assert!(Instant::now() < deadline, "{all:?}\n{}", server.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn ended(server: &Server, id: &str) -> Value {
    settled(server, id, |one| one["state"] != "pending").await
}

/// Checks a message as a receiver would, with the secret as the command line shows it.
fn verify(server: &Server, name: &[&str], message: &Message) -> bool {
    let data = server.data_dir().to_str().unwrap();
    let words = ["--json", "keys", "webhook-secret"].into_iter().chain(name.iter().copied());
    let shown = common::json(&arbor(words.chain(["--data-dir", data])));
    let secret = shown["secret"].as_str().unwrap().strip_prefix("whsec_").unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(secret).unwrap()).unwrap();
    mac.update(format!("{}.{}.", message.id, message.timestamp).as_bytes());
    mac.update(&message.body);
    let signature = message.signature.strip_prefix("v1,").unwrap();
    mac.verify_slice(&STANDARD.decode(signature).unwrap()).is_ok()
}

#[tokio::test]
async fn the_end_of_a_job_is_told_once_and_signed() {
    let receiver = Receiver::start("127.0.0.1:0", vec![]).await;
    let server = server().start();
    let done = server.prove(&job(&json!({"url": receiver.url("/hook?a=b")}))).await;
    let id = done["id"].as_str().unwrap();
    assert_eq!(done["job"]["webhook"], json!({"url": receiver.url("/hook?a=b"), "events": "end"}));
    let delivery = ended(&server, id).await;
    assert_eq!((&delivery["state"], &delivery["attempts"]), (&json!("delivered"), &json!(1)));
    assert_eq!((&delivery["last_status"], &delivery["last_error"]), (&json!(200), &json!(null)));

    let messages = receiver.messages();
    assert_eq!(messages.len(), 1, "{messages:?}");
    let message = &messages[0];
    assert_eq!(message.path, "/hook?a=b");
    assert_eq!(delivery["id"], message.id);
    let body: Value = serde_json::from_slice(&message.body).unwrap();
    assert_eq!(body["type"], "job.succeeded");
    assert_eq!(body["at_ms"], done["finished_at_ms"]);
    assert_eq!(body["data"]["id"], id);
    assert_eq!(body["data"]["proof"], done["proof"]);
    assert_eq!(body["data"]["error"], json!(null));
    assert!(verify(&server, &[], message));
    let now_s = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let sent_s: u64 = message.timestamp.parse().unwrap();
    assert!(now_s.abs_diff(sent_s) < 120, "{now_s} {sent_s}");
    // What is changed is seen, and another secret signs otherwise.
    let changed = Message { timestamp: (sent_s + 1).to_string(), ..message.clone() };
    assert!(!verify(&server, &[], &changed));
    let data = server.data_dir().to_str().unwrap();
    let key = ["keys", "create", "--name", "somebody", "--role", "read", "--data-dir", data];
    common::assert_code(&arbor(key), 0);
    assert!(!verify(&server, &["somebody"], message));
    assert!(!verify(&server, &["--rotate"], message));
}

#[tokio::test]
async fn every_change_is_told_where_it_is_asked_for() {
    let receiver = Receiver::start("127.0.0.1:0", vec![]).await;
    let server = server().start();
    let webhook = json!({"url": receiver.url("/"), "events": "state"});
    let id = server.prove(&job(&webhook)).await["id"].as_str().unwrap().to_owned();
    receiver.wait_for(2).await;
    let mut told: Vec<(i64, String)> = receiver
        .messages()
        .iter()
        .map(|message| {
            let body: Value = serde_json::from_slice(&message.body).unwrap();
            let state = body["data"]["state"].as_str().unwrap().to_owned();
            (body["data"]["event"].as_i64().unwrap(), state)
        })
        .collect();
    told.sort();
    let states: Vec<&str> = told.iter().map(|(_, state)| state.as_str()).collect();
    assert_eq!(states, ["running", "succeeded"]);
    assert_eq!(deliveries(&server, &id).await.len(), 2);
}

#[tokio::test]
async fn a_receiver_that_fails_and_stalls_gets_the_same_message_again() {
    let answers = vec![Answer::Status(500), Answer::Stall, Answer::Status(429)];
    let receiver = Receiver::start("127.0.0.1:0", answers).await;
    let server = server().start();
    let done = server.prove(&job(&json!({"url": receiver.url("/")}))).await;
    let id = done["id"].as_str().unwrap();
    let after_first = settled(&server, id, |one| one["attempts"] != 0).await;
    assert!(after_first["last_error"].as_str().unwrap().contains("500"), "{after_first}");
    let delivery = ended(&server, id).await;
    assert_eq!((&delivery["state"], &delivery["attempts"]), (&json!("delivered"), &json!(4)));
    let messages = receiver.messages();
    assert_eq!(messages.len(), 4);
    assert!(messages.iter().all(|message| message.id == messages[0].id));
    assert!(messages.iter().all(|message| message.body == messages[0].body));
    assert!(messages.iter().all(|message| verify(&server, &[], message)));
    // The job was done all the while.
    assert_eq!(done["state"], "succeeded");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let inner = Receiver::start("127.0.0.2:0", vec![]).await;
    let answers = [301, 302, 307, 308].map(|status| Answer::Redirect(status, inner.url("/secret")));
    let receiver = Receiver::start("127.0.0.1:0", answers.to_vec()).await;
    let server = server().start();
    let done = server.prove(&job(&json!({"url": receiver.url("/")}))).await;
    let delivery = ended(&server, done["id"].as_str().unwrap()).await;
    assert_eq!((&delivery["state"], &delivery["attempts"]), (&json!("abandoned"), &json!(4)));
    assert!(delivery["last_error"].as_str().unwrap().contains("redirects"), "{delivery}");
    assert_eq!(receiver.messages().len(), 4);
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn a_message_is_given_up_in_the_end() {
    let receiver = Receiver::start("127.0.0.1:0", vec![Answer::Status(500); 9]).await;
    let gone = Receiver::start("127.0.0.1:0", vec![Answer::Status(410)]).await;
    let server = server().start();
    let done = server.prove(&job(&json!({"url": receiver.url("/")}))).await;
    let delivery = ended(&server, done["id"].as_str().unwrap()).await;
    assert_eq!((&delivery["state"], &delivery["attempts"]), (&json!("abandoned"), &json!(4)));
    assert_eq!(delivery["next_at_ms"], json!(null));
    // Nobody hears of it any more.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(receiver.messages().len(), 4);

    let done = server.prove(&job(&json!({"url": gone.url("/")}))).await;
    let delivery = ended(&server, done["id"].as_str().unwrap()).await;
    assert_eq!((&delivery["state"], &delivery["attempts"]), (&json!("abandoned"), &json!(1)));
}

#[tokio::test]
async fn messages_survive_the_server() {
    let data = tempfile::TempDir::new().unwrap();
    // A port where nobody listens.
    let address = Receiver::start("127.0.0.1:0", vec![]).await.stop().await;
    let mut server =
        server().data_dir(data.path()).env("ARBOR_WEBHOOKS__MAX_ATTEMPTS", 1000).start();
    let url = format!("http://{address}/");
    let done = server.prove(&job(&json!({"url": url}))).await;
    let id = done["id"].as_str().unwrap();
    let pending = settled(&server, id, |one| one["attempts"].as_i64() > Some(0)).await;
    assert_eq!(pending["state"], "pending");
    assert!(pending["last_error"].as_str().unwrap().contains("no connection"), "{pending}");
    server.kill();
    let receiver = Receiver::start(&address.to_string(), vec![]).await;
    server.restart();
    let delivery = ended(&server, id).await;
    assert_eq!(delivery["state"], "delivered");
    assert_eq!(delivery["id"], pending["id"]);
    assert!(delivery["attempts"].as_i64() > pending["attempts"].as_i64());
    assert_eq!(receiver.messages()[0].id, pending["id"].as_str().unwrap());
}

#[tokio::test]
async fn inner_networks_are_not_asked_unless_that_is_allowed() {
    let receiver = Receiver::start("127.0.0.1:0", vec![]).await;
    let port = receiver.address().port();
    // Nothing is allowed here but http.
    let server = Server::builder()
        .env("ARBOR_WEBHOOKS__ALLOW_HTTP", true)
        .env("ARBOR_WEBHOOKS__FIRST_DELAY_MS", 10)
        .env("ARBOR_WEBHOOKS__MAX_ATTEMPTS", 2)
        .start();
    let refused = [
        format!("http://127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://0x7f.1:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "https://10.0.0.1/".to_owned(),
        "https://[fd00::1]/".to_owned(),
        "ftp://example.org/".to_owned(),
        "https://u:p@example.org/".to_owned(),
        "example.org".to_owned(),
        String::new(),
    ];
    for url in refused {
        for path in ["/v1/jobs", "/v1/jobs:validate"] {
            let response = server.post(path, &job(&json!({"url": url}))).await;
            assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY, "{url}");
            let body: Value = response.json().await.unwrap();
            assert_eq!(
                (&body["type"], &body["field"]),
                (&json!("/problems/parameter-refused"), &json!("webhook.url")),
                "{url}"
            );
        }
    }
    let malformed = [
        json!(null),
        json!([]),
        json!("x"),
        json!({}),
        json!({"url": 1}),
        json!({"url": "https://a.example/", "x": 1}),
        json!({"url": "https://a.example/", "events": "all"}),
    ];
    for webhook in malformed {
        let response = server.post("/v1/jobs", &job(&webhook)).await;
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY, "{webhook}");
    }
    assert_eq!(receiver.connections(), 0);
    // Open text must be allowed on its own.
    let closed = Server::start();
    let response = closed.post("/v1/jobs", &job(&json!({"url": "http://example.org/"}))).await;
    assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn what_waits_is_not_sent_any_more_where_that_is_not_allowed_any_more() {
    let data = tempfile::TempDir::new().unwrap();
    // A port where nobody listens.
    let address = Receiver::start("127.0.0.1:0", vec![]).await.stop().await;
    let mut open = server().data_dir(data.path()).env("ARBOR_WEBHOOKS__MAX_ATTEMPTS", 1000).start();
    let url = format!("http://localhost:{}/", address.port());
    let done = open.prove(&job(&json!({"url": url}))).await;
    let id = done["id"].as_str().unwrap();
    let pending = settled(&open, id, |one| one["attempts"].as_i64() > Some(0)).await;
    assert_eq!(pending["state"], "pending");
    open.kill();
    let receiver = Receiver::start(&address.to_string(), vec![]).await;
    let closed = Server::builder()
        .data_dir(data.path())
        .env("ARBOR_WEBHOOKS__ALLOW_HTTP", true)
        .env("ARBOR_WEBHOOKS__MAX_ATTEMPTS", 1)
        .start();
    let delivery = ended(&closed, id).await;
    assert_eq!(delivery["state"], "abandoned");
    assert!(delivery["last_error"].as_str().unwrap().contains("open internet"), "{delivery}");
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn https_is_spoken_with_receivers_that_the_system_trusts() {
    let certificate = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/webhooks/receiver.crt");
    let secure = Receiver::start_tls("127.0.0.1:0").await;
    let url = secure.url("/").replace("http://", "https://");
    let trusting = server().env("SSL_CERT_FILE", certificate).start();
    let done = trusting.prove(&job(&json!({"url": url}))).await;
    let delivery = ended(&trusting, done["id"].as_str().unwrap()).await;
    assert_eq!(delivery["state"], "delivered", "{delivery}");
    assert!(verify(&trusting, &[], &secure.messages()[0]));
    // Not where it is another's certificate, and not in open text where https is meant.
    let other = server().start();
    let open = Receiver::start("127.0.0.1:0", vec![]).await;
    // A receiver that does not speak TLS waits for the rest of what it takes for a request.
    let not_secure = open.url("/").replace("http://", "https://");
    let cases = [(&other, &url, "secure"), (&trusting, &not_secure, "no answer")];
    for (server, url, reason) in cases {
        let done = server.prove(&job(&json!({"url": url}))).await;
        let delivery = ended(server, done["id"].as_str().unwrap()).await;
        assert_eq!(delivery["state"], "abandoned");
        assert!(delivery["last_error"].as_str().unwrap().contains(reason), "{delivery}");
    }
    assert_eq!((secure.messages().len(), open.messages().len()), (1, 0));
}
