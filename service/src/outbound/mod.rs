//! Requests that this server makes: to receivers of webhooks and to a collector of traces.
//!
//! One request a connection, no redirects, no proxies: what is asked is what the caller named. The address that
//! is connected to is the one that was checked, because names are resolved here, once for each request, and the
//! connection is made to what came out. A second answer of the name server is never asked for.

mod address;
mod connect;
mod target;

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::RETRY_AFTER;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio_util::task::AbortOnDropHandle;

pub use address::is_public;
pub use connect::{Resolve, SystemResolver};
pub(crate) use target::MAX_URL;
pub use target::{Target, TargetError};

use connect::Stream;

/// Most headers of an answer.
const MAX_HEADERS: usize = 64;
/// Largest head of an answer, in bytes.
const MAX_HEAD: usize = 16 << 10;

/// Why a request got no answer.
#[derive(Debug, Error)]
pub enum OutboundError {
    /// The name has no address.
    #[error("the name cannot be resolved")]
    Resolve(#[source] io::Error),
    /// Every address of the name is one that must not be asked.
    #[error("the address is not allowed")]
    Refused,
    /// Nobody listens.
    #[error("no connection: {0}")]
    Connect(#[source] io::Error),
    /// There is no secure connection.
    #[error("no secure connection: {0}")]
    Tls(#[source] io::Error),
    /// The answer is none of HTTP, or too large.
    #[error("no answer of HTTP")]
    Http(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It took too long.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
}

/// Sends one request and gives its answer, with a body of at most `max_body` bytes. Nothing of this goes on
/// when the future is dropped.
///
/// `may_ask` is asked about every address before it is connected to.
///
/// # Errors
/// No answer within `limit`, for whatever reason.
pub async fn send(
    request: Request<Full<Bytes>>,
    target: &Target,
    resolver: &dyn Resolve,
    may_ask: &(dyn Fn(std::net::IpAddr) -> bool + Sync),
    limit: Duration,
    max_body: usize,
) -> Result<Response<Bytes>, OutboundError> {
    let exchange = async {
        let stream = connect::connect(target, resolver, may_ask).await?;
        exchange(stream, request, max_body).await
    };
    tokio::time::timeout(limit, exchange).await.map_err(|_| OutboundError::Timeout(limit))?
}

async fn exchange(
    stream: Stream,
    request: Request<Full<Bytes>>,
    max_body: usize,
) -> Result<Response<Bytes>, OutboundError> {
    let failed = |error: hyper::Error| OutboundError::Http(Box::new(error));
    let (mut sender, connection) = http1::Builder::new()
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(failed)?;
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection));
    let (head, body) = sender.send_request(request).await.map_err(failed)?.into_parts();
    let body = match max_body {
        // Whoever does not want a body does not wait for it.
        0 => Bytes::new(),
        most => Limited::new(body, most).collect().await.map_err(OutboundError::Http)?.to_bytes(),
    };
    Ok(Response::from_parts(head, body))
}

/// The pause that an answer asks for. A date, which the header may also be, is passed over.
#[must_use]
pub fn retry_after(answer: &Response<Bytes>) -> Option<Duration> {
    let text = answer.headers().get(RETRY_AFTER)?.to_str().ok()?;
    text.parse().ok().map(Duration::from_secs)
}
