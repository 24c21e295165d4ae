//! `/openapi.json`: the description of this API.

use axum::Json;
use utoipa::OpenApi;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, ResponseBuilder};

use super::{auth, routes};

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
    with_access(routes().split_for_parts().1)
}

/// Name of the security scheme.
const SCHEME: &str = "key";
/// What every route that needs a key may answer as well.
const REFUSALS: [(&str, &str); 3] = [
    ("401", "The server has keys, and the request has none that is valid"),
    ("403", "The role of the key does not allow this, or a page of another origin asks"),
    ("429", "Too many requests; `retry-after` says when to come back"),
];

/// Adds the scheme of keys, and what it means for each route.
fn with_access(mut api: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("arbor_<id>_<secret>")
        .description(Some("Made by `arbor keys create`. Not needed until the server has a key."))
        .build();
    if let Some(components) = &mut api.components {
        components.add_security_scheme(SCHEME, SecurityScheme::Http(scheme));
    }
    for (path, item) in &mut api.paths.paths {
        let open = auth::is_open(path);
        for operation in operations(item) {
            if open {
                continue;
            }
            let key = SecurityRequirement::new::<_, [&str; 0], &str>(SCHEME, []);
            operation.security = Some(vec![key, SecurityRequirement::default()]);
            for (status, description) in REFUSALS {
                operation.responses.responses.entry(status.to_owned()).or_insert_with(|| {
                    let problem = Content::new(Some(Ref::from_schema_name("Problem")));
                    let response = ResponseBuilder::new().description(description);
                    RefOr::T(response.content("application/problem+json", problem).build())
                });
            }
        }
    }
    api
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, head, post, delete, .. } = item;
    [get, head, post, delete].into_iter().flatten()
}
