//! Entity tags.

use axum::http::HeaderValue;
use axum::http::header::HeaderMap;

/// The tag of a job at this revision.
pub(super) fn of_revision(revision: i64) -> HeaderValue {
    quoted(&format!("r{revision}"))
}

/// The tag of a file with this hash.
pub(super) fn of_hash(hash: &str) -> HeaderValue {
    quoted(hash)
}

fn quoted(text: &str) -> HeaderValue {
    // Revisions and hexadecimal are always valid; no tag is the fallback of nothing.
    HeaderValue::try_from(format!("\"{text}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Whether one of the tags in `if-none-match` or `if-match` (`name`) is `etag`, or is `*`. `None` without
/// the header. Weak tags match as strong ones do, as RFC 9110 has it for `if-none-match`.
pub(super) fn matches(
    headers: &HeaderMap,
    name: axum::http::HeaderName,
    etag: &HeaderValue,
) -> Option<bool> {
    let mut values = headers.get_all(name).iter().peekable();
    values.peek()?;
    let etag = etag.to_str().unwrap_or_default();
    Some(values.filter_map(|value| value.to_str().ok()).any(|value| {
        value.split(',').any(|tag| {
            let tag = tag.trim();
            tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag
        })
    }))
}
