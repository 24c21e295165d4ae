//! What the service costs beside the proofs: time from a submission to its proof, memory when there is
//! nothing to do, and answers while there is.
//!
//! The server is a process of this same binary, on a port and in a folder of its own.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arbor_prover::{BaseJob, Cache, Job, Observer, Silent, chain};
use futures::future::try_join_all;
use serde::Serialize;
use serde_json::{Deserializer, Value};
use tempfile::TempDir;
use uuid::Uuid;

use super::figures::median;
use super::{Bench, SEED};
use crate::client::{Client, EventStream, Patience, block_on};
use crate::error::CliError;
use crate::model::{JobId, JobState};

/// Keccak permutations of the job whose overhead is taken.
const OVERHEAD_PERMUTATIONS: u64 = 300;
/// Keccak permutations of the job that runs while questions are asked.
const LOAD_PERMUTATIONS: u64 = 1_000;
/// Layers of both.
const LAYERS: usize = 3;
/// Jobs that are not counted: until the allocator has a place for everything, a job also pays for page faults.
const WARM_UP: usize = 4;
/// Connections over which questions are asked, one after the other on each.
const CONNECTIONS: usize = 4;
/// Most that the service may add to the time of a job: the larger of a share and a time.
const ALLOWED_SHARE: f64 = 0.05;
const ALLOWED_MS: f64 = 50.0;
/// Most that 99 of 100 answers may take.
const ALLOWED_P99_MS: f64 = 50.0;
/// Longest time until the server is ready.
const READY: Duration = Duration::from_secs(60);

/// What the service costs.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceCost {
    /// The job by itself, in this process: circuits prepared and memory mapped, as in the server.
    pub prove_ms: f64,
    /// The same job from the submission until its proof file has come.
    pub service_ms: f64,
    /// What the service adds: the median over pairs, one after the other.
    pub overhead_ms: f64,
    /// Most that it may be.
    pub allowed_overhead_ms: f64,
    /// Resident memory of a server that is ready and has proved nothing.
    pub idle_bytes: u64,
    /// Connections that asked for a job while it was proved, without a pause.
    pub connections: usize,
    /// Questions that were answered.
    pub requests: usize,
    /// Answers in a second.
    pub requests_per_s: f64,
    /// Half of the answers took less.
    pub p50_ms: f64,
    /// 99 of 100 answers took less.
    pub p99_ms: f64,
    /// Most that it may be.
    pub allowed_p99_ms: f64,
}

impl ServiceCost {
    /// The figures for people: name, value, what is asked, whether it is met.
    #[must_use]
    pub fn lines(&self) -> Vec<[String; 4]> {
        let verdict = |met| if met { "required" } else { "missed" }.to_owned();
        let ms = |value: f64| format!("{value:.1} ms");
        let none = String::new;
        vec![
            ["job_by_itself_ms".into(), ms(self.prove_ms), none(), none()],
            ["job_through_service_ms".into(), ms(self.service_ms), none(), none()],
            [
                "service_overhead_ms".into(),
                ms(self.overhead_ms),
                format!("≤ {}", ms(self.allowed_overhead_ms)),
                verdict(self.overhead_ms <= self.allowed_overhead_ms),
            ],
            [
                "idle_memory_bytes".into(),
                format!("{:.1} MB", self.idle_bytes as f64 / 1e6),
                none(),
                none(),
            ],
            ["requests_per_s".into(), format!("{:.0}", self.requests_per_s), none(), none()],
            ["job_status_p50_ms".into(), ms(self.p50_ms), none(), none()],
            [
                "job_status_p99_ms".into(),
                ms(self.p99_ms),
                format!("≤ {}", ms(self.allowed_p99_ms)),
                verdict(self.p99_ms <= self.allowed_p99_ms),
            ],
        ]
    }
}

impl Bench<'_> {
    /// Measures a server of its own.
    ///
    /// # Errors
    /// A server that does not start, a job that fails.
    pub fn service(&self) -> Result<ServiceCost, CliError> {
        let server = Server::start(self.threads)?;
        let client = Client::new(server.url.parse()?)?;
        block_on(server.ready(&client))?;
        let idle_bytes = server.resident_bytes();

        let job =
            self.fri.named(Job::chain(BaseJob::keccak(OVERHEAD_PERMUTATIONS, SEED), LAYERS))?;
        let cache = Cache::new();
        let (mut alone, mut served) = (Vec::new(), Vec::new());
        // The first ones of each prepare circuits and map memory. Then each goes first every other time.
        for run in 0..WARM_UP + self.runs {
            if run % 2 == 0 {
                alone.push(self.alone_ms(job.clone(), &cache)?);
            }
            served.push(block_on(served_ms(&client, &job))?);
            if run % 2 == 1 {
                alone.push(self.alone_ms(job.clone(), &cache)?);
            }
        }
        let (alone, served) = (&alone[WARM_UP..], &served[WARM_UP..]);
        // Of pairs, because the machine is not equally fast all the time.
        let pairs = served.iter().zip(alone).map(|(served, alone)| served - alone);
        let overhead_ms = median(pairs);
        let (prove_ms, service_ms) =
            (median(alone.iter().copied()), median(served.iter().copied()));
        drop(cache);

        let base = BaseJob::keccak(LOAD_PERMUTATIONS, SEED);
        let answers = block_on(load(&client, &self.fri.named(Job::chain(base, LAYERS))?))?;
        Ok(ServiceCost {
            prove_ms,
            service_ms,
            overhead_ms,
            allowed_overhead_ms: ALLOWED_MS.max(ALLOWED_SHARE * prove_ms),
            idle_bytes: idle_bytes.ok_or(NO_MEMORY)?,
            connections: CONNECTIONS,
            requests: answers.ms.len(),
            requests_per_s: answers.ms.len() as f64 / answers.seconds,
            p50_ms: answers.quantile(0.50),
            p99_ms: answers.quantile(0.99),
            allowed_p99_ms: ALLOWED_P99_MS,
        })
    }

    /// What the job takes without a service, once its circuits are in `cache`.
    fn alone_ms(&self, job: Job, cache: &Cache) -> Result<f64, CliError> {
        let spec = self.fri.resolve(job)?;
        let observer: Arc<dyn Observer> = Arc::new(Silent);
        let start = Instant::now();
        chain::prove(&spec, cache, &observer)?.to_bytes()?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}

const NO_MEMORY: CliError = CliError::ChildOutput { command: "serve", expected: "its memory" };
const NO_ADDRESS: CliError = CliError::ChildOutput { command: "serve", expected: "its address" };
const NO_PROOF: CliError = CliError::ChildOutput { command: "serve", expected: "a proof" };
const NOT_READY: CliError =
    CliError::ChildOutput { command: "serve", expected: "that it is ready" };

/// Time from a submission until the proof file has come.
async fn served_ms(client: &Client, job: &Job) -> Result<f64, CliError> {
    let start = Instant::now();
    let id = client.submit(job, &Uuid::now_v7().to_string()).await?.job.id;
    let mut events = EventStream::new(client, id, Patience::default());
    let (done, _) = events.until_final(|_| {}).await?;
    if done.state != JobState::Succeeded {
        return Err(NO_PROOF);
    }
    client.proof(id, None).await?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// How long answers took.
struct Answers {
    ms: Vec<f64>,
    /// For how long questions were asked.
    seconds: f64,
}

impl Answers {
    /// The time that this share of all answers did not exceed. Zero of nothing.
    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.ms.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    }
}

/// Asks for a job on every connection, again and again, while it is proved.
async fn load(client: &Client, job: &Job) -> Result<Answers, CliError> {
    let id = client.submit(job, &Uuid::now_v7().to_string()).await?.job.id;
    while client.job(id).await?.0.state == JobState::Queued {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let start = Instant::now();
    let ms = try_join_all((0..CONNECTIONS).map(|_| ask(client, id))).await?.concat();
    let seconds = start.elapsed().as_secs_f64();
    if client.job(id).await?.0.state != JobState::Succeeded {
        return Err(NO_PROOF);
    }
    Ok(Answers { ms, seconds })
}

async fn ask(client: &Client, id: JobId) -> Result<Vec<f64>, CliError> {
    let mut ms = Vec::new();
    loop {
        let start = Instant::now();
        let running = client.job(id).await?.0.state == JobState::Running;
        ms.push(start.elapsed().as_secs_f64() * 1e3);
        if !running {
            return Ok(ms);
        }
    }
}

/// A server of this binary. It ends with its owner.
struct Server {
    child: Child,
    url: String,
    _folder: TempDir,
}

impl Server {
    fn start(threads: Option<usize>) -> Result<Self, CliError> {
        let failed = |source| CliError::File { path: PathBuf::from("arbor serve"), source };
        let folder = TempDir::new().map_err(failed)?;
        let log = folder.path().join("log");
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["serve", "--json", "--listen", "127.0.0.1:0", "--data-dir"]);
        command.arg(folder.path().join("data"));
        if let Some(threads) = threads {
            command.arg("--threads").arg(threads.to_string());
        }
        // There is no configuration file in its folder: what is measured are the defaults.
        command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(File::create(&log).map_err(failed)?);
        let mut child = command.spawn().map_err(failed)?;
        let stdout = child.stdout.take().ok_or(NO_ADDRESS)?;
        let mut server = Self { child, url: String::new(), _folder: folder };
        // The one value that it prints; its standard output stays open behind it.
        let mut values = Deserializer::from_reader(stdout).into_iter::<Value>();
        let Some(Ok(said)) = values.next() else {
            let _ = server.child.kill();
            let status = server.child.wait().map_err(failed)?;
            let log = std::fs::read_to_string(log).unwrap_or_default();
            let stderr = log.lines().last().unwrap_or_default().to_owned();
            return Err(CliError::Child { command: "serve", status, stderr });
        };
        let url = said.get("listening").and_then(Value::as_str).ok_or(NO_ADDRESS)?;
        url.clone_into(&mut server.url);
        Ok(server)
    }

    async fn ready(&self, client: &Client) -> Result<(), CliError> {
        let start = Instant::now();
        while !client.readiness(READY).await?.ready {
            if start.elapsed() > READY {
                return Err(NOT_READY);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Memory that the process has in use, as the kernel counts it.
    fn resident_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes << 10)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It writes nothing that is needed afterwards; its folder goes with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::Answers;

    #[test]
    fn a_quantile_is_one_of_the_answers() {
        let answers = |ms: &[f64]| Answers { ms: ms.to_vec(), seconds: 1.0 };
        assert_eq!(answers(&[]).quantile(0.99), 0.0);
        assert_eq!(answers(&[7.0]).quantile(0.99), 7.0);
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(answers(&hundred).quantile(0.99), 99.0);
        assert_eq!(answers(&hundred).quantile(0.50), 50.0);
        assert_eq!(answers(&hundred).quantile(1.0), 100.0);
    }
}
