//! How many threads prove.

use crate::error::CliError;

/// Bounds the threads of every proof in this process.
///
/// # Errors
/// If there are none, or they cannot be started.
pub fn limit(threads: Option<usize>) -> Result<(), CliError> {
    match threads {
        None => Ok(()),
        Some(0) => Err(CliError::Threads { reason: "at least 1".to_owned() }),
        Some(threads) => start(threads),
    }
}

#[cfg(feature = "parallel")]
fn start(threads: usize) -> Result<(), CliError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(|error| CliError::Threads { reason: error.to_string() })
}

#[cfg(not(feature = "parallel"))]
fn start(threads: usize) -> Result<(), CliError> {
    if threads > 1 {
        let reason = "this binary was built without the feature `parallel`".to_owned();
        return Err(CliError::Threads { reason });
    }
    Ok(())
}
