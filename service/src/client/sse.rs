//! Server-sent events, as the HTML standard has them in "Interpreting an event stream".

use std::time::Duration;

use super::error::ClientError;

/// Longest event that is taken, in bytes: a report is a few kilobytes.
const LONGEST: usize = 1 << 20;

/// One event as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// The last id that the stream has set.
    pub id: Option<String>,
    /// The kind; `message` if the stream does not say.
    pub kind: String,
    /// The lines of data, joined by line feeds.
    pub data: String,
}

/// Takes bytes in whatever pieces they come and gives events.
#[derive(Debug, Default)]
pub struct SseParser {
    line: Vec<u8>,
    after_return: bool,
    started: bool,
    id: Option<String>,
    kind: String,
    data: Option<String>,
    retry: Option<Duration>,
}

impl SseParser {
    /// Takes the next bytes and gives the events that they complete.
    ///
    /// # Errors
    /// An event that is too long, or bytes that are not UTF-8.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, ClientError> {
        let mut events = Vec::new();
        for &byte in bytes {
            let was_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if was_return => {}
                b'\n' | b'\r' => events.extend(self.end_of_line()?),
                _ if self.line.len() >= LONGEST => return Err(TOO_LONG),
                _ => self.line.push(byte),
            }
        }
        Ok(events)
    }

    /// How long the stream asks to wait before it is opened again.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn end_of_line(&mut self) -> Result<Option<SseEvent>, ClientError> {
        let line = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&line)
            .map_err(|_| ClientError::Stream { reason: "it is not UTF-8" })?;
        let first = !std::mem::replace(&mut self.started, true);
        let line = if first { line.trim_start_matches('\u{feff}') } else { line };
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        self.field(name, value.strip_prefix(' ').unwrap_or(value))?;
        Ok(None)
    }

    fn field(&mut self, name: &str, value: &str) -> Result<(), ClientError> {
        match name {
            "event" => value.clone_into(&mut self.kind),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" => {
                self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry);
            }
            "data" => {
                let data = match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data
                    }
                    empty => empty.insert(String::new()),
                };
                if data.len() + value.len() > LONGEST {
                    return Err(TOO_LONG);
                }
                data.push_str(value);
            }
            // A comment has no name; everything else is for later standards.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let kind = std::mem::take(&mut self.kind);
        let data = self.data.take()?;
        let kind = if kind.is_empty() { "message".to_owned() } else { kind };
        Some(SseEvent { id: self.id.clone(), kind, data })
    }
}

const TOO_LONG: ClientError = ClientError::Stream { reason: "an event is longer than 1 MiB" };

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Vec<SseEvent> {
        SseParser::default().push(text.as_bytes()).expect("a stream")
    }

    fn event(id: Option<&str>, kind: &str, data: &str) -> SseEvent {
        SseEvent { id: id.map(str::to_owned), kind: kind.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn fields_comments_and_the_byte_order_mark() {
        let text = "\u{feff}: hello\nid: 1\nevent: state\ndata: {}\n\n: keep-alive\n\ndata:a\ndata\ndata:  b\n\n";
        assert_eq!(
            parse(text),
            [event(Some("1"), "state", "{}"), event(Some("1"), "message", "a\n\n b")]
        );
    }

    #[test]
    fn an_event_without_data_is_none_and_its_kind_is_forgotten() {
        assert_eq!(parse("event: state\nid: 4\n\ndata: x\n\n"), [event(Some("4"), "message", "x")]);
    }

    #[test]
    fn an_event_that_breaks_off_is_none() {
        assert_eq!(parse("id: 1\nevent: state\ndata: {}\n"), []);
    }

    #[test]
    fn the_delay_is_a_number_or_left_alone() {
        let mut parser = SseParser::default();
        parser.push(b"retry: 1500\nretry: soon\n\n").expect("a stream");
        assert_eq!(parser.retry(), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn what_is_too_long_or_no_text_is_refused() {
        let line = vec![b'x'; LONGEST + 1];
        assert!(SseParser::default().push(&line).is_err());
        let many = "data: 0123456789abcdef\n".repeat(LONGEST / 16 + 1);
        assert!(SseParser::default().push(many.as_bytes()).is_err());
        assert!(SseParser::default().push(b"data: \xff\n").is_err());
    }

    proptest! {
        #[test]
        fn pieces_and_ends_of_lines_change_nothing(
            lines in proptest::collection::vec("(id: [0-9]|event: [a-z]|data: [a-z]|: x|)", 0..30),
            end in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
            cut in 1_usize..9,
        ) {
            let plain: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
            let other: String = lines.iter().flat_map(|line| [line.as_str(), end]).collect();
            let mut parser = SseParser::default();
            let mut events = Vec::new();
            for piece in other.as_bytes().chunks(cut) {
                events.extend(parser.push(piece).expect("a stream"));
            }
            prop_assert_eq!(events, parse(&plain));
        }
    }
}
