//! Every view, light and dark, on a desktop and on a telephone: axe finds nothing serious, nothing sticks out
//! of the screen, and nothing comes from elsewhere.

use serde_json::{Value, json};

use crate::common::Proved;
use crate::driver::{Browser, NARROW, WIDE};
use crate::server;

/// The checker; `scripts/browser` fetches it and says where it is.
pub fn axe() -> String {
    let path = std::env::var("ARBOR_AXE").expect("scripts/browser sets ARBOR_AXE");
    std::fs::read_to_string(path).expect("axe can be read")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn every_view_is_accessible_in_light_and_dark_and_on_a_narrow_screen() {
    let server = server();
    let url = server.url();
    let chain = |layers: u64| {
        json!({ "base": { "program": "keccak", "num_hashes": 2 }, "preset": "insecure-test",
                "recursion": { "mode": "chain", "layers": layers }, "labels": { "run": "nightly" } })
    };
    let tree = json!({ "base": { "program": "fibonacci", "n": 9 }, "preset": "insecure-test",
                       "recursion": { "mode": "tree", "arity": 2, "depth": 3 } });
    let late = json!({ "base": { "program": "keccak" }, "preset": "insecure-test", "deadline_s": 1,
                       "recursion": { "mode": "chain", "layers": 60 } });
    let browser = Browser::open().await;
    let axe = axe();
    views(&browser, &axe, &url, &[("empty", "#/jobs", "document.querySelector('main h2')")]).await;

    let (two, three) = (server.prove(&chain(2)).await, server.prove(&chain(3)).await);
    let tree = server.prove(&tree).await;
    let late = server.submit(&late).await;
    assert_eq!(server.wait(&late).await["state"], "expired");
    let id = |job: &Value| job["id"].as_str().expect("an id").to_owned();
    let done =
        "document.querySelector('main .badge.succeeded') && document.querySelector('.map .node')";
    let (job, tree, late, compare) = (
        format!("#/jobs/{}", id(&two)),
        format!("#/jobs/{}", id(&tree)),
        format!("#/jobs/{late}"),
        format!("#/compare/{}/{}", id(&two), id(&three)),
    );
    let planned =
        "document.querySelector('.plan [role=status]')?.textContent.includes('within the limits')";
    views(
        &browser,
        &axe,
        &url,
        &[
            ("jobs", "#/jobs", "document.querySelectorAll('.jobs tbody tr').length === 4"),
            ("filtered", "#/jobs?live", "document.querySelector('main .card p')"),
            ("new", "#/new", planned),
            ("chain", &job, done),
            ("tree", &tree, done),
            ("expired", &late, "document.querySelector('.badge.expired')"),
            ("compare", &compare, "document.querySelector('#layers')"),
            ("compare-none", "#/compare", "document.querySelector('main .note')"),
            ("verify", "#/verify", "document.querySelector('.drop')"),
            ("no-view", "#/nowhere", "document.querySelector('main h1')"),
        ],
    )
    .await;
    ratios(&browser, &format!("{url}/{compare}")).await;
    verdicts(&browser, &axe, &url).await;
    browser.assert_quiet().await;
}

/// The last column of the comparison is in sight on a narrow screen, too.
async fn ratios(browser: &Browser, url: &str) {
    browser.go("about:blank").await;
    browser.go(url).await;
    browser.look_like("light", NARROW).await;
    browser.until("document.querySelector('#layers')").await;
    let out = browser.run(
        "return [...document.querySelectorAll('main .scroll')].map(box => box.scrollWidth - box.clientWidth)",
    );
    let out = out.await;
    assert!(
        out.as_array().is_some_and(|all| all.iter().all(|out| out.as_i64() <= Some(0))),
        "tables are wider than the screen: {out}"
    );
    browser.look_like("light", WIDE).await;
}

/// Looks at views in every way. `ready` is true when a view is there.
async fn views(browser: &Browser, axe: &str, url: &str, views: &[(&str, &str, &str)]) {
    for (name, hash, ready) in views {
        browser.go("about:blank").await;
        browser.go(&format!("{url}/{hash}")).await;
        browser.until(ready).await;
        // Everything that can be opened.
        browser
            .run("for (const details of document.querySelectorAll('main details')) details.open = true")
            .await;
        browser.until("!document.body.innerText.includes('Asking the server')").await;
        look(browser, axe, name).await;
    }
}

/// The views of verdicts, and of a mistake in the form.
async fn verdicts(browser: &Browser, axe: &str, url: &str) {
    let proved = Proved::get();
    let bad = proved.changed("bad.arbor", |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    });
    browser.go(&format!("{url}/#/verify")).await;
    // Nothing in the name says where a line may end.
    let long = proved.changed(&format!("{}.arbor", "a1".repeat(60)), |_| ());
    let files =
        [("verdict-valid", proved.file()), ("verdict-invalid", bad), ("verdict-long-name", long)];
    for (name, file) in files {
        browser.choose("#proof-file", &file).await;
        let file = file.file_name().expect("a name").to_string_lossy().into_owned();
        browser
            .until(&format!(
                "document.querySelector('.verdict')?.innerText.includes({})",
                json!(file)
            ))
            .await;
        look(browser, axe, name).await;
    }
    browser.go(&format!("{url}/#/new")).await;
    browser.fill("[name='recursion.layers']", "x").await;
    browser.until("document.querySelector('[aria-invalid]')").await;
    look(browser, axe, "mistake").await;
}

/// One view in both schemes and both sizes.
pub async fn look(browser: &Browser, axe: &str, name: &str) {
    for scheme in ["light", "dark"] {
        for (size, window) in [("wide", WIDE), ("narrow", NARROW)] {
            browser.look_like(scheme, window).await;
            browser
                .run_async("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
                .await;
            let what = format!("{name}-{scheme}-{size}");
            let out = browser.run("return document.documentElement.scrollWidth - innerWidth").await;
            assert!(out.as_i64() <= Some(0), "{what} is {out} px too wide");
            check(browser, axe, &what).await;
            browser.picture(&what).await;
        }
    }
    browser.look_like("light", WIDE).await;
    let elsewhere = "return performance.getEntriesByType('resource').map(entry => entry.name)
        .filter(name => !name.startsWith(location.origin + '/') && !name.startsWith('blob:'))";
    assert_eq!(browser.run(elsewhere).await, json!([]), "{name} loads from elsewhere");
}

/// What axe finds of serious or critical impact, with the elements.
async fn check(browser: &Browser, axe: &str, what: &str) {
    if browser.run("return typeof axe").await == "undefined" {
        browser.run(axe).await;
    }
    let found = browser.run_async(
        "const done = arguments[arguments.length - 1];
         axe.run(document, { resultTypes: ['violations'] }).then(
           (results) => done({
             passes: results.passes.length,
             bad: results.violations.filter((v) => ['serious', 'critical'].includes(v.impact))
               .map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 160) + ' ' + n.failureSummary).join(' | ')),
             rest: results.violations.map((v) => v.id),
           }),
           (error) => done({ error: String(error) }))",
    );
    let found = found.await;
    assert!(found["passes"].as_u64() > Some(10), "{what}: axe did not run: {found}");
    assert_eq!(found["bad"], json!([]), "{what}");
    assert_eq!(found["rest"], json!([]), "{what}: of less impact, and still to be mended");
}
