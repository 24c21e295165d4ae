//! Where a server is, and which of its jobs is meant.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use reqwest::Url;

use super::error::{ClientError, UrlFault};
use crate::model::JobId;

/// The server that is asked unless the command line or `ARBOR_SERVER` names one.
pub const DEFAULT_SERVER: &str = "http://127.0.0.1:8080";

/// Where the paths of the API begin. What comes before `/v1` is kept, for servers behind a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl(Url);

impl ServerUrl {
    /// The URL of a path of the API, which begins with a slash and holds no query.
    #[must_use]
    pub fn path(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}{path}", self.0.path().trim_end_matches('/')));
        url
    }

    /// Whether connections to it are secured.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether both are one server: scheme, host and port.
    #[must_use]
    pub fn is_same_server(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }

    /// Whether the server is on this machine, where no proxy is in the way.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

impl FromStr for ServerUrl {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fault = |fault| ClientError::Url { text: text.to_owned(), fault };
        let url =
            Url::parse(text).map_err(|error| fault(UrlFault::Malformed(error.to_string())))?;
        match url.scheme() {
            "http" | "https" => {}
            _ => return Err(fault(UrlFault::Scheme)),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(fault(UrlFault::Credentials));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(fault(UrlFault::Query));
        }
        Ok(Self(url))
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

/// A job as people name it: its id, the path in `Location`, or its whole URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobAddress {
    /// The job.
    pub id: JobId,
    /// The server, if the name says which.
    pub server: Option<ServerUrl>,
}

impl FromStr for JobAddress {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || ClientError::JobName { text: text.to_owned() };
        let (before, id) = text.rsplit_once("/v1/jobs/").unwrap_or(("", text));
        let id = id.trim_end_matches('/').parse().map_err(|_| unknown())?;
        let server = if before.is_empty() { None } else { Some(before.parse()?) };
        Ok(Self { id, server })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

    #[test]
    fn a_path_before_the_api_is_kept() {
        let server: ServerUrl = "http://proxy.example/arbor/".parse().expect("a server");
        assert_eq!(server.path("/v1/jobs").as_str(), "http://proxy.example/arbor/v1/jobs");
        assert_eq!(server.to_string(), "http://proxy.example/arbor");
        assert!(!server.is_loopback());
    }

    #[test]
    fn a_server_is_its_scheme_host_and_port() {
        let server = |text: &str| text.parse::<ServerUrl>().expect("a server");
        let secure = server("https://Arbor.example/a");
        assert!(secure.is_secure() && !server("http://arbor.example").is_secure());
        assert!(secure.is_same_server(&server("https://arbor.example:443/b")));
        for other in ["http://arbor.example", "https://arbor.example:8443", "https://example"] {
            assert!(!secure.is_same_server(&server(other)), "{other}");
        }
    }

    #[test]
    fn loopback_is_known_in_every_spelling() {
        for text in
            ["http://127.0.0.1:1", "http://[::1]:80", "http://localhost", "http://127.9.9.9"]
        {
            assert!(text.parse::<ServerUrl>().expect("a server").is_loopback(), "{text}");
        }
    }

    #[test]
    fn what_is_no_server_is_refused_with_the_reason() {
        let cases = [
            ("127.0.0.1:8080", "http://"),
            ("localhost:8080", "http://"),
            ("", "http://"),
            ("ftp://host", "http://"),
            ("https://user:secret@host", "user name"),
            ("http://user:secret@host", "user name"),
            ("http://host/?x=1", "query"),
            ("http://host:99999", "port"),
        ];
        for (text, says) in cases {
            let error = text.parse::<ServerUrl>().expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_job_is_an_id_a_path_or_a_url() {
        for text in [ID.to_owned(), format!("/v1/jobs/{ID}"), format!("/v1/jobs/{ID}/")] {
            let address: JobAddress = text.parse().expect("a job");
            assert_eq!((address.id.to_string(), address.server), (ID.to_owned(), None), "{text}");
        }
        let address: JobAddress = format!("http://h:1/x/v1/jobs/{ID}").parse().expect("a job");
        assert_eq!(
            address.server.map(|server| server.to_string()),
            Some("http://h:1/x".to_owned())
        );
        for text in [
            "",
            "7",
            "../../etc/passwd",
            "http://h/v1/jobs/7",
            "https://h/v1/jobs/",
            "ftp://h/v1/jobs/7",
        ] {
            assert!(text.parse::<JobAddress>().is_err(), "{text}");
        }
    }
}
