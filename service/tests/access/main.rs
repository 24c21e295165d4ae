//! API keys on a spawned server: who gets in, what each role may do on each route, quotas, rates, what ends with a
//! key, and that no secret is ever written down.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod keys;
mod pages;
mod quotas;
mod rates;
mod revoked;
mod roles;
mod secrets;
mod streams;
mod support;
