//! One method a route.

use std::time::Duration;

use arbor_prover::{Job, LayerReport};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, ETAG, HeaderMap, HeaderValue, IF_MATCH, LOCATION, RETRY_AFTER,
};
use reqwest::{Method, RequestBuilder, Response, StatusCode, redirect};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::address::ServerUrl;
use super::error::{ClientError, Problem};
use super::tls::{Authorities, TlsFault};
use super::wire::{JobView, TreeNode};
use crate::access::ApiKey;
use crate::model::JobId;
use crate::output::printable;
use crate::tls::{trusting, trusting_nobody};

/// Time to open a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Time for an answer that is no stream.
pub(super) const ANSWER: Duration = Duration::from_secs(60);
/// Longest JSON or CSV that is read: the reports of some thousands of nodes.
const BODY_BYTES: usize = 64 << 20;
/// Longest description of an error that is read.
const PROBLEM_BYTES: usize = 64 << 10;
/// Tries of a submission whose answer got lost.
const SUBMIT_TRIES: u32 = 3;

/// A client of one server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    server: ServerUrl,
    /// Marked as sensitive: its `Debug` shows nothing.
    authorization: Option<HeaderValue>,
}

/// What a submission came to.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The job.
    pub job: JobView,
    /// Where it is, as the server names it.
    pub location: String,
    /// Everything that the server said of the job.
    pub raw: Value,
}

/// What `DELETE` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The job ends as soon as the node that is being proved is done.
    Cancelling,
    /// The job and its proofs are gone.
    Gone,
    /// The job is another one than the caller has seen: nothing was done.
    Changed,
}

/// How a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Whether it takes and proves jobs.
    pub ready: bool,
    /// Why not, as far as it says.
    pub reasons: Vec<String>,
}

/// What a server that is not ready may say.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Reasons {
    reasons: Vec<String>,
    detail: Option<String>,
}

#[derive(Deserialize)]
struct Reports {
    layers: Vec<LayerReport>,
}

#[derive(Deserialize)]
struct Nodes {
    nodes: Vec<TreeNode>,
}

impl Client {
    /// A client of `server`, whose certificate an authority of the system must vouch for. Proxies of the
    /// environment are used, but not to this same machine.
    ///
    /// # Errors
    /// As [`Self::trusting`].
    pub fn new(server: ServerUrl) -> Result<Self, ClientError> {
        Self::trusting(server, &Authorities::default())
    }

    /// The same, with more authorities than the system's.
    ///
    /// # Errors
    /// [`ClientError::NoTls`] if `server` is one of https and nobody at all is trusted; otherwise if no client
    /// can be made, which has no cause in `server`.
    pub fn trusting(server: ServerUrl, more: &Authorities) -> Result<Self, ClientError> {
        let tls = if server.is_secure() { trusting(&more.0) } else { trusting_nobody() };
        let tls = tls.map_err(|source| ClientError::NoTls { source })?;
        let mut http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            // Where it begins with https, nothing goes out without.
            .https_only(server.is_secure())
            .user_agent(concat!("arbor/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT);
        if server.is_loopback() {
            http = http.no_proxy();
        }
        let failed = |source| ClientError::Unreachable { server: server.to_string(), source };
        let http = http.build().map_err(failed)?;
        Ok(Self { http, server, authorization: None })
    }

    /// The same client, which sends this key with every request.
    #[must_use]
    pub fn with_key(mut self, key: &ApiKey) -> Self {
        self.authorization = HeaderValue::try_from(format!("Bearer {}", key.reveal())).ok();
        if let Some(value) = &mut self.authorization {
            value.set_sensitive(true);
        }
        self
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> &ServerUrl {
        &self.server
    }

    /// Submits a job under a key, so that a submission whose answer got lost is made again without
    /// making a second job.
    ///
    /// # Errors
    /// As every request; parameters that the server refuses.
    pub async fn submit(&self, job: &Job, key: &str) -> Result<Submission, ClientError> {
        let mut tries = 1;
        loop {
            match self.submit_once(job, key).await {
                Err(ClientError::Dropped { .. }) if tries < SUBMIT_TRIES => tries += 1,
                done => return done,
            }
        }
    }

    async fn submit_once(&self, job: &Job, key: &str) -> Result<Submission, ClientError> {
        let asked = "a submission";
        let request = self.request(Method::POST, "/v1/jobs").header("idempotency-key", key);
        let response = self.send(request.json(job).timeout(ANSWER), asked).await?;
        let location = header(response.headers(), LOCATION.as_str());
        let (raw, job): (Value, JobView) = self.json(response, asked).await?;
        let location = location.unwrap_or_else(|| format!("/v1/jobs/{}", job.id));
        Ok(Submission { job, location, raw })
    }

    /// A job, with everything that the server says of it and its ETag.
    ///
    /// # Errors
    /// As every request; no such job.
    pub async fn job(&self, id: JobId) -> Result<(JobView, Value, Option<String>), ClientError> {
        let asked = "a job";
        let response = self.get(&format!("/v1/jobs/{id}"), asked).await?;
        let etag = header(response.headers(), ETAG.as_str());
        let (raw, job) = self.json(response, asked).await?;
        Ok((job, raw, etag))
    }

    /// The reports of a job, and everything that the server says of them.
    ///
    /// # Errors
    /// As [`Self::job`].
    pub async fn timings(&self, id: JobId) -> Result<(Vec<LayerReport>, Value), ClientError> {
        let asked = "timings";
        let response = self.get(&format!("/v1/jobs/{id}/timings"), asked).await?;
        let (raw, reports): (Value, Reports) = self.json(response, asked).await?;
        Ok((reports.layers, raw))
    }

    /// The reports of a job as CSV, the names of the columns first.
    ///
    /// # Errors
    /// As [`Self::job`].
    pub async fn timings_csv(&self, id: JobId) -> Result<String, ClientError> {
        let asked = "timings as CSV";
        let path = format!("/v1/jobs/{id}/timings");
        let request = self.request(Method::GET, &path).header(ACCEPT, "text/csv").timeout(ANSWER);
        let response = self.send(request, asked).await?;
        let csv = header(response.headers(), "content-type")
            .is_some_and(|kind| kind.starts_with("text/csv"));
        if !csv {
            return Err(self.unexpected(asked, response.status()));
        }
        let text = self.body(response, asked, BODY_BYTES).await?;
        String::from_utf8(text).map_err(|_| self.unexpected(asked, StatusCode::OK))
    }

    /// The nodes of a job, and everything that the server says of them.
    ///
    /// # Errors
    /// As [`Self::job`].
    pub async fn tree(&self, id: JobId) -> Result<(Vec<TreeNode>, Value), ClientError> {
        let asked = "the nodes of a job";
        let response = self.get(&format!("/v1/jobs/{id}/tree"), asked).await?;
        let (raw, tree): (Value, Nodes) = self.json(response, asked).await?;
        Ok((tree.nodes, raw))
    }

    /// Cancels a live job or removes a finished one, if it is still as its ETag says.
    ///
    /// # Errors
    /// As every request.
    pub async fn delete(&self, id: JobId, etag: Option<&str>) -> Result<Removal, ClientError> {
        let asked = "a cancellation";
        let mut request = self.request(Method::DELETE, &format!("/v1/jobs/{id}")).timeout(ANSWER);
        if let Some(etag) = etag {
            request = request.header(IF_MATCH, etag);
        }
        match self.send(request, asked).await {
            Ok(response) if response.status() == StatusCode::ACCEPTED => Ok(Removal::Cancelling),
            Ok(response) if response.status() == StatusCode::NO_CONTENT => Ok(Removal::Gone),
            Ok(response) => Err(self.unexpected(asked, response.status())),
            Err(ClientError::Refused(problem)) if problem.status == 412 => Ok(Removal::Changed),
            Err(error) => Err(error),
        }
    }

    /// Whether the server takes and proves jobs; an answer takes at most `limit`.
    ///
    /// # Errors
    /// No answer, or one that is not of this API.
    pub async fn readiness(&self, limit: Duration) -> Result<Readiness, ClientError> {
        let asked = "its readiness";
        let request = self.request(Method::GET, "/readyz").timeout(limit);
        let response = request.send().await.map_err(|source| self.failed(source))?;
        let ready = match response.status() {
            StatusCode::OK => true,
            StatusCode::SERVICE_UNAVAILABLE => false,
            status => return Err(self.unexpected(asked, status)),
        };
        let body = self.body(response, asked, PROBLEM_BYTES).await?;
        let said = serde_json::from_slice::<Reasons>(&body).unwrap_or_default();
        let detail = said.detail.filter(|_| said.reasons.is_empty());
        let reasons = said.reasons.iter().chain(&detail).map(|reason| printable(reason)).collect();
        Ok(Readiness { ready, reasons })
    }

    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, self.server.path(path));
        match &self.authorization {
            Some(value) => request.header(AUTHORIZATION, value.clone()),
            None => request,
        }
    }

    async fn get(&self, path: &str, asked: &'static str) -> Result<Response, ClientError> {
        self.send(self.request(Method::GET, path).timeout(ANSWER), asked).await
    }

    /// Sends a request and gives an answer of success.
    ///
    /// # Errors
    /// No answer, or one that is an error or a redirection.
    pub(super) async fn send(
        &self,
        request: RequestBuilder,
        asked: &'static str,
    ) -> Result<Response, ClientError> {
        let response = request.send().await.map_err(|source| self.failed(source))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refusal(response, asked).await)
    }

    /// What an answer that is no success says.
    async fn refusal(&self, response: Response, asked: &'static str) -> ClientError {
        let status = response.status();
        let retry_after_s =
            header(response.headers(), RETRY_AFTER.as_str()).and_then(|text| text.parse().ok());
        let body = match self.body(response, asked, PROBLEM_BYTES).await {
            Ok(body) => body,
            Err(error) => return error,
        };
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) if !problem.title.is_empty() => {
                let problem = Problem { status: status.as_u16(), retry_after_s, ..problem };
                ClientError::Refused(Box::new(problem))
            }
            // What servers of TLS answer to an open request, in words of their own.
            _ if status == StatusCode::BAD_REQUEST
                && !self.server.is_secure()
                && says_https(&body) =>
            {
                self.insecure(TlsFault::Secure)
            }
            _ => self.unexpected(asked, status),
        }
    }

    /// The body as JSON: as it came, and what is read of it.
    async fn json<T: DeserializeOwned>(
        &self,
        response: Response,
        asked: &'static str,
    ) -> Result<(Value, T), ClientError> {
        let malformed =
            |source| ClientError::Malformed { server: self.server.to_string(), asked, source };
        let body = self.body(response, asked, BODY_BYTES).await?;
        let raw: Value = serde_json::from_slice(&body).map_err(malformed)?;
        let read = T::deserialize(&raw).map_err(malformed)?;
        Ok((raw, read))
    }

    /// The body, of at most `limit` bytes.
    async fn body(
        &self,
        mut response: Response,
        asked: &'static str,
        limit: usize,
    ) -> Result<Vec<u8>, ClientError> {
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|source| self.failed(source))? {
            if body.len() + piece.len() > limit {
                return Err(ClientError::TooLarge { asked, limit });
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    pub(super) fn failed(&self, source: reqwest::Error) -> ClientError {
        let server = self.server.to_string();
        if self.server.is_secure() {
            if let Some(fault) = TlsFault::of(&source) {
                return self.insecure(fault);
            }
        } else if TlsFault::is_no_http(&source) {
            return self.insecure(TlsFault::Secure);
        }
        if source.is_connect() || source.is_builder() {
            ClientError::Unreachable { server, source }
        } else {
            ClientError::Dropped { server, source }
        }
    }

    fn insecure(&self, fault: TlsFault) -> ClientError {
        ClientError::Tls { server: self.server.to_string(), fault }
    }

    pub(super) fn unexpected(&self, asked: &'static str, status: StatusCode) -> ClientError {
        ClientError::Unexpected { server: self.server.to_string(), asked, status }
    }
}

/// A header as text.
pub(super) fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// Whether an answer speaks of HTTPS.
fn says_https(body: &[u8]) -> bool {
    body.windows(5).any(|word| word.eq_ignore_ascii_case(b"https"))
}
