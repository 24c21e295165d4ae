//! The proofs, by what they are: an object's name is the BLAKE3 of its bytes.
//!
//! An object is written beside its place, synced and renamed, so that it is whole or not there. Every read
//! compares the bytes with the name. The same bytes are stored once, whoever refers to them; rows of the
//! records say who does.

mod local;

use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use thiserror::Error;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use local::open;

/// Waits between attempts to write an object.
const PATIENCE: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(400), Duration::from_millis(1500)];
/// Bytes that are written to see whether it works again: about a small proof.
const PROBE_BYTES: usize = 128 << 10;
/// Characters of a name: 32 bytes in hexadecimal.
const NAME: usize = 64;

/// Why an object cannot be had.
#[derive(Debug, Error)]
pub enum BlobError {
    /// It is not there, or its bytes are not those that it is named after.
    #[error("the object {hash} is missing or damaged")]
    Damaged {
        /// Its name.
        hash: String,
    },
    /// The store does not answer as it should.
    #[error("the blob store cannot be reached: {source}")]
    Store {
        /// What it said.
        #[from]
        source: object_store::Error,
    },
}

/// The blob store. Cheap to clone.
#[derive(Clone)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
    /// Shared while an object is written and its row is not yet there; exclusive while objects without
    /// rows are removed.
    collecting: Arc<RwLock<()>>,
    failing: Arc<AtomicBool>,
}

impl Blobs {
    /// Objects in `store`.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store, collecting: Arc::default(), failing: Arc::default() }
    }

    /// To be held from before an object is written until the row that refers to it is.
    pub async fn writing(&self) -> RwLockReadGuard<'_, ()> {
        self.collecting.read().await
    }

    /// To be held while objects without rows are removed.
    pub async fn collecting(&self) -> RwLockWriteGuard<'_, ()> {
        self.collecting.write().await
    }

    /// Stores `bytes` and gives their name. An object that is there already is written again, which heals
    /// it. A store that fails is asked a few times more before it is given up.
    ///
    /// # Errors
    /// The last answer of the store.
    pub async fn put(&self, bytes: Bytes) -> Result<String, BlobError> {
        let hash = blake3::hash(&bytes).to_hex().to_string();
        let place = place(&hash);
        let mut waits = PATIENCE.iter();
        loop {
            let payload = PutPayload::from_bytes(bytes.clone());
            let error = match self.store.put(&place, payload).await {
                Ok(_) => {
                    self.failing.store(false, Ordering::Relaxed);
                    return Ok(hash);
                }
                Err(error) => error,
            };
            self.failing.store(true, Ordering::Relaxed);
            let Some(wait) = waits.next() else { return Err(error.into()) };
            tracing::warn!(hash, %error, "a proof cannot be stored; trying again");
            tokio::time::sleep(*wait).await;
        }
    }

    /// Whether objects can be written, as far as is known. After a write that failed, another one is tried.
    pub async fn usable(&self) -> bool {
        if !self.failing() {
            return true;
        }
        let probe = Path::from("probe");
        let bytes = PutPayload::from_static(&[0; PROBE_BYTES]);
        let written = self.store.put(&probe, bytes).await.is_ok();
        if written {
            self.failing.store(false, Ordering::Relaxed);
            let _ = self.store.delete(&probe).await;
        }
        written
    }

    /// The bytes of an object.
    ///
    /// # Errors
    /// [`BlobError::Damaged`] if it is missing or not what its name says, or the store's.
    pub async fn get(&self, hash: &str) -> Result<Bytes, BlobError> {
        let damaged = || BlobError::Damaged { hash: hash.to_owned() };
        let bytes = match self.store.get(&place(hash)).await {
            Ok(object) => object.bytes().await?,
            Err(object_store::Error::NotFound { .. }) => return Err(damaged()),
            Err(error) => return Err(error.into()),
        };
        if blake3::hash(&bytes).to_hex().as_str() == hash { Ok(bytes) } else { Err(damaged()) }
    }

    /// Removes an object; one that is not there is gone already.
    ///
    /// # Errors
    /// The store's.
    pub async fn remove(&self, hash: &str) -> Result<(), BlobError> {
        match self.store.delete(&place(hash)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Names of all objects.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self) -> Result<Vec<String>, BlobError> {
        use futures::TryStreamExt;
        let objects: Vec<_> = self.store.list(None).try_collect().await?;
        let names = objects.iter().filter_map(|object| object.location.filename());
        Ok(names.filter(|name| is_name(name)).map(str::to_owned).collect())
    }

    /// Whether the last attempt to write failed.
    #[must_use]
    pub fn failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }
}

/// Where an object is kept: 256 folders, so that none becomes too large.
fn place(hash: &str) -> Path {
    let folder = hash.get(..2).unwrap_or("00");
    Path::from_iter([folder, hash])
}

fn is_name(name: &str) -> bool {
    name.len() == NAME && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The folder of the objects in a data folder.
#[must_use]
pub fn folder(data: &FilePath) -> std::path::PathBuf {
    data.join("blobs")
}
