//! `/docs`: Swagger UI, out of the binary.

use std::sync::{Arc, OnceLock};

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Redirect, Response};
use utoipa_swagger_ui::Config;

use super::ApiError;
use crate::api::ProblemKind;

/// The page loads nothing from elsewhere; Swagger UI sets styles by script and has images in its styles.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                      img-src 'self' data:; connect-src 'self'; font-src 'self'; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// `/docs`: relative addresses in the page need the slash.
pub(super) async fn redirect() -> Redirect {
    Redirect::permanent("/docs/")
}

/// `/docs/`.
pub(super) async fn index() -> Result<Response, ApiError> {
    file("")
}

/// `/docs/{file}`.
pub(super) async fn asset(path: Result<Path<String>, PathRejection>) -> Result<Response, ApiError> {
    file(path.map(|Path(path)| path).unwrap_or_default().as_str())
}

fn file(path: &str) -> Result<Response, ApiError> {
    static CONFIG: OnceLock<Arc<Config<'static>>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        // No validator badge: it would ask a server elsewhere.
        Arc::new(Config::new(["/openapi.json"]).validator_url("none"))
    });
    let file = utoipa_swagger_ui::serve(path, Arc::clone(config)).map_err(|error| {
        tracing::error!(%error, "the documentation cannot be served");
        ApiError::internal()
    })?;
    let Some(file) = file else {
        return Err(ApiError::new(ProblemKind::NotFound, "the documentation has no such file"));
    };
    let mut headers = HeaderMap::new();
    if let Ok(kind) = HeaderValue::try_from(file.content_type) {
        headers.insert(CONTENT_TYPE, kind);
    }
    if file.gzpipped {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok((headers, file.bytes.into_owned()).into_response())
}
