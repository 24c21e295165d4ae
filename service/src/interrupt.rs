//! Ctrl-C: the process ends with 130 and leaves no partial file behind.

use std::sync::{Mutex, PoisonError};

/// Exit code of an interrupted command.
pub const EXIT_INTERRUPTED: i32 = 130;

/// Held while a file is written; the handler takes it before it ends the process.
static WRITING: Mutex<()> = Mutex::new(());

/// Ends the process with 130 on SIGINT and SIGTERM, but never in the middle of [`uninterrupted`].
///
/// A proof cannot be stopped half-way, and nothing of it is on disk before it is done: ending the
/// process is all there is to do.
pub fn install() {
    let installed = ctrlc::set_handler(|| {
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        eprintln!("arbor: interrupted");
        std::process::exit(EXIT_INTERRUPTED);
    });
    if let Err(error) = installed {
        tracing::warn!(%error, "ctrl-c will not be handled");
    }
}

/// Runs `write` to its end even if the process is told to stop meanwhile.
pub fn uninterrupted<T>(write: impl FnOnce() -> T) -> T {
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    write()
}
