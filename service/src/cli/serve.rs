//! `arbor serve`: proof jobs over HTTP.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Format;
use crate::clock::SystemClock;
use crate::config::{self, Config, LogFormat, Overrides};
use crate::engine::{Engine, EngineError, Folder};
use crate::error::CliError;
use crate::state::AppState;
use crate::verifier::Verifier;
use crate::{http, logging, output, recorder, server, shutdown};

/// Time for open requests to end after the engine has, and for threads after that.
const DRAIN: Duration = Duration::from_secs(5);
/// Time for what still computes when everything else has ended: it cannot be stopped, only left.
const LEAVE: Duration = Duration::from_millis(200);

/// Serve proof jobs over HTTP.
///
/// Prints `listening on http://ADDRESS` on standard output as soon as it answers; /readyz says when it takes
/// jobs. It listens on addresses of this machine alone until there are API keys (`arbor keys create`), unless
/// --allow-remote is given.
///
/// SIGTERM and SIGINT end it in order: no more jobs are taken, the node that is being proved is finished or
/// handed back within server.shutdown_grace_s, and the exit code is 0. A second signal ends it at once, with
/// 130; nothing that is finished is lost.
///
/// Every option is in configs/service.toml. Options are taken from there (or --config), then from the
/// environment as ARBOR_SECTION__OPTION (for traces also from the usual OTEL_* variables), then from these flags.
#[derive(Debug, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

/// Where the configuration comes from, and what goes before it.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// Configuration [default: configs/service.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address and port; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", value_parser = config::parse_listen)]
    listen: Option<SocketAddr>,
    /// Allow an address that other machines can reach without any API key: whoever reaches it may do
    /// everything
    #[arg(long)]
    allow_remote: bool,
    /// Folder of records and proofs [default: arbor-data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Prepare usual circuits of this preset before being ready: those of chains and trees of two over small
    /// jobs. May be repeated
    #[arg(long, value_name = "PRESET")]
    warm: Vec<String>,
    /// Give freed memory back after so many quiet seconds; 0 keeps it
    #[arg(long, value_name = "SECONDS")]
    idle_release: Option<u64>,
    /// Send traces of jobs to this collector, over OTLP
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
    /// How log lines are written
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

impl ConfigArgs {
    /// The configuration, resolved and validated.
    ///
    /// # Errors
    /// The first option that is refused.
    pub fn load(&self, threads: Option<usize>) -> Result<Config, CliError> {
        let flags = Overrides {
            listen: self.listen,
            allow_remote: self.allow_remote,
            data_dir: self.data_dir.clone(),
            threads,
            warm: self.warm.clone(),
            idle_release_s: self.idle_release,
            otlp_endpoint: self.otlp_endpoint.clone(),
            log_format: self.log_format,
        };
        Ok(config::load(self.config.as_deref(), std::env::vars_os(), &flags)?)
    }
}

impl ConfigArgs {
    /// The data folder that a server with this file, the environment and this flag would use.
    ///
    /// # Errors
    /// The first option that is refused; but not that there are no keys yet.
    pub(super) fn data_folder(
        file: Option<&Path>,
        data_dir: Option<PathBuf>,
    ) -> Result<PathBuf, CliError> {
        let flags = Overrides { data_dir, allow_remote: true, ..Overrides::default() };
        Ok(config::load(file, std::env::vars_os(), &flags)?.data.dir)
    }
}

/// Serves until told to stop.
pub(super) fn run(
    args: &ServeArgs,
    threads: Option<usize>,
    format: Format,
) -> Result<(), CliError> {
    let config = args.config.load(threads)?;
    logging::init_server(&config.log);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|source| CliError::Runtime { source })?;
    let result = runtime.block_on(serve(config, format));
    runtime.shutdown_timeout(LEAVE);
    result
}

async fn serve(config: Config, format: Format) -> Result<(), CliError> {
    let stop = CancellationToken::new();
    shutdown::on_signal(stop.clone()).map_err(|source| CliError::Runtime { source })?;
    let metrics = recorder::install()?;
    tokio::spawn(recorder::upkeep(metrics.clone()));
    let verifier = Verifier::new(&config.verification)?;
    let state = AppState::new(config.clone(), verifier, metrics, stop.clone());

    let address = config.server.listen;
    let listen_error = |source| CliError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(listen_error)?;
    // Before anybody is told where to ask: a second server of the folder must not seem to have begun.
    let folder = Folder::take(&config.data.dir)?;
    let url = format!("http://{}", listener.local_addr().map_err(listen_error)?);
    match format {
        Format::Json => output::json(&json!({ "listening": url }))?,
        Format::Text => output::line(format_args!("listening on {url}"))?,
    }
    if config.server.allow_remote && !address.ip().is_loopback() && state.began_without_keys() {
        tracing::warn!("there are no API keys: whoever reaches this address may do everything");
    }
    tracing::info!(%url, data = %config.data.dir.display(), "listening");

    // The routes answer while the engine starts and while it ends: readyz has something to say then.
    let close = CancellationToken::new();
    let routes = http::router(state.clone());
    let server_config = config.server.clone();
    let served = tokio::spawn({
        let close = close.clone();
        async move { server::serve(listener, routes, &server_config, close, DRAIN).await }
    });
    let result = work(folder, &config, &state, &stop).await;
    stop.cancel();
    close.cancel();
    if let Err(error) = served.await {
        tracing::error!(%error, "the listener did not end in order");
    }
    tracing::info!("ended");
    result.map_err(CliError::from)
}

/// Runs the engine until `stop`.
async fn work(
    folder: Folder,
    config: &Config,
    state: &AppState,
    stop: &CancellationToken,
) -> Result<(), EngineError> {
    let engine = tokio::select! {
        engine = Engine::start_in(folder, config, Arc::new(SystemClock::new())) => engine?,
        () = stop.cancelled() => return Ok(()),
    };
    state.started(engine.clone());
    tracing::info!("ready");
    stop.cancelled().await;
    engine.shutdown(Duration::from_secs(config.server.shutdown_grace_s)).await;
    Ok(())
}
