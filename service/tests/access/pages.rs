//! Web pages of other origins, names that were made to point here, and who sees the metrics.

use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;

use crate::common::server::{Server, http_client};
use crate::support::*;

#[tokio::test]
async fn metrics_need_a_key_where_it_is_said() {
    let data = TempDir::new().unwrap();
    let key = make(data.path(), "--name a --role read");
    let server = server_with(&data).env("ARBOR_ACCESS__METRICS", "key").start();
    problem(server.get("/metrics").await, 401, "unauthorized").await;
    assert_eq!(as_key(&server, &key).get("/metrics").await.status(), 200);
}

/// A proxy on this machine passes on what comes from elsewhere: loopback alone makes nobody one of the house.
#[tokio::test]
async fn metrics_by_the_name_of_a_proxy_need_a_key() {
    let data = TempDir::new().unwrap();
    let key = make(data.path(), "--name a --role read");
    let server = server_with(&data).env("ARBOR_SERVER__ALLOWED_HOSTS", "arbor.example").start();
    let ask = async |host: &str, key: Option<&str>| {
        let request = As { server: &server, key }.request(Method::GET, "/metrics");
        request.header("host", host).send().await.unwrap()
    };
    for host in ["arbor.example", "ARBOR.example:443"] {
        problem(ask(host, None).await, 401, "unauthorized").await;
    }
    for (host, key) in [
        ("localhost", None),
        ("127.0.0.1:80", None),
        ("localhost", Some(key.as_str())),
        ("arbor.example", Some(key.as_str())),
    ] {
        let response = ask(host, key).await;
        assert_eq!(response.status(), 200, "{host}");
        assert!(response.text().await.unwrap().contains("arbor_jobs{"), "{host}");
    }
}

#[tokio::test]
async fn pages_of_other_origins_are_closed_out_unless_named() {
    let ask = |server: &Server, method: Method, origin: &str| {
        let request = http_client().request(method, format!("{}/v1/jobs", server.url()));
        request.header("origin", origin.to_owned())
    };
    let closed = Server::start();
    let page = "https://page.example";
    let preflight =
        ask(&closed, Method::OPTIONS, page).header("access-control-request-method", "POST");
    let response = preflight.send().await.unwrap();
    assert!(!response.headers().contains_key("access-control-allow-origin"));
    let response = ask(&closed, Method::GET, page).send().await.unwrap();
    assert!(!response.headers().contains_key("access-control-allow-origin"));
    let post = ask(&closed, Method::POST, page).json(&quick()).send().await.unwrap();
    problem(post, 403, "cross-origin").await;

    let open = Server::builder().env("ARBOR_ACCESS__CORS_ORIGINS", page).start();
    let preflight = ask(&open, Method::OPTIONS, page)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,content-type");
    let response = preflight.send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["access-control-allow-origin"], page);
    assert!(!response.headers().contains_key("access-control-allow-credentials"));
    let post = ask(&open, Method::POST, page).json(&quick()).send().await.unwrap();
    assert_eq!(post.status(), 202);
    assert_eq!(post.headers()["access-control-allow-origin"], page);
    // Errors can be read by the page, too.
    let wrong = ask(&open, Method::POST, page).json(&json!({"x": 1})).send().await.unwrap();
    assert_eq!(wrong.status(), 422);
    assert_eq!(wrong.headers()["access-control-allow-origin"], page);
    for other in ["https://page.example.evil", "http://page.example", "null"] {
        let post = ask(&open, Method::POST, other).json(&quick()).send().await.unwrap();
        assert!(!post.headers().contains_key("access-control-allow-origin"));
        problem(post, 403, "cross-origin").await;
    }
}
