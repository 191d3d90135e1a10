//! Reads what a spool has kept, without the secrets that the spool could not hide: those that became known later, and those that
//! an agent sent in pieces. They are hidden here and not where lines are written because a reader sees what comes after a piece:
//! nothing has to wait for the rest of a secret before it is safe from a crash, nor be written twice. Until then pieces lie in
//! files that no other program can open.

use super::seams::Seams;
use super::spool::{Chunk, Position, Spool, cleaned};
use crate::jsonrpc::recording::{self, Direction, Record};
use std::io;

/// A reader that begins with the first line.
#[derive(Debug)]
pub(super) struct Reader {
    spool: Spool,
    position: Position,
    seams: Seams,
    /// What was read after lines that had to be returned first.
    next: Option<Chunk>,
}

impl Reader {
    pub(super) fn new(spool: Spool) -> Self {
        let seams = Seams::new(spool.redactor().search());
        Self { spool, position: Position::default(), seams, next: None }
    }

    pub(super) fn spool(&self) -> &Spool {
        &self.spool
    }

    /// Reads on, up to the end of what is written so far. Blocks.
    pub(super) fn read(&mut self) -> io::Result<Chunk> {
        loop {
            let chunk = match self.next.take() {
                Some(chunk) => chunk,
                None => self.spool.read(&mut self.position)?,
            };
            let has_more_secrets = self.seams.known() < self.spool.redactor().known();
            let is_seamless = chunk.missing == 0 && !chunk.bytes.is_empty() && !has_more_secrets;
            if !is_seamless && !self.seams.is_empty() {
                let mut rest = Chunk::default();
                self.seams.settle(&mut rest.bytes);
                self.next = Some(chunk);
                return Ok(rest);
            }
            if has_more_secrets {
                self.seams = Seams::new(self.spool.redactor().search());
            }
            let bytes =
                if chunk.is_outdated { self.clean_again(&chunk.bytes) } else { chunk.bytes };
            let is_end = bytes.is_empty() && chunk.missing == 0;
            let mut read = Chunk { bytes: Vec::with_capacity(bytes.len()), ..chunk };
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                self.seams.push(line, &mut read.bytes);
            }
            if is_end || !read.is_end() {
                return Ok(read);
            }
        }
    }

    /// Hides the secrets that became known after these lines were written.
    fn clean_again(&self, lines: &[u8]) -> Vec<u8> {
        let mut clean = String::new();
        for line in lines.split(|byte| *byte == b'\n') {
            let Ok(Record { t, direction, message }) = serde_json::from_slice(line) else {
                continue;
            };
            let json = message.get();
            let text = serde_json::from_str::<String>(json).ok();
            let again = match (direction, &text) {
                (Direction::Missing, _) => json.into(),
                (Direction::Stray | Direction::Stderr, Some(text)) => {
                    cleaned(self.spool.redactor(), direction, text.as_bytes())
                }
                _ => cleaned(self.spool.redactor(), Direction::FromAgent, json.as_bytes()),
            };
            clean += &recording::line(t, direction, &again);
        }
        clean.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::redact::Redactor;
    use super::super::spool::LIMITS;
    use super::*;
    use crate::secrets::Secrets;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::Value;
    use std::time::Duration;

    const SECRETS: [&str; 3] = ["sk-12345678", "pässword-1", "a\"b\\c12345"];

    /// What texts are made of: secrets, parts of them, and other words.
    const WORDS: [&str; 10] = [
        SECRETS[0], SECRETS[1], SECRETS[2], "sk-1234", "päss", "a\"b", "sk-", "plain ", "é\n", "s",
    ];
    const PLAIN: std::ops::Range<usize> = 3..10;

    fn secrets() -> Secrets {
        let secrets = Secrets::default();
        secrets.add(SECRETS.map(str::to_owned));
        secrets
    }

    /// A message with a piece of one of the streams. Blanks and numbers are not as we would write them.
    fn message(stream: usize, piece: &[u8]) -> String {
        let text = Value::from(String::from_utf8_lossy(piece)).to_string();
        let block = |kind: &str, id: &str| {
            format!(
                r#""sessionUpdate":"{kind}" , "n":1.0, "content":{{"type":"text","text":{text}}}{id}"#
            )
        };
        let update = match stream {
            0 => block("agent_message_chunk", ""),
            1 => block("agent_message_chunk", r#","messageId":"m""#),
            2 => block("agent_thought_chunk", ""),
            3 => format!(
                r#""sessionUpdate":"terminal_output_chunk","terminalId":"t","data":"{}""#,
                STANDARD.encode(piece)
            ),
            _ => format!(
                r#""sessionUpdate":"tool_call_update","toolCallId":"c","_meta":{{"terminal_output":{{"terminal_id":"t","data":{text}}}}}"#
            ),
        };
        format!(
            r#"{{"method" : "session/update","params":{{"sessionId":"s","update":{{{update}}}}}}}"#
        )
    }

    fn piece(stream: usize, message: &Value) -> Vec<u8> {
        let update = &message["params"]["update"];
        let text = match stream {
            0..3 => &update["content"]["text"],
            3 => return STANDARD.decode(update["data"].as_str().unwrap()).unwrap(),
            _ => &update["_meta"]["terminal_output"]["data"],
        };
        text.as_str().unwrap().into()
    }

    fn read(reader: &mut Reader) -> String {
        let mut all = Vec::new();
        loop {
            let chunk = reader.read().unwrap();
            if chunk.is_end() {
                return String::from_utf8(all).unwrap();
            }
            all.extend(chunk.bytes);
        }
    }

    fn record(spool: &Spool, message: &str) {
        spool.record(Duration::ZERO, Direction::FromAgent, message.as_bytes());
    }

    fn recorded(said: &[String], secrets: &Secrets) -> Spool {
        let spool = Spool::start(None, Redactor::new(secrets.clone()), LIMITS);
        for message in said {
            record(&spool, message);
        }
        spool.flush();
        spool
    }

    /// Cuts the texts of some streams into pieces and mixes them.
    fn mixed(texts: &[String], order: &[(usize, usize)]) -> Vec<(usize, String)> {
        let mut rest: Vec<Vec<char>> = texts.iter().map(|text| text.chars().collect()).collect();
        let mut pieces = Vec::new();
        for (stream, len) in order {
            let stream = stream % rest.len();
            let len = (*len).min(rest[stream].len());
            pieces.push((stream, rest[stream].drain(..len).collect()));
        }
        pieces.extend(rest.into_iter().map(String::from_iter).enumerate());
        pieces
    }

    fn text_of(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
        let words = vec(words, 0..12);
        words.prop_map(|all| all.into_iter().map(|word| WORDS[word]).chain(["."]).collect())
    }

    proptest! {
        /// Joined, the texts that are kept are those that were said, without their secrets.
        #[test]
        fn no_secret_is_kept_in_pieces(
            texts in vec(text_of(0..WORDS.len()), 5),
            order in vec((0..5_usize, 0..7_usize), 0..200),
            is_known_later in any::<bool>(),
        ) {
            let pieces = mixed(&texts, &order);
            let said: Vec<_> =
                pieces.iter().map(|(stream, text)| message(*stream, text.as_bytes())).collect();
            let secrets = if is_known_later { Secrets::default() } else { secrets() };
            let spool = recorded(&said, &secrets);
            secrets.add(SECRETS.map(str::to_owned));
            let lines = read(&mut Reader::new(spool));
            prop_assert_eq!(lines.lines().count(), said.len());
            let mut joined = [const { String::new() }; 5];
            for (line, (stream, _)) in lines.lines().zip(&pieces) {
                let record: Record<'_> = serde_json::from_str(line).unwrap();
                let message = serde_json::from_str(record.message.get()).unwrap();
                joined[*stream] += &String::from_utf8(piece(*stream, &message)).unwrap();
            }
            for (joined, text) in joined.iter().zip(&texts) {
                prop_assert_eq!(joined, &secrets.hide(text));
            }
        }

        /// Without a secret everything is kept as it was, byte for byte.
        #[test]
        fn what_has_no_secret_is_as_it_was(
            texts in vec(text_of(PLAIN), 5),
            order in vec((0..5_usize, 0..7_usize), 0..200),
        ) {
            let texts: Vec<_> = texts.iter().map(|text| secrets().hide(text).into_owned()).collect();
            let pieces = mixed(&texts, &order);
            let said: Vec<_> =
                pieces.iter().map(|(stream, text)| message(*stream, text.as_bytes())).collect();
            let line = |said: &String| recording::line(0.0, Direction::FromAgent, said);
            let expected: String = said.iter().map(line).collect();
            prop_assert_eq!(read(&mut Reader::new(recorded(&said, &secrets()))), expected);
        }
    }

    #[test]
    fn a_secret_may_be_cut_between_the_bytes_of_a_character() {
        let said = [&b"my p\xc3"[..], b"\xa4ssword", b"-1\xff"];
        let said = said.map(|bytes| message(3, bytes));
        let lines = read(&mut Reader::new(recorded(&said, &secrets())));
        let messages = lines.lines().map(|line| {
            let record: Record<'_> = serde_json::from_str(line).unwrap();
            serde_json::from_str::<Value>(record.message.get()).unwrap()
        });
        let joined: Vec<u8> = messages.flat_map(|message| piece(3, &message)).collect();
        assert_eq!(joined, b"my [redacted]\xff");
    }

    #[test]
    fn lines_are_not_held_at_the_end_nor_without_bound() {
        let spool = Spool::start(None, Redactor::new(secrets()), LIMITS);
        let mut reader = Reader::new(spool.clone());
        let mut says = |piece: &str| {
            record(&spool, &message(0, piece.as_bytes()));
            spool.flush();
            read(&mut reader)
        };
        assert!(says("sk-12").contains(r#""text":"sk-12""#), "too little to be a secret");
        assert!(says("345").contains(r#""text":"[redacted]""#), "half of a secret");
        assert!(says("678.").contains(r#""text":"[redacted].""#), "the rest of one");
        assert!(says("sk-1").contains("sk-1"));

        let mut seams = Seams::new(Redactor::new(secrets()).search());
        let line =
            |piece: &str| recording::line(0.0, Direction::FromAgent, &message(0, piece.as_bytes()));
        let other = recording::line(0.0, Direction::FromAgent, &"1".repeat(1 << 20));
        let mut out = Vec::new();
        seams.push(line("sk-1").as_bytes(), &mut out);
        for _ in 0..3 {
            seams.push(other.as_bytes(), &mut out);
        }
        assert!(out.is_empty());
        seams.push(other.as_bytes(), &mut out);
        assert!(out.len() > 4 << 20);
        out.clear();
        seams.push(line("2345678.").as_bytes(), &mut out);
        assert!(String::from_utf8_lossy(&out).contains(r#""text":"[redacted].""#));
    }
}
