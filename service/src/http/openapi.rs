//! `/openapi.json`: the description of this API.

use axum::Json;
use utoipa::OpenApi;

use super::routes;

/// What the description says of the API as a whole.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Arbor",
        description = "Recursive proofs as jobs. Submit a job, follow it, download its proof, verify it \
                       anywhere.\n\nEvery error is `application/problem+json` with a stable `type`, and \
                       unknown fields are refused. Times are milliseconds since 1970, UTC.",
        license(name = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "jobs", description = "Proof jobs"),
        (name = "proofs", description = "Proof files"),
        (name = "server", description = "The server itself"),
    ),
    components(schemas(crate::api::Problem)),
)]
pub(super) struct ApiDoc;

/// The description of this API
///
/// OpenAPI 3.1.
#[utoipa::path(get, path = "/openapi.json", operation_id = "openapi", tag = "server",
    responses((status = 200, description = "This document", body = Object)))]
pub(super) async fn get() -> Json<utoipa::openapi::OpenApi> {
    Json(document())
}

/// The description of this API.
#[must_use]
pub fn document() -> utoipa::openapi::OpenApi {
    routes().split_for_parts().1
}
