//! Bytes of a pipe to lines, lines to JSON-RPC envelopes. No input or output in here, and nothing about ACP.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use thiserror::Error;

/// The longest line that is taken, in bytes. The protocol names no limit; images and whole files come as one line.
pub const LONGEST_LINE: usize = 256 << 20;

/// What is kept of the buffer between long lines, in bytes.
const KEPT_CAPACITY: usize = 1 << 20;

/// One line of a pipe.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The line without its end.
    Whole(&'a [u8]),
    /// A line over the limit, which is gone; the pipe goes on.
    TooLong {
        /// How long it was.
        bytes: usize,
    },
}

/// Cuts what comes out of a pipe into lines. Each byte is looked at once, however the bytes are split.
#[derive(Debug)]
pub struct Lines {
    begun: Vec<u8>,
    dropped: usize,
    longest: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self::new(LONGEST_LINE)
    }
}

impl Lines {
    /// Lines of at most `longest` bytes, without their end.
    pub fn new(longest: usize) -> Self {
        Self { begun: Vec::new(), dropped: 0, longest }
    }

    /// Takes the next bytes and hands each line that they complete to `each`.
    pub fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.complete(&bytes[..end], &mut each);
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    /// Hands over what stands at the end without a line end.
    pub fn end(&mut self, mut each: impl FnMut(Line<'_>)) {
        if !self.begun.is_empty() || self.dropped > 0 {
            self.complete(&[], &mut each);
        }
    }

    fn complete(&mut self, rest: &[u8], each: &mut impl FnMut(Line<'_>)) {
        if self.begun.is_empty() && self.dropped == 0 && rest.len() <= self.longest {
            each(Line::Whole(without_return(rest)));
            return;
        }
        self.keep(rest);
        if self.dropped > 0 {
            each(Line::TooLong { bytes: std::mem::take(&mut self.dropped) });
            return;
        }
        each(Line::Whole(without_return(&self.begun)));
        if self.begun.capacity() > KEPT_CAPACITY {
            self.begun = Vec::new();
        } else {
            self.begun.clear();
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.dropped > 0 {
            self.dropped += bytes.len();
        } else if self.begun.len() + bytes.len() > self.longest {
            self.dropped = self.begun.len() + bytes.len();
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(bytes);
        }
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A string of a message: borrowed from the line where no escape forbids it.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// A JSON-RPC message; what it carries stays JSON text until somebody knows what it should be.
#[derive(Debug)]
pub enum Message<'a> {
    /// Wants one answer, with exactly this id.
    Request {
        /// As it stood in the line.
        id: &'a RawValue,
        /// What is asked.
        method: Cow<'a, str>,
        /// With what.
        params: Option<&'a RawValue>,
    },
    /// Wants no answer.
    Notification {
        /// What is said.
        method: Cow<'a, str>,
        /// With what.
        params: Option<&'a RawValue>,
    },
    /// The answer to a request of ours.
    Answer {
        /// The request's id, as it stood in the line.
        id: &'a RawValue,
        /// The result, or the error.
        outcome: Result<&'a RawValue, &'a RawValue>,
    },
}

/// Why a line is no message. Such lines are logged and skipped; nothing is sent back (ACP transports).
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Stray {
    /// Nothing but white space.
    #[error("a blank line")]
    Blank,
    /// Text that is not JSON, such as a banner or a warning.
    #[error("not a JSON object: {0}")]
    NotJson(String),
    /// An array: ACP has no batches.
    #[error("a JSON-RPC batch, which ACP does not have")]
    Batch,
    /// An object without `method`, `result` and `error`, or an answer without an id.
    #[error("neither a request nor an answer")]
    Neither,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Text<'a>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Keeps `null` apart from a field that is not there.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one line as a JSON-RPC message. `jsonrpc` may be missing (lenient in what we take).
pub fn parse(line: &str) -> Result<Message<'_>, Stray> {
    let line = line.trim_ascii();
    match line.as_bytes().first() {
        None => return Err(Stray::Blank),
        Some(b'[') => return Err(Stray::Batch),
        Some(_) => {}
    }
    let envelope: Envelope<'_> =
        serde_json::from_str(line).map_err(|error| Stray::NotJson(error.to_string()))?;
    match envelope {
        Envelope { id: Some(id), method: Some(Text(method)), params, .. } => {
            Ok(Message::Request { id, method, params })
        }
        Envelope { id: None, method: Some(Text(method)), params, .. } => {
            Ok(Message::Notification { method, params })
        }
        Envelope { id: Some(id), error: Some(error), .. } => {
            Ok(Message::Answer { id, outcome: Err(error) })
        }
        Envelope { id: Some(id), result: Some(result), .. } => {
            Ok(Message::Answer { id, outcome: Ok(result) })
        }
        _ => Err(Stray::Neither),
    }
}

/// Replaces escaped halves of surrogate pairs that stand alone by U+FFFD: programs that count UTF-16 units send
/// them when they cut an emoji in two, and no JSON reader takes them. `None` where there is nothing to replace.
pub fn repair_surrogates(json: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &json.as_bytes()[at..]) {
        let escape = at + found;
        let unit = utf16_unit(json, escape);
        let next = unit.and_then(|_| utf16_unit(json, escape + 6));
        at = match (unit, next) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => escape + 12,
            (Some(0xD800..=0xDFFF), _) => {
                repaired.push_str(&json[copied..escape]);
                repaired.push_str("\\ufffd");
                copied = escape + 6;
                copied
            }
            (Some(_), _) => escape + 6,
            // The escaped character is ASCII in valid JSON; in other text we must not land inside a character.
            (None, _) => escape + 1 + usize::from(json.is_char_boundary(escape + 2)),
        };
        if at >= json.len() {
            break;
        }
    }
    (copied > 0).then(|| {
        repaired.push_str(&json[copied..]);
        repaired
    })
}

/// The number of a `\uXXXX` escape at `at`.
fn utf16_unit(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines_of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, longest: usize) -> Vec<String> {
        let mut lines = Lines::new(longest);
        let mut seen = Vec::new();
        let mut note = |line: Line<'_>| {
            seen.push(match line {
                Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Line::TooLong { bytes } => format!("too long: {bytes}"),
            });
        };
        for piece in pieces {
            lines.feed(piece, &mut note);
        }
        lines.end(&mut note);
        seen
    }

    proptest! {
        /// ACP 1.
        #[test]
        fn any_split_gives_the_same_lines(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..400),
            cuts in proptest::collection::vec(0_usize..400, 0..20),
            longest in 1_usize..60,
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(lines_of(pieces, longest), lines_of([bytes.as_slice()], longest));
        }

        #[test]
        fn a_line_is_what_was_written(texts in proptest::collection::vec("[^\r\n]{0,30}", 0..10)) {
            let written = texts.iter().flat_map(|text| [text, "\n"]).collect::<String>();
            prop_assert_eq!(lines_of([written.as_bytes()], LONGEST_LINE), texts);
        }

        #[test]
        fn nothing_panics_on_any_text(text in "(\\\\|u|d8|00|[\"é{}:,a])*") {
            let _ = parse(&text);
            let _ = repair_surrogates(&text);
        }
    }

    /// ACP 5.
    #[test]
    fn a_line_over_the_limit_is_dropped_alone() {
        assert_eq!(lines_of([b"123456\nok\n".as_slice()], 5), ["too long: 6", "ok"]);
        assert_eq!(lines_of([b"1234".as_slice(), b"567", b"89\nok"], 5), ["too long: 9", "ok"]);
    }

    /// ACP 7.
    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let Ok(Message::Request { id, method, params }) =
            parse(r#"{"method":"a","params":{"x":1},"id":"7-é"}"#)
        else {
            panic!("no request");
        };
        assert_eq!((id.get(), &*method), (r#""7-é""#, "a"));
        assert_eq!(params.map(RawValue::get), Some(r#"{"x":1}"#));
        assert!(matches!(parse(r#"{"method":"a"}"#), Ok(Message::Notification { .. })));
        let answer = parse(r#"{"jsonrpc":"2.0","id":1,"result":null,"extra":[]}"#);
        assert!(matches!(answer, Ok(Message::Answer { outcome: Ok(_), .. })));
        let answer = parse(r#"{"id":1,"result":null,"error":{"code":1}}"#);
        assert!(matches!(answer, Ok(Message::Answer { outcome: Err(_), .. })));
        let null = parse(r#"{"id":null,"method":"a"}"#);
        assert!(matches!(null, Ok(Message::Request { id, .. }) if id.get() == "null"));
    }

    /// ACP 3, 16.
    #[test]
    fn lines_that_are_no_messages_are_strays() {
        assert_eq!(parse(" \t").err(), Some(Stray::Blank));
        assert_eq!(parse("[]").err(), Some(Stray::Batch));
        assert_eq!(parse(r#"{"id":1}"#).err(), Some(Stray::Neither));
        assert_eq!(parse(r#"{"result":1}"#).err(), Some(Stray::Neither));
        assert!(matches!(parse("warning: hello"), Err(Stray::NotJson(_))));
        assert!(matches!(parse(r#"{"method":5,"id":1}"#), Err(Stray::NotJson(_))));
    }

    #[test]
    fn lone_surrogates_are_repaired_and_pairs_are_left() {
        assert_eq!(repair_surrogates(r#""\ud83d\ude00 a\\ud83d""#), None);
        assert_eq!(
            repair_surrogates(r#""\ud83d" "\ude00""#).as_deref(),
            Some(r#""\ufffd" "\ufffd""#)
        );
        assert_eq!(
            repair_surrogates(r"\ud83d\ud83d\ude00").as_deref(),
            Some(r"\ufffd\ud83d\ude00")
        );
    }

    #[test]
    fn a_line_of_many_megabytes_in_small_reads_takes_no_time() {
        let mut lines = Lines::default();
        let begun = std::time::Instant::now();
        let mut length = 0;
        for _ in 0..16_384 {
            lines.feed(&[b'x'; 1024], |_| panic!("no line end yet"));
        }
        lines.feed(b"\n", |line| {
            if let Line::Whole(bytes) = line {
                length = bytes.len();
            }
        });
        assert_eq!(length, 16 << 20);
        // Rescanning at each read would look at 137 GB.
        assert!(begun.elapsed().as_secs() < 5, "took {:?}", begun.elapsed());
    }
}
