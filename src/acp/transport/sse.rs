//! Server-sent events as bytes: splits a stream into events (HTML standard, section 9.2.6). It does no I/O.

use crate::jsonrpc::incoming::{LONGEST_LINE, Line, Lines};
use crate::jsonrpc::room::{Room, Share};
use std::time::Duration;

/// The longest id that is taken, in bytes: it has to fit into the head of a request. A longer one counts as none.
const LONGEST_ID: usize = 4 << 10;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ServerEvent {
    /// The id it was sent with.
    pub(super) id: Option<String>,
    /// What it says.
    pub(super) data: Vec<u8>,
}

/// Splits a stream into events.
#[derive(Debug)]
pub(super) struct Parser {
    lines: Lines,
    data: Vec<u8>,
    has_data: bool,
    id: Option<String>,
    /// The last id, also of an event that said nothing.
    last_id: Option<String>,
    retry: Option<Duration>,
    /// Whether the first line, which may have a byte order mark, was read.
    begun: bool,
    /// The event is too long: the rest of it is dropped, too.
    is_dropped: bool,
    /// What is held of events that are not complete, and of those that are not passed on.
    share: Share,
}

impl Parser {
    /// Creates a parser, which takes its part of a room.
    pub(super) fn new(room: &Room) -> Self {
        Self {
            lines: Lines::default(),
            data: Vec::new(),
            has_data: false,
            id: None,
            last_id: None,
            retry: None,
            begun: false,
            is_dropped: false,
            share: room.share(),
        }
    }

    /// Takes the next bytes and appends the events they complete to `events`.
    pub(super) fn feed(&mut self, bytes: &[u8], events: &mut Vec<ServerEvent>) {
        let Self { lines, data, has_data, id, last_id, retry, begun, is_dropped, share } = self;
        lines.feed(bytes, |line| {
            let Line::Whole(mut line) = line else {
                (*data, *is_dropped) = (Vec::new(), true);
                return;
            };
            if !*begun {
                *begun = true;
                line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
            }
            if line.is_empty() {
                let id = id.take();
                let has_data = std::mem::take(has_data);
                if std::mem::take(is_dropped) {
                    tracing::error!(target: "acp", "an event that is too long was dropped");
                } else if has_data {
                    // The last line break belongs to the field, not to the data.
                    data.pop();
                    events.push(ServerEvent { id, data: std::mem::take(data) });
                }
                return;
            }
            let (field, value) = match memchr::memchr(b':', line) {
                Some(0) => return,
                Some(at) => (&line[..at], &line[at + 1..]),
                None => (line, &line[line.len()..]),
            };
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match field {
                b"data" if *is_dropped => {}
                b"data" if data.len() + value.len() > LONGEST_LINE => {
                    (*data, *is_dropped) = (Vec::new(), true);
                }
                b"data" => {
                    data.extend_from_slice(value);
                    data.push(b'\n');
                    *has_data = true;
                }
                b"id" if !value.contains(&0) => {
                    let given = String::from_utf8_lossy(value).into_owned();
                    *id = Some(given).filter(|id| !id.is_empty() && id.len() <= LONGEST_ID);
                    last_id.clone_from(id);
                }
                b"retry" => {
                    let ms = std::str::from_utf8(value).ok().and_then(|ms| ms.parse().ok());
                    *retry = ms.map(Duration::from_millis).or(*retry);
                }
                _ => {}
            }
        });
        let complete: usize = events.iter().map(|event| event.data.len()).sum();
        if !share.hold(complete + lines.held() + data.len()) {
            lines.give_up();
            (*data, *is_dropped) = (Vec::new(), true);
            share.hold(complete);
        }
    }

    /// The events that were complete are passed on.
    pub(super) fn passed_on(&mut self) {
        self.share.hold(self.lines.held() + self.data.len());
    }

    /// Where the stream has come to: what it is to go on after when it is opened again.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Returns a parser for the same stream after it was opened again: what had begun is dropped.
    pub(super) fn restarted(self, room: &Room) -> Self {
        Self { last_id: self.last_id, retry: self.retry, ..Self::new(room) }
    }

    /// How long to wait before the stream is opened again, if the server has said so.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str, piece: usize) -> (Vec<(Option<String>, String)>, Option<Duration>) {
        let (mut parser, mut events) = (Parser::new(&Room::new(1 << 20)), Vec::new());
        for bytes in text.as_bytes().chunks(piece) {
            parser.feed(bytes, &mut events);
        }
        let said = |event: ServerEvent| (event.id, String::from_utf8(event.data).unwrap());
        assert_eq!(parser.last_id(), Some("7"));
        (events.into_iter().map(said).collect(), parser.retry())
    }

    #[test]
    fn events_are_the_same_however_the_stream_is_split() {
        let text = "\u{feff}: hello\nretry: 250\n\nid: 1\ndata: {\"a\":\ndata:  1}\n\nevent: x\r\ndata:two\r\n\r\n\
            id\ndata\n\nid: 7\n\nretry: soon\ndata: cut off";
        let id = |id: &str| Some(id.to_owned());
        let expected = vec![
            (id("1"), "{\"a\":\n 1}".to_owned()),
            (None, "two".to_owned()),
            (None, String::new()),
        ];
        for piece in 1..20 {
            let found = events(text, piece);
            assert_eq!(found, (expected.clone(), Some(Duration::from_millis(250))), "{piece}");
        }
    }
}
