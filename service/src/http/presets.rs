//! `/v1/presets`: the named parameters.

use arbor_prover::{Preset, preset};
use axum::Json;
use axum::http::Uri;

use super::ApiError;
use super::query::Query;
use crate::api::{PresetList, PresetView};

/// List the presets
///
/// Named sets of FRI parameters, for `preset` of a job. What a preset leaves out has a built-in default.
#[utoipa::path(get, path = "/v1/presets", operation_id = "list_presets", tag = "server",
    responses((status = 200, description = "All of them", body = PresetList)))]
pub(super) async fn list(uri: Uri) -> Result<Json<PresetList>, ApiError> {
    Query::of(&uri, &[])?;
    let presets = preset::names().map(view).collect::<Result<_, _>>()?;
    Ok(Json(PresetList { presets }))
}

fn view(name: &str) -> Result<PresetView, ApiError> {
    let preset = Preset::named(name)?;
    Ok(PresetView {
        name: name.to_owned(),
        description: preset.description,
        min_proven_bits: preset.min_proven_bits,
        insecure: name.starts_with("insecure"),
        keccak: preset.base.keccak,
        fibonacci: preset.base.fibonacci,
        tree_fibonacci: preset.tree.fibonacci,
        layer: preset.layer,
        last: preset.last,
    })
}
