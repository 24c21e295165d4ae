//! `Range` (RFC 9110), for one range of bytes.

use std::ops::Range;

use axum::http::header::{HeaderMap, HeaderValue, IF_RANGE, RANGE};

/// What a request wants of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it.
    All,
    /// These bytes, at least one.
    Part(Range<u64>),
    /// Bytes beyond its end.
    Nothing,
}

/// What the headers want of a file of `length` bytes with this tag.
///
/// A range that is malformed, of another unit, or one of several is ignored, as the RFC allows it; so is one
/// whose `if-range` is another tag or a date.
pub(super) fn wanted(headers: &HeaderMap, length: u64, etag: &HeaderValue) -> Wanted {
    let Some(range) = headers.get(RANGE).and_then(|value| value.to_str().ok()) else {
        return Wanted::All;
    };
    if headers.get(IF_RANGE).is_some_and(|value| value != etag) {
        return Wanted::All;
    }
    let Some((unit, range)) = range.split_once('=') else { return Wanted::All };
    let Some((first, last)) = range.trim().split_once('-') else { return Wanted::All };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Wanted::All;
    }
    let (first, last) = (first.trim(), last.trim());
    let bounds = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => (first, last.saturating_add(1).min(length)),
        (Some(first), None) if last.is_empty() => (first, length),
        (None, Some(last)) if first.is_empty() => (length.saturating_sub(last), length),
        _ => return Wanted::All,
    };
    if bounds.0 < bounds.1 { Wanted::Part(bounds.0..bounds.1) } else { Wanted::Nothing }
}

/// Digits alone; a number too large for the type lies beyond every file.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: HeaderValue = HeaderValue::from_static("\"tag\"");

    fn of(range: &'static str) -> Wanted {
        wanted(&HeaderMap::from_iter([(RANGE, HeaderValue::from_static(range))]), 100, &TAG)
    }

    #[test]
    fn one_range_is_cut_to_the_file() {
        assert_eq!(of("bytes=0-9"), Wanted::Part(0..10));
        assert_eq!(of("bytes=90-"), Wanted::Part(90..100));
        assert_eq!(of("bytes=-10"), Wanted::Part(90..100));
        assert_eq!(of("bytes=-1000"), Wanted::Part(0..100));
        assert_eq!(of("Bytes = 99-18446744073709551615"), Wanted::Part(99..100));
        assert_eq!(of("bytes=0-99999999999999999999999999"), Wanted::Part(0..100));
    }

    #[test]
    fn nothing_is_in_a_range_beyond_the_end() {
        for range in ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=99999999999999999999999-"] {
            assert_eq!(of(range), Wanted::Nothing, "{range}");
        }
    }

    #[test]
    fn what_is_no_single_range_is_ignored() {
        let ranges = [
            "bytes=0-1,5-6",
            "bytes=5-1",
            "bytes=-",
            "bytes=a-b",
            "bytes=+1-2",
            "rows=0-1",
            "bytes",
            "",
            "bytes=--1",
        ];
        for range in ranges {
            assert_eq!(of(range), Wanted::All, "{range:?}");
        }
    }

    #[test]
    fn a_range_of_another_version_is_ignored() {
        let mut headers = HeaderMap::from_iter([(RANGE, HeaderValue::from_static("bytes=0-9"))]);
        headers.insert(IF_RANGE, HeaderValue::from_static("\"other\""));
        assert_eq!(wanted(&headers, 100, &TAG), Wanted::All);
        headers.insert(IF_RANGE, TAG);
        assert_eq!(wanted(&headers, 100, &TAG), Wanted::Part(0..10));
    }
}
