//! `/openapi.json`: the description of this API.
//!
//! Routes and types describe themselves; what is the same for many of them is added here.

mod answers;
mod bounds;
mod heads;
mod links;
mod messages;

use axum::Json;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::{Operation, PathItem};

use super::{auth, routes};

/// What the description says of the API as a whole.
#[derive(utoipa::OpenApi)]
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
pub(super) async fn get() -> Json<OpenApi> {
    Json(document())
}

/// The description of this API.
#[must_use]
pub fn document() -> OpenApi {
    let mut api = routes().split_for_parts().1;
    bounds::add(&mut api);
    answers::add(&mut api);
    links::add(&mut api);
    // From what GET says by now.
    heads::add(&mut api);
    messages::add(&mut api);
    api
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, head, post, delete, .. } = item;
    [get, head, post, delete].into_iter().flatten()
}
