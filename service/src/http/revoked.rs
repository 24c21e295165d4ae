//! Ends what is open with a key soon after the key stops being valid.
//!
//! A request is admitted once. What then goes on for long, an event stream or a wait, is looked after here: every
//! [`LOOK`] it is asked whether it would still be admitted. Of everything else the answer is finished: it was
//! asked for while the key was valid.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::StreamExt;

use super::Caller;
use super::auth::{no_longer_valid, still_admitted};
use crate::state::AppState;

/// How often it is looked whether the key is still valid: what is open ends at most this much, and the time of a
/// look at the records, after it is not.
const LOOK: Duration = Duration::from_secs(2);

/// Answers a request of `caller`, for as long as it may ask.
pub(super) async fn run_while_valid(
    state: AppState,
    caller: Caller,
    request: Request,
    next: Next,
) -> Response {
    let mut over = Box::pin(invalid(state, caller));
    let answered = tokio::select! {
        biased;
        response = next.run(request) => response,
        () = &mut over => return no_longer_valid().into_response(),
    };
    // Of a known length: it is whole already.
    if answered.body().size_hint().exact().is_some() {
        return answered;
    }
    answered.map(|body| Body::from_stream(body.into_data_stream().take_until(over)))
}

/// Comes to its end when the caller would not be admitted any more.
async fn invalid(state: AppState, caller: Caller) {
    loop {
        tokio::time::sleep(LOOK).await;
        match still_admitted(&state, &caller).await {
            Ok(true) => {}
            Ok(false) => {
                metrics::counter!("arbor_access_ended_total").increment(1);
                tracing::info!(
                    key = caller.key().map(|key| key.id.as_str()),
                    "ended: not valid any more"
                );
                return;
            }
            // Nothing is known: the next look may tell.
            Err(error) => tracing::warn!(%error, "the validity of a key cannot be looked up"),
        }
    }
}
