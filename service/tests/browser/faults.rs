//! What the page says when something goes wrong.

use std::fs;
use std::time::{Duration, Instant};

use crate::driver::Browser;
use crate::proxy::{Fault, Proxy};
use crate::server;

/// Much less than the time between two looks at whether the server is ready.
const SOON: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn a_job_whose_deadline_passes_says_so_in_words_and_offers_a_retry() {
    let server = server();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/new", server.url())).await;
    browser.fill("[name='recursion.layers']", "60").await;
    browser.click("[name=preset] option[value=insecure-test]").await;
    browser.press("Priority, deadline, labels, webhook").await;
    browser.fill("[name=deadline_s]", "1").await;
    browser.fill("[name=labels]", "run=late").await;
    browser.press("Submit job").await;
    browser.until("document.querySelector('main .badge.expired')").await;
    let note = browser.text(".note.bad[role=alert]").await;
    assert!(note.contains("The deadline passed before the proof was there."), "{note}");
    assert!(note.contains("It was wanted within 1 second."), "{note}");
    assert!(!note.contains("The deadline has passed"), "it is said once: {note}");
    assert!(note.contains("A retry may help"), "{note}");
    assert!(browser.text("main .head").await.contains("Retry"));
    assert_eq!(browser.run("return document.querySelectorAll('.map .running').length").await, 0);
    browser.picture("job-expired").await;
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn a_job_that_fails_says_why_and_a_retry_finishes_it() {
    let server = server();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/new", server.url())).await;
    browser.fill("[name='recursion.layers']", "1").await;
    browser.click("[name=preset] option[value=insecure-test]").await;
    browser
        .until("document.querySelector('.plan [role=status]')?.textContent.includes('within the limits')")
        .await;
    // A file where the folder was: no proof can be stored.
    let blobs = server.data_dir().join("blobs");
    let away = blobs.with_extension("away");
    fs::rename(&blobs, &away).expect("the folder goes");
    fs::write(&blobs, b"").expect("a file comes");
    browser.press("Submit job").await;
    browser.until("document.querySelector('main .badge.failed')").await;
    let note = browser.text(".note.bad[role=alert]").await;
    assert!(note.contains("The proof store could not be read or written."), "{note}");
    assert!(note.contains("It was node 0/0."), "{note}");
    assert!(note.contains("A retry may help"), "{note}");
    browser.until("document.querySelector('.map .node.failed')").await;
    browser.picture("job-failed").await;

    fs::remove_file(&blobs).expect("the file goes");
    fs::rename(&away, &blobs).expect("the folder comes back");
    browser.press("Retry").await;
    browser.until("document.querySelector('main .badge.succeeded')").await;
    assert_eq!(browser.run("return document.querySelectorAll('.note.bad').length").await, 0);
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn a_stream_that_breaks_goes_on_where_it_was() {
    let server = server();
    let faults = vec![Fault::CutAfter(700), Fault::CutAfter(2_000), Fault::CutAfter(3_000)];
    let proxy = Proxy::start(&server.url(), "/events ", faults);
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/new", proxy.url())).await;
    browser.fill("[name='recursion.layers']", "12").await;
    browser.click("[name=preset] option[value=insecure-test]").await;
    browser.press("Submit job").await;
    browser.until("document.querySelector('main .badge.succeeded')").await;
    browser.until("document.querySelectorAll('.map .node.done').length === 13").await;
    let heads = proxy.heads("/events ");
    let after = |head: &String| {
        let line = head.lines().find_map(|line| line.strip_prefix("last-event-id: "));
        line.and_then(|id| id.parse::<u64>().ok()).expect("it says what it knows")
    };
    let after: Vec<u64> = heads.iter().map(after).collect();
    assert!(after.len() >= 3 && after[0] == 0, "{after:?}");
    assert!(after.windows(2).all(|pair| pair[0] <= pair[1]), "it never goes back: {after:?}");
    assert!(after.last() > Some(&0), "{after:?}");
    assert_eq!(browser.run("return document.querySelectorAll('.note.warn').length").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn a_server_that_is_gone_and_a_job_that_never_was_are_told() {
    let mut server = server();
    let browser = Browser::open().await;
    let url = server.url();
    browser.go(&format!("{url}/#/jobs/0192f5c1-7c1e-7000-8000-000000000000")).await;
    browser.until_text("There is no such job").await;
    browser.picture("no-such-job").await;
    browser.go(&format!("{url}/#/nowhere")).await;
    browser.until_text("There is no such view").await;
    browser.click("nav [data-view=jobs]").await;
    browser.until_text("Nothing has been proved here yet").await;
    browser.assert_quiet().await;
    server.kill();
    browser.until_text("The list is not up to date").await;
    browser.until_text("Not ready: the server cannot be reached").await;
    browser.click("nav [data-view=verify]").await;
    browser.until_text("This cannot be shown").await;
    browser
        .until_text("There was no answer. Is the server still running, and is the network up?")
        .await;
    browser.picture("unreachable").await;
    // Nobody has to try again by hand.
    server.restart();
    browser.until("document.querySelector('.drop')").await;
    assert_eq!(browser.text("#health").await, "Ready");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn a_server_that_dies_while_a_job_is_watched_is_not_called_ready() {
    let mut server = server();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/new", server.url())).await;
    browser.fill("[name='recursion.layers']", "60").await;
    browser.click("[name=preset] option[value=insecure-test]").await;
    browser.press("Submit job").await;
    browser.until("document.querySelectorAll('.map .node.done').length > 0").await;
    server.kill();
    let gone = Instant::now();
    browser.until_text("Not ready: the server cannot be reached").await;
    assert!(gone.elapsed() < SOON, "it took {:?}", gone.elapsed());
    browser.until_text("The connection is lost.").await;
    let done = browser.run("return document.querySelectorAll('.map .node.done').length").await;
    server.restart();
    browser.until(&format!("document.querySelectorAll('.map .node.done').length > {done}")).await;
    browser.until("!document.querySelector('.note.warn')").await;
}
