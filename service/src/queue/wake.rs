//! When the worker looks for tasks.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use futures::future::BoxFuture;
use tokio::sync::Notify;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// How often the worker looks although nobody woke it.
const LOOK: Duration = Duration::from_secs(1);

/// Yields whenever it is time to look. After it has yielded it wakes whoever polls once more: apalis asks this
/// stream before it looks and not after, so a task that is committed while it looks would be missed.
pub(super) struct Wake {
    pushed: Arc<Notify>,
    next: BoxFuture<'static, ()>,
    now_and_then: Interval,
}

impl Wake {
    pub(super) fn new(pushed: Arc<Notify>) -> Self {
        let mut now_and_then = interval(LOOK);
        now_and_then.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let next = notified(Arc::clone(&pushed));
        Self { pushed, next, now_and_then }
    }
}

fn notified(pushed: Arc<Notify>) -> BoxFuture<'static, ()> {
    Box::pin(async move { pushed.notified().await })
}

impl Stream for Wake {
    type Item = ();

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let pushed = self.next.as_mut().poll(cx).is_ready();
        if pushed {
            self.next = notified(Arc::clone(&self.pushed));
        }
        let ticked = self.now_and_then.poll_tick(cx).is_ready();
        if pushed || ticked {
            cx.waker().wake_by_ref();
            return Poll::Ready(Some(()));
        }
        Poll::Pending
    }
}
