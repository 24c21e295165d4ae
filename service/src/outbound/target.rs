//! Where a request goes.

use std::net::IpAddr;

use reqwest::Url;
use thiserror::Error;

/// Longest URL, in bytes.
pub(crate) const MAX_URL: usize = 2048;

/// A URL, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub(super) host: String,
    pub(super) literal: Option<IpAddr>,
    pub(super) port: u16,
    pub(super) tls: bool,
    authority: String,
    path: String,
}

/// Why a URL is none to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// It cannot be read.
    #[error("not a URL of at most 2048 bytes")]
    Malformed,
    /// It is neither https nor http.
    #[error("not https")]
    Scheme,
    /// It holds a user or a password.
    #[error("a user and a password cannot be given in it")]
    Credentials,
    /// It holds a part after `#`, which is never sent.
    #[error("a fragment is never sent")]
    Fragment,
}

impl Target {
    /// Takes a URL apart. Hosts are brought to one spelling: `0x7f.1` is `127.0.0.1`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        if text.len() > MAX_URL || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(TargetError::Malformed);
        }
        let url = Url::parse(text).map_err(|_| TargetError::Malformed)?;
        let tls = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(TargetError::Scheme),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetError::Credentials);
        }
        if url.fragment().is_some() {
            return Err(TargetError::Fragment);
        }
        let host = url.host_str().ok_or(TargetError::Malformed)?.to_owned();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        Ok(Self {
            literal: bare.parse().ok(),
            port: url.port_or_known_default().ok_or(TargetError::Malformed)?,
            tls,
            authority: url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}")),
            host,
            path,
        })
    }

    /// Whether the connection is secured.
    #[must_use]
    pub const fn is_secure(&self) -> bool {
        self.tls
    }

    /// The address, where the URL has one instead of a name.
    #[must_use]
    pub const fn literal(&self) -> Option<IpAddr> {
        self.literal
    }

    /// What the header `host` says.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Who is asked, in one spelling, whatever the port: an address, or a name without the dot at its end.
    #[must_use]
    pub fn receiver(&self) -> String {
        match self.literal {
            Some(address) => address.to_canonical().to_string(),
            None => self.host.trim_end_matches('.').to_owned(),
        }
    }

    /// Path and query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_every_spelling() {
        for text in
            ["http://0x7f.1/", "http://2130706433/", "http://127.1", "http://0177.0.0.1/a?b"]
        {
            let target = Target::parse(text).expect("a URL");
            assert_eq!(target.literal(), Some("127.0.0.1".parse().expect("an address")), "{text}");
        }
        let target = Target::parse("https://[::ffff:7f00:1]:8443/x?y=z").expect("a URL");
        assert_eq!(target.literal(), Some("::ffff:127.0.0.1".parse().expect("an address")));
        assert_eq!((target.authority(), target.path()), ("[::ffff:7f00:1]:8443", "/x?y=z"));
        assert!(target.is_secure());
        assert_eq!(Target::parse("http://Example.ORG").expect("a URL").authority(), "example.org");
    }

    #[test]
    fn a_receiver_has_one_name() {
        let receiver = |text: &str| Target::parse(text).expect("a URL").receiver();
        for text in ["https://a.example", "http://A.example.:8080/x", "https://a.example:1/?y"] {
            assert_eq!(receiver(text), "a.example", "{text}");
        }
        for text in ["https://127.0.0.1", "http://[::ffff:7f00:1]:8080/", "http://0x7f.1/"] {
            assert_eq!(receiver(text), "127.0.0.1", "{text}");
        }
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        let long = format!("https://a/{}", "b".repeat(MAX_URL));
        for (text, error) in [
            ("", TargetError::Malformed),
            ("/path", TargetError::Malformed),
            ("https://", TargetError::Malformed),
            ("https://a b/", TargetError::Malformed),
            ("https://a/\r\nx: y", TargetError::Malformed),
            (&long, TargetError::Malformed),
            ("ftp://a/", TargetError::Scheme),
            ("file:///etc/passwd", TargetError::Scheme),
            ("https://u@a/", TargetError::Credentials),
            ("https://u:p@a/", TargetError::Credentials),
            ("https://a/#b", TargetError::Fragment),
        ] {
            assert_eq!(Target::parse(text), Err(error), "{text}");
        }
    }
}
