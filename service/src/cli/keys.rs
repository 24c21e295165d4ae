//! `arbor keys`: makes, lists and revokes API keys, in the records of a data folder.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use serde_json::json;

use super::Format;
use super::serve::ConfigArgs;
use crate::access::{ApiKey, KeyRecord, Quota, Role};
use crate::error::CliError;
use crate::output;
use crate::store::{Store, create_folder, records_file};
use crate::webhooks::Secret;

/// Longest name of a key.
const MAX_NAME: usize = 64;

/// Make, list and revoke the API keys of a server.
///
/// Works on the records in the data folder, also while the server runs: what is changed here counts from its
/// next request on, and what is open with a revoked key ends within 5 seconds. As soon as there is a key, and also when all are revoked, the server wants one for everything
/// but the page, the documentation and the probes.
#[derive(Debug, Args)]
pub struct KeysCommand {
    #[command(subcommand)]
    what: What,
}

/// What to do with keys.
#[derive(Debug, Subcommand)]
enum What {
    /// Make a key and show it, this once: a hash is all that is kept of it
    Create(CreateArgs),
    /// List the keys, revoked ones included
    List(FolderArgs),
    /// Make a key invalid, for ever
    Revoke(RevokeArgs),
    /// Show what signs the webhooks of a name, or of jobs without a key
    WebhookSecret(SecretArgs),
}

/// A key to be made.
#[derive(Debug, Args)]
struct CreateArgs {
    /// Whom it is for. Keys of one name share their jobs and quotas
    #[arg(long)]
    name: String,
    /// What it may do: look, also submit, or everything for everybody's jobs
    #[arg(long)]
    role: Role,
    /// Most jobs of this name that wait
    #[arg(long, value_name = "N")]
    max_queued: Option<u64>,
    /// Most jobs of this name that run, while another one is submitted
    #[arg(long, value_name = "N")]
    max_running: Option<u64>,
    /// Most bytes on disk that jobs submitted within 24 hours are expected to take
    #[arg(long, value_name = "BYTES")]
    max_bytes_per_day: Option<u64>,
    #[command(flatten)]
    folder: FolderArgs,
}

/// A key to be revoked.
#[derive(Debug, Args)]
struct RevokeArgs {
    /// The key's id: what is between `arbor_` and the next `_`
    id: String,
    #[command(flatten)]
    folder: FolderArgs,
}

/// A secret to be shown.
#[derive(Debug, Args)]
struct SecretArgs {
    /// The name of the keys; left out, it is the secret of jobs that were submitted without a key
    name: Option<String>,
    /// Make a new one in its place: messages are signed with it from now on
    #[arg(long)]
    rotate: bool,
    #[command(flatten)]
    folder: FolderArgs,
}

/// Which data folder.
#[derive(Debug, Args)]
struct FolderArgs {
    /// Configuration of the server [default: configs/service.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of records and proofs [default: arbor-data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl FolderArgs {
    /// The records of the folder, which is made if it is not there and `make` says so.
    async fn open(&self, make: bool) -> Result<Store, CliError> {
        let folder = ConfigArgs::data_folder(self.config.as_deref(), self.data_dir.clone())?;
        let failed = |source| CliError::File { path: folder.clone(), source };
        if !records_file(&folder).exists() {
            if !make {
                let source =
                    std::io::Error::new(ErrorKind::NotFound, "no server has used this folder");
                return Err(failed(source));
            }
            eprintln!("note: a new data folder, {}", folder.display());
        }
        create_folder(&folder).map_err(failed)?;
        let records = records_file(&folder);
        Store::open(&records).await.map_err(|source| CliError::Records { path: records, source })
    }
}

/// Does it.
pub(super) fn run(command: &KeysCommand, format: Format) -> Result<(), CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| CliError::Runtime { source })?;
    runtime.block_on(async {
        match &command.what {
            What::Create(args) => create(args, format).await,
            What::List(args) => list(args, format).await,
            What::Revoke(args) => revoke(args, format).await,
            What::WebhookSecret(args) => webhook_secret(args, format).await,
        }
    })
}

async fn create(args: &CreateArgs, format: Format) -> Result<(), CliError> {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if !(1..=MAX_NAME).contains(&args.name.len()) || !args.name.bytes().all(word) {
        return Err(CliError::UnknownValue {
            flag: "--name",
            value: output::printable(&args.name),
            expected: "1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-'",
        });
    }
    let key = ApiKey::generate().map_err(|source| CliError::Random { source })?;
    let quota = Quota {
        max_queued: args.max_queued,
        max_running: args.max_running,
        max_bytes_per_day: args.max_bytes_per_day,
    };
    let record = KeyRecord {
        id: key.id().to_owned(),
        name: args.name.clone(),
        role: args.role,
        quota,
        created_at_ms: now_ms(),
        revoked_at_ms: None,
    };
    let store = args.folder.open(true).await?;
    let stored = store.add_key(&record, &key.hash()).await;
    store.close().await;
    stored.map_err(|source| CliError::Store { source })?;
    match format {
        Format::Json => output::json(&json!({"key": key.reveal(), "record": record})),
        Format::Text => {
            eprintln!("note: this is the only time that the key is shown");
            output::line(key.reveal())
        }
    }
}

async fn list(args: &FolderArgs, format: Format) -> Result<(), CliError> {
    let store = args.open(false).await?;
    let keys = store.keys().await;
    store.close().await;
    let keys = keys.map_err(|source| CliError::Store { source })?;
    if format == Format::Json {
        return output::json(&json!({"keys": keys}));
    }
    let header = ["id", "name", "role", "queued", "running", "bytes/day", "state"];
    let mut table = output::table(header, 3);
    let limit = |limit: Option<u64>| limit.map_or_else(|| "-".to_owned(), |n| n.to_string());
    for key in keys {
        table.add_row([
            key.id,
            key.name,
            key.role.to_string(),
            limit(key.quota.max_queued),
            limit(key.quota.max_running),
            limit(key.quota.max_bytes_per_day),
            if key.revoked_at_ms.is_some() { "revoked" } else { "valid" }.to_owned(),
        ]);
    }
    output::line(table)
}

async fn revoke(args: &RevokeArgs, format: Format) -> Result<(), CliError> {
    let store = args.folder.open(false).await?;
    let revoked = store.revoke_key(&args.id, now_ms()).await;
    store.close().await;
    if !revoked.map_err(|source| CliError::Store { source })? {
        // A whole key was given, perhaps: it is not repeated.
        return Err(CliError::NoSuchKey);
    }
    match format {
        Format::Json => output::json(&json!({"id": args.id, "revoked": true})),
        Format::Text => output::line(format_args!("{} is revoked", args.id)),
    }
}

async fn webhook_secret(args: &SecretArgs, format: Format) -> Result<(), CliError> {
    let fresh = Secret::generate().map_err(|source| CliError::Random { source })?;
    let store = args.folder.open(false).await?;
    let name = args.name.as_deref();
    let secret = secret_of(&store, name, &fresh, args.rotate).await;
    store.close().await;
    let Some(secret) = secret.map_err(|source| CliError::Store { source })? else {
        return Err(CliError::NoSuchName { name: output::printable(name.unwrap_or_default()) });
    };
    let secret = secret.reveal();
    match format {
        Format::Json => output::json(&json!({"name": args.name, "secret": secret})),
        Format::Text => output::line(secret),
    }
}

/// What signs the messages of a name, which must be that of a key: a mistyped one would get a secret that signs
/// nothing.
async fn secret_of(
    store: &Store,
    name: Option<&str>,
    fresh: &Secret,
    rotate: bool,
) -> sqlx::Result<Option<Secret>> {
    if let Some(name) = name
        && store.keys().await?.iter().all(|key| key.name != name)
    {
        return Ok(None);
    }
    store.webhook_secret(name, fresh, rotate, now_ms()).await.map(Some)
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
