//! Splits bytes of a pipe into lines and parses lines as JSON-RPC messages. It does no I/O and
//! knows nothing of ACP.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use thiserror::Error;

/// The longest accepted line, in bytes. The protocol has no limit, and images and whole files
/// arrive in one line: files of 64 MiB. On its way a line is held up to three times, which has to
/// fit into what `:help rat-memory` says.
pub const LONGEST_LINE: usize = 65 << 20;

/// The longest id of a request, in bytes. It is kept until the request is answered.
const LONGEST_ID: usize = 4 << 10;

/// A line of more than this many bytes may have at most `MAX_VALUES` values: as Rust values they
/// take many times the memory of their text.
const SMALL_LINE: usize = 1 << 20;
const MAX_VALUES: usize = 1 << 20;

/// A buffer of more than this many bytes is freed once its line is complete.
const RETAINED_CAPACITY: usize = 1 << 20;

/// One line of a pipe.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A complete line without its line ending.
    Whole(&'a [u8]),
    /// A line over the limit, whose content was dropped. The lines after it are not affected.
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

/// Splits the output of a pipe into lines. Each byte is examined once, however the reads split it.
#[derive(Debug)]
pub struct Lines {
    /// The beginning of a line whose end has not been read.
    partial: Vec<u8>,
    /// How many bytes of the current line were dropped because it is too long; 0 if it is not.
    dropped: usize,
    longest: usize,
    /// How many bytes were looked at for the end of a line.
    #[cfg(test)]
    examined: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self::new(LONGEST_LINE)
    }
}

impl Lines {
    /// Creates a splitter for lines of at most `longest` bytes, not counting the line ending.
    pub fn new(longest: usize) -> Self {
        Self {
            partial: Vec::new(),
            dropped: 0,
            longest,
            #[cfg(test)]
            examined: 0,
        }
    }

    /// Takes the next bytes and calls `each` with every line that they complete.
    pub fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        while let Some(end) = self.line_end(bytes) {
            self.complete(&bytes[..end], &mut each);
            bytes = &bytes[end + 1..];
        }
        self.buffer(bytes);
    }

    /// Ends the input: calls `each` with the last line if it has no line ending.
    pub fn end(&mut self, mut each: impl FnMut(Line<'_>)) {
        if !self.partial.is_empty() || self.dropped > 0 {
            self.complete(&[], &mut each);
        }
    }

    /// How many bytes of a line are held whose end has not been read.
    pub fn held(&self) -> usize {
        self.partial.len()
    }

    /// The line whose end has not been read.
    pub fn partial(&self) -> &[u8] {
        &self.partial
    }

    /// Drops the line whose end has not been read, as one that is too long.
    pub fn give_up(&mut self) {
        if !self.partial.is_empty() {
            self.dropped = self.partial.len();
            self.partial = Vec::new();
        }
    }

    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "tests count what is looked at"))]
    fn line_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let end = memchr::memchr(b'\n', bytes);
        #[cfg(test)]
        {
            self.examined += end.map_or(bytes.len(), |end| end + 1);
        }
        end
    }

    fn complete(&mut self, rest: &[u8], each: &mut impl FnMut(Line<'_>)) {
        if self.partial.is_empty() && self.dropped == 0 && rest.len() <= self.longest {
            each(Line::Whole(without_return(rest)));
            return;
        }
        self.buffer(rest);
        if self.dropped > 0 {
            each(Line::TooLong { bytes: std::mem::take(&mut self.dropped) });
            return;
        }
        each(Line::Whole(without_return(&self.partial)));
        if self.partial.capacity() > RETAINED_CAPACITY {
            self.partial = Vec::new();
        } else {
            self.partial.clear();
        }
    }

    fn buffer(&mut self, bytes: &[u8]) {
        if self.dropped > 0 {
            self.dropped += bytes.len();
        } else if self.partial.len() + bytes.len() > self.longest {
            self.dropped = self.partial.len() + bytes.len();
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A string of a message, borrowed from the line unless it contains escapes.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// A JSON-RPC message. Params and results stay unparsed, since their type depends on the method.
#[derive(Debug)]
pub enum Message<'a> {
    /// A request, which expects exactly one response with the same id.
    Request {
        /// The id as written in the line, since the response has to repeat it.
        id: &'a RawValue,
        /// The name of the method.
        method: Cow<'a, str>,
        /// The parameters; `None` if the field is absent or null.
        params: Option<&'a RawValue>,
    },
    /// A notification, which gets no response.
    Notification {
        /// The name of the method.
        method: Cow<'a, str>,
        /// The parameters; `None` if the field is absent or null.
        params: Option<&'a RawValue>,
    },
    /// The response to a request we sent.
    Response {
        /// The id of that request as written in the line.
        id: &'a RawValue,
        /// The `result`, or the `error` object.
        outcome: Result<&'a RawValue, &'a RawValue>,
        /// Whether the message names the version of JSON-RPC.
        has_version: bool,
    },
}

/// Why a line is not a message. Such lines are logged and skipped without a response (ACP
/// transports).
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseError {
    /// The line is empty or has only white space.
    #[error("a blank line")]
    Blank,
    /// The line is not a JSON object of the right shape; often it is a banner or a warning.
    #[error("not a JSON object: {0}")]
    NotJson(String),
    /// The line is an array: ACP has no batches.
    #[error("a JSON-RPC batch, which ACP does not have")]
    Batch,
    /// The id of a request is so long that it cannot be meant as one.
    #[error("a request with an id of {0} bytes")]
    LongId(usize),
    /// The line has far more values than any message.
    #[error("more than {MAX_VALUES} values")]
    TooComplex,
    /// An object without `method`, `result` and `error`, or a response without an id.
    #[error("neither a request nor an answer")]
    Neither,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    jsonrpc: Option<IgnoredAny>,
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

/// Deserializes `null` to `Some`, so that it differs from an absent field.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Parses one line as a JSON-RPC message. The `jsonrpc` field may be missing.
pub fn parse(line: &str) -> Result<Message<'_>, ParseError> {
    let line = line.trim_ascii();
    match line.as_bytes().first() {
        None => return Err(ParseError::Blank),
        Some(b'[') => return Err(ParseError::Batch),
        Some(_) if line.len() > SMALL_LINE && values(line.as_bytes()) > MAX_VALUES => {
            return Err(ParseError::TooComplex);
        }
        Some(_) => {}
    }
    let envelope: Envelope<'_> =
        serde_json::from_str(line).map_err(|error| ParseError::NotJson(error.to_string()))?;
    match envelope {
        Envelope { id: Some(id), method: Some(_), .. } if id.get().len() > LONGEST_ID => {
            Err(ParseError::LongId(id.get().len()))
        }
        Envelope { id: Some(id), method: Some(Text(method)), params, .. } => {
            Ok(Message::Request { id, method, params })
        }
        Envelope { id: None, method: Some(Text(method)), params, .. } => {
            Ok(Message::Notification { method, params })
        }
        Envelope { jsonrpc, id: Some(id), error: Some(error), .. } => {
            Ok(Message::Response { id, outcome: Err(error), has_version: jsonrpc.is_some() })
        }
        Envelope { jsonrpc, id: Some(id), result: Some(result), .. } => {
            Ok(Message::Response { id, outcome: Ok(result), has_version: jsonrpc.is_some() })
        }
        _ => Err(ParseError::Neither),
    }
}

/// How many values JSON has, about: the commas and brackets outside of strings.
fn values(json: &[u8]) -> usize {
    let (mut count, mut rest) = (0, json);
    loop {
        let end = memchr::memchr(b'"', rest).unwrap_or(rest.len());
        count += rest[..end].iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        let Some(mut string) = rest.get(end + 1..) else { return count };
        loop {
            match memchr::memchr2(b'"', b'\\', string) {
                Some(at) if string[at] == b'"' => {
                    rest = &string[at + 1..];
                    break;
                }
                Some(at) => string = string.get(at + 2..).unwrap_or_default(),
                None => return count,
            }
        }
    }
}

/// Replaces escaped lone surrogates by U+FFFD. Programs that count UTF-16 code units send them when
/// they cut an emoji in two, and no JSON parser takes them. `None` if there is nothing to replace.
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
            // In valid JSON the escaped character is ASCII; in other text we must not end up inside
            // a character.
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

/// Splits off the first half of a surrogate pair at the end of what is between the quotes of a JSON string. Its other half may be
/// at the beginning of the next string of a stream.
pub fn split_half(json: &str) -> (&str, Option<u16>) {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &json.as_bytes()[at..]) {
        let escape = at + found;
        at = match (utf16_unit(json, escape), utf16_unit(json, escape + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => escape + 12,
            (Some(unit @ 0xD800..=0xDBFF), _) if escape + 6 == json.len() => {
                return (&json[..escape], Some(unit));
            }
            (Some(_), _) => escape + 6,
            (None, _) => escape + 1 + usize::from(json.is_char_boundary(escape + 2)),
        };
        if at >= json.len() {
            break;
        }
    }
    (json, None)
}

/// Joins the first half of a surrogate pair with the second one, if what is between the quotes of a JSON string begins with that.
/// Returns the character and the rest.
pub fn join_half(first: u16, json: &str) -> Option<(char, &str)> {
    let second = utf16_unit(json, 0)?;
    let character = char::decode_utf16([first, second]).next()?.ok()?;
    (character.len_utf16() == 2).then(|| (character, &json[6..]))
}

/// Returns the code unit of the `\uXXXX` escape at byte `at`, if there is one.
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
        fn lines_come_out_as_written(texts in proptest::collection::vec("[^\r\n]{0,30}", 0..10)) {
            let written = texts.iter().flat_map(|text| [text, "\n"]).collect::<String>();
            prop_assert_eq!(lines_of([written.as_bytes()], LONGEST_LINE), texts);
        }

        #[test]
        fn parsing_never_panics(text in "(\\\\|u|d8|00|[\"é{}:,a])*") {
            let _ = parse(&text);
            let _ = repair_surrogates(&text);
        }
    }

    /// ACP 5.
    #[test]
    fn only_the_line_over_the_limit_is_dropped() {
        assert_eq!(lines_of([b"123456\nok\n".as_slice()], 5), ["too long: 6", "ok"]);
        assert_eq!(lines_of([b"1234".as_slice(), b"567", b"89\nok"], 5), ["too long: 9", "ok"]);
    }

    /// ACP 7.
    #[test]
    fn requests_notifications_and_responses_are_distinguished() {
        let Ok(Message::Request { id, method, params }) =
            parse(r#"{"method":"a","params":{"x":1},"id":"7-é"}"#)
        else {
            panic!("not a request");
        };
        assert_eq!((id.get(), &*method), (r#""7-é""#, "a"));
        assert_eq!(params.map(RawValue::get), Some(r#"{"x":1}"#));
        assert!(matches!(parse(r#"{"method":"a"}"#), Ok(Message::Notification { .. })));
        let response = parse(r#"{"jsonrpc":"2.0","id":1,"result":null,"extra":[]}"#);
        assert!(matches!(response, Ok(Message::Response { outcome: Ok(_), .. })));
        let response = parse(r#"{"id":1,"result":null,"error":{"code":1}}"#);
        assert!(matches!(response, Ok(Message::Response { outcome: Err(_), .. })));
        let null = parse(r#"{"id":null,"method":"a"}"#);
        assert!(matches!(null, Ok(Message::Request { id, .. }) if id.get() == "null"));
    }

    /// ACP 3, 16.
    #[test]
    fn lines_that_are_not_messages_are_errors() {
        assert_eq!(parse(" \t").err(), Some(ParseError::Blank));
        assert_eq!(parse("[]").err(), Some(ParseError::Batch));
        assert_eq!(parse(r#"{"id":1}"#).err(), Some(ParseError::Neither));
        assert_eq!(parse(r#"{"result":1}"#).err(), Some(ParseError::Neither));
        assert!(matches!(parse("warning: hello"), Err(ParseError::NotJson(_))));
        assert!(matches!(parse(r#"{"method":5,"id":1}"#), Err(ParseError::NotJson(_))));
    }

    #[test]
    fn a_line_of_a_million_values_is_none_and_a_long_text_is_one() {
        let values = format!(r#"{{"method":"m","params":[{}1]}}"#, "1,".repeat(MAX_VALUES));
        assert_eq!(parse(&values).err(), Some(ParseError::TooComplex));
        let text = r#"\",[{\\"#.repeat(MAX_VALUES / 2);
        let text = format!(r#"{{"method":"m","params":{{"text":"{text}"}}}}"#);
        assert!(matches!(parse(&text), Ok(Message::Notification { .. })));
        let id = format!(r#"{{"method":"m","id":"{}"}}"#, "x".repeat(LONGEST_ID));
        assert_eq!(parse(&id).err(), Some(ParseError::LongId(LONGEST_ID + 2)));
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
    fn a_long_line_in_small_reads_is_looked_at_once() {
        let mut lines = Lines::default();
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
        // If the line were looked at again at each read, these would be 137 GB.
        assert_eq!(lines.examined, length + 1);
    }
}
