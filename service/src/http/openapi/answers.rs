//! Answers that many routes have in common: those of access, of bodies, and of a server in trouble.

use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, ResponseBuilder};

use super::{auth, operations};

/// Name of the security scheme.
const SCHEME: &str = "key";

type Answers = [(&'static str, &'static str)];

/// Of every route.
const ALWAYS: &Answers = &[
    ("400", "A query parameter or a header is refused"),
    ("421", "The request is for another host than this server answers for"),
    ("431", "The head of the request is too large"),
    ("500", "An error of the server; `request_id` finds it in the logs"),
    ("503", "Busy, or ending; `retry-after` says when to come back"),
];
/// Of every route that needs a key.
const ACCESS: &Answers = &[
    ("401", "The server has keys, and the request has none that is valid"),
    ("403", "The role of the key does not allow this, or a page of another origin asks"),
    ("429", "Too many requests, streams or waits; `retry-after` says when to come back"),
];
/// Of every route that reads a body.
const BODY: &Answers = &[
    ("408", "The body did not come in time"),
    ("413", "The body is too large"),
    ("415", "The body has another media type, or is compressed"),
    ("422", "The body does not fit, with the field"),
];
/// Of every route of one job.
const JOB: &Answers = &[("404", "No such job")];

/// Adds them to each route that does not describe them itself, and the scheme of keys.
pub(super) fn add(api: &mut OpenApi) {
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
            describe(operation, ALWAYS);
            if operation.request_body.is_some() {
                describe(operation, BODY);
            }
            if path.contains("{id}") {
                describe(operation, JOB);
            }
            if !open {
                describe(operation, ACCESS);
                let key = SecurityRequirement::new::<_, [&str; 0], &str>(SCHEME, []);
                operation.security = Some(vec![key, SecurityRequirement::default()]);
            }
        }
    }
}

fn describe(operation: &mut Operation, answers: &Answers) {
    for &(status, description) in answers {
        operation.responses.responses.entry(status.to_owned()).or_insert_with(|| {
            let problem = Content::new(Some(Ref::from_schema_name("Problem")));
            let response = ResponseBuilder::new().description(description);
            RefOr::T(response.content("application/problem+json", problem).build())
        });
    }
}
