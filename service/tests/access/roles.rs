//! What each role may do, and whose jobs it sees.

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::*;

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
    ("HEAD", "/v1/jobs/{id}/proof/0/0", [401, 200, 200, 200]),
    // An empty file is no proof: the answer is a verdict or a refusal of the file, not of the key.
    ("POST", "/v1/verifications", [401, 0, 0, 0]),
    ("POST", "/v1/jobs:validate", [401, 415, 415, 415]),
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
    // Who reads may ask what a job would take, and may not have it proved.
    let asked = dashboard.request(Method::POST, "/v1/jobs:validate").json(&quick());
    assert_eq!(asked.send().await.unwrap().status(), 200);
    problem(dashboard.submit(&quick()).await, 403, "forbidden").await;
    // Another's job cannot be removed, retried, or used as a leaf, and it looks as if there were none.
    assert_eq!(bob.send(Method::DELETE, &path).await.status(), 204);
    problem(bob.send(Method::POST, &format!("{path}/retry")).await, 404, "no-such-job").await;
    let over = json!({
        "recursion": {"mode": "tree", "arity": 2, "leaves": [{"job": id}, {"job": id}]},
        "preset": "insecure-test",
    });
    let refused = problem(bob.submit(&over).await, 422, "leaf-refused").await;
    let nothing = json!({
        "recursion": {"mode": "tree", "arity": 2, "leaves": [{"job": NO_JOB}, {"job": NO_JOB}]},
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
