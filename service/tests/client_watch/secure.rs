//! Servers behind TLS, and keys that must not be read on the way.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::common::server::Server;
use crate::common::{arbor, assert_code, assert_refused, command, json, stderr, stdout, words};
use crate::tls::{Authority, NOW, Years, terminate};

const JOB: &str = "submit fibonacci -n 5 --layers 1 --preset insecure-test";
const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// Runs the client with variables of its own.
fn with(line: &str, variables: &[(&str, &OsStr)]) -> Output {
    let mut command = command(words(line));
    for (name, value) in variables {
        command.env(name, value);
    }
    command.output().expect("the binary starts")
}

fn create_key(data: &Path) -> String {
    let mut line = words("--json keys create --name a --role submit --data-dir");
    line.push(data.display().to_string());
    json(&arbor(line))["key"].as_str().expect("a key").to_owned()
}

#[test]
fn everything_that_goes_over_http_goes_over_https() {
    let data = TempDir::new().expect("a temporary folder");
    let key = create_key(data.path());
    let server = Server::builder().data_dir(data.path()).start();
    let authority = Authority::new("Arbor's tests");
    let address = terminate(&server.url(), authority.issue(&["localhost", "127.0.0.1"], NOW));
    let file = authority.file();
    let variables = [
        ("ARBOR_CA_FILE", file.as_os_str()),
        ("ARBOR_API_KEY", OsStr::new(&key)),
        ("ARBOR_SERVER", OsStr::new("https://localhost:PORT")),
    ];
    let url = format!("https://localhost:{}", address.port());
    let run = |line: &str| {
        let mut variables = variables;
        variables[2].1 = OsStr::new(&url);
        with(line, &variables)
    };
    assert_eq!(stdout(&run("health")), "ready\n");
    let submitted = json(&run(&format!("{JOB} --json")));
    let id = submitted["id"].as_str().expect("an id");
    // Events come one by one through the proxy.
    let watched = run(&format!("watch {id}"));
    assert_code(&watched, 0);
    assert!(stderr(&watched).contains("1/0 is proved"), "{}", stderr(&watched));
    let out = data.path().join("x.arbor").display().to_string();
    assert_code(&run(&format!("get {id} --out {out}")), 0);
    assert_code(&arbor(words(&format!("verify --min-proven-bits 0 {out}"))), 0);
    assert_code(&run(&format!("{JOB} --watch --out {out}")), 0);
    assert!(stdout(&run(&format!("cancel {id}"))).contains("is succeeded already"));

    // By a flag, by the address, and by the URL of a job.
    let line = format!("get {id} --server https://{address} --json --ca-file");
    let mut line = words(&line);
    line.push(file.display().to_string());
    let got = command(&line).env("ARBOR_API_KEY", &key).output().expect("the binary starts");
    assert_eq!(json(&got)["state"], "succeeded");
    assert_code(&run(&format!("get {url}/v1/jobs/{id}")), 0);
    // An address that is this machine, or a secure one, gets the key; a variable set to nothing is not set.
    let plain = [("ARBOR_API_KEY", OsStr::new(&key)), ("ARBOR_CA_FILE", OsStr::new(""))];
    assert_code(&with(&format!("get {id} --server {}", server.url()), &plain), 0);
}

/// What the client says to a server with such a certificate, trusting the file.
fn said(server: &str, line: &str, trusted: Option<&Path>) -> Output {
    let mut line = words(&format!("{line} --server {server}"));
    if let Some(file) = trusted {
        line.extend(["--ca-file".to_owned(), file.display().to_string()]);
    }
    let start = Instant::now();
    let output = arbor(line);
    // Nothing is tried again: it would not do better.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    output
}

#[test]
fn who_cannot_be_trusted_is_refused_with_the_reason() {
    let server = Server::start();
    let (own, other) = (Authority::new("one"), Authority::new("another"));
    let at = |names: &[&str], years: Years| -> SocketAddr {
        terminate(&server.url(), own.issue(names, years))
    };
    let good = at(&["localhost"], NOW);
    let (own_file, other_file) = (own.file(), other.file());
    let url = |address: SocketAddr| format!("https://localhost:{}", address.port());
    let own = Some(own_file.as_path());
    let cases = [
        (url(good), None, "vouches for its certificate; --ca-file"),
        (url(good), Some(other_file.as_path()), "vouches for its certificate; --ca-file"),
        (format!("https://127.0.0.1:{}", good.port()), own, "is for another name"),
        (url(at(&["arbor.example"], NOW)), own, "for another name: it says"),
        (url(at(&["localhost"], (2019, 2020))), own, "its certificate has expired"),
        (url(at(&["localhost"], (2119, 2120))), own, "not valid yet"),
        (server.url().replace("http:", "https:"), own, "no TLS at this port; is it http://?"),
        (url(good).replace("https:", "http:"), own, "is it https://?"),
    ];
    for (url, trusted, says) in cases {
        for line in [JOB.to_owned(), format!("get {ID}"), format!("watch {ID}")] {
            let output = said(&url, &line, trusted);
            assert_refused(&output, 2, &["cannot be asked", &url, says]);
        }
        assert_refused(&said(&url, "health", trusted), 1, &["not ready", says]);
    }
    // All of it was about the connection.
    assert_code(&said(&url(good), "health", own), 0);
}

#[test]
fn a_file_of_certificates_that_is_none_is_refused() {
    let folder = TempDir::new().expect("a temporary folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("it is written");
        path
    };
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let cases = [
        (folder.path().join("nowhere"), "nowhere"),
        (file("empty", ""), "it holds no certificate"),
        (file("text", "certificate"), "it holds no certificate"),
        (file("broken", broken), "a certificate is malformed"),
        (file("cut", "-----BEGIN CERTIFICATE-----\nAAAA\n"), "not PEM"),
    ];
    for (path, says) in cases {
        let output = said("https://127.0.0.1:1", &format!("get {ID}"), Some(&path));
        assert_refused(&output, 2, &["--ca-file", says]);
    }
}

#[test]
fn a_key_does_not_go_where_it_can_be_read_or_is_not_meant_for() {
    // This machine, by an address that is not the loopback's.
    let server = Server::builder().env("ARBOR_SERVER__ALLOWED_HOSTS", "0.0.0.0").start();
    let open = format!("http://0.0.0.0:{}", server.address().port());
    let folder = TempDir::new().expect("a temporary folder");
    let key = create_key(folder.path());
    let key = OsStr::new(&key);
    let run = |line: &str, more: &[(&str, &OsStr)]| {
        with(line, &[&[("ARBOR_API_KEY", key)], more].concat())
    };
    for line in [JOB.to_owned(), format!("get {ID}"), format!("cancel {ID}"), "health".to_owned()] {
        let output = run(&format!("{line} --server {open}"), &[]);
        assert_refused(&output, 2, &[&open, "--allow-http", "ARBOR_ALLOW_HTTP", "https://"]);
    }
    assert!(!server.log().contains("/v1/jobs"), "{}", server.log());
    // Where it is said that this is meant, and where there is no key. This one is of another server.
    let unknown = ["the server refuses", "unknown or revoked"];
    assert_refused(&run(&format!("{JOB} --allow-http --server {open}"), &[]), 2, &unknown);
    let allowed = [("ARBOR_ALLOW_HTTP", OsStr::new("true")), ("ARBOR_SERVER", OsStr::new(&open))];
    assert_refused(&run(JOB, &allowed), 2, &unknown);
    let denied = [("ARBOR_ALLOW_HTTP", OsStr::new("false")), ("ARBOR_SERVER", OsStr::new(&open))];
    assert_refused(&run(JOB, &denied), 2, &["--allow-http"]);
    assert_code(&with(&format!("{JOB} --server {open}"), &[]), 0);

    // The URL of a job does not take the key elsewhere.
    let job = format!("get {}/v1/jobs/{ID}", server.url());
    let refused = run(&job, &[]);
    assert_refused(&refused, 2, &[&server.url(), "http://127.0.0.1:8080", "--server"]);
    let said = [("ARBOR_SERVER", server.url())];
    let said = [(said[0].0, OsStr::new(&said[0].1))];
    assert_refused(&run(&job, &said), 2, &unknown);
}
