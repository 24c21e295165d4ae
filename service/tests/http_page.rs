//! The page as a file server sees it: policy, tags, types, and nothing that is not listed. What it does in a
//! browser is tested by `scripts/browser`.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use common::server::Server;
use reqwest::{Method, StatusCode};

#[tokio::test]
async fn the_page_comes_with_a_strict_policy_and_everything_that_it_loads() {
    let server = Server::start();
    let page = server.get("/").await;
    assert_eq!(page.status(), StatusCode::OK);
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    for part in [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(policy.contains(part), "{part} is not in {policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    let text = page.text().await.unwrap();
    let mut paths: Vec<String> = text
        .split("\"/assets/")
        .skip(1)
        .map(|rest| format!("/assets/{}", rest.split('"').next().unwrap()))
        .collect();
    assert!(paths.len() >= 5, "{paths:?}");
    // Modules load modules.
    let mut next = 0;
    while let Some(path) = paths.get(next).cloned() {
        next += 1;
        let file = server.get(&path).await;
        assert_eq!(file.status(), StatusCode::OK, "{path}");
        let kind = file.headers()["content-type"].to_str().unwrap().to_owned();
        let expected = match path.rsplit('.').next().unwrap() {
            "css" => "text/css",
            "js" => "text/javascript",
            _ => "image/svg+xml",
        };
        assert!(kind.starts_with(expected), "{path} is {kind}");
        assert_eq!(file.headers()["content-security-policy"], policy.as_str());
        assert_eq!(file.headers()["x-content-type-options"], "nosniff");
        let text = file.text().await.unwrap();
        for rest in text.split("from './").skip(1) {
            let path = format!("/assets/{}", rest.split('\'').next().unwrap());
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    assert!(paths.len() > 20, "{paths:?}");
}

#[tokio::test]
async fn files_are_asked_for_by_tag_and_no_path_leads_elsewhere() {
    let server = Server::start();
    for path in ["/", "/assets/app.js", "/assets/base.css", "/assets/icon.svg"] {
        let first = server.get(path).await;
        assert_eq!(first.headers()["cache-control"], "no-cache");
        let tag = first.headers()["etag"].clone();
        let url = server.url() + path;
        let again = server.client().get(&url).header("if-none-match", tag);
        let again = again.send().await.unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{path}");
        assert!(again.headers().contains_key("content-security-policy"), "{path}");
        let head = server.client().head(&url).send().await.unwrap();
        assert_eq!(head.status(), StatusCode::OK, "{path}");
        let post = server.client().request(Method::POST, &url).send().await.unwrap();
        assert_eq!(post.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
    }
    for path in [
        "/assets/",
        "/assets/index.html",
        "/assets/app.js/",
        "/assets/%2e%2e%2fsrc%2flib.rs",
        "/assets/..%2fCargo.toml",
        "/assets/%ff",
        "/assets/app.js%00",
        "/assets/api.js/../../Cargo.toml",
        "/index.html",
    ] {
        let answer = server.get(path).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json", "{path}");
    }
}
