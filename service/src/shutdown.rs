//! Signals: the first one ends the server in order, the second one at once.

use std::io;

use tokio_util::sync::CancellationToken;

/// Cancels `stop` on the first SIGINT or SIGTERM, and ends the process with 130 on the second.
///
/// # Errors
/// The signals cannot be listened for.
#[cfg(unix)]
pub fn on_signal(stop: CancellationToken) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        let mut next = async || {
            tokio::select! {
                _ = interrupt.recv() => "SIGINT",
                _ = terminate.recv() => "SIGTERM",
            }
        };
        let name = next().await;
        tracing::info!(signal = name, "shutting down; a second signal ends at once");
        stop.cancel();
        let name = next().await;
        tracing::warn!(signal = name, "ending at once");
        std::process::exit(crate::interrupt::EXIT_INTERRUPTED);
    });
    Ok(())
}

/// The same on ctrl-c, where there are no signals.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub fn on_signal(stop: CancellationToken) -> io::Result<()> {
    tokio::spawn(async move {
        let _ = tokio::signal::ctrl_c().await;
        stop.cancel();
        let _ = tokio::signal::ctrl_c().await;
        std::process::exit(crate::interrupt::EXIT_INTERRUPTED);
    });
    Ok(())
}
