//! Accepts connections and speaks HTTP/1.1 on them, within limits.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use metrics::gauge;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::config::ServerConfig;

/// Most headers of a request.
const MAX_HEADERS: usize = 64;
/// Pause after a connection could not be accepted: no file descriptors, say.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop`, then lets open requests end for at most `grace`.
///
/// Requests end by themselves: whoever stops the server has ended streams and waits before.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    config: &ServerConfig,
    stop: CancellationToken,
    grace: Duration,
) {
    let places = Arc::new(Semaphore::new(config.max_connections));
    let connections = TaskTracker::new();
    let protocol = protocol(config);
    let write_timeout = Duration::from_secs(config.write_timeout_s);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener, &places) => accepted,
        };
        let (stream, peer, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (router, protocol, stop) = (router.clone(), protocol.clone(), stop.clone());
        connections.spawn(async move {
            let open = gauge!("arbor_http_connections");
            open.increment(1);
            let peer = ConnectInfo(peer);
            if let Err(error) =
                connection(stream, peer, router, protocol, write_timeout, stop).await
            {
                tracing::debug!(%error, "a connection broke");
            }
            open.decrement(1);
            drop(place);
        });
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(grace, connections.wait()).await.is_err() {
        tracing::warn!(open = connections.len(), "connections are cut");
    }
}

/// The next connection, as soon as there is a place for it.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, place))
}

fn protocol(config: &ServerConfig) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(config.header_timeout_s))
        .max_headers(MAX_HEADERS)
        .max_buf_size(config.max_header_bytes);
    builder
}

async fn connection(
    stream: TcpStream,
    peer: ConnectInfo<SocketAddr>,
    router: Router,
    protocol: http1::Builder,
    write_timeout: Duration,
    stop: CancellationToken,
) -> Result<(), hyper::Error> {
    // Answers are written whole: there is nothing to gain from waiting for more.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    // A client that takes nothing would hold its place for ever.
    stream.set_write_timeout(Some(write_timeout));
    let service = TowerToHyperService::new(
        router
            .map_request(move |mut request: hyper::Request<Incoming>| {
                request.extensions_mut().insert(peer);
                request.map(Body::new)
            })
            .map_err(|never: Infallible| never),
    );
    let connection = protocol.serve_connection(TokioIo::new(Box::pin(stream)), service);
    let mut connection = pin!(connection);
    tokio::select! {
        done = connection.as_mut() => return done,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}
