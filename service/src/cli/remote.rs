//! What the commands that speak to a server have in common.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arbor_prover::format;
use clap::Args;
use clap::builder::BoolishValueParser;
use serde_json::Value;

use super::Format;
use crate::client::{
    Authorities, Client, ClientError, DEFAULT_SERVER, EventStream, JobAddress, JobView, Patience,
    ServerUrl,
};
use crate::error::CliError;
use crate::model::{JobId, JobState};
use crate::progress::JobProgress;
use crate::{interrupt, output};

/// Which server.
#[derive(Debug, Args)]
pub struct ServerArg {
    /// The server
    #[arg(long, value_name = "URL", env = "ARBOR_SERVER", default_value = DEFAULT_SERVER)]
    server: String,
    /// An API key of the server: `arbor_ID_SECRET`. On the command line other users of this machine can
    /// see it: better set the variable
    #[arg(long, value_name = "KEY", env = "ARBOR_API_KEY", hide_env_values = true)]
    api_key: Option<KeyText>,
    /// Certificates (PEM) of authorities that may vouch for an https:// server, beside the system's
    #[arg(long, value_name = "FILE", env = "ARBOR_CA_FILE")]
    ca_file: Option<OsString>,
    /// Send the API key over http:// to another machine, although everybody on the way can read it
    #[arg(long, env = "ARBOR_ALLOW_HTTP", value_parser = BoolishValueParser::new())]
    allow_http: bool,
}

/// What was given as a key, which may be one: it is printed nowhere.
#[derive(Clone)]
struct KeyText(String);

impl From<String> for KeyText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyText")
    }
}

/// Which job of which server.
#[derive(Debug, Args)]
pub struct JobArg {
    /// The job: its id, or its URL, which then says which server
    #[arg(value_name = "JOB")]
    job: String,
    #[command(flatten)]
    server: ServerArg,
}

/// How much is shown of a job that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// Nothing but its end.
    End,
    /// Every step.
    Steps,
}

/// A job that has come to its end.
pub(super) struct Ended {
    pub(super) job: JobView,
    /// Everything that the server says of it.
    pub(super) raw: Value,
}

impl ServerArg {
    /// A client of the server.
    pub(super) fn client(&self) -> Result<Client, CliError> {
        self.client_of(self.server.parse()?)
    }

    /// A client of the server that the URL of a job names. A key that is meant for one server does not go to
    /// another because of what somebody was given to paste.
    fn client_of_job(&self, server: ServerUrl) -> Result<Client, CliError> {
        if self.key().is_some() {
            let expected: ServerUrl = self.server.parse()?;
            if !server.is_same_server(&expected) {
                let (server, expected) = (server.to_string(), expected.to_string());
                return Err(ClientError::ForeignKey { server, expected }.into());
            }
        }
        self.client_of(server)
    }

    /// A client of `server` with the key that was given.
    fn client_of(&self, server: ServerUrl) -> Result<Client, CliError> {
        let Some(text) = self.key() else { return Ok(self.keyless(server)?) };
        let key = text.parse()?;
        if !(server.is_secure() || server.is_loopback() || self.allow_http) {
            return Err(ClientError::OpenKey { server: server.to_string() }.into());
        }
        Ok(self.keyless(server)?.with_key(&key))
    }

    fn keyless(&self, server: ServerUrl) -> Result<Client, ClientError> {
        match &self.ca_file {
            // A variable that is set to nothing is not set.
            Some(file) if server.is_secure() && !file.is_empty() => {
                Client::trusting(server, &Authorities::read(Path::new(file))?)
            }
            _ => Client::new(server),
        }
    }

    /// The key as text, if one was given.
    fn key(&self) -> Option<&str> {
        let text = self.api_key.as_ref().map(|KeyText(text)| text.trim());
        text.filter(|text| !text.is_empty())
    }
}

impl JobArg {
    /// The job and a client of its server.
    pub(super) fn resolve(&self) -> Result<(JobId, Client), CliError> {
        let JobAddress { id, server } = self.job.parse()?;
        let client = match server {
            Some(server) => self.server.client_of_job(server)?,
            None => self.server.client()?,
        };
        Ok((id, client))
    }
}

/// Waits until a job has come to its end.
pub(super) async fn follow(client: &Client, id: JobId, show: Show) -> Result<Ended, CliError> {
    let progress: Option<Arc<JobProgress>> = (show == Show::Steps).then(JobProgress::new);
    let mut events = EventStream::new(client, id, Patience::default());
    let ended = events
        .until_final(|event| {
            if let Some(progress) = &progress {
                progress.event(event);
            }
        })
        .await;
    if let Some(progress) = progress {
        progress.finish();
    }
    let (job, raw) = ended?;
    Ok(Ended { job, raw })
}

impl Ended {
    /// Prints the end of the job.
    ///
    /// # Errors
    /// An end without a proof, once it is printed.
    pub(super) fn print(&self, format: Format) -> Result<(), CliError> {
        match format {
            Format::Json => output::json(&self.raw)?,
            Format::Text => {
                if !self.job.layers.is_empty() {
                    output::line(output::timings(&self.job.layers))?;
                }
                output::line(line_of(&self.job))?;
            }
        }
        if self.job.state == JobState::Succeeded {
            return Ok(());
        }
        let message = self.job.error.as_ref().map(|error| output::printable(&error.message));
        let retry = self.job.error.as_ref().is_some_and(|error| error.retryable);
        Err(CliError::JobEnded { id: self.job.id, state: self.job.state, message, retry })
    }
}

/// A job in one line.
pub(super) fn line_of(job: &JobView) -> String {
    let mut line = format!("job {} {}", job.id, job.state);
    if job.progress.nodes_total > 0 {
        line.push_str(&format!(", {} proofs", job.progress));
    }
    if let Some(phase) = &job.phase {
        let node = phase.node.as_deref().map(|node| format!("{node} ")).unwrap_or_default();
        line.push_str(&format!(", now {}", output::printable(&format!("{node}{}", phase.name))));
    }
    if let (Some(begin), Some(end)) = (job.created_at_ms, job.finished_at_ms) {
        line.push_str(&format!(", {:.2} s", (end - begin) as f64 / 1e3));
    }
    if let Some(proof) = &job.proof {
        line.push_str(&format!(", proof of {} KB", output::kilobytes(proof.bytes as usize)));
    }
    line
}

/// Downloads a proof into `out`.
pub(super) async fn download(
    client: &Client,
    id: JobId,
    node: Option<&str>,
    out: &Path,
) -> Result<u64, CliError> {
    let bytes = client.proof(id, node).await?;
    interrupt::uninterrupted(|| format::write_file(out, &bytes))?;
    Ok(bytes.len() as u64)
}

/// Says where a proof went and what to do with it.
pub(super) fn print_written(out: &Path, bytes: u64) -> Result<(), CliError> {
    output::line(format_args!("wrote {} ({bytes} bytes)", out.display()))?;
    output::line(format_args!("next: arbor verify {}", out.display()))
}
