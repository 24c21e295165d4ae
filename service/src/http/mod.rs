//! The REST interface: a file a resource, on top of the [`crate::engine`].
//!
//! Every error leaves as `application/problem+json`: handlers give an [`ApiError`], which the outermost layer
//! writes, and whatever another layer answers with an error status is rewritten there.

mod auth;
mod body;
mod caller;
mod capabilities;
mod cors;
mod docs;
mod error;
mod etag;
mod events;
mod health;
mod job;
mod jobs;
mod layers;
mod metrics;
pub mod openapi;
mod origin;
mod owned;
mod page;
mod prefer;
mod presets;
mod problems;
mod proofs;
mod query;
mod range;
mod revoked;
#[cfg(test)]
mod tests;
mod timings;
mod tree;
mod verifications;
mod wait;
mod webhooks;

use std::future::Future;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::ProblemKind;
use crate::engine::EngineError;
use crate::state::AppState;

pub use caller::Caller;
pub use error::ApiError;

/// Every route, behind every layer.
pub fn router(state: AppState) -> Router {
    let (router, _) = routes().split_for_parts();
    router
        .route("/docs", get(docs::redirect))
        .route("/docs/", get(docs::index))
        .route("/docs/{*path}", get(docs::asset))
        .merge(page::router())
        .fallback(not_found)
        // From the inside out.
        .layer(CatchPanicLayer::custom(layers::panicked))
        .layer(from_fn_with_state(state.clone(), layers::limit_time))
        .layer(from_fn_with_state(state.clone(), auth::guard))
        .layer(from_fn_with_state(state.clone(), origin::guard))
        .layer(from_fn_with_state(state.clone(), layers::limit_head))
        .layer(tower::util::option_layer(cors::layer(&state.config().access)))
        .layer(from_fn(layers::security_headers))
        .layer(from_fn(layers::observe))
        .with_state(state)
}

/// The routes that the description knows.
fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(openapi::ApiDoc::openapi())
        .routes(routes!(jobs::submit, jobs::list))
        .routes(routes!(jobs::validate))
        .routes(routes!(job::get, job::delete))
        .routes(routes!(job::retry))
        .routes(routes!(events::get))
        .routes(routes!(tree::get))
        .routes(routes!(timings::get))
        .routes(routes!(webhooks::get))
        .routes(routes!(proofs::job))
        .routes(routes!(proofs::node))
        .routes(routes!(verifications::verify))
        .routes(routes!(presets::list))
        .routes(routes!(capabilities::get))
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(metrics::get))
        .routes(routes!(problems::get))
        .routes(routes!(openapi::get))
}

async fn not_found() -> ApiError {
    ApiError::new(ProblemKind::NotFound, "there is nothing at this path; /docs lists what there is")
}

/// Runs what must not stop half-way because a client went away.
async fn run<T: Send + 'static>(
    work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
) -> Result<T, ApiError> {
    use tracing::Instrument;
    let work = tokio::spawn(work.in_current_span());
    Ok(work.await.map_err(|error| lost(&error))??)
}

/// Runs what computes for a while, away from the threads that answer requests.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| lost(&error))
}

fn lost(error: &tokio::task::JoinError) -> ApiError {
    tracing::error!(%error, "a task did not end");
    ApiError::internal()
}
