//! Checks keys, roles and rates, before anything else is done for a request.
//!
//! What is open to everybody is listed; every other route needs a key as soon as there are any. So a route that
//! is added later is closed until somebody says otherwise.

use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{Extensions, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, SocketAddr};

use super::origin::is_for_local;
use super::revoked::run_while_valid;
use super::{ApiError, Caller};
use crate::access::{ApiKey, Role, Who};
use crate::api::ProblemKind;
use crate::config::{Config, MetricsAccess};
use crate::engine::EngineError;
use crate::state::AppState;

/// Routes that tell nothing of anybody's jobs and cost little.
const OPEN: [&str; 10] = [
    "/",
    "/assets/{name}",
    "/docs",
    "/docs/",
    "/docs/{*path}",
    "/openapi.json",
    "/problems/{kind}",
    "/livez",
    "/readyz",
    METRICS,
];
const METRICS: &str = "/metrics";

/// Whether everybody may ask a route, as far as its path says.
pub(super) fn is_open(route: &str) -> bool {
    route != METRICS && OPEN.contains(&route)
}

/// Whether a route tells nothing of anybody's jobs, the metrics included.
pub(super) fn is_for_all(route: &str) -> bool {
    OPEN.contains(&route)
}

/// Lets a request pass whose key, if one is needed, is valid, allows it, and is not used too often.
pub(super) async fn guard(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some(header) = request.headers_mut().get_mut(AUTHORIZATION) {
        // Whatever prints headers leaves it out from now on.
        header.set_sensitive(true);
    }
    let Some(role) = needed(&state, &request) else { return next.run(request).await };
    let (parts, body) = request.into_parts();
    let admitted = admit(&state, &parts, role).await;
    let mut request = Request::from_parts(parts, body);
    match admitted {
        Ok(caller) => {
            if let Some(key) = caller.key() {
                tracing::debug!(key = %key.id, name = %key.name, "admitted");
            }
            request.extensions_mut().insert(caller.clone());
            run_while_valid(state, caller, request, next).await
        }
        Err(error) => error.into_response(),
    }
}

/// The role that a request needs; none if it is open to everybody.
fn needed(state: &AppState, request: &Request) -> Option<Role> {
    // A path that is no route has nothing to protect.
    let route = request.extensions().get::<MatchedPath>()?.as_str();
    if route == METRICS && !metrics_are_open(state.config(), request) {
        return Some(Role::Read);
    }
    if OPEN.contains(&route) {
        return None;
    }
    Some(match (request.method(), route) {
        (&Method::GET | &Method::HEAD, _) => Role::Read,
        // What these compute is kept nowhere.
        (_, "/v1/verifications" | "/v1/jobs:validate") => Role::Read,
        _ => Role::Submit,
    })
}

fn metrics_are_open(config: &Config, request: &Request) -> bool {
    match config.access.metrics {
        MetricsAccess::Open => true,
        MetricsAccess::Key => false,
        // A proxy on this machine passes on what comes from others, by the name that it has for them.
        MetricsAccess::Local => config.server.listen.ip().is_loopback() && is_for_local(request),
    }
}

async fn admit(state: &AppState, request: &Parts, role: Role) -> Result<Caller, ApiError> {
    let caller = identify(state, &request.headers).await;
    if let Some(who) = who(&caller, &request.extensions)
        && let Err(wait) = state.limiter().check(&who)
    {
        metrics::counter!("arbor_http_rate_limited_total").increment(1);
        let detail = match who {
            Who::Key(_) => "too many requests with this key",
            Who::Address(_) => "too many requests from this address",
        };
        let error = ApiError::new(ProblemKind::RateLimited, detail);
        return Err(error.retry_after(wait.as_secs() + 1));
    }
    let caller = caller?;
    match caller.key() {
        Some(key) if key.role < role => {
            let detail =
                format!("this needs a key of role {role}, the role of this key is {}", key.role);
            Err(ApiError::new(ProblemKind::Forbidden, detail))
        }
        _ => Ok(caller),
    }
}

/// The owner of the key, or nobody as long as there are no keys.
async fn identify(state: &AppState, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let key = bearer(headers)?;
    let engine = match state.engine() {
        Ok(engine) => engine,
        // What needs no engine is answered while it starts.
        Err(_) if key.is_none() && state.began_without_keys() => return Ok(Caller::default()),
        Err(starting) => return Err(starting),
    };
    let Some(key) = key else {
        if engine.has_keys().await? {
            return Err(unauthorized("a key is needed, as authorization: Bearer KEY"));
        }
        return Ok(Caller::default());
    };
    // Unknown, revoked and wrong look the same from outside.
    let unknown = || unauthorized("the key is unknown or revoked");
    let (record, hash) = engine.key(key.id()).await?.ok_or_else(unknown)?;
    // In constant time.
    if key.hash() != hash || record.revoked_at_ms.is_some() {
        return Err(unknown());
    }
    Ok(Caller::of(record))
}

/// Whether a caller that was admitted would be again: its key is valid and may what it could, or there still are
/// no keys.
///
/// # Errors
/// The store's.
pub(super) async fn still_admitted(state: &AppState, caller: &Caller) -> Result<bool, EngineError> {
    // Without an engine there is nothing that lasts.
    let Ok(engine) = state.engine() else { return Ok(true) };
    let Some(key) = caller.key() else { return Ok(!engine.has_keys().await?) };
    let found = engine.key(&key.id).await?;
    Ok(found.is_some_and(|(now, _)| now.revoked_at_ms.is_none() && now.role >= key.role))
}

/// The answer to what was open when the key stopped being valid.
pub(super) fn no_longer_valid() -> ApiError {
    unauthorized("the key was revoked, or one is needed now")
}

/// The key in the header `authorization`, if there is that header.
fn bearer(headers: &HeaderMap) -> Result<Option<ApiKey>, ApiError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let malformed = || unauthorized("the header authorization must be: Bearer arbor_<id>_<secret>");
    let text = value.to_str().map_err(|_| malformed())?;
    let (scheme, token) = text.split_once(' ').ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") || values.next().is_some() {
        return Err(malformed());
    }
    token.trim().parse().map(Some).map_err(|_| malformed())
}

fn unauthorized(detail: &'static str) -> ApiError {
    let challenge = HeaderValue::from_static("Bearer realm=\"arbor\"");
    ApiError::new(ProblemKind::Unauthorized, detail).header(WWW_AUTHENTICATE, challenge)
}

/// Whose request is counted: the key's; where it is missing or wrong, the address's. Without keys this
/// machine's own requests are not counted.
fn who(caller: &Result<Caller, ApiError>, extensions: &Extensions) -> Option<Who> {
    let address = extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
    match caller {
        Ok(caller) => match caller.key() {
            Some(key) => Some(Who::Key(key.id.clone())),
            None => address.filter(|ip: &IpAddr| !ip.to_canonical().is_loopback()).map(Who::at),
        },
        Err(error) if error.kind() == ProblemKind::Unauthorized => address.map(Who::at),
        Err(_) => None,
    }
}
