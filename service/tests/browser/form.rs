//! The form: mistakes are told at their fields, and no mouse is needed.

use serde_json::json;

use crate::common::server::Server;
use crate::driver::{Browser, DOWN, ENTER, SHIFT_TAB, TAB};
use crate::server;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn mistakes_are_told_at_their_fields_and_nothing_is_sent() {
    let server = server();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/new", server.url())).await;
    browser
        .until("document.querySelector('.plan [role=status]')?.textContent.includes('within the limits')")
        .await;
    for summary in ["FRI parameters", "Priority, deadline, labels, webhook"] {
        browser.press(summary).await;
    }
    for (field, value, says) in [
        ("base.num_hashes", "0", "0 is not allowed; allowed: 1 to"),
        ("base.num_hashes", "9999999", "allows 174762 permutations"),
        ("base.num_hashes", "12.5", "“12.5” is not a whole number."),
        ("base.num_hashes", "", "A whole number is needed here."),
        ("base.seed", "-1", "This cannot be negative."),
        ("base.seed", "18446744073709551616", "This has more than 64 bits."),
        ("recursion.layers", "65", "allowed: 0 to 64"),
        ("fri.num_queries", "0", "0 is not allowed; allowed: 1 to"),
        ("base.fri.cap_height", "77", "77 is not allowed"),
        ("final.fri.log_blowup", "99", "99 is not allowed"),
        ("deadline_s", "99999999", "604800"),
        ("labels", "nonsense", "write name=value"),
        ("labels", "a b=c", "A label's name is 1 to 64"),
        ("webhook.url", "http://example.com/", "Not https"),
        ("webhook.url", "https://192.168.0.1/", "not one of the open internet"),
    ] {
        let selector = format!("[name='{field}']");
        let before = format!("return document.querySelector({}).value", json!(selector));
        let before = browser.run(&before).await.as_str().expect("a value").to_owned();
        browser.fill(&selector, value).await;
        let fault = format!(
            "(() => {{ const field = document.querySelector({});
               const fault = document.getElementById(field.getAttribute('aria-describedby').split(' ').pop());
               return field.getAttribute('aria-invalid') === 'true' && fault.innerText.includes({}) }})()",
            json!(selector),
            json!(says)
        );
        browser.until(&fault).await;
        browser.press("Submit job").await;
        browser
            .until(&format!(
                "document.activeElement === document.querySelector({})",
                json!(selector)
            ))
            .await;
        browser.fill(&selector, &before).await;
        browser.until("document.querySelectorAll('[aria-invalid]').length === 0").await;
        browser
            .until("document.querySelector('.plan [role=status]')?.textContent.includes('within the limits')")
            .await;
    }
    browser.fill("[name='fri.num_queries']", "0").await;
    browser.until("document.querySelector('[aria-invalid]')").await;
    browser.picture("form-mistake").await;
    assert_eq!(server.get_json("/v1/jobs").await["jobs"], json!([]), "nothing was submitted");
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn all_mistakes_are_marked_at_once_and_the_first_has_the_focus() {
    let server = server();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/new", server.url())).await;
    browser.until("document.querySelector('form')").await;
    for summary in ["FRI parameters", "Priority, deadline, labels, webhook"] {
        browser.press(summary).await;
    }
    let wrong =
        ["base.seed", "recursion.layers", "fri.log_blowup", "final.fri.log_blowup", "labels"];
    for field in wrong {
        browser.fill(&format!("[name='{field}']"), "x").await;
    }
    browser.press("Submit job").await;
    browser.until("document.activeElement.name === 'base.seed'").await;
    let marked = browser
        .run("return [...document.querySelectorAll('[aria-invalid]')].map(field => field.name)");
    assert_eq!(marked.await, json!(wrong));
    assert_eq!(browser.text(".plan [role=status]").await, "5 fields need other values.");
    browser.picture("form-mistakes").await;
    assert_eq!(server.get_json("/v1/jobs").await["jobs"], json!([]), "nothing was submitted");
    browser.assert_quiet().await;
}

/// The figures and the tree of one job would mislead about another.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn a_job_that_is_refused_has_no_plan_and_hears_why_once() {
    let server = Server::builder().env("ARBOR_MEMORY__LIMIT_BYTES", 2_000_000_000_u64);
    let server = server.env("ARBOR_LOG__FILTER", "warn").start();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/new", server.url())).await;
    browser.until("document.querySelectorAll('.plan .map .node').length === 4").await;
    browser.fill("[name='base.num_hashes']", "100000").await;
    browser.until_text("The server would not take it").await;
    browser.press("Submit job").await;
    browser.until("document.activeElement.matches('.plan .note.bad')").await;
    let nodes = "return document.querySelectorAll('.plan .map .node').length";
    assert_eq!(browser.run(nodes).await, 0, "a plan of another job");
    let said = browser.text("aside").await;
    assert_eq!(said.matches("takes at most").count(), 1, "{said}");
    browser.picture("form-refused").await;
    browser.fill("[name='base.num_hashes']", "4").await;
    browser.until("document.querySelectorAll('.plan .map .node').length === 4").await;
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn what_is_left_to_the_preset_is_shown() {
    let server = server();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/new", server.url())).await;
    browser.until("document.querySelector('form')").await;
    browser.press("FRI parameters").await;
    let shown = |field: &str| {
        format!("document.querySelector('[name=\"{field}\"]').getAttribute('placeholder')")
    };
    for (preset, field, value) in [
        ("default", "fri.security_level", "124"),
        ("default", "fri.num_queries", "derived"),
        ("default", "base.fri.commit_pow_bits", "0"),
        ("compact", "final.fri.log_blowup", "4"),
        ("compact", "final.fri.log_final_poly_len", "5"),
        ("proven-100", "fri.num_queries", "109"),
        ("proven-100", "fri.security_level", "none"),
    ] {
        browser.click(&format!("[name=preset] option[value='{preset}']")).await;
        browser.until(&format!("{} === '{value}'", shown(field))).await;
        let empty = "return [...document.querySelectorAll('.matrix input:not([placeholder]), .matrix input[placeholder=\"\"]')].length";
        assert_eq!(browser.run(empty).await, 0, "{preset} leaves fields without a value");
    }
    // Two groups of choices have room between them.
    browser.click("[name='recursion.mode'][value=tree]").await;
    let room = "return document.querySelector('[aria-label=Leaves]').getBoundingClientRect().top
        - document.querySelector('[name=\"recursion.mode\"]').closest('.choices').getBoundingClientRect().bottom";
    assert!(browser.run(room).await.as_f64() > Some(8.0), "the groups touch");
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn mistakes_in_listed_leaves_are_told_with_their_line() {
    let server = server();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/new", server.url())).await;
    browser.click("[name='recursion.mode'][value=tree]").await;
    browser.click("[name='leaves'][value=listed]").await;
    browser
        .until("document.querySelector('[name=\"base.num_hashes\"]').offsetParent === null")
        .await;
    for (leaves, says) in [
        ("", "At least one leaf is needed here."),
        ("fibonacci 3\nsha256 4", "Leaf 2, “sha256 4”: a leaf begins with"),
        ("fibonacci x", "Leaf 1, “fibonacci x”: “x” is not known"),
        ("keccak 3 seed", "after “seed” comes a whole number"),
        ("keccak 3 num_hashes 4", "“num_hashes” is there twice"),
        ("job", "after “job” comes one id"),
        ("fibonacci 3\nkeccak 0", "0 is not allowed"),
        ("fibonacci 3\njob 0192f5c1-7c1e-7000-8000-000000000000", "Leaf 2: there is no such job."),
    ] {
        browser.fill("[name='recursion.leaves']", leaves).await;
        let fault = format!(
            "document.querySelector('[data-field=\"recursion.leaves\"] .fault').innerText.includes({})",
            json!(says)
        );
        browser.until(&fault).await;
    }
    browser.press("Submit job").await;
    browser.until("document.activeElement.name === 'recursion.leaves'").await;
    assert_eq!(server.get_json("/v1/jobs").await["jobs"], json!([]), "nothing was submitted");
    browser.picture("form-leaves").await;
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn everything_can_be_done_with_the_keyboard_alone() {
    let server = server();
    let browser = Browser::open().await;
    browser.go(&server.url()).await;
    browser.until_text("Nothing has been proved here yet").await;
    // The first stop skips the navigation, and is seen when it has the focus.
    browser.keys(TAB).await;
    assert_eq!(focus(&browser).await, "Skip to the content");
    let top =
        browser.run("return document.getElementById('skip').getBoundingClientRect().top").await;
    assert!(top.as_f64() >= Some(0.0), "the skip link is out of sight at {top}");
    browser.keys(ENTER).await;
    assert_eq!(browser.run("return document.activeElement.id").await, "main");
    to(&browser, "Submit the first job").await;
    browser.keys(ENTER).await;
    browser.until("document.activeElement.tagName === 'H1' && document.activeElement.innerText === 'New job'").await;

    // A group of choices is one stop; arrows choose.
    to(&browser, "base.program").await;
    browser.keys(DOWN).await;
    to(&browser, "base.n").await;
    browser.keys("7").await;
    to(&browser, "recursion.mode").await;
    to(&browser, "recursion.layers").await;
    browser.keys("1").await;
    to(&browser, "preset").await;
    browser.keys("ins").await;
    browser.keys(SHIFT_TAB).await;
    assert_eq!(focus(&browser).await, "recursion.layers");
    browser
        .until("document.querySelector('.plan [role=status]')?.textContent.includes('within the limits')")
        .await;
    to(&browser, "Submit job").await;
    browser.keys(ENTER).await;
    browser.until("document.querySelector('main .badge.succeeded')").await;
    assert_eq!(browser.text("main h1").await, "Fibonacci, n = 7 · chain of 1 layer");

    // The focus is on what the view is about, not lost with the form.
    to(&browser, "All nodes as a table").await;
    browser.keys(ENTER).await;
    to(&browser, "Nodes with times by phase").await;
    to(&browser, "Download the proof of node 0/0").await;
    to(&browser, "Security figures").await;
    browser.keys(ENTER).await;
    browser.until_text("Naive count").await;
    browser.assert_quiet().await;
}

/// What has the focus, by its label or name.
async fn focus(browser: &Browser) -> String {
    let name = browser.run(
        "const e = document.activeElement;
         return e.name || e.getAttribute('aria-label') || e.innerText || e.tagName",
    );
    name.await.as_str().unwrap_or_default().trim().to_owned()
}

/// Goes on with the tabulator until `name` has the focus, which must be seen on every stop.
async fn to(browser: &Browser, name: &str) {
    let mut passed = Vec::new();
    for _ in 0..60 {
        browser.keys(TAB).await;
        let now = focus(browser).await;
        let seen = browser.run(
            "const e = document.activeElement; if (e === document.body) return true;
             const shown = (x) => x && getComputedStyle(x).outlineStyle !== 'none';
             return shown(e) || shown(e.closest('label'))",
        );
        assert_eq!(seen.await, true, "no mark shows that {now:?} has the focus");
        if now == name {
            return;
        }
        passed.push(now);
    }
    panic!("the tabulator does not reach {name:?}; it passed {passed:?}");
}
