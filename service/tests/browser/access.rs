//! A server that asks for API keys.

use std::path::Path;

use serde_json::{Value, json};

use crate::accessibility;
use crate::common;
use crate::driver::Browser;
use crate::server;

/// Runs `arbor keys` on the folder of a server.
fn keys(data: &Path, line: &str) -> Value {
    let mut words = common::words(&format!("--json keys {line} --data-dir"));
    words.push(data.display().to_string());
    common::json(&common::arbor(words))
}

fn make(data: &Path, role: &str) -> String {
    let made = keys(data, &format!("create --name page --role {role}"));
    made["key"].as_str().expect("a key").to_owned()
}

async fn enter(browser: &Browser, key: &str) {
    browser.fill("[name=key]", key).await;
    browser.press("Use this key").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn the_page_asks_for_a_key_and_says_what_a_key_may_not_do() {
    let server = server();
    let (submit, read) = (make(server.data_dir(), "submit"), make(server.data_dir(), "read"));
    let browser = Browser::open().await;
    browser.go(&server.url()).await;
    browser.until_text("This server asks for an API key").await;
    accessibility::look(&browser, &accessibility::axe(), "key").await;
    enter(&browser, "not a key").await;
    browser.until_text("A key has no spaces").await;
    enter(&browser, "arbor_0000_nonsense").await;
    browser.until_text("The key that was used is not known, or was revoked.").await;
    enter(&browser, &submit).await;
    browser.until_text("Nothing has been proved here yet").await;

    // Everything that the page asks for carries the key: figures, the job, its events, its proof.
    browser.press("New job").await;
    browser.fill("[name='recursion.layers']", "2").await;
    browser.click("[name=preset] option[value=insecure-test]").await;
    browser.press("Submit job").await;
    browser.until("document.querySelector('main .badge.succeeded')").await;
    browser.until("document.querySelectorAll('.map .node.done').length === 3").await;
    browser.press("Download proof").await;
    browser
        .until("document.getElementById('announcer').textContent.includes('was downloaded')")
        .await;
    let kept = browser.run("return JSON.stringify(localStorage) + document.cookie").await;
    assert_eq!(kept, "{}", "the key is kept for the tab only");

    browser.press("Forget the API key").await;
    browser.until_text("This server asks for an API key").await;
    enter(&browser, &read).await;
    browser.until("document.querySelector('main .badge.succeeded')").await;
    browser.press("Use as template").await;
    // What a job takes may be asked with every key.
    browser
        .until("document.querySelector('.plan [role=status]')?.textContent.includes('within the limits')")
        .await;
    browser.press("Submit job").await;
    browser.until_text("This API key may not submit jobs").await;
    browser.until_text("the role of this key is read").await;
    browser.picture("key-read").await;
    assert_eq!(browser.run("return location.hash").await, "#/new", "nothing was submitted");

    browser.click("nav [data-view=jobs]").await;
    browser.until("document.querySelectorAll('.jobs tbody tr').length === 1").await;
    let id = read.split('_').nth(1).expect("an id");
    keys(server.data_dir(), &format!("revoke {id}"));
    // Whoever watches is asked for another key, without loading the page again.
    browser.until_text("This server asks for an API key").await;
    browser.until_text("The key that was used is not known, or was revoked.").await;
    enter(&browser, &submit).await;
    browser.until("document.querySelectorAll('.jobs tbody tr').length === 1").await;
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn a_key_that_is_revoked_while_a_job_is_watched_is_asked_for_again() {
    let server = server();
    let (first, second) = (make(server.data_dir(), "submit"), make(server.data_dir(), "submit"));
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/new", server.url())).await;
    browser.until_text("This server asks for an API key").await;
    enter(&browser, &first).await;
    browser.until("document.querySelector('form [type=submit]')").await;
    browser.fill("[name='recursion.layers']", "60").await;
    browser.press("Submit job").await;
    browser.until("document.querySelectorAll('.map .node.done').length > 0").await;
    let id = first.split('_').nth(1).expect("an id");
    keys(server.data_dir(), &format!("revoke {id}"));
    browser.until_text("The key that was used is not known, or was revoked.").await;
    enter(&browser, &second).await;
    browser.until("document.querySelector('.map .node.done')").await;
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn who_sees_the_jobs_of_several_sees_whose_they_are() {
    let server = server();
    let named = |name: &str, role: &str| {
        let made = keys(server.data_dir(), &format!("create --name {name} --role {role}"));
        made["key"].as_str().expect("a key").to_owned()
    };
    let job = json!({ "base": { "program": "fibonacci", "n": 5 }, "preset": "insecure-test",
                      "recursion": { "mode": "chain", "layers": 0 } });
    let (ann, bob, admin) =
        (named("ann", "submit"), named("bob", "submit"), named("root", "admin"));
    for key in [&ann, &bob] {
        let request = server.client().post(server.url() + "/v1/jobs").bearer_auth(key).json(&job);
        let response = request.send().await.expect("an answer");
        assert!(response.status().is_success(), "{}", response.status());
    }
    let browser = Browser::open().await;
    browser.go(&server.url()).await;
    browser.until_text("This server asks for an API key").await;
    // Whoever sees one owner's jobs knows whose they are.
    enter(&browser, &ann).await;
    browser.until("document.querySelectorAll('.jobs tbody tr').length === 1").await;
    assert!(!browser.text(".jobs").await.contains("of ann"));
    browser.press("Forget the API key").await;
    browser.until_text("This server asks for an API key").await;
    enter(&browser, &admin).await;
    browser.until("document.querySelectorAll('.jobs tbody tr').length === 2").await;
    let list = browser.text(".jobs").await;
    assert!(list.contains("of ann") && list.contains("of bob"), "{list}");
    browser.picture("jobs-owners").await;
    browser.click(".jobs tbody tr:first-child a").await;
    browser.until("document.querySelector('[aria-label=Figures]')").await;
    let figures = browser.text("[aria-label=Figures]").await;
    assert!(figures.contains("Owner") && figures.contains("bob"), "{figures}");
    browser.assert_quiet().await;
}
