//! The texts that an agent sends in pieces, such as the chunks of a message and the output of a terminal. They are recognized in
//! every dialect by the names of fields, so that those of later versions are as well.

use crate::jsonrpc::recording::Record;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem::find;
use serde_json::Value;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// What is in a line that may have pieces: all kinds of chunks, `text_delta`, and the output of an agent's own terminals in
/// `_meta`.
const SIGNS: [&[u8]; 3] = [b"hunk\"", b"_delta\"", b"\"terminal_output\""];

/// How a line starts that an agent has sent, after its time.
const FROM_AGENT: &[u8] = br#","direction":"from_agent""#;
const MAX_TIME_BYTES: usize = 40;

/// The fields that have pieces.
const TEXTS: [&str; 5] = ["text", "data", "delta", "chunk", "content"];

/// The fields that tell the text a piece belongs to.
const NAMES: [&str; 13] = [
    "method",
    "sessionId",
    "session_id",
    "sessionUpdate",
    "type",
    "role",
    "messageId",
    "toolCallId",
    "tool_call_id",
    "tool_use_id",
    "terminalId",
    "terminal_id",
    "compactionId",
];

/// How many pieces a message may have, and how deep in it they may be, as a JSON Pointer in bytes. No dialect comes near to it.
const MAX_PIECES: usize = 100;
const MAX_POINTER_BYTES: usize = 200;

/// A piece of a text.
#[derive(Debug)]
pub(super) struct Piece {
    /// Identifies the text.
    pub(super) stream: u64,
    pub(super) place: Place,
    pub(super) bytes: Vec<u8>,
}

/// Where in its message a piece is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// A JSON Pointer.
    pointer: String,
    is_base64: bool,
}

/// Returns the pieces in a recorded line.
pub(super) fn of_line(line: &[u8]) -> Vec<Piece> {
    let start = &line[..line.len().min(MAX_TIME_BYTES + FROM_AGENT.len())];
    if find(start, FROM_AGENT).is_none() || !SIGNS.iter().any(|sign| find(line, sign).is_some()) {
        return Vec::new();
    }
    let record = serde_json::from_slice::<Record<'_>>(line).ok();
    let message = record.and_then(|record| serde_json::from_str(record.message.get()).ok());
    let mut walk = Walk::default();
    walk.value("", &message.unwrap_or_default());
    let Walk { names, texts, .. } = walk;
    // Not the names themselves, which an agent can make long.
    let mut message = DefaultHasher::new();
    names.hash(&mut message);
    let piece = |(place, bytes): (Place, _)| {
        let mut stream = message.clone();
        place.pointer.hash(&mut stream);
        Piece { stream: stream.finish(), place, bytes }
    };
    texts.into_iter().map(piece).collect()
}

#[derive(Default)]
struct Walk {
    pointer: String,
    names: String,
    texts: Vec<(Place, Vec<u8>)>,
}

impl Walk {
    fn value(&mut self, key: &str, value: &Value) {
        match value {
            Value::String(text) if TEXTS.contains(&key) => {
                if text.is_empty() || self.texts.len() == MAX_PIECES {
                    return;
                }
                let has_bytes = self.pointer == "/params/update/data";
                let decoded = has_bytes.then(|| STANDARD.decode(text).ok()).flatten();
                let place = Place { pointer: self.pointer.clone(), is_base64: decoded.is_some() };
                let bytes = decoded.unwrap_or_else(|| text.as_bytes().to_vec());
                self.texts.push((place, bytes));
            }
            Value::String(text) if NAMES.contains(&key) => {
                self.names.extend([key, "=", text, "\n"]);
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.below(&index.to_string(), key, item);
                }
            }
            Value::Object(map) => {
                for (key, value) in map {
                    self.below(&key.replace('~', "~0").replace('/', "~1"), key, value);
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, token: &str, key: &str, value: &Value) {
        let len = self.pointer.len();
        if len + token.len() >= MAX_POINTER_BYTES {
            return;
        }
        self.pointer.extend(["/", token]);
        self.value(key, value);
        self.pointer.truncate(len);
    }
}

impl Place {
    /// Changes the bytes at this place of a message.
    pub(super) fn edit(&self, message: &mut Value, change: impl FnOnce(&[u8]) -> Vec<u8>) {
        let Some(Value::String(text)) = message.pointer_mut(&self.pointer) else { return };
        if !self.is_base64 {
            *text = String::from_utf8_lossy(&change(text.as_bytes())).into_owned();
        } else if let Ok(bytes) = STANDARD.decode(&*text) {
            *text = STANDARD.encode(change(&bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::recording::{Direction, line};
    use serde_json::json;

    fn of(message: &Value) -> Vec<(u64, String)> {
        let line = line(12345.0, Direction::FromAgent, &message.to_string());
        let pieces = of_line(line.as_bytes()).into_iter();
        pieces
            .map(|piece| (piece.stream, String::from_utf8(piece.bytes).unwrap()))
            .collect::<Vec<_>>()
    }

    fn update(update: Value) -> Value {
        json!({"method": "session/update", "params": {"sessionId": "s", "update": update}})
    }

    #[test]
    fn the_pieces_of_all_dialects_are_found() {
        let block = |text: &str| json!({"type": "text", "text": text});
        let all = [
            update(json!({"sessionUpdate": "agent_message_chunk", "content": block("x")})),
            update(json!({"sessionUpdate": "agent_thought_chunk", "content": block("x")})),
            update(json!({"sessionUpdate": "agent_thought_chunk", "content": block("x"),
                "messageId": "m"})),
            update(json!({"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c",
                "content": {"type": "content", "content": block("x")}})),
            update(
                json!({"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "eA=="}),
            ),
            update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c",
                "_meta": {"terminal_output": {"terminal_id": "t", "data": "x"}}})),
            update(json!({"type": "messageChunk", "role": "assistant", "chunk": block("x")})),
            json!({"method": "event", "params": {"session_id": "s",
                "event": {"type": "text_delta", "delta": "x"}}}),
        ];
        let mut streams = Vec::new();
        for message in all {
            let pieces = of(&message);
            assert!(pieces.len() == 1 && pieces[0].1 == "x", "{message}: {pieces:?}");
            streams.extend(pieces.into_iter().map(|(stream, _)| stream));
        }
        let count = streams.len();
        streams.sort_unstable();
        streams.dedup();
        assert_eq!(streams.len(), count);
        assert!(of(&update(json!({"sessionUpdate": "plan", "content": block("x")}))).is_empty());
    }

    #[test]
    fn an_agent_cannot_make_pieces_costly() {
        let chunk = |content: Value| {
            of(&update(json!({"sessionUpdate": "agent_message_chunk", "content": content})))
        };
        let many = vec![json!({"text": "x"}); MAX_PIECES * 2];
        assert_eq!(chunk(json!(many)).len(), MAX_PIECES);
        assert!(chunk(json!({"x".repeat(MAX_POINTER_BYTES): many})).is_empty());
        assert!(chunk(json!({"text": ""})).is_empty());
    }
}
