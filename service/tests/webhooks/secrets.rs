//! No secret of a webhook is written down where it need not be.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::arbor;
use crate::receiver::Receiver;
use crate::{job, server};

#[tokio::test]
async fn no_log_has_what_signs_or_where_it_goes() {
    let certificate = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/webhooks/receiver.crt");
    let secure = Receiver::start_tls("127.0.0.1:0").await;
    let data = TempDir::new().unwrap();
    let folder = data.path().to_str().unwrap();
    let shown =
        |line: &[&str]| crate::common::json(&arbor([line, &["--data-dir", folder]].concat()));
    let made = shown(&["--json", "keys", "create", "--name", "a", "--role", "submit"]);
    let key = made["key"].as_str().unwrap();
    let server = server()
        .data_dir(data.path())
        .env("SSL_CERT_FILE", certificate)
        .env("RUST_LOG", "trace")
        .start();
    // What many receivers know their callers by.
    let url = secure.url("/hook/very-private?token=even-more").replace("http://", "https://");
    let refused = "https://private-user:private-password@a.example/";
    let submit = async |url: &str| {
        let request = server.client().post(server.url() + "/v1/jobs").bearer_auth(key);
        request.json(&job(&json!({"url": url}))).send().await.unwrap()
    };
    assert_eq!(submit(refused).await.status(), 422);
    let submitted: Value = submit(&url).await.json().await.unwrap();
    secure.wait_for(1).await;
    let id = submitted["id"].as_str().unwrap();
    let log = loop {
        let log = server.log();
        if log.contains("a webhook was sent") {
            break log;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert!(log.contains("TRACE") && log.contains(&secure.messages()[0].id) && log.contains(id));

    let secret = shown(&["--json", "keys", "webhook-secret", "a"]);
    let secret = secret["secret"].as_str().unwrap().strip_prefix("whsec_").unwrap();
    let bytes = STANDARD.decode(secret).unwrap();
    let hexadecimal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let list = format!("{bytes:?}");
    let signature = secure.messages()[0].signature.clone();
    let signature = signature.strip_prefix("v1,").unwrap();
    let key_secret = key.rsplit('_').next().unwrap();
    let private = ["very-private", "even-more", "private-user", "private-password"];
    let secrets = [secret, &hexadecimal, list.trim_matches(['[', ']']), signature, key_secret];
    for text in private.into_iter().chain(secrets) {
        let found = log.lines().find(|line| line.to_lowercase().contains(&text.to_lowercase()));
        assert_eq!(found, None, "{text}");
    }
}
