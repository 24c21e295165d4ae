//! The threads that prove. They are the engine's own: a proof takes seconds, and tokio's threads are for
//! what takes none.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

/// Stack of a thread that proves, in bytes: as much as a main thread has.
const STACK: usize = 8 << 20;

type Work = Box<dyn FnOnce() + Send>;

/// As many threads as nodes may be proved at the same time. Each of them uses rayon's pool.
#[derive(Clone)]
pub(super) struct Provers {
    sender: Sender<Work>,
}

/// The work panicked: an error of ours. The thread lives on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Panicked;

impl Provers {
    /// Starts the threads; they end when the last clone is dropped.
    pub(super) fn start(threads: usize) -> std::io::Result<Self> {
        let (sender, receiver) = channel::<Work>();
        let receiver = Arc::new(Mutex::new(receiver));
        for number in 0..threads.max(1) {
            let receiver = Arc::clone(&receiver);
            let builder = thread::Builder::new().name(format!("prover-{number}"));
            builder.stack_size(STACK).spawn(move || serve(&receiver))?;
        }
        Ok(Self { sender })
    }

    /// Does `work` on a thread that proves, and gives what it comes to.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let (answer, result) = oneshot::channel();
        let span = tracing::Span::current();
        let work: Work = Box::new(move || {
            let result = span.in_scope(|| catch_unwind(AssertUnwindSafe(work)));
            // Nobody waits any more if the server is ending.
            let _ = answer.send(result.map_err(|_| Panicked));
        });
        self.sender.send(work).map_err(|_| Panicked)?;
        result.await.unwrap_or(Err(Panicked))
    }
}

fn serve(receiver: &Mutex<Receiver<Work>>) {
    loop {
        let work = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match work {
            Ok(work) => work(),
            Err(_) => return,
        }
    }
}
