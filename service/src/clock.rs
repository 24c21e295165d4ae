//! What time it is, for the engine.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of time. Tests bring their own.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970, UTC. May jump, forwards and backwards.
    fn wall_ms(&self) -> i64;

    /// Time since some fixed moment. Never goes backwards.
    fn monotonic(&self) -> Duration;
}

/// The clocks of the machine.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// The clocks of the machine.
    #[must_use]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn wall_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }
}

/// The time of one run of the engine: the wall clock as it was at the start, and from then on the
/// monotonic clock. A wall clock that is set while the engine runs changes nothing: no deadline passes
/// early, no time of an event goes backwards, nothing is removed before its time.
#[derive(Clone)]
pub struct Times {
    clock: Arc<dyn Clock>,
    start_wall_ms: i64,
    start: Duration,
}

impl Times {
    /// Reads the wall clock, once.
    #[must_use]
    pub fn start(clock: Arc<dyn Clock>) -> Self {
        let (start_wall_ms, start) = (clock.wall_ms(), clock.monotonic());
        Self { clock, start_wall_ms, start }
    }

    /// Milliseconds since 1970, UTC. Never goes backwards within one run.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        let passed = self.clock.monotonic().saturating_sub(self.start);
        self.start_wall_ms.saturating_add(i64::try_from(passed.as_millis()).unwrap_or(i64::MAX))
    }

    /// Nanoseconds since 1970, UTC: what [`Self::now_ms`] says, more finely.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        let start = Duration::from_millis(u64::try_from(self.start_wall_ms).unwrap_or(0));
        let now = start.saturating_add(self.clock.monotonic().saturating_sub(self.start));
        u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Time on the monotonic clock.
    #[must_use]
    pub fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    struct Set(Mutex<(i64, Duration)>);

    impl Clock for Set {
        fn wall_ms(&self) -> i64 {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).0
        }

        fn monotonic(&self) -> Duration {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).1
        }
    }

    #[test]
    fn a_wall_clock_that_is_set_changes_nothing() {
        let clock = Arc::new(Set(Mutex::new((1_000_000, Duration::from_secs(5)))));
        let times = Times::start(Arc::clone(&clock) as _);
        assert_eq!(times.now_ms(), 1_000_000);
        *clock.0.lock().expect("no panic before") = (0, Duration::from_secs(7));
        assert_eq!(times.now_ms(), 1_002_000);
        *clock.0.lock().expect("no panic before") = (i64::MAX, Duration::from_secs(8));
        assert_eq!(times.now_ms(), 1_003_000);
    }
}
