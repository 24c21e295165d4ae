//! From a target to a connection.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::{OutboundError, Target};

/// Most addresses of a name that are tried.
const MAX_ADDRESSES: usize = 4;

/// Finds the addresses of names.
pub trait Resolve: Send + Sync {
    /// The addresses of a name, at this port.
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;
}

/// The system's way of finding them.
#[derive(Clone, Copy, Debug)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}

/// A connection, secured or not.
pub(super) enum Stream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

/// Connects to an address of the target that may be asked.
pub(super) async fn connect(
    target: &Target,
    resolver: &dyn Resolve,
    may_ask: &(dyn Fn(IpAddr) -> bool + Sync),
) -> Result<Stream, OutboundError> {
    let found = match target.literal {
        Some(ip) => vec![SocketAddr::new(ip, target.port)],
        None => {
            let found = resolver.resolve(&target.host, target.port).await;
            found.map_err(OutboundError::Resolve)?
        }
    };
    if found.is_empty() {
        return Err(OutboundError::Resolve(io::ErrorKind::NotFound.into()));
    }
    let mut failure = OutboundError::Refused;
    for address in found.into_iter().filter(|address| may_ask(address.ip())).take(MAX_ADDRESSES) {
        match TcpStream::connect(address).await {
            Ok(stream) => return secure(stream, target).await,
            Err(error) => failure = OutboundError::Connect(error),
        }
    }
    Err(failure)
}

async fn secure(stream: TcpStream, target: &Target) -> Result<Stream, OutboundError> {
    if !target.tls {
        return Ok(Stream::Plain(stream));
    }
    let name = match target.literal {
        Some(ip) => ServerName::from(ip),
        None => ServerName::try_from(target.host.clone())
            .map_err(|error| OutboundError::Tls(io::Error::other(error)))?,
    };
    let config = tls().map_err(OutboundError::Tls)?;
    let secured = TlsConnector::from(config).connect(name, stream).await;
    Ok(Stream::Secure(Box::new(secured.map_err(OutboundError::Tls)?)))
}

/// The certificates that the system trusts, or those of `SSL_CERT_FILE`; read once.
fn tls() -> io::Result<Arc<ClientConfig>> {
    static CONFIG: OnceLock<Option<Arc<ClientConfig>>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| crate::tls::trusting(&[]).ok().map(Arc::new));
    config.clone().ok_or_else(|| io::Error::other("this machine has no trusted certificates"))
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Secure(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Secure(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Secure(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Secure(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::net::TcpListener;

    use super::*;
    use crate::outbound::is_public;

    /// Answers each question with the next of its answers.
    struct Changing(Vec<Vec<SocketAddr>>, AtomicUsize);

    impl Resolve for Changing {
        fn resolve<'a>(&'a self, _: &'a str, _: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
            let asked = self.1.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move { Ok(self.0[asked.min(self.0.len() - 1)].clone()) })
        }
    }

    /// A listener on this machine, and whether anybody has come to it.
    async fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        (listener, address)
    }

    async fn nobody_came(listener: &TcpListener) -> bool {
        tokio::time::timeout(std::time::Duration::from_millis(50), listener.accept()).await.is_err()
    }

    #[tokio::test]
    async fn what_a_name_resolves_to_is_checked_each_time_and_asked_for_once() {
        let (listener, private) = listener().await;
        let target = Target::parse("http://receiver.example:1/").expect("a URL");
        // First the answer is fine (and nobody listens there), the next time it is this machine.
        let unroutable: SocketAddr = "192.0.2.1:1".parse().expect("an address");
        let resolver = Changing(vec![vec![unroutable], vec![private]], AtomicUsize::new(0));
        let allowed = |ip: IpAddr| is_public(ip) || ip == unroutable.ip();
        let first = tokio::time::timeout(
            std::time::Duration::from_millis(50),
            connect(&target, &resolver, &allowed),
        );
        assert!(!matches!(first.await, Ok(Ok(_)) | Ok(Err(OutboundError::Refused))));
        assert_eq!(resolver.1.load(Ordering::SeqCst), 1);
        let second = connect(&target, &resolver, &allowed).await;
        assert!(matches!(second, Err(OutboundError::Refused)));
        assert!(nobody_came(&listener).await);
    }

    #[tokio::test]
    async fn of_several_addresses_only_those_that_may_are_tried() {
        let (open, allowed) = listener().await;
        let (closed, refused) = listener().await;
        let both = Changing(vec![vec![refused, allowed]], AtomicUsize::new(0));
        let target = Target::parse("http://receiver.example/").expect("a URL");
        // Both are on one address here, so the one that may is known by its turn.
        let turn = AtomicUsize::new(0);
        let may = |_: IpAddr| turn.fetch_add(1, Ordering::SeqCst) == 1;
        assert!(connect(&target, &both, &may).await.is_ok());
        assert!(open.accept().await.is_ok());
        assert!(nobody_came(&closed).await);
    }

    #[tokio::test]
    async fn an_address_in_the_url_is_checked_too() {
        let (listener, address) = listener().await;
        let target = Target::parse(&format!("http://{address}/")).expect("a URL");
        let unused = Changing(vec![Vec::new()], AtomicUsize::new(0));
        assert!(matches!(connect(&target, &unused, &is_public).await, Err(OutboundError::Refused)));
        assert!(nobody_came(&listener).await);
        assert_eq!(unused.1.load(Ordering::SeqCst), 0);
    }
}
