//! What a submission is part of: the header `traceparent`.

use std::str::FromStr;

/// The header.
pub(crate) const TRACEPARENT: &str = "traceparent";
/// Length of what version 00 of the specification defines.
const LENGTH: usize = 55;

/// A valid `traceparent`, as version 00 writes it.
///
/// Source: W3C Trace Context, "traceparent Header".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceParent {
    text: String,
    trace_id: [u8; 16],
    span_id: [u8; 8],
    flags: u8,
}

/// A header that is none; the specification has it ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no valid traceparent")]
pub struct MalformedTraceParent;

impl TraceParent {
    /// The trace.
    #[must_use]
    pub const fn trace_id(&self) -> [u8; 16] {
        self.trace_id
    }

    /// The span in it.
    #[must_use]
    pub const fn span_id(&self) -> [u8; 8] {
        self.span_id
    }

    /// Its flags.
    #[must_use]
    pub const fn flags(&self) -> u8 {
        self.flags
    }

    /// As version 00 writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The one header of a request, if there is one and it is valid.
    #[must_use]
    pub fn of(headers: &axum::http::HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let parent = values.next()?.to_str().ok()?.parse().ok()?;
        values.next().is_none().then_some(parent)
    }
}

impl FromStr for TraceParent {
    type Err = MalformedTraceParent;

    fn from_str(text: &str) -> Result<Self, MalformedTraceParent> {
        let text = text.trim();
        let head = text.get(..LENGTH).ok_or(MalformedTraceParent)?;
        let mut parts = head.split('-');
        let mut part = || parts.next().ok_or(MalformedTraceParent);
        let (version, trace, span, flags) = (part()?, part()?, part()?, part()?);
        let [version]: [u8; 1] = bytes(version)?;
        // A later version may append something.
        let rest = &text[LENGTH..];
        let whole = rest.is_empty() || (version != 0 && rest.starts_with('-'));
        if version == 0xff || !whole || parts.next().is_some() {
            return Err(MalformedTraceParent);
        }
        let (trace_id, span_id): ([u8; 16], [u8; 8]) = (bytes(trace)?, bytes(span)?);
        let [flags] = bytes(flags)?;
        if trace_id == [0; 16] || span_id == [0; 8] {
            return Err(MalformedTraceParent);
        }
        Ok(Self { text: format!("00{}", &head[2..]), trace_id, span_id, flags })
    }
}

/// Bytes from lower-case hexadecimal of exactly their length.
fn bytes<const N: usize>(text: &str) -> Result<[u8; N], MalformedTraceParent> {
    let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 2 * N || !text.bytes().all(lower) {
        return Err(MalformedTraceParent);
    }
    let mut bytes = [0; N];
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| MalformedTraceParent)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_valid_one_is_read_and_written_as_version_00() {
        let parent: TraceParent = VALID.parse().expect("valid");
        assert_eq!((parent.as_str(), parent.flags()), (VALID, 1));
        assert_eq!(parent.span_id(), [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31]);
        let later: TraceParent = format!("cc{}-what", &VALID[2..]).parse().expect("valid");
        assert_eq!(later, parent);
    }

    #[test]
    fn others_are_none() {
        for text in [
            "",
            "00",
            &VALID[..54],
            &format!("{VALID}-"),
            &format!("{VALID}0"),
            &format!("ff{}", &VALID[2..]),
            &VALID.to_uppercase(),
            &VALID.replace('-', "_"),
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319-cb7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333é-0",
        ] {
            assert_eq!(text.parse::<TraceParent>(), Err(MalformedTraceParent), "{text}");
        }
    }
}
