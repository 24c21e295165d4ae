//! How often somebody may ask.

use tempfile::TempDir;

use crate::common::server::Server;
use crate::support::*;

#[tokio::test]
async fn rates_are_limited_per_key_and_for_wrong_keys_per_address() {
    let data = TempDir::new().unwrap();
    let server = Server::builder()
        .data_dir(data.path())
        .env("ARBOR_ACCESS__REQUESTS_PER_SECOND", 1)
        .env("ARBOR_ACCESS__BURST", 5)
        .start();
    // This machine's own requests are not counted as long as there are no keys.
    for _ in 0..20 {
        assert_eq!(server.get("/v1/jobs").await.status(), 200);
    }
    let [first, second] =
        ["a", "b"].map(|name| make(data.path(), &format!("--name {name} --role read")));
    let statuses = |key: Option<String>| {
        let server = &server;
        async move {
            let caller = As { server, key: key.as_deref() };
            let mut all = Vec::new();
            for _ in 0..12 {
                let response = caller.get("/v1/jobs").await;
                if response.status() == 429 {
                    assert!((1..=2).contains(&retry_after(&response)));
                    all.push(429);
                    problem(response, 429, "rate-limited").await;
                } else {
                    all.push(response.status().as_u16());
                }
            }
            all
        }
    };
    for (key, passes) in [(Some(first), 200), (Some(second), 200), (None, 401)] {
        let all = statuses(key).await;
        assert_eq!(all[..5], [passes; 5], "{all:?}");
        assert!(all[5..].iter().filter(|status| **status == 429).count() >= 5, "{all:?}");
    }
    // Probes are not counted.
    for _ in 0..20 {
        assert_eq!(server.get("/livez").await.status(), 200);
    }
}
