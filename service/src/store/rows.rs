//! From rows to records, and numbers from and to SQL's.

use std::str::FromStr;

use arbor_prover::Job;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::Result;
use crate::model::{JobRecord, Phase, ProofRef, Sizing};

/// SQL's numbers have a sign.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// What is never negative.
pub(super) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// What is never negative and small.
pub(super) fn small(value: i64) -> u32 {
    u32::try_from(value).unwrap_or(if value < 0 { 0 } else { u32::MAX })
}

/// JSON for a column.
pub(super) fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| sqlx::Error::Encode(Box::new(error)))
}

/// JSON from a column.
pub(super) fn parsed<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// A name from a column.
pub(super) fn named<T: FromStr>(text: &str) -> Result<T>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    text.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// A job from a row with all columns of `job`.
pub(super) fn job(row: &SqliteRow) -> Result<JobRecord> {
    let text = |name: &str| row.try_get::<String, _>(name);
    let optional = |name: &str| row.try_get::<Option<String>, _>(name);
    let number = |name: &str| row.try_get::<i64, _>(name);
    let body: Job = parsed(&text("body")?)?;
    let phase = match optional("phase")? {
        Some(name) => Some(Phase { node: optional("phase_node")?, name }),
        None => None,
    };
    let proof = match (optional("proof_hash")?, row.try_get::<Option<i64>, _>("proof_bytes")?) {
        (Some(hash), Some(bytes)) => Some(ProofRef { hash, bytes: unsigned(bytes) }),
        _ => None,
    };
    Ok(JobRecord {
        id: named(&text("id")?)?,
        state: named(&text("state")?)?,
        job: body,
        spec: parsed(&text("spec")?)?,
        sizing: Sizing {
            peak_bytes: unsigned(number("peak_bytes")?),
            prove_ms: unsigned(number("prove_ms")?),
            disk_bytes: unsigned(number("disk_bytes")?),
        },
        owner: optional("owner")?,
        created_at_ms: number("created_at_ms")?,
        started_at_ms: row.try_get("started_at_ms")?,
        finished_at_ms: row.try_get("finished_at_ms")?,
        deadline_at_ms: row.try_get("deadline_at_ms")?,
        nodes_total: small(number("nodes_total")?),
        nodes_done: small(number("nodes_done")?),
        phase,
        error: optional("error")?.map(|text| parsed(&text)).transpose()?,
        statement: optional("statement")?.map(|text| parsed(&text)).transpose()?,
        keys: parsed(&text("keys")?)?,
        proof,
        version: text("version")?,
        revision: number("revision")?,
    })
}
