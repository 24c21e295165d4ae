//! Spans that wait to be sent: as many as there is room for. Beyond that the oldest go, so that a batch that no
//! collector ever takes does not stay in the way for good.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use metrics::counter;
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Most spans that wait; some ten megabytes at most.
const MOST: usize = 8192;
/// Least time between two complaints.
const QUIET: Duration = Duration::from_secs(60);

/// Why a span was not sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Why {
    /// Too many wait already.
    Full,
    /// The collector does not take it.
    Refused,
    /// The server ended before.
    Shutdown,
    /// The records of the job could not be read.
    Records,
}

impl Why {
    const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Refused => "refused",
            Self::Shutdown => "shutdown",
            Self::Records => "records",
        }
    }
}

#[derive(Default)]
pub(super) struct Queue {
    spans: Mutex<VecDeque<Span>>,
    filled: Notify,
    closing: CancellationToken,
    complained: Mutex<Option<Instant>>,
}

impl Queue {
    /// Appends spans.
    pub(super) fn push(&self, new: Vec<Span>) {
        let mut spans = self.spans();
        spans.extend(new);
        let beyond = spans.len().saturating_sub(MOST);
        spans.drain(..beyond);
        drop(spans);
        self.filled.notify_one();
        if beyond > 0 {
            self.dropped(beyond, Why::Full, "too many wait to be sent");
        }
    }

    /// The first spans, at most `most`, as soon as there are any; none once the queue is closed and empty.
    pub(super) async fn take(&self, most: usize) -> Option<Vec<Span>> {
        loop {
            {
                let mut spans = self.spans();
                let count = spans.len().min(most);
                if count > 0 {
                    return Some(spans.drain(..count).collect());
                }
            }
            tokio::select! {
                biased;
                () = self.filled.notified() => {}
                () = self.closing.cancelled() => {
                    if self.spans().is_empty() {
                        return None;
                    }
                }
            }
        }
    }

    /// Puts spans back that are to be sent again. Those that came meanwhile may have taken their room.
    pub(super) fn put_back(&self, mut batch: Vec<Span>) {
        let mut spans = self.spans();
        let room = MOST.saturating_sub(spans.len());
        let beyond = batch.len().saturating_sub(room);
        batch.drain(..beyond);
        for span in batch.into_iter().rev() {
            spans.push_front(span);
        }
        drop(spans);
        if beyond > 0 {
            self.dropped(beyond, Why::Full, "too many wait to be sent");
        }
    }

    /// No more will come.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    /// Is cancelled when no more will come.
    pub(super) const fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Gives up on whatever is left.
    pub(super) fn drop_rest(&self) {
        let count = std::mem::take(&mut *self.spans()).len();
        if count > 0 {
            self.dropped(count, Why::Shutdown, "the server ends");
        }
    }

    /// Counts spans that are not sent, and says so if nothing was said lately.
    pub(super) fn dropped(&self, count: usize, why: Why, error: &str) {
        counter!("arbor_trace_spans_dropped_total", "reason" => why.name()).increment(count as u64);
        if self.may_complain() {
            tracing::warn!(count, error, "spans of traces are dropped");
        }
    }

    /// Says that spans have to wait, if nothing was said lately.
    pub(super) fn waiting(&self, error: &str) {
        if self.may_complain() {
            let waiting = self.spans().len();
            tracing::warn!(waiting, error, "spans of traces cannot be sent; trying again");
        }
    }

    fn may_complain(&self) -> bool {
        let mut complained = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        let may = complained.is_none_or(|at| at.elapsed() >= QUIET);
        if may {
            *complained = Some(Instant::now());
        }
        may
    }

    /// The list is never half-changed.
    fn spans(&self) -> MutexGuard<'_, VecDeque<Span>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(count: usize) -> Vec<Span> {
        let named = |n: usize| Span { name: n.to_string(), ..Span::default() };
        (0..count).map(named).collect()
    }

    #[tokio::test]
    async fn there_is_room_for_so_many_and_the_latest_stay() {
        let queue = Queue::default();
        queue.push(spans(MOST + 5));
        let batch = queue.take(10).await.expect("spans");
        assert_eq!((batch.len(), batch[9].name.as_str()), (10, "14"));
        queue.push(spans(4));
        queue.put_back(batch);
        assert_eq!(queue.spans().len(), MOST);
        // Six of the ten found room.
        assert_eq!(queue.take(1).await.expect("spans")[0].name, "9");
        queue.close();
        assert_eq!(queue.take(MOST).await.map(|batch| batch.len()), Some(MOST - 1));
        assert_eq!(queue.take(1).await, None);
    }

    #[test]
    fn complaints_are_rare() {
        let queue = Queue::default();
        assert!(queue.may_complain());
        assert!(!queue.may_complain());
    }
}
