//! Keeps web pages of other origins away, unless they are allowed by `access.cors_origins`: a browser on this
//! machine, or in this network, reaches a server that strangers do not.

use std::net::IpAddr;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{HOST, HeaderMap, ORIGIN};
use axum::http::{HeaderName, Uri, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::ApiError;
use crate::api::ProblemKind;
use crate::state::AppState;

/// What browsers say of where a request comes from.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses requests that change or cost something and come from another origin, and those for names that this
/// server does not go by: somebody else's name that was made to point here, so that a page of theirs takes this
/// server for its own.
pub(super) async fn guard(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let hosts = headers.get_all(HOST).iter().count();
    // Who stands in front may go by another of them than this server does (RFC 9112, section 3.2).
    if hosts > 1 || (hosts == 0 && request.version() == Version::HTTP_11) {
        let detail = format!("one host is needed, there are {hosts}");
        return ApiError::new(ProblemKind::BadRequest, detail).field("host").into_response();
    }
    if !request.method().is_safe()
        && is_foreign(headers)
        && !super::cors::allows(&state.config().access, headers)
    {
        let detail = "pages of other origins cannot use this server";
        return ApiError::new(ProblemKind::CrossOrigin, detail).field("origin").into_response();
    }
    if let Some(host) = host_name(headers, request.uri()) {
        let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        if let Err(error) = goes_by(&state, &host, route).await {
            return error.into_response();
        }
    }
    next.run(request).await
}

/// Whether the server goes by this name. One that only this machine reaches does so by none but local ones. One
/// that others reach, and that has no keys, by addresses and by names without a dot, which nobody can make point
/// here from outside; what is open to everybody it answers by any name. Where a key is needed a foreign page has
/// none.
async fn goes_by(state: &AppState, host: &str, route: Option<&str>) -> Result<(), ApiError> {
    let server = &state.config().server;
    if is_local(host) || server.allowed_hosts.iter().any(|name| name.eq_ignore_ascii_case(host)) {
        return Ok(());
    }
    let detail = if server.listen.ip().is_loopback() {
        "this server answers for localhost, and for server.allowed_hosts"
    } else {
        let unnamed = address(host).is_some() || !host.contains('.');
        if unnamed || route.is_none_or(super::auth::is_for_all) || has_keys(state).await? {
            return Ok(());
        }
        "without API keys this server answers for its addresses, for names without a dot, and for \
         server.allowed_hosts"
    };
    Err(ApiError::new(ProblemKind::Misdirected, detail).field("host"))
}

async fn has_keys(state: &AppState) -> Result<bool, ApiError> {
    match state.engine() {
        Ok(engine) => Ok(engine.has_keys().await?),
        Err(_) => Ok(!state.began_without_keys()),
    }
}

/// Whether a browser says that the request comes from elsewhere.
fn is_foreign(headers: &HeaderMap) -> bool {
    if headers.get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site" || site == "same-site") {
        return true;
    }
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    authority.is_none_or(|(_, authority)| !authority.eq_ignore_ascii_case(host))
}

/// The host that the request is for, without its port.
fn host_name(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let authority = match uri.authority() {
        Some(authority) => authority.clone(),
        None => {
            let host = headers.get(HOST)?;
            // What cannot be read is nobody's name.
            host.to_str()
                .ok()
                .and_then(|host| host.parse().ok())
                .unwrap_or(UNREADABLE.parse().ok()?)
        }
    };
    Some(authority.host().to_owned())
}

/// No host has this name (RFC 2606).
const UNREADABLE: &str = "unreadable.invalid";

/// Whether a request is for a name that only this machine has, and none that a proxy says it passes on.
pub(super) fn is_for_local<B>(request: &axum::http::Request<B>) -> bool {
    const PASSED_ON: [&str; 5] =
        ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];
    let direct = PASSED_ON.iter().all(|name| !request.headers().contains_key(*name));
    direct && host_name(request.headers(), request.uri()).is_none_or(|host| is_local(&host))
}

fn address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn is_local(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_page_of_the_server_itself_is_no_stranger() {
        assert!(!is_foreign(&headers(&[(HOST, "127.0.0.1:80")])));
        let own = [(HOST, "127.0.0.1:80"), (ORIGIN, "http://127.0.0.1:80")];
        assert!(!is_foreign(&headers(&own)));
        for origin in ["http://127.0.0.1:81", "https://example.org", "null", "127.0.0.1:80"] {
            assert!(is_foreign(&headers(&[(HOST, "127.0.0.1:80"), (ORIGIN, origin)])), "{origin}");
        }
        let site = [(HOST, "127.0.0.1:80"), (SEC_FETCH_SITE, "cross-site")];
        assert!(is_foreign(&headers(&site)));
    }

    #[test]
    fn the_name_of_a_host_is_found_with_and_without_port() {
        let uri = Uri::from_static("/");
        for (host, name, local) in [
            ("localhost:8080", "localhost", true),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.9.9.9:1", "127.9.9.9", true),
            ("[::1]:8080", "[::1]", true),
            ("evil.example", "evil.example", false),
            ("127.0.0.1.evil.example:80", "127.0.0.1.evil.example", false),
            ("not a host", UNREADABLE, false),
        ] {
            let found = host_name(&headers(&[(HOST, host)]), &uri).expect("there is a header");
            assert_eq!((found.as_str(), is_local(&found)), (name, local), "{host}");
        }
        assert_eq!(host_name(&HeaderMap::new(), &uri), None);
    }
}
