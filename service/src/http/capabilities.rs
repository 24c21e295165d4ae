//! `/v1/capabilities`: what this server is and takes.

use arbor_prover::tree::MAX_ARITY;
use arbor_prover::{format, preset};
use axum::Json;
use axum::extract::State;
use axum::http::Uri;

use super::ApiError;
use super::query::Query;
use crate::api::{Capabilities, Limits, ModeView, ProgramView};
use crate::config::Config;
use crate::cpu;
use crate::state::AppState;

/// What this server is and takes
///
/// Versions, programs, modes, presets and limits.
#[utoipa::path(get, path = "/v1/capabilities", operation_id = "get_capabilities", tag = "server",
    responses((status = 200, description = "The capabilities", body = Capabilities)))]
pub(super) async fn get(
    State(state): State<AppState>,
    uri: Uri,
) -> Result<Json<Capabilities>, ApiError> {
    Query::of(&uri, &[])?;
    let config = state.config();
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let threads = match config.engine.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    Ok(Json(Capabilities {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("ARBOR_COMMIT").to_owned(),
        proof_format: format::FORMAT_VERSION,
        plonky3: env!("ARBOR_PLONKY3").to_owned(),
        cpu_features: cpu::compiled(),
        threads,
        programs: vec![
            ProgramView {
                name: "keccak".to_owned(),
                fields: words(&["num_hashes", "seed", "fri"]),
                size_field: "num_hashes".to_owned(),
                max_size: config.limits.max_num_hashes,
                inputs_bound: false,
            },
            ProgramView {
                name: "fibonacci".to_owned(),
                fields: words(&["n", "a", "b", "fri"]),
                size_field: "n".to_owned(),
                max_size: config.limits.max_n,
                inputs_bound: true,
            },
        ],
        modes: vec![
            ModeView { name: "chain".to_owned(), fields: words(&["layers"]) },
            ModeView { name: "tree".to_owned(), fields: words(&["arity", "depth", "leaves"]) },
        ],
        presets: preset::names().map(str::to_owned).collect(),
        limits: limits(config),
    }))
}

fn limits(config: &Config) -> Limits {
    let Config { limits, server, verification, retention, .. } = config;
    Limits {
        max_num_hashes: limits.max_num_hashes,
        max_n: limits.max_n,
        max_layers: limits.max_layers,
        arity: [2, MAX_ARITY],
        max_depth: limits.max_depth,
        max_leaves: limits.max_leaves,
        max_queued: limits.max_queued,
        max_labels: limits.max_labels,
        max_deadline_s: limits.max_deadline_s,
        max_body_bytes: server.max_body_bytes,
        max_wait_s: server.max_wait_s,
        max_verification_bytes: verification.max_bytes,
        retention_s: retention.finished_s,
    }
}
