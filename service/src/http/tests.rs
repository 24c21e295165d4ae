//! The layers around the routes, without a socket and without an engine.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tower_http::catch_panic::CatchPanicLayer;

use super::{ApiError, layers, router};
use crate::config::Config;
use crate::recorder;
use crate::state::AppState;
use crate::verifier::Verifier;

/// A state whose engine has not started.
fn starting(config: Config) -> AppState {
    let verifier = Verifier::new(&config.verification).expect("the threads start");
    let metrics = recorder::detached().expect("a recorder");
    AppState::new(config, verifier, metrics, CancellationToken::new())
}

async fn ask(router: Router, method: Method, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = Request::builder().method(method).uri(path);
    if headers.iter().all(|(name, _)| *name != "host") {
        request = request.header("host", "localhost");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from("{\"base\":{\"program\":\"fibonacci\"}}"));
    router.oneshot(request.expect("a request")).await.expect("a router has no errors of its own")
}

/// The body of an error, of the one form that all have.
async fn problem(response: Response) -> Value {
    let head = response.headers().clone();
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), 1 << 16).await.expect("a body");
    let problem: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(head["content-type"], "application/problem+json");
    assert_eq!(problem["status"], status);
    assert_eq!(problem["request_id"], head["x-request-id"].to_str().expect("ASCII"));
    problem
}

/// Handlers that misbehave, behind the layers of the routes.
fn misbehaving(config: Config) -> Router {
    let state = starting(config);
    Router::new()
        .route("/panic", get(async || -> StatusCode { panic!("with a secret") }))
        .route("/slow", get(async || tokio::time::sleep(Duration::from_secs(1_000_000)).await))
        .route("/text", get(async || (StatusCode::INTERNAL_SERVER_ERROR, "with a secret")))
        .route("/error", get(async || -> Result<(), ApiError> { Err(ApiError::busy("full", 7)) }))
        .layer(CatchPanicLayer::custom(layers::panicked))
        .layer(from_fn_with_state(state, layers::limit_time))
        .layer(from_fn(layers::security_headers))
        .layer(from_fn(layers::observe))
}

#[tokio::test]
async fn what_a_handler_says_in_a_panic_stays_in_the_logs() {
    for path in ["/panic", "/text"] {
        let response = ask(misbehaving(Config::default()), Method::GET, path, &[]).await;
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let problem = problem(response).await;
        assert_eq!(problem["type"], "/problems/internal");
        assert!(!problem.to_string().contains("secret"), "{problem}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_does_not_end_is_given_up() {
    let response = ask(misbehaving(Config::default()), Method::GET, "/slow", &[]).await;
    assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(problem(response).await["type"], "/problems/timeout");
}

#[tokio::test]
async fn headers_of_an_error_reach_the_client() {
    let response = ask(misbehaving(Config::default()), Method::GET, "/error", &[]).await;
    assert_eq!(response.headers()["retry-after"], "7");
    assert_eq!(problem(response).await["detail"], "full");
}

#[tokio::test]
async fn without_an_engine_every_route_that_needs_it_says_when_to_come_back() {
    let job = "/v1/jobs/01980000-0000-7000-8000-000000000000";
    let paths = ["", "/events", "/tree", "/timings", "/proof", "/proof/0/0"];
    let paths = paths.iter().map(|rest| (Method::GET, format!("{job}{rest}"))).chain([
        (Method::GET, "/v1/jobs".to_owned()),
        (Method::GET, "/readyz".to_owned()),
        (Method::POST, "/v1/jobs".to_owned()),
        (Method::POST, "/v1/jobs:validate".to_owned()),
        (Method::POST, "/v1/verifications".to_owned()),
        (Method::POST, format!("{job}/retry")),
        (Method::DELETE, job.to_owned()),
    ]);
    for (method, path) in paths {
        let json = [("content-type", "application/json")];
        let response = ask(router(starting(Config::default())), method, &path, &json).await;
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert!(response.headers().contains_key("retry-after"), "{path}");
        assert_eq!(problem(response).await["type"], "/problems/busy", "{path}");
    }
    for path in ["/livez", "/metrics", "/openapi.json", "/docs/", "/problems/busy"] {
        let response = ask(router(starting(Config::default())), Method::GET, path, &[]).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn a_server_that_ends_is_not_ready() {
    let state = starting(Config::default());
    state.shutdown().cancel();
    let response = ask(router(state), Method::GET, "/readyz", &[]).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(problem(response).await["type"], "/problems/shutting-down");
}

#[tokio::test]
async fn other_hosts_are_for_servers_that_others_reach() {
    let ask_host = async |config: Config, host: &str| {
        let headers = [("host", host)];
        ask(router(starting(config)), Method::GET, "/livez", &headers).await.status()
    };
    let local = Config::default();
    assert_eq!(ask_host(local.clone(), "arbor.example").await, StatusCode::MISDIRECTED_REQUEST);
    let mut behind_a_proxy = local.clone();
    behind_a_proxy.server.allowed_hosts = vec!["Arbor.example".to_owned()];
    assert_eq!(ask_host(behind_a_proxy, "arbor.example:443").await, StatusCode::OK);
    let mut open = local;
    open.server.listen = ([0, 0, 0, 0], 8080).into();
    assert_eq!(ask_host(open, "arbor.example").await, StatusCode::OK);
}

#[tokio::test]
async fn without_keys_no_name_that_was_made_to_point_here_is_answered_for() {
    let mut config = Config::default();
    config.server.listen = ([0, 0, 0, 0], 8080).into();
    config.server.allowed_hosts = vec!["arbor.example".to_owned()];
    let asked = async |host: &str, path: &str| {
        ask(router(starting(config.clone())), Method::GET, path, &[("host", host)]).await.status()
    };
    for host in ["evil.example", "evil.example:8080", "10.0.0.1.evil.example", "evil."] {
        assert_eq!(asked(host, "/v1/jobs").await, StatusCode::MISDIRECTED_REQUEST, "{host}");
        assert_eq!(asked(host, "/readyz").await, StatusCode::SERVICE_UNAVAILABLE, "{host}");
    }
    // They come as far as the engine, which is starting.
    for host in ["arbor.example", "10.0.0.1:8080", "[2001:db8::1]:8080", "arbor:8080", "localhost"]
    {
        assert_eq!(asked(host, "/v1/jobs").await, StatusCode::SERVICE_UNAVAILABLE, "{host}");
    }
}

#[test]
fn the_description_says_how_many_nodes_a_job_shows_reports_of() {
    let document = serde_json::to_value(super::openapi::document()).expect("JSON");
    let layers = &document["components"]["schemas"]["JobView"]["properties"]["layers"];
    let text = layers["description"].as_str().expect("a description");
    let most = format!("at most {} nodes", super::job::MAX_REPORTS);
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(&most), "{text}");
}
