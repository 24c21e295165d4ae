//! API keys on a spawned server: who gets in, what each role may do on each route, quotas, rates, and that
//! no key is ever written down.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::server::{Builder, Server};
use common::{arbor, assert_code, assert_refused, stdout};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Runs `arbor keys` on a data folder.
fn keys(data: &Path, line: &str) -> Value {
    let words = common::words(line);
    let data = ["--data-dir".to_owned(), data.display().to_string()];
    common::json(&arbor(
        ["--json".to_owned(), "keys".to_owned()].into_iter().chain(words).chain(data),
    ))
}

/// Makes a key and gives its text.
fn make(data: &Path, line: &str) -> String {
    let made = keys(data, &format!("create {line}"));
    made["key"].as_str().unwrap().to_owned()
}

fn id_of(key: &str) -> &str {
    key.split('_').nth(1).unwrap()
}

/// Requests with one key, or with none.
struct As<'a> {
    server: &'a Server,
    key: Option<&'a str>,
}

impl As<'_> {
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = Client::new().request(method, self.server.url() + path);
        match self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    async fn send(&self, method: Method, path: &str) -> Response {
        self.request(method, path).send().await.unwrap()
    }

    async fn get(&self, path: &str) -> Response {
        self.send(Method::GET, path).await
    }

    async fn submit(&self, job: &Value) -> Response {
        self.request(Method::POST, "/v1/jobs").json(job).send().await.unwrap()
    }
}

fn as_key<'a>(server: &'a Server, key: &'a str) -> As<'a> {
    As { server, key: Some(key) }
}

fn quick() -> Value {
    json!({
        "base": {"program": "fibonacci", "n": 5},
        "recursion": {"mode": "chain", "layers": 0},
        "preset": "insecure-test",
    })
}

fn long() -> Value {
    json!({
        "base": {"program": "fibonacci", "n": 5},
        "recursion": {"mode": "chain", "layers": 64},
        "preset": "insecure-test",
    })
}

/// A problem of this kind, and its body.
#[track_caller]
fn problem(response: Response, status: u16, slug: &str) -> impl Future<Output = Value> {
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let slug = slug.to_owned();
    async move {
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["type"], format!("/problems/{slug}"), "{body}");
        body
    }
}

fn server_with(data: &TempDir) -> Builder {
    Server::builder().data_dir(data.path()).env("ARBOR_ACCESS__REQUESTS_PER_SECOND", 0)
}

async fn wait(caller: &As<'_>, id: &str) -> Value {
    loop {
        let request = caller.request(Method::GET, &format!("/v1/jobs/{id}"));
        let job: Value =
            request.header("prefer", "wait=10").send().await.unwrap().json().await.unwrap();
        if job["finished_at_ms"].is_i64() {
            return job;
        }
        assert!(job["id"] == id, "{job}");
    }
}

#[tokio::test]
async fn without_keys_nobody_is_asked_for_one_and_a_wrong_one_is_refused() {
    let server = Server::start();
    assert_eq!(server.get("/v1/jobs").await.status(), StatusCode::OK);
    let stranger = as_key(&server, "arbor_0_0");
    problem(stranger.get("/v1/jobs").await, 401, "unauthorized").await;
}

#[tokio::test]
async fn only_valid_keys_get_in() {
    let data = TempDir::new().unwrap();
    let server = server_with(&data).start();
    // Made while the server runs.
    let key = make(data.path(), "--name alice --role read");
    let other = make(data.path(), "--name bob --role read");
    assert_eq!(as_key(&server, &key).get("/v1/jobs").await.status(), StatusCode::OK);

    let none = As { server: &server, key: None };
    let refused = none.get("/v1/jobs").await;
    assert_eq!(refused.headers()["www-authenticate"], "Bearer realm=\"arbor\"");
    problem(refused, 401, "unauthorized").await;

    let (id, secret) = (id_of(&key), key.rsplit('_').next().unwrap());
    let last = if secret.ends_with('0') { '1' } else { '0' };
    let almost = format!("arbor_{id}_{}{last}", &secret[..63]);
    let swapped = format!("arbor_{}_{secret}", id_of(&other));
    let unknown = format!("arbor_{}_{secret}", "0".repeat(16));
    for wrong in [&almost, &swapped, &unknown, "x", secret, "arbor_", &key.to_uppercase()] {
        problem(as_key(&server, wrong).get("/v1/jobs").await, 401, "unauthorized").await;
    }
    let headers: [&[u8]; 6] = [
        b"",
        b"Bearer",
        b"Basic YTpi",
        b"Bearer \xff",
        format!("bearer  {key}x").leak().as_bytes(),
        format!("Token {key}").leak().as_bytes(),
    ];
    for header in headers {
        let request = none.request(Method::GET, "/v1/jobs").header("authorization", header);
        problem(request.send().await.unwrap(), 401, "unauthorized").await;
    }
    // Twice is once too often, and the scheme's case does not matter.
    let twice = as_key(&server, &key).request(Method::GET, "/v1/jobs").bearer_auth(&key);
    problem(twice.send().await.unwrap(), 401, "unauthorized").await;
    let lower =
        none.request(Method::GET, "/v1/jobs").header("authorization", format!("bearer {key}"));
    assert_eq!(lower.send().await.unwrap().status(), StatusCode::OK);

    // Revoked: at once, and also when there is no valid key left.
    keys(data.path(), &format!("revoke {id}"));
    problem(as_key(&server, &key).get("/v1/jobs").await, 401, "unauthorized").await;
    keys(data.path(), &format!("revoke {}", id_of(&other)));
    problem(none.get("/v1/jobs").await, 401, "unauthorized").await;
    let listed = keys(data.path(), "list");
    let listed = listed["keys"].as_array().unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|key| key["revoked_at_ms"].is_i64()), "{listed:?}");
}

#[test]
fn mistakes_of_the_command_line_are_refused() {
    let data = TempDir::new().unwrap();
    let folder = data.path().to_str().unwrap();
    let refused = |line: &str, says: &[&str]| {
        let output = arbor(common::words(&format!("keys {line} --data-dir {folder}")));
        assert_refused(&output, 2, says);
    };
    refused("create --name a/b --role read", &["--name", "a/b"]);
    refused("revoke 0123456789abcdef", &["no key", "arbor keys list"]);
    let output =
        arbor(common::words(&format!("keys create --name a --role root --data-dir {folder}")));
    assert_code(&output, 2);
    let key = make(data.path(), "--name a --role admin --max-queued 3");
    let text = arbor(common::words(&format!("keys list --data-dir {folder}")));
    assert_code(&text, 0);
    let text = stdout(&text);
    assert!(text.contains(id_of(&key)) && text.contains("admin") && text.contains('3'), "{text}");
    assert!(!text.contains(key.rsplit('_').next().unwrap()));
    // A key that is none is not repeated.
    let output = common::command(["get", "01890a5d-ac96-774b-bcce-b302099a8057"])
        .env("ARBOR_API_KEY", "arbor_mistyped")
        .output()
        .unwrap();
    assert_refused(&output, 2, &["ARBOR_API_KEY"]);
    assert!(!common::stderr(&output).contains("mistyped"));
}

/// What each of: no key, read, submit, admin gets on a route, for a job of its own name.
const ROUTES: &[(&str, &str, [u16; 4])] = &[
    ("GET", "/", [200, 200, 200, 200]),
    ("GET", "/assets/app.js", [200, 200, 200, 200]),
    ("GET", "/docs/", [200, 200, 200, 200]),
    ("GET", "/openapi.json", [200, 200, 200, 200]),
    ("GET", "/problems/unauthorized", [200, 200, 200, 200]),
    ("GET", "/livez", [200, 200, 200, 200]),
    ("GET", "/readyz", [200, 200, 200, 200]),
    ("GET", "/metrics", [200, 200, 200, 200]),
    ("GET", "/nothing", [404, 404, 404, 404]),
    ("GET", "/v1/nothing", [404, 404, 404, 404]),
    ("GET", "/v1/capabilities", [401, 200, 200, 200]),
    ("GET", "/v1/presets", [401, 200, 200, 200]),
    ("GET", "/v1/jobs", [401, 200, 200, 200]),
    ("GET", "/v1/jobs/{id}", [401, 200, 200, 200]),
    ("HEAD", "/v1/jobs/{id}", [401, 200, 200, 200]),
    ("GET", "/v1/jobs/{id}/events", [401, 200, 200, 200]),
    ("GET", "/v1/jobs/{id}/tree", [401, 200, 200, 200]),
    ("GET", "/v1/jobs/{id}/timings", [401, 200, 200, 200]),
    ("GET", "/v1/jobs/{id}/webhooks", [401, 200, 200, 200]),
    ("GET", "/v1/jobs/{id}/proof", [401, 200, 200, 200]),
    ("HEAD", "/v1/jobs/{id}/proof", [401, 200, 200, 200]),
    ("GET", "/v1/jobs/{id}/proof/0/0", [401, 200, 200, 200]),
    // An empty file is no proof: the answer is a verdict or a refusal of the file, not of the key.
    ("POST", "/v1/verifications", [401, 0, 0, 0]),
    ("POST", "/v1/jobs:validate", [401, 403, 415, 415]),
    ("POST", "/v1/jobs", [401, 403, 415, 415]),
    ("POST", "/v1/jobs/{id}/retry", [401, 403, 409, 409]),
    ("PUT", "/v1/jobs", [401, 403, 405, 405]),
    ("OPTIONS", "/v1/jobs", [401, 403, 405, 405]),
];

#[tokio::test]
async fn each_role_on_each_route() {
    let data = TempDir::new().unwrap();
    let [read, submit, admin] = ["read", "submit", "admin"]
        .map(|role| make(data.path(), &format!("--name team --role {role}")));
    let server = server_with(&data).start();
    let callers = [None, Some(&read), Some(&submit), Some(&admin)]
        .map(|key| As { server: &server, key: key.map(String::as_str) });
    let job: Value = callers[2].submit(&quick()).await.json().await.unwrap();
    let id = job["id"].as_str().unwrap();
    assert_eq!(wait(&callers[2], id).await["state"], "succeeded");

    for (method, path, statuses) in ROUTES {
        let path = path.replace("{id}", id);
        for (caller, expected) in callers.iter().zip(statuses) {
            let method: Method = method.parse().unwrap();
            let response = caller.send(method.clone(), &path).await;
            let status = response.status().as_u16();
            if *expected == 0 {
                assert!(![401, 403, 404, 405, 500].contains(&status), "{method} {path}: {status}");
            } else {
                assert_eq!(status, *expected, "{method} {path}");
            }
        }
    }
    // Every route of the description was tried.
    let described = server.get_json("/openapi.json").await;
    for (path, item) in described["paths"].as_object().unwrap() {
        let tried = |method: &str| {
            let path = path.replace("{kind}", "unauthorized").replace("{level}/{index}", "0/0");
            let removal = method == "delete" && path == "/v1/jobs/{id}";
            removal || ROUTES.iter().any(|(m, p, _)| m.eq_ignore_ascii_case(method) && *p == path)
        };
        for method in item.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            assert!(tried(method), "{method} {path} is not in the table");
        }
    }
    // Removal comes last: there is nothing afterwards.
    let path = format!("/v1/jobs/{id}");
    for (caller, expected) in callers.iter().zip([401, 403, 204, 204]) {
        assert_eq!(caller.send(Method::DELETE, &path).await.status(), expected);
    }
}

#[tokio::test]
async fn jobs_are_seen_by_their_name_and_by_admins() {
    let data = TempDir::new().unwrap();
    let alice = make(data.path(), "--name alice --role submit");
    let dashboard = make(data.path(), "--name alice --role read");
    let bob = make(data.path(), "--name bob --role submit");
    let admin = make(data.path(), "--name ops --role admin");
    let server = server_with(&data).start();
    let [alice, dashboard, bob, admin] =
        [&alice, &dashboard, &bob, &admin].map(|key| as_key(&server, key));
    let job: Value = alice.submit(&quick()).await.json().await.unwrap();
    let id = job["id"].as_str().unwrap();
    assert_eq!(wait(&alice, id).await["state"], "succeeded");
    let path = format!("/v1/jobs/{id}");

    for (caller, count) in [(&alice, 1), (&dashboard, 1), (&admin, 1), (&bob, 0)] {
        let list: Value = caller.get("/v1/jobs").await.json().await.unwrap();
        assert_eq!(list["jobs"].as_array().unwrap().len(), count);
        let expected = if count == 1 { 200 } else { 404 };
        for rest in ["", "/events", "/tree", "/timings", "/proof", "/proof/0/0"] {
            let response = caller.get(&format!("{path}{rest}")).await;
            assert_eq!(response.status(), expected, "{rest}");
        }
    }
    // Another's job cannot be removed, retried, or used as a leaf, and it looks as if there were none.
    assert_eq!(bob.send(Method::DELETE, &path).await.status(), 204);
    problem(bob.send(Method::POST, &format!("{path}/retry")).await, 404, "no-such-job").await;
    let over = json!({
        "recursion": {"mode": "tree", "arity": 2, "leaves": [{"job": id}, {"job": id}]},
        "preset": "insecure-test",
    });
    let refused = problem(bob.submit(&over).await, 422, "leaf-refused").await;
    let nothing = json!({
        "recursion": {"mode": "tree", "arity": 2, "leaves": [{"job": JobId::NONE}, {"job": JobId::NONE}]},
        "preset": "insecure-test",
    });
    let unknown = problem(bob.submit(&nothing).await, 422, "leaf-refused").await;
    assert_eq!(refused["detail"], unknown["detail"]);
    let validate = bob.request(Method::POST, "/v1/jobs:validate").json(&over);
    problem(validate.send().await.unwrap(), 422, "leaf-refused").await;
    assert_eq!(alice.get(&path).await.status(), 200);
    assert_eq!(alice.submit(&over).await.status(), 202);
    // One name of a submission is not the other's.
    for (caller, fresh) in [(&alice, true), (&bob, true), (&alice, false)] {
        let request = caller.request(Method::POST, "/v1/jobs").header("idempotency-key", "same");
        let response = request.json(&quick()).send().await.unwrap();
        assert_eq!(response.headers().get("idempotency-replayed").is_none(), fresh);
    }
    assert_eq!(admin.send(Method::DELETE, &path).await.status(), 204);
    assert_eq!(alice.get(&path).await.status(), 404);
}

struct JobId;

impl JobId {
    /// The id of no job.
    const NONE: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
}

#[track_caller]
fn retry_after(response: &Response) -> u64 {
    response.headers()["retry-after"].to_str().unwrap().parse().unwrap()
}

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
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
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

#[test]
fn an_address_that_others_reach_needs_a_key_or_a_word() {
    let data = TempDir::new().unwrap();
    let folder = data.path().to_str().unwrap();
    let check = |more: &str| {
        let line = format!("config check --data-dir {folder} --listen 0.0.0.0:0 {more}");
        arbor(common::words(&line))
    };
    let says = ["server.listen", "0.0.0.0:0", "arbor keys create", "--allow-remote"];
    assert_refused(&check(""), 2, &says);
    let (status, log) = Server::builder()
        .data_dir(data.path())
        .env("ARBOR_SERVER__ALLOW_REMOTE", false)
        .env("ARBOR_ACCESS__CORS_ORIGINS", "")
        .env("ARBOR_SERVER__SHUTDOWN_GRACE_S", 1)
        .listen_on("0.0.0.0:0")
        .fail();
    assert_eq!(status.code(), Some(2));
    assert!(says.iter().all(|word| log.contains(word)), "{log}");
    assert_code(&check("--allow-remote"), 0);
    let key = make(data.path(), "--name a --role read");
    assert_code(&check(""), 0);
    // Revoked keys keep the server closed, so it may still listen.
    keys(data.path(), &format!("revoke {}", id_of(&key)));
    assert_code(&check(""), 0);
}

#[tokio::test]
async fn metrics_need_a_key_where_it_is_said() {
    let data = TempDir::new().unwrap();
    let key = make(data.path(), "--name a --role read");
    let server = server_with(&data).env("ARBOR_ACCESS__METRICS", "key").start();
    problem(server.get("/metrics").await, 401, "unauthorized").await;
    assert_eq!(as_key(&server, &key).get("/metrics").await.status(), 200);
}

#[tokio::test]
async fn pages_of_other_origins_are_closed_out_unless_named() {
    let ask = |server: &Server, method: Method, origin: &str| {
        let request = Client::new().request(method, format!("{}/v1/jobs", server.url()));
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

#[tokio::test]
async fn the_command_line_sends_its_key_and_no_log_has_it() {
    let data = TempDir::new().unwrap();
    let key = make(data.path(), "--name a --role submit");
    let wrong = make(data.path(), "--name b --role read");
    let server = server_with(&data).env("RUST_LOG", "trace").start();
    let url = server.url();
    let secrets = [&key, &wrong].map(|key| key.rsplit('_').next().unwrap());
    let run = |args: &str, key: Option<&str>| {
        let mut command = common::command(common::words(args));
        command.args(["--server", &url]).env("RUST_LOG", "trace").env_remove("ARBOR_API_KEY");
        if let Some(key) = key {
            command.env("ARBOR_API_KEY", key);
        }
        let output = command.output().unwrap();
        let printed = stdout(&output) + &common::stderr(&output);
        assert!(!secrets.iter().any(|secret| printed.contains(secret)));
        output
    };
    let submit = "--json submit fibonacci -n 5 --layers 0 --preset insecure-test";
    assert_code(&run("health", None), 0);
    assert_code(&run(submit, None), 2);
    assert_code(&run(submit, Some(&wrong)), 2);
    let submitted = run(submit, Some(&key));
    assert_code(&submitted, 0);
    let job: Value = serde_json::from_slice(&submitted.stdout).unwrap();
    let id = job["id"].as_str().unwrap().to_owned();
    assert_code(&run(&format!("watch {id}"), Some(&key)), 0);
    let out = data.path().join("proof");
    assert_code(&run(&format!("get {id} --out {}", out.display()), Some(&key)), 0);
    // Sent in every place where a key could be logged.
    let elsewhere = format!("{url}/v1/jobs?key={key}");
    let _ = Client::new().get(elsewhere).bearer_auth(&key).send().await.unwrap();
    as_key(&server, &format!("{key}0")).get("/v1/jobs").await;

    let log = server.log();
    assert!(log.contains("TRACE") && log.contains(id_of(&key)), "the log is of use");
    for key in [&key, &wrong] {
        let secret = key.rsplit('_').next().unwrap();
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None);
    }
    // Neither has the data folder, where only a hash is.
    for entry in std::fs::read_dir(data.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let secret = key.rsplit('_').next().unwrap().as_bytes();
            assert!(!bytes.windows(secret.len()).any(|part| part == secret), "{}", path.display());
        }
    }
}
