//! How often somebody may ask.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

/// Checks between two removals of what has been quiet for long enough to be forgotten.
const UPKEEP: u64 = 4096;

/// Whose requests are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// A key, by its id.
    Key(String),
    /// An address without a valid key. Of IPv6 the first half: the other is the client's to choose.
    Address(IpAddr),
}

impl Who {
    /// Who asks from this address.
    #[must_use]
    pub fn at(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(v6) => {
                let network = v6.to_bits() & (u128::MAX << 64);
                Self::Address(IpAddr::V6(Ipv6Addr::from_bits(network)))
            }
            v4 => Self::Address(v4),
        }
    }
}

/// Counts requests: a bucket for each [`Who`], as large as a burst, that fills up steadily.
pub struct Limiter {
    buckets: Option<DefaultKeyedRateLimiter<Who>>,
    clock: DefaultClock,
    checks: AtomicU64,
}

impl Limiter {
    /// Lets `per_second` requests pass each second, and `burst` at once; 0 a second lets all pass.
    #[must_use]
    pub fn new(per_second: u32, burst: u32) -> Self {
        let buckets = NonZeroU32::new(per_second).map(|rate| {
            let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
            RateLimiter::keyed(Quota::per_second(rate).allow_burst(burst))
        });
        Self { buckets, clock: DefaultClock::default(), checks: AtomicU64::new(0) }
    }

    /// Counts one request.
    ///
    /// # Errors
    /// Too many: the time after which the next one passes.
    pub fn check(&self, who: &Who) -> Result<(), Duration> {
        let Some(buckets) = &self.buckets else { return Ok(()) };
        // A full bucket says as much as none: addresses that went away take no memory.
        if self.checks.fetch_add(1, Ordering::Relaxed) % UPKEEP == UPKEEP - 1 {
            buckets.retain_recent();
            buckets.shrink_to_fit();
        }
        buckets.check_key(who).map_err(|until| until.wait_time_from(self.clock.now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Who {
        Who::at(text.parse().expect("an address"))
    }

    #[test]
    fn a_burst_passes_and_then_nothing_for_that_one() {
        let limiter = Limiter::new(1, 3);
        for _ in 0..3 {
            assert_eq!(limiter.check(&at("192.0.2.1")), Ok(()));
        }
        let wait = limiter.check(&at("192.0.2.1")).expect_err("the bucket is empty");
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(1), "{wait:?}");
        assert_eq!(limiter.check(&at("192.0.2.2")), Ok(()));
        assert_eq!(limiter.check(&Who::Key("192.0.2.1".to_owned())), Ok(()));
    }

    #[test]
    fn nothing_is_counted_at_a_rate_of_0() {
        let limiter = Limiter::new(0, 0);
        assert!((0..10_000).all(|_| limiter.check(&at("192.0.2.1")).is_ok()));
    }

    #[test]
    fn an_address_is_its_network() {
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:0:0:2"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("::ffff:192.0.2.1"), at("192.0.2.1"));
    }

    #[test]
    fn many_addresses_are_forgotten() {
        let limiter = Limiter::new(1_000_000, 1);
        for n in 0..3 * UPKEEP {
            let low = u32::try_from(n).expect("small");
            let _ = limiter.check(&Who::at(IpAddr::V4(std::net::Ipv4Addr::from_bits(low))));
        }
        let left = limiter.buckets.as_ref().map_or(0, DefaultKeyedRateLimiter::len);
        assert!(left <= 2 * UPKEEP as usize, "{left} are remembered");
    }
}
