//! `/` and `/assets/{name}`: the page, out of the binary.
//!
//! The page is plain HTML, CSS and modules; nothing is generated and nothing comes from elsewhere. What is
//! served is listed here, so a path from outside only ever names one of these files.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue,
    IF_NONE_MATCH,
};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::query::Query;
use super::{ApiError, etag};
use crate::api::ProblemKind;
use crate::state::AppState;

/// Scripts, styles and requests of this server alone. Strings never become markup or code: the page has no
/// policy that would let them, so `require-trusted-types-for` makes any such attempt an error.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'",
);
/// Features of browsers that the page has no use for.
const PERMISSIONS: (HeaderName, HeaderValue) = (
    HeaderName::from_static("permissions-policy"),
    HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
);
/// The names of files do not change with their contents: ask each time, by tag.
const ASK: HeaderValue = HeaderValue::from_static("no-cache");

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// One file of the page.
struct File {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
    tag: HeaderValue,
}

macro_rules! files {
    ($($kind:ident: $($name:literal),+;)+) => {
        /// Every file.
        static FILES: LazyLock<Vec<File>> = LazyLock::new(|| vec![$($({
            let bytes: &'static [u8] = include_bytes!(concat!("../../web/", $name));
            File { name: $name, kind: $kind, bytes, tag: etag::of_hash(&blake3::hash(bytes).to_hex()) }
        },)+)+]);
    };
}

files! {
    HTML: "index.html";
    CSS: "base.css", "parts.css", "figures.css";
    SVG: "icon.svg";
    SCRIPT: "api.js", "app.js", "compare.js", "deliveries.js", "dom.js", "events.js", "failure.js", "fields.js", "format.js",
        "job.js", "jobs.js", "json.js", "key.js", "leaves.js", "model.js", "new.js", "plan.js", "security.js", "statement.js",
        "timings.js", "tree.js", "verify.js", "words.js";
}

/// The routes of the page.
pub(super) fn router() -> Router<AppState> {
    Router::new().route("/", get(index)).route("/assets/{name}", get(asset))
}

async fn index(uri: Uri, headers: HeaderMap) -> Result<Response, ApiError> {
    Query::of(&uri, &[])?;
    serve("index.html", &headers)
}

async fn asset(
    path: Result<Path<String>, PathRejection>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Query::of(&uri, &[])?;
    let name = path.map(|Path(name)| name).unwrap_or_default();
    // The page itself is at `/` only.
    if name == "index.html" { Err(no_file()) } else { serve(&name, &headers) }
}

fn serve(name: &str, headers: &HeaderMap) -> Result<Response, ApiError> {
    let file = FILES.iter().find(|file| file.name == name).ok_or_else(no_file)?;
    let fixed = [
        (ETAG, file.tag.clone()),
        (CACHE_CONTROL, ASK),
        (CONTENT_SECURITY_POLICY, POLICY),
        PERMISSIONS,
    ];
    if etag::matches(headers, IF_NONE_MATCH, &file.tag) == Some(true) {
        return Ok((StatusCode::NOT_MODIFIED, fixed).into_response());
    }
    Ok((fixed, [(CONTENT_TYPE, file.kind)], file.bytes).into_response())
}

fn no_file() -> ApiError {
    ApiError::new(ProblemKind::NotFound, "the page has no such file")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Nothing lies in the folder that is not served, and whatever a file of the page loads is served.
    #[test]
    fn the_list_is_the_folder_and_every_reference_is_in_it() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
        let entries = std::fs::read_dir(folder).expect("the folder is there");
        let there: BTreeSet<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        let listed: BTreeSet<String> = FILES.iter().map(|file| file.name.to_owned()).collect();
        assert_eq!(there, listed);
        for file in FILES.iter() {
            let text = std::str::from_utf8(file.bytes).expect("text");
            for mark in ["from './", "\"/assets/"] {
                for rest in text.split(mark).skip(1) {
                    let name = rest.split(['\'', '"']).next().unwrap_or_default();
                    assert!(listed.contains(name), "{} loads {name}", file.name);
                }
            }
        }
    }

    /// The page takes nothing from elsewhere and makes no markup or code from strings.
    #[test]
    fn no_file_reaches_out_or_interprets_strings() {
        for file in FILES.iter() {
            let text = std::str::from_utf8(file.bytes).expect("text");
            let text = text.replace("http://www.w3.org/2000/svg", "");
            for bad in ["http://", "https://", "innerHTML", "outerHTML", "eval(", "document.write"]
            {
                assert!(!text.contains(bad), "{} has {bad}", file.name);
            }
        }
    }

    #[test]
    fn a_known_tag_is_answered_without_a_body() {
        let first = serve("app.js", &HeaderMap::new()).expect("it is there");
        assert_eq!(first.status(), StatusCode::OK);
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, first.headers()[ETAG].clone());
        let again = serve("app.js", &headers).expect("it is there");
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        for name in ["", "..", "../src/lib.rs", "APP.JS", "index.html/"] {
            assert!(serve(name, &HeaderMap::new()).is_err(), "{name}");
        }
    }
}
