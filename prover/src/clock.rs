//! From the marks of a prover to the times of its phases.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arbor_circuits::timed_pcs::{Phase, PhaseSink};

use crate::observer::{Observer, PhaseName};
use crate::report::Timings;

/// Turns marks into times: whatever passes before a mark belongs to the phase that the mark ends.
pub struct PhaseClock {
    layer: usize,
    lookups: bool,
    observer: Arc<dyn Observer>,
    state: Mutex<State>,
}

struct State {
    since: Instant,
    commits: usize,
    timings: Timings,
}

impl PhaseClock {
    /// Starts now. `lookups` says whether a second commitment, to the LogUp trace, will come.
    #[must_use]
    pub fn start(layer: usize, lookups: bool, observer: &Arc<dyn Observer>) -> Arc<Self> {
        observer.phase(layer, PhaseName::Commit);
        let state = State { since: Instant::now(), commits: 0, timings: Timings::default() };
        Arc::new(Self { layer, lookups, observer: Arc::clone(observer), state: Mutex::new(state) })
    }

    /// Adds the times of the phases to `timings`; what came after the last mark counts as opening.
    pub fn finish(&self, timings: &mut Timings) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = millis(state.since.elapsed());
        state.since = Instant::now();
        timings.commit += state.timings.commit;
        timings.logup += state.timings.logup;
        timings.quotient += state.timings.quotient;
        timings.open += state.timings.open + rest;
    }

    /// Books the time since the last mark and says which phase begins.
    fn mark(&self, phase: Phase) -> Option<PhaseName> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = millis(state.since.elapsed());
        state.since = Instant::now();
        match phase {
            Phase::Committed => {
                state.commits += 1;
                if state.commits == 1 {
                    state.timings.commit += passed;
                } else {
                    state.timings.logup += passed;
                }
                let more = self.lookups && state.commits == 1;
                Some(if more { PhaseName::Logup } else { PhaseName::Quotient })
            }
            Phase::QuotientCommitted => {
                state.timings.quotient += passed;
                Some(PhaseName::Open)
            }
            Phase::Opened => {
                state.timings.open += passed;
                None
            }
        }
    }
}

impl PhaseSink for PhaseClock {
    fn ended(&self, phase: Phase) {
        if let Some(next) = self.mark(phase) {
            self.observer.phase(self.layer, next);
        }
    }
}

/// A duration in milliseconds.
#[must_use]
pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
