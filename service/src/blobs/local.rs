//! Objects in a folder of the local disk.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use object_store::local::LocalFileSystem;

use super::{BlobError, Blobs};

/// Between the name of an object and the number of an attempt to write it.
const STAGED: char = '#';

/// Opens the folder, or makes it. Writes survive a loss of power: files and folders are synced.
///
/// # Errors
/// What the system says.
pub fn open(folder: &Path) -> Result<Blobs, BlobError> {
    fs::create_dir_all(folder).map_err(io_error)?;
    // All of them now: a folder that has to be made costs a proof two more syncs.
    for place in 0..=u8::MAX {
        fs::create_dir_all(folder.join(format!("{place:02x}"))).map_err(io_error)?;
    }
    remove_staged(folder).map_err(io_error)?;
    let store = LocalFileSystem::new_with_prefix(folder)?.with_fsync(true);
    Ok(Blobs::new(Arc::new(store)))
}

/// Removes what a process that died had begun to write.
fn remove_staged(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_staged(&entry.path())?;
        } else if entry.file_name().to_string_lossy().contains(STAGED) {
            // A folder that cannot be written to says so when it matters.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

fn io_error(source: io::Error) -> BlobError {
    BlobError::Store {
        source: object_store::Error::Generic { store: "local", source: Box::new(source) },
    }
}
