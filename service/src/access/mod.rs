//! Who may do what: API keys, their roles and quotas, and how often they may ask.
//!
//! A key is `arbor_<id>_<secret>`. The secret is 256 random bits, so what is stored of it is a plain hash:
//! nobody finds such a secret by trying, which is what slow password hashes are for. Hashes are compared in
//! constant time (that is what `==` of [`blake3::Hash`] does).

mod key;
mod limiter;
mod record;

use std::path::Path;

use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

pub use key::{ApiKey, MalformedKey};
pub use limiter::{Limiter, Who};
pub use record::{KeyRecord, Quota, Role, UnknownRole};

/// Whether a data folder has API keys, revoked ones included. No if there is no such folder, or if its records
/// cannot be read: then nobody has a key either.
#[must_use]
pub fn folder_has_keys(folder: &Path) -> bool {
    let records = crate::store::records_file(folder);
    if !records.is_file() {
        return false;
    }
    // A thread of its own: the caller may be within a runtime or not.
    let looked = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        runtime.block_on(async {
            let options = SqliteConnectOptions::new().filename(&records).read_only(true);
            let mut connection = SqliteConnection::connect_with(&options).await.ok()?;
            let found: Option<i64> = sqlx::query_scalar("SELECT 1 FROM api_key LIMIT 1")
                .fetch_optional(&mut connection)
                .await
                .ok()?;
            let _ = connection.close().await;
            found
        })
    });
    matches!(looked.join(), Ok(Some(_)))
}
