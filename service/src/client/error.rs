//! Why a request to a server does not come to what was asked for.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::StatusCode;
use serde::Deserialize;
use thiserror::Error;

use super::tls::TlsFault;
use crate::model::JobId;
use crate::output::printable;

/// Why a client command fails, in one line.
#[derive(Debug, Error)]
pub enum ClientError {
    /// A URL that no request can go to.
    #[error("--server {}: {fault}", shown(text, fault))]
    Url {
        /// As given.
        text: String,
        /// What is the matter with it.
        fault: UrlFault,
    },
    /// Text that names no job.
    #[error("{text:?} is no job: expected its id (a UUID), or its URL")]
    JobName {
        /// As given.
        text: String,
    },
    /// A file of certificates that is none.
    #[error("--ca-file {}: {reason}", path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// What is the matter with it.
        reason: String,
    },
    /// This machine trusts nobody, or a certificate cannot be used.
    #[error("no secure connection can be made: {source}; --ca-file FILE names an authority")]
    NoTls {
        /// What was said.
        source: io::Error,
    },
    /// A key that everybody on the way could read.
    #[error(
        "{server} is asked over http: the API key could be read on the way. Use https://, or say \
         --allow-http (ARBOR_ALLOW_HTTP=true) if the network can be trusted"
    )]
    OpenKey {
        /// Where it would go.
        server: String,
    },
    /// A key of one server that would go to another.
    #[error(
        "the job is at {server}, and the API key is for {expected}: say --server {server} to send it there"
    )]
    ForeignKey {
        /// Where it would go.
        server: String,
        /// Where it belongs.
        expected: String,
    },
    /// Somebody else answers, or in another way.
    #[error("{server} cannot be asked: {fault}")]
    Tls {
        /// Who was asked.
        server: String,
        /// What is the matter.
        fault: TlsFault,
    },
    /// No answer.
    #[error("{server} cannot be reached: {}", root(source))]
    Unreachable {
        /// Where it was looked for.
        server: String,
        /// What was said.
        source: reqwest::Error,
    },
    /// An answer that broke off.
    #[error("the connection to {server} broke off: {}", root(source))]
    Dropped {
        /// Who answered.
        server: String,
        /// What was said.
        source: reqwest::Error,
    },
    /// Nothing for too long.
    #[error("{server} has said nothing for {seconds} s")]
    Silent {
        /// Who should have spoken.
        server: String,
        /// For how long it was waited.
        seconds: u64,
    },
    /// The server says what is wrong.
    #[error("the server refuses: {0}")]
    Refused(Box<Problem>),
    /// An answer that is none of this API.
    #[error("{server} answers {status} to {asked}: is this an Arbor server?")]
    Unexpected {
        /// Who answered.
        server: String,
        /// What was asked for.
        asked: &'static str,
        /// The status of the answer.
        status: StatusCode,
    },
    /// A body that does not say what it should.
    #[error("{server} answers {asked} with something else than expected: {source}")]
    Malformed {
        /// Who answered.
        server: String,
        /// What was asked for.
        asked: &'static str,
        /// What does not fit.
        source: serde_json::Error,
    },
    /// A stream of events that is none.
    #[error("the event stream is malformed: {reason}")]
    Stream {
        /// What does not fit.
        reason: &'static str,
    },
    /// A body that is larger than it can be.
    #[error("the answer to {asked} is larger than {limit} bytes")]
    TooLarge {
        /// What was asked for.
        asked: &'static str,
        /// Most bytes that are read.
        limit: usize,
    },
    /// A proof that comes without its name.
    #[error("the server names no content hash (an ETag of BLAKE3) for the proof")]
    NoHash,
    /// A proof that is not the one that was promised.
    #[error("the proof is damaged: its content hash is {got}, promised was {expected}")]
    Hash {
        /// What the server promised.
        expected: String,
        /// What came.
        got: String,
    },
    /// One try after the other failed.
    #[error("gave up after {tries} tries: {last}")]
    GaveUp {
        /// How many.
        tries: u32,
        /// Why the last one failed.
        last: Box<ClientError>,
    },
    /// A job that is never as it was a moment ago.
    #[error("job {id} changes faster than it can be cancelled; try again")]
    Changing {
        /// The job.
        id: JobId,
    },
    /// The system cannot wait for sockets.
    #[error("no event loop: {source}")]
    Runtime {
        /// What the system said.
        source: io::Error,
    },
}

/// What is the matter with a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UrlFault {
    /// It does not parse.
    Malformed(String),
    /// Not HTTP.
    Scheme,
    /// A user name or a password, which would end up in logs.
    Credentials,
    /// A query or a fragment.
    Query,
}

impl fmt::Display for UrlFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(reason) => {
                write!(f, "{reason}; expected https://HOST[:PORT] or http://HOST[:PORT]")
            }
            Self::Scheme => f.write_str("expected https://HOST[:PORT] or http://HOST[:PORT]"),
            Self::Credentials => f.write_str("a user name in the URL is not supported"),
            Self::Query => f.write_str("a server has no query and no fragment"),
        }
    }
}

/// An error as the server describes it (RFC 9457).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Problem {
    /// Stable name of the kind of error.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words.
    pub title: String,
    /// Status of the answer.
    pub status: u16,
    /// What is wrong this time.
    pub detail: Option<String>,
    /// The field of the job that it is about.
    pub field: Option<String>,
    /// What to name when asking about it.
    pub request_id: Option<String>,
    /// When to come back, in seconds: from the header `Retry-After`.
    #[serde(skip)]
    pub retry_after_s: Option<u64>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |field: &&str| self.detail.as_deref().is_some_and(|text| text.contains(field));
        let field = self.field.as_deref().filter(|field| !field.is_empty() && !said(field));
        if let Some(field) = field {
            write!(f, "{}: ", printable(field))?;
        }
        match self.detail.as_deref().filter(|detail| !detail.is_empty()) {
            Some(detail) => write!(f, "{}", printable(detail))?,
            None if self.title.is_empty() => write!(f, "status {}", self.status)?,
            None => write!(f, "{}", printable(&self.title))?,
        }
        if self.status == StatusCode::UNAUTHORIZED.as_u16() {
            f.write_str("; ARBOR_API_KEY (or --api-key) says which key to send")?;
        }
        if let Some(seconds) = self.retry_after_s {
            write!(f, "; retry after {seconds} s")?;
        }
        match &self.request_id {
            Some(id) => write!(f, " (request {})", printable(id)),
            None => Ok(()),
        }
    }
}

impl ClientError {
    /// Exit code of a command that ends with this error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(problem) => problem.exit_code(),
            Self::GaveUp { last, .. } => last.exit_code(),
            Self::Hash { .. } => 1,
            Self::TooLarge { .. } => 3,
            _ => 2,
        }
    }

    /// When the server wants to be asked again, if it says.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(problem) => problem.retry_after_s.map(Duration::from_secs),
            _ => None,
        }
    }

    /// Whether the same request may do better in a moment.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Dropped { .. } | Self::Silent { .. } => true,
            Self::Refused(problem) => matches!(problem.status, 429 | 502 | 503 | 504),
            Self::Unexpected { status, .. } => matches!(status.as_u16(), 502..=504),
            _ => false,
        }
    }
}

impl Problem {
    /// 3 where a limit of the server is exceeded, now or for good, else 2.
    fn exit_code(&self) -> u8 {
        if matches!(self.status, 413 | 429 | 503) || self.kind.ends_with("over-limit") {
            3
        } else {
            2
        }
    }
}

/// The innermost cause: what the system said.
fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if error.is_timeout() { "timed out".to_owned() } else { printable(&cause.to_string()) }
}

/// The URL as given, unless it holds a password.
fn shown(text: &str, fault: &UrlFault) -> String {
    if *fault == UrlFault::Credentials || text.contains('@') {
        "(not shown)".to_owned()
    } else {
        printable(text)
    }
}
