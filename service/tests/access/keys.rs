//! Which keys get in, and what the command line makes of mistakes.

use reqwest::{Method, StatusCode};
use tempfile::TempDir;

use crate::common;
use crate::common::server::Server;
use crate::common::{arbor, assert_code, assert_refused, stdout};
use crate::support::*;

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
    for line in ["revoke 0123456789abcdef", "list", "webhook-secret"] {
        refused(line, &["no server has used this folder"]);
    }
    let output =
        arbor(common::words(&format!("keys create --name a --role root --data-dir {folder}")));
    assert_code(&output, 2);
    let key = make(data.path(), "--name a --role admin --max-queued 3");
    refused("revoke 0123456789abcdef", &["no key", "arbor keys list"]);
    refused("webhook-secret b", &["no key of the name b", "arbor keys list"]);
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

#[cfg(unix)]
#[test]
fn a_data_folder_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let outer = TempDir::new().unwrap();
    let mode = |folder: &std::path::Path| folder.metadata().unwrap().permissions().mode() & 0o777;
    let by_keys = outer.path().join("keys");
    make(&by_keys, "--name a --role read");
    let by_server = Server::builder().data_dir(&outer.path().join("server")).start();
    for folder in [by_keys.as_path(), by_server.data_dir()] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    // One that was there is left as it was.
    let there = outer.path().join("there");
    std::fs::create_dir(&there).unwrap();
    std::fs::set_permissions(&there, PermissionsExt::from_mode(0o755)).unwrap();
    make(&there, "--name a --role read");
    assert_eq!(mode(&there), 0o755);
    assert_eq!(mode(&there.join("arbor.db")), 0o600);
}
