//! Servers behind TLS: who may vouch for them, and why a connection is not secure.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{CertificateError, InvalidMessage};

use super::error::ClientError;
use crate::output::printable;

/// Authorities that may vouch for a server, beside those that the system trusts.
#[derive(Clone, Debug, Default)]
pub struct Authorities(pub(super) Vec<CertificateDer<'static>>);

impl Authorities {
    /// Those of a PEM file, which may hold anything else beside certificates.
    ///
    /// # Errors
    /// [`ClientError::Authorities`]: it cannot be read, or holds no certificate.
    pub fn read(path: &Path) -> Result<Self, ClientError> {
        let failed = |reason: String| ClientError::Authorities { path: path.to_owned(), reason };
        let pem = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
        let certificates = certificates.map_err(|error| failed(format!("not PEM: {error}")))?;
        if certificates.is_empty() {
            return Err(failed("it holds no certificate (PEM)".to_owned()));
        }
        let mut roots = rustls::RootCertStore::empty();
        for certificate in &certificates {
            let added = roots.add(certificate.clone());
            added.map_err(|error| failed(format!("a certificate is malformed: {error}")))?;
        }
        Ok(Self(certificates))
    }
}

/// Why there is no secure connection to a server, or none that is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsFault {
    /// Nobody who is trusted vouches for its certificate.
    Unknown,
    /// The certificate is for others.
    Name {
        /// Whom it is for.
        names: Vec<String>,
    },
    /// Its time is over.
    Expired,
    /// Its time has not begun.
    NotYet,
    /// The port speaks something else than TLS.
    Plain,
    /// The port speaks TLS, and was asked without.
    Secure,
    /// Anything else.
    Other(String),
}

impl TlsFault {
    /// The fault of an `https` request, if it failed for one.
    pub(super) fn of(error: &reqwest::Error) -> Option<Self> {
        let fault = find::<rustls::Error>(error)?;
        Some(match fault {
            rustls::Error::InvalidCertificate(fault) => Self::of_certificate(fault),
            rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => Self::Plain,
            other => Self::Other(printable(&other.to_string())),
        })
    }

    fn of_certificate(fault: &CertificateError) -> Self {
        use CertificateError as C;
        match fault {
            C::UnknownIssuer => Self::Unknown,
            C::NotValidForName => Self::Name { names: Vec::new() },
            C::NotValidForNameContext { presented, .. } => {
                Self::Name { names: presented.iter().map(|name| printable(name)).collect() }
            }
            C::Expired | C::ExpiredContext { .. } => Self::Expired,
            C::NotValidYet | C::NotValidYetContext { .. } => Self::NotYet,
            other => Self::Other(printable(&format!("its certificate is invalid: {other}"))),
        }
    }

    /// Whether an `http` request failed because what came was no HTTP.
    pub(super) fn is_no_http(error: &reqwest::Error) -> bool {
        find::<hyper::Error>(error).is_some_and(hyper::Error::is_parse)
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str(
                "nobody who is trusted here vouches for its certificate; --ca-file FILE (or \
                 ARBOR_CA_FILE) names an authority of your own",
            ),
            Self::Name { names } if names.is_empty() => {
                f.write_str("its certificate is for another name")
            }
            Self::Name { names } => {
                write!(f, "its certificate is for another name: it says {}", names.join(", "))
            }
            Self::Expired => f.write_str("its certificate has expired"),
            Self::NotYet => {
                f.write_str("its certificate is not valid yet: is the clock of this machine right?")
            }
            Self::Plain => f.write_str("there is no TLS at this port; is it http://?"),
            Self::Secure => {
                f.write_str("there is no HTTP without TLS at this port; is it https://?")
            }
            Self::Other(reason) => f.write_str(reason),
        }
    }
}

/// The cause of this type, however deep it is. What an [`io::Error`] wraps is no source of it.
fn find<T: Error + 'static>(error: &reqwest::Error) -> Option<&T> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}
