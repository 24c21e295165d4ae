//! `Prefer: wait=N` (RFC 7240).

use std::time::Duration;

use axum::http::header::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;

/// The request header.
pub(super) const PREFER: HeaderName = HeaderName::from_static("prefer");
/// The header that says which preference was honoured.
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// A wait that was asked for, cut to what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    seconds: u64,
}

impl Wait {
    /// The wait that the headers ask for. Preferences that are unknown or malformed are ignored, as the
    /// RFC wants it; of several waits the first counts.
    pub(super) fn of(headers: &HeaderMap, most_s: u64) -> Option<Self> {
        let preferences = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
        let seconds = preferences.flat_map(|value| value.split(',')).find_map(|preference| {
            let token = preference.split(';').next()?;
            let (name, value) = token.split_once('=')?;
            let value = value.trim().trim_matches('"');
            let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            let wait = name.trim().eq_ignore_ascii_case("wait") && digits;
            // A number too large for the type is a long wait like any other.
            wait.then(|| value.parse().unwrap_or(u64::MAX))
        })?;
        Some(Self { seconds: seconds.min(most_s) })
    }

    pub(super) const fn duration(self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// Says in the answer that the server waited, and for how long at most.
    pub(super) fn applied(self, response: &mut Response) {
        if let Ok(value) = HeaderValue::try_from(format!("wait={}", self.seconds)) {
            response.headers_mut().insert(PREFERENCE_APPLIED, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(values: &[&'static str]) -> Option<u64> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(PREFER, HeaderValue::from_static(value));
        }
        Wait::of(&headers, 60).map(|wait| wait.seconds)
    }

    #[test]
    fn only_a_well_formed_wait_counts() {
        assert_eq!(wait(&["wait=5"]), Some(5));
        assert_eq!(wait(&["respond-async, Wait = 7; foo"]), Some(7));
        assert_eq!(wait(&["respond-async", "wait=\"9\""]), Some(9));
        assert_eq!(wait(&["wait=99999999999999999999999"]), Some(60));
        for bad in ["wait", "wait=", "wait=-1", "wait=1.5", "wait=x", "", "await=3"] {
            assert_eq!(wait(&[bad]), None, "{bad:?}");
        }
    }
}
