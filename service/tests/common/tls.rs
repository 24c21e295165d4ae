//! An authority of one's own, and a proxy on loopback that speaks TLS in front of a server.

// Every test target compiles this module and uses a part of it.
#![allow(dead_code, missing_docs, unreachable_pub)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// Years in which a certificate holds: from the first of January of one to that of another.
pub type Years = (i32, i32);
/// Long enough for these tests.
pub const NOW: Years = (2020, 2120);

/// Signs certificates. Its own is in a file.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: TempDir,
}

/// A certificate and its key.
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().expect("random numbers");
        let certificate = params.self_signed(&key).expect("a certificate");
        let folder = TempDir::new().expect("a temporary folder");
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).expect("it is written");
        Self { issuer: Issuer::new(params, key), folder }
    }

    /// The file with its certificate.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A certificate for these names or addresses.
    pub fn issue(&self, names: &[&str], (from, until): Years) -> Identity {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().expect("random numbers");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Identity {
            certificate: certificate.der().clone(),
            key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        }
    }
}

/// The address at which TLS is spoken, before `server`, which is `http://HOST:PORT`. It ends with the process of
/// the test.
pub fn terminate(server: &str, identity: Identity) -> SocketAddr {
    let upstream = server.strip_prefix("http://").expect("http").to_owned();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring's versions")
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate], identity.key)
        .expect("a certificate and its key");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = TcpListener::from_std(listener).expect("a socket");
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, acceptor.clone(), upstream.clone()));
            }
        });
    });
    address
}

async fn pass(client: TcpStream, acceptor: TlsAcceptor, upstream: String) -> std::io::Result<()> {
    let mut client = acceptor.accept(client).await?;
    let mut server = TcpStream::connect(upstream).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
