//! The page in a real browser, against a real server: `scripts/browser` brings both together.
//!
//! Whatever a test looks at is also kept as a picture in the target folder (`tmp/browser`).

#![allow(missing_docs, unreachable_pub)]

#[path = "../common/mod.rs"]
mod common;

#[path = "../common/proxy.rs"]
mod proxy;

mod access;
mod accessibility;
mod driver;
mod faults;
mod form;
mod jobs;
mod verify;

use common::server::Server;

/// A server that verifies proofs of any strength: those of the tests have none.
fn server() -> Server {
    let server = Server::builder().env("ARBOR_VERIFICATION__MIN_PROVEN_BITS", 0);
    server.env("ARBOR_LOG__FILTER", "warn").start()
}
