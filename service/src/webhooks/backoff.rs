//! When a message is sent again.

use std::time::Duration;

use crate::config::WebhooksConfig;

/// Pauses that double, up to a bound.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    attempts: u32,
}

impl Backoff {
    /// As configured.
    #[must_use]
    pub fn new(config: &WebhooksConfig) -> Self {
        Self {
            first: Duration::from_millis(config.first_delay_ms),
            longest: Duration::from_secs(config.max_delay_s),
            attempts: config.max_attempts,
        }
    }

    /// The pause after so many attempts without success; none if there is to be no further one. `random` is
    /// from 0 to 1 and takes up to half of the pause away, so that what failed together does not come back
    /// together.
    #[must_use]
    pub fn after(&self, attempts: u32, random: f64) -> Option<Duration> {
        if attempts >= self.attempts {
            return None;
        }
        let doubled = self.first.saturating_mul(1 << attempts.saturating_sub(1).min(30));
        Some(doubled.min(self.longest).mul_f64(1.0 - random.clamp(0.0, 1.0) / 2.0))
    }

    /// The longest pause.
    #[must_use]
    pub const fn longest(&self) -> Duration {
        self.longest
    }
}

/// A number from 0 to 1. Nobody must be unable to guess it.
pub(super) fn random() -> f64 {
    let bits = uuid::Uuid::new_v4().as_u128() as u32;
    f64::from(bits) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_come_to_an_end() {
        let backoff = Backoff {
            first: Duration::from_secs(5),
            longest: Duration::from_secs(60),
            attempts: 7,
        };
        let seconds = |random| {
            (1..=7).map(|n| backoff.after(n, random).map(|d| d.as_secs_f64())).collect::<Vec<_>>()
        };
        let whole = [5.0, 10.0, 20.0, 40.0, 60.0, 60.0].map(Some);
        assert_eq!(seconds(0.0)[..6], whole);
        assert_eq!(seconds(0.0)[6], None);
        assert_eq!(seconds(1.0)[..6], whole.map(|d| d.map(|d| d / 2.0)));
        assert_eq!(backoff.after(u32::MAX, 0.0), None);
    }

    #[test]
    fn random_numbers_are_within_their_bounds() {
        let numbers: Vec<f64> = (0..1000).map(|_| random()).collect();
        assert!(numbers.iter().all(|n| (0.0..=1.0).contains(n)));
        assert!(numbers.iter().any(|n| *n < 0.2) && numbers.iter().any(|n| *n > 0.8));
    }
}
