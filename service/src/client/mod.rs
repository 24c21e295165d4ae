//! A client of the service: what `arbor submit`, `watch`, `get`, `cancel` and `health` speak.
//!
//! Whatever a server answers is bytes from outside: every body is read up to a limit, and no text of a
//! server reaches the terminal with control characters in it.

mod address;
mod api;
mod download;
mod error;
mod events;
mod sse;
mod tls;
mod wire;

pub use address::{DEFAULT_SERVER, JobAddress, ServerUrl};
pub use api::{Client, Readiness, Removal, Submission};
pub use error::{ClientError, Problem, UrlFault};
pub use events::{EventStream, Patience};
pub use sse::{SseEvent, SseParser};
pub use tls::{Authorities, TlsFault};
pub use wire::{JobEvent, JobView, NodesDone, TreeNode};

/// Runs `work` to its end on this thread.
///
/// # Errors
/// What `work` says, or that the system has no means to wait for a socket.
pub fn block_on<T, E: From<ClientError>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|source| E::from(ClientError::Runtime { source }))?.block_on(work)
}
