//! Proof files, good and bad.

use serde_json::json;

use crate::common::Proved;
use crate::common::server::Server;
use crate::driver::Browser;
use crate::server;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn files_are_verified_and_the_verdict_is_told_in_words() {
    let server = server();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/verify", server.url())).await;
    let proved = Proved::get();

    browser.choose("#proof-file", &proved.file()).await;
    browser.until_text("The proof is valid").await;
    let said = browser.text("main").await;
    for words in
        ["F(5) = 5 modulo p", "Proved through a chain of 1 layer.", "Naive count", "Verified in"]
    {
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
    browser.picture("verify-valid").await;

    let changed = proved.changed("changed.arbor", |bytes| {
        let last = bytes.len() - 40;
        bytes[last] ^= 1;
    });
    browser.choose("#proof-file", &changed).await;
    browser.until_text("The proof is not valid").await;
    assert!(!browser.text("main").await.contains("F(5)"), "nothing is said to be proved");
    assert!(browser.text("main .note.bad").await.len() > 20, "there is a reason");
    browser.picture("verify-invalid").await;

    let foreign = proved.changed("foreign.arbor", |bytes| *bytes = b"no proof at all".to_vec());
    browser.choose("#proof-file", &foreign).await;
    browser.until_text("This is no proof file that can be read").await;
    browser.picture("verify-foreign").await;

    let large = proved.changed("large.arbor", |bytes| bytes.resize(17 << 20, 0));
    browser.choose("#proof-file", &large).await;
    browser.until_text("The file is too large").await;
    browser.assert_quiet().await;
}

/// A proof that is too weak was not looked at: that is no word on whether it is valid.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn a_proof_that_is_too_weak_is_not_called_invalid() {
    // It asks for as many proven bits as a server does unless it is told otherwise.
    let server = Server::builder().env("ARBOR_LOG__FILTER", "warn").start();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/verify", server.url())).await;
    browser.choose("#proof-file", &Proved::get().file()).await;
    browser.until_text("Too weak to be accepted: nobody looked whether it is valid").await;
    let said = browser.text("main").await;
    assert!(!said.contains("not valid"), "{said}");
    assert!(browser.text("main .note.warn").await.contains("proven bits"), "there is a reason");
    browser.picture("verify-weak").await;
    browser.assert_quiet().await;
}

/// A file that is dropped does what a file that is chosen does.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: scripts/browser"]
async fn a_file_can_be_dropped() {
    let server = server();
    let browser = Browser::open().await;
    browser.go(&format!("{}/#/verify", server.url())).await;
    browser.until("document.querySelector('.drop')").await;
    let bytes = json!(Proved::get().bytes);
    let drop = format!(
        "const data = new DataTransfer();
         data.items.add(new File([new Uint8Array({bytes})], 'dropped.arbor'));
         const zone = document.querySelector('.drop');
         for (const kind of ['dragenter', 'dragover', 'drop'])
           zone.dispatchEvent(new DragEvent(kind, {{ dataTransfer: data, bubbles: true, cancelable: true }}));"
    );
    browser.run(&drop).await;
    browser.until_text("The proof is valid").await;
    assert!(browser.text("main").await.contains("dropped.arbor"));
    browser.assert_quiet().await;
}
