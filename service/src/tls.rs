//! Secured connections of this program to others: by rustls with ring, for webhooks and for the client alike.

use std::io;
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore};

/// Trusts the authorities of the system (or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`), and `more`.
///
/// # Errors
/// One of `more` is no certificate, or there is none at all.
pub(crate) fn trusting(more: &[CertificateDer<'static>]) -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for certificate in more {
        roots.add(certificate.clone()).map_err(io::Error::other)?;
    }
    if roots.is_empty() {
        return Err(io::Error::other("this machine has no trusted certificates"));
    }
    config(roots).map_err(io::Error::other)
}

/// Trusts nobody: for connections that are not secured.
///
/// # Errors
/// None: ring knows the versions.
pub(crate) fn trusting_nobody() -> io::Result<ClientConfig> {
    config(RootCertStore::empty()).map_err(io::Error::other)
}

fn config(roots: RootCertStore) -> Result<ClientConfig, Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
