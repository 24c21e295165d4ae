//! Connections that break off: events are shown once each, downloads go on, damage is noticed. Connections that
//! must be secure.

mod common;
#[path = "common/proxy.rs"]
mod proxy;
#[path = "client_watch/secure.rs"]
mod secure;
#[path = "common/tls.rs"]
mod tls;

use std::time::Duration;

use arbor_service::client::{Client, ClientError, EventStream, Patience, block_on};
use arbor_service::model::{EventKind, JobId, JobState};
use common::server::Server;
use common::{arbor, assert_code, assert_refused, json, stderr, words};
use proxy::{Fault, Proxy};
use tempfile::TempDir;

fn submit(url: &str, line: &str) -> String {
    let said = json(&arbor(words(&format!("submit {line} --json --server {url}"))));
    said["id"].as_str().expect("an id").to_owned()
}

/// A client that loses no time.
fn quick() -> Patience {
    let (first_wait, longest_wait) = (Duration::from_millis(1), Duration::from_millis(20));
    Patience { tries: 4, first_wait, longest_wait, ..Patience::default() }
}

fn client(url: &str) -> Client {
    Client::new(url.parse().expect("a server")).expect("a client")
}

#[test]
fn a_stream_that_breaks_off_goes_on_with_the_next_event() {
    let server = Server::start();
    let faults = [300, 700, 1_000, 1_300].map(Fault::CutAfter).to_vec();
    let proxy = Proxy::start(&server.url(), "/events", faults);
    let id = submit(&server.url(), "fibonacci -n 100 --layers 4");
    let output = arbor(words(&format!("watch {id} --server {}", proxy.url())));
    assert_code(&output, 0);
    let shown = stderr(&output);
    for node in 0..5 {
        let times = |what: &str| shown.lines().filter(|line| line.starts_with(what)).count();
        assert_eq!(times(&format!("{node}/0 is proved")), 1, "{shown}");
        assert_eq!(times(&format!("{node}/0 ")), 2, "{shown}");
    }
    let heads = proxy.heads("/events");
    assert_eq!(heads.len(), 5, "{heads:?}");
    let last = |head: &String| -> i64 {
        let line = head.lines().find_map(|line| line.strip_prefix("last-event-id: "));
        line.map_or(0, |text| text.parse().expect("a number"))
    };
    let ids: Vec<_> = heads.iter().map(last).collect();
    assert!(ids.is_sorted() && ids[4] > ids[0], "{ids:?}");
}

#[test]
fn every_event_comes_once_and_in_order_however_often_it_breaks() {
    let server = Server::start();
    let id: JobId = submit(&server.url(), "fibonacci -n 5 --layers 3 --preset insecure-test")
        .parse()
        .expect("an id");
    let whole = events(&client(&server.url()), id);
    let faults = (0..60).map(|step| Fault::CutAfter(400 + 37 * step)).collect();
    let proxy = Proxy::start(&server.url(), "/events", faults);
    assert_eq!(events(&client(&proxy.url()), id), whole);
    assert!(proxy.heads("/events").len() > 2);
    let ids: Vec<_> = whole.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, (1..=ids.len() as i64).collect::<Vec<_>>());
}

/// Ids and kinds of all events of a job.
fn events(client: &Client, id: JobId) -> Vec<(i64, EventKind)> {
    let mut seen = Vec::new();
    let mut stream = EventStream::new(client, id, Patience { tries: 30, ..quick() });
    let ended = block_on(stream.until_final(|event| seen.push((event.id, event.kind))));
    assert_eq!(ended.expect("the job ends").0.state, JobState::Succeeded);
    seen
}

#[test]
fn a_stream_that_never_comes_is_given_up() {
    let server = Server::start();
    let proxy = Proxy::start(&server.url(), "/events", vec![Fault::CutAfter(0); 50]);
    let id = submit(&server.url(), "fibonacci -n 1000 --layers 60").parse().expect("an id");
    let client = client(&proxy.url());
    let ended = block_on(EventStream::new(&client, id, quick()).until_final(|_| {}));
    let error = ended.expect_err("no event has come");
    assert!(matches!(error, ClientError::GaveUp { tries: 4, .. }), "{error}");
    assert_eq!(error.exit_code(), 2);
    assert_eq!(proxy.heads("/events").len(), 4);
}

#[test]
fn a_server_that_comes_back_is_found_again() {
    let mut server = Server::start();
    let id = submit(&server.url(), "fibonacci -n 1000 --layers 12");
    let watch = std::thread::spawn({
        let line = format!("watch {id} --server {}", server.url());
        move || arbor(words(&line))
    });
    std::thread::sleep(Duration::from_millis(700));
    server.restart();
    let output = watch.join().expect("no panic");
    assert_code(&output, 0);
    for node in 0..13 {
        let proved = format!("{node}/0 is proved");
        let shown = stderr(&output);
        assert_eq!(shown.lines().filter(|line| line.starts_with(&proved)).count(), 1, "{shown}");
    }
}

#[test]
fn a_download_that_breaks_off_goes_on_where_it_did() {
    let server = Server::start();
    let id = submit(&server.url(), "fibonacci -n 100 --layers 1 --wait");
    let faults = [20_000, 1, 50_000].map(Fault::CutAfter).to_vec();
    let proxy = Proxy::start(&server.url(), "/proof", faults);
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("x.arbor").display().to_string();
    assert_code(&arbor(words(&format!("get {id} --out {file} --server {}", proxy.url()))), 0);
    assert_code(&arbor(["verify", &file]), 0);
    let heads = proxy.heads("/proof");
    let ranges: Vec<_> = heads.iter().filter(|head| head.contains("range: bytes=")).collect();
    assert!(heads.len() == 4 && ranges.len() == 3, "{heads:?}");
    assert!(ranges.iter().all(|head| head.contains("if-range: \"")), "{heads:?}");
}

#[test]
fn a_damaged_download_is_noticed_and_leaves_no_file() {
    let server = Server::start();
    let id = submit(&server.url(), "fibonacci -n 100 --layers 1 --wait");
    let proxy = Proxy::start(&server.url(), "/proof", vec![Fault::Flip(30_000)]);
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("x.arbor").display().to_string();
    let output = arbor(words(&format!("get {id} --out {file} --server {}", proxy.url())));
    assert_refused(&output, 1, &["the proof is damaged"]);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}
