//! Jobs by the form: submitted, watched without a reload, downloaded, compared.

use serde_json::{Value, json};

use crate::common;
use crate::common::server::Server;
use crate::driver::Browser;
use crate::server;

/// What is filled in, how many proofs that makes, and what the proof says in the end.
struct Wanted {
    choices: [&'static str; 2],
    fields: &'static [(&'static str, &'static str)],
    nodes: u64,
    title: &'static str,
    says: &'static str,
}

const WANTED: [Wanted; 4] = [
    Wanted {
        choices: ["keccak", "chain"],
        fields: &[("base.num_hashes", "3"), ("recursion.layers", "2")],
        nodes: 3,
        title: "Keccak, 3 permutations · chain of 2 layers",
        says: "Claimed by the prover, not proved: 3 permutations of inputs from seed 1.",
    },
    Wanted {
        choices: ["fibonacci", "chain"],
        fields: &[("base.n", "10"), ("base.a", "3"), ("recursion.layers", "8")],
        nodes: 9,
        title: "Fibonacci, n = 10 · chain of 8 layers",
        says: "F(10) = 157 modulo",
    },
    Wanted {
        choices: ["keccak", "tree"],
        fields: &[("base.num_hashes", "2"), ("recursion.arity", "2"), ("recursion.depth", "1")],
        nodes: 3,
        title: "Keccak, 2 permutations · 2-to-1 tree of 2 leaves",
        says: "A tree over 2 leaves, 2 proofs to a node.",
    },
    Wanted {
        choices: ["fibonacci", "tree"],
        fields: &[("base.n", "12"), ("recursion.arity", "8"), ("recursion.depth", "1")],
        nodes: 9,
        title: "Fibonacci, n = 12 · 8-to-1 tree of 8 leaves",
        says: "F(12) = 144 modulo",
    },
];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn keccak_and_fibonacci_chains_and_trees_are_submitted_and_fill_in_live() {
    let server = server();
    let browser = Browser::open().await;
    browser.go(&server.url()).await;
    browser.until_text("Nothing has been proved here yet").await;
    // A page that is loaded again has lost this.
    browser.run("window.sameDocument = true").await;
    for wanted in &WANTED {
        one_job(&browser, wanted).await;
    }
    // All of them are in the list by now.
    browser.click("nav [data-view=jobs]").await;
    browser.until("document.querySelectorAll('.jobs tbody tr').length === 4").await;
    let states =
        browser.run("return [...document.querySelectorAll('.badge')].map(b => b.textContent)");
    assert_eq!(states.await, json!(vec!["Succeeded"; 4]));
    compare_two(&browser).await;
    assert_eq!(browser.run("return window.sameDocument").await, true);
    browser.assert_quiet().await;
}

async fn one_job(browser: &Browser, wanted: &Wanted) {
    browser.click("nav [data-view=new]").await;
    browser.until("document.querySelector('form')").await;
    let [program, mode] = wanted.choices;
    browser.click(&format!("[name='base.program'][value={program}]")).await;
    browser.click(&format!("[name='recursion.mode'][value={mode}]")).await;
    for (name, value) in wanted.fields {
        browser.fill(&format!("[name='{name}']"), value).await;
    }
    browser.click("[name=preset] option[value=insecure-test]").await;
    browser
        .until("document.querySelector('.plan [role=status]')?.textContent.includes('within the limits')")
        .await;
    let figures =
        browser.run("return [...document.querySelectorAll('.plan dd')].map(d => d.textContent)");
    let figures = figures.await;
    assert_eq!(figures[0], wanted.nodes.to_string(), "{figures}");
    assert!(
        figures.as_array().is_some_and(|all| all.iter().all(|figure| figure != "–")),
        "{figures}"
    );
    assert!(browser.text(".plan table").await.contains("Naive count"));

    // Everything that the progress bar of the job shows, and that nodes are shown while they are proved.
    browser
        .run(
            "window.seen = new Set(); window.ran = new Set();
             window.watch = setInterval(() => {
               const bar = document.querySelector('main section progress');
               if (bar) window.seen.add(bar.value);
               for (const node of document.querySelectorAll('.map .running')) window.ran.add(node.textContent);
             }, 4)",
        )
        .await;
    browser.press("Submit job").await;
    browser.until("/^#\\/jobs\\/.{36}$/.test(location.hash)").await;
    browser.until("document.querySelector('main .badge.succeeded')").await;
    browser.until("document.querySelector('main .lines')").await;
    let seen = browser.run("clearInterval(window.watch); return [...window.seen].sort()").await;
    assert!(seen.as_array().is_some_and(|seen| seen.len() > 2), "progress went in steps: {seen}");
    let ran = browser.run("return window.ran.size").await;
    assert!(ran.as_u64() > Some(0), "no node was seen while it was proved");

    assert_eq!(browser.text("main h1").await, wanted.title);
    assert!(browser.text("section[aria-labelledby=statement-title]").await.contains(wanted.says));
    let nodes = wanted.nodes;
    assert_eq!(count(browser, ".map .node.done").await, nodes);
    assert_eq!(count(browser, ".bars .track:has(span)").await, nodes, "each proof has its bar");
    browser.press("All nodes as a table").await;
    assert_eq!(count(browser, ".scroll tbody tr").await, nodes);
    let cells = browser.run(
        "return [...document.querySelectorAll('.scroll tbody td.right')].map(c => c.innerText)",
    );
    let cells = cells.await;
    assert!(cells.as_array().is_some_and(|cells| cells.iter().all(|cell| cell != "–")), "{cells}");
    let figures = browser.text("[aria-label=Figures]").await;
    assert!(figures.contains("Memory, estimated"), "{figures}");
    assert!(figures.contains("the server at its peak: "), "{figures}");
    let word = format!("job-{program}-{mode}");
    browser.picture(&word).await;
    download(browser).await;
}

async fn count(browser: &Browser, selector: &str) -> u64 {
    let count = format!("return document.querySelectorAll({}).length", json!(selector));
    browser.run(&count).await.as_u64().expect("a number")
}

/// The proof of the job, and of its first node, as files that another process verifies.
async fn download(browser: &Browser) {
    let id = browser.run("return location.hash.split('/').pop()").await;
    let id = id.as_str().expect("an id");
    browser.press("Download proof").await;
    browser.click(".scroll tbody tr:first-child button").await;
    for name in [format!("{id}.arbor"), format!("{id}-0-0.arbor")] {
        let file = browser.downloads().join(&name);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while !file.exists() {
            assert!(std::time::Instant::now() < deadline, "{name} was not downloaded");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        common::assert_code(&common::on("verify", &file), 0);
    }
}

/// The two chains side by side.
async fn compare_two(browser: &Browser) {
    browser.click("nav [data-view=compare]").await;
    for (select, job) in [("#pick0", "Keccak, 3"), ("#pick1", "Fibonacci, n = 10")] {
        let option = format!(
            "return [...document.querySelectorAll('{select} option')].find(o => o.text.startsWith({})).value",
            json!(job)
        );
        browser.until(&format!("document.querySelectorAll('{select} option').length > 4")).await;
        let id = browser.run(&option).await;
        browser.click(&format!("{select} option[value='{}']", id.as_str().expect("an id"))).await;
    }
    browser.until_text("Layer by layer").await;
    let rows = "return [...document.querySelectorAll('[aria-labelledby=layers] tbody tr')]
        .map(row => [...row.children].map(cell => cell.innerText.trim()))";
    let rows = browser.run(rows).await;
    let rows: Vec<&Value> = rows.as_array().expect("rows").iter().collect();
    assert_eq!(rows.len(), 9, "the longer chain has nine proofs");
    for row in &rows[..3] {
        assert!(row[4].as_str().is_some_and(|ratio| ratio.contains('×')), "{row}");
    }
    assert_eq!(rows[3][2], "–", "the shorter chain has no such layer: {}", rows[3]);
    assert!(browser.text("[aria-labelledby=differences]").await.contains("base.program"));
    let totals = browser.text("[aria-labelledby=totals]").await;
    assert!(!totals.contains("emory"), "the process's memory is no figure of a job: {totals}");
    browser.picture("compare").await;
}

/// A chain and a tree have nodes of the same names, of which only the bases are alike.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn a_node_has_one_time_and_stands_beside_its_like_only() {
    let server = server();
    let job = |recursion: Value| {
        let base = json!({ "program": "fibonacci", "n": 9 });
        json!({ "base": base, "preset": "insecure-test", "recursion": recursion })
    };
    let chain = server.prove(&job(json!({ "mode": "chain", "layers": 1 }))).await;
    let tree = server.prove(&job(json!({ "mode": "tree", "arity": 2, "depth": 1 }))).await;
    let id = |job: &Value| job["id"].as_str().expect("an id").to_owned();
    let (chain, tree) = (id(&chain), id(&tree));
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/jobs/{chain}", server.url())).await;
    browser.until("document.querySelectorAll('.bars .track:has(span)').length === 2").await;
    let times = "return [...document.querySelectorAll('.bars .total')].map(cell => cell.innerText)";
    let times = browser.run(times).await;
    browser.press("What the phases are").await;
    browser.until_text("Merkle paths").await;
    browser.until_text("named level/index").await;
    browser.go(&format!("{}/#/compare/{chain}/{tree}", server.url())).await;
    browser.until("document.querySelector('#layers')").await;
    let rows = "return [...document.querySelectorAll('[aria-labelledby=layers] tbody tr')]
        .map(row => [...row.children].map(cell => cell.innerText.trim()))";
    let rows = browser.run(rows).await;
    let column = |at: usize| -> Vec<&Value> {
        rows.as_array().expect("rows").iter().map(|row| &row[at]).collect()
    };
    let labels = json!(["0/0 base proof", "1/0 layer", "0/1 base proof", "1/0 merge"]);
    assert_eq!(json!(column(0)), labels);
    let same = json!([times[0], times[1], "–", "–"]);
    assert_eq!(json!(column(2)), same, "as on the page of the job");
    assert_eq!(*column(3)[1], "–", "the tree has no layer: {rows}");
    assert!(column(4)[0].as_str().is_some_and(|ratio| ratio.contains('×')), "{rows}");
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn what_was_asked_for_beside_the_proof_is_shown_with_the_fate_of_the_messages() {
    let server = Server::builder().env("ARBOR_WEBHOOKS__MAX_ATTEMPTS", 1);
    let server = server.env("ARBOR_LOG__FILTER", "warn").start();
    // A name that has no address, so that the message is given up.
    let job = json!({ "base": { "program": "fibonacci", "n": 9 }, "preset": "insecure-test",
                      "recursion": { "mode": "chain", "layers": 0 }, "labels": { "run": "nightly" },
                      "priority": 3, "deadline_s": 7200,
                      "webhook": { "url": "https://receiver.invalid/hook" } });
    let id = server.prove(&job).await["id"].as_str().expect("an id").to_owned();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/jobs/{id}", server.url())).await;
    browser.until_text("1 given up").await;
    assert!(browser.text("main .head").await.contains("run=nightly"));
    let figures = browser.text("[aria-label=Figures]").await;
    let facts =
        ["Priority", "Deadline", "within 2 hours", "when it has ended, to receiver.invalid"];
    for fact in facts {
        assert!(figures.contains(fact), "{fact} is not in {figures}");
    }
    assert!(!figures.contains("Owner"), "nobody has a key: {figures}");
    browser.press("Messages to the webhook").await;
    browser.until_text("given up, sent 1 time").await;
    browser.until_text("Last answer: ").await;
    browser.picture("job-webhook").await;
    browser.assert_quiet().await;
}

/// Waits are told in the unit that people count in, and are never too short.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn long_waits_are_told_in_minutes_hours_and_days() {
    let server = server();
    let browser = Browser::open().await;
    browser.go(&server.url()).await;
    let spans = browser.run_async(
        "const done = arguments[arguments.length - 1];
         import(location.origin + '/assets/format.js')
           .then(({ span }) => done([1, 119, 121, 7200, 86400, 200000].map(span)), (error) => done(String(error)))",
    );
    let said = ["1 second", "119 seconds", "3 minutes", "2 hours", "24 hours", "3 days"];
    assert_eq!(spans.await, json!(said));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn a_job_is_cancelled_and_retried_and_used_as_a_template() {
    let server = server();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/new", server.url())).await;
    browser.fill("[name='recursion.layers']", "40").await;
    browser.click("[name=preset] option[value=insecure-test]").await;
    browser.press("Submit job").await;
    browser.until("document.querySelectorAll('.map .node.done').length > 2").await;
    browser.picture("job-running").await;
    browser.press("Cancel").await;
    browser.until("document.querySelector('main .badge.cancelled')").await;
    let kept = count(&browser, ".map .node.done").await;
    assert!(kept < 41, "it was cancelled before its end");
    browser.press("Retry").await;
    browser.until("document.querySelector('main .badge.running')").await;
    assert!(count(&browser, ".map .node.done").await >= kept, "what was proved is kept");
    browser.until("document.querySelectorAll('.map .node.done').length > 10").await;
    browser.press("Cancel").await;
    browser.until("document.querySelector('main .badge.cancelled')").await;
    browser.press("Use as template").await;
    browser.until("document.querySelector('form')").await;
    let layers =
        browser.run("return document.querySelector('[name=\"recursion.layers\"]').value").await;
    assert_eq!(layers, "40");
    browser.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn a_finished_job_becomes_a_leaf_beside_others() {
    let server = server();
    let browser = Browser::open().await;
    let first = json!({
        "base": {"program": "fibonacci", "n": 10},
        "recursion": {"mode": "chain", "layers": 1},
        "preset": "insecure-test"
    });
    let first = server.prove(&first).await["id"].as_str().expect("an id").to_owned();
    browser.go(&format!("{}/#/jobs/{first}", server.url())).await;
    browser.until_text("Use as leaf").await;
    browser.press("Use as leaf").await;
    browser.until("document.querySelector('[name=\"recursion.leaves\"]')").await;
    let leaves = "return document.querySelector('[name=\"recursion.leaves\"]').value";
    assert_eq!(browser.run(leaves).await, json!(format!("job {first}")));
    let listed = format!("job {first}\nkeccak 2 seed 18446744073709551615\nfibonacci 12 a 3");
    browser.fill("[name='recursion.leaves']", &listed).await;
    browser.fill("[name='recursion.arity']", "3").await;
    browser.click("[name=preset] option[value=insecure-test]").await;
    browser
        .until("document.querySelector('.plan [role=status]')?.textContent.includes('within the limits')")
        .await;
    browser.press("Submit job").await;
    browser.until("document.querySelector('main .badge.succeeded')").await;
    assert_eq!(browser.text("main h1").await, "Proofs of other jobs · 3-to-1 tree of 3 leaves");
    let id = browser.run("return location.hash.split('/').pop()").await;
    let job = server.job(id.as_str().expect("an id")).await;
    let asked = json!([
        {"job": first},
        {"program": "keccak", "num_hashes": 2, "seed": u64::MAX, "fri": {}},
        {"program": "fibonacci", "n": 12, "a": 3, "b": 1, "fri": {}}
    ]);
    assert_eq!(job["job"]["recursion"]["leaves"], asked);
    let says = browser.text("section[aria-labelledby=statement-title]").await;
    for fact in ["F(10) = 55 modulo", "from seed 18446744073709551615", "F(12) = 411 modulo"] {
        assert!(says.contains(fact), "{fact} is not in {says}");
    }
    browser.picture("job-leaves").await;
    browser.press("Use as template").await;
    browser.until("document.querySelector('[name=\"recursion.leaves\"]')").await;
    let again = browser.run(leaves).await;
    assert_eq!(again.as_str().map(|text| text.lines().count()), Some(3), "{again}");
    browser.assert_quiet().await;
}
