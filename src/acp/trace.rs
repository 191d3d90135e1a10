//! The traffic with one agent, as it was, for `:RatTrace` and for error messages. Bounded; made readable only
//! when somebody wants to read it.

use super::codec::{self, Message};
use super::redact::Redactor;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many bytes of frames are kept.
const HELD: usize = 4 << 20;

/// How many frames are kept.
const FRAMES: usize = 10_000;

/// How much of one frame is kept, in bytes.
const KEPT: usize = 32 << 10;

/// The answer to a form, as we write it.
const FILLED_IN: &str = r#""action":"accept""#;

/// Where a frame came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Sent by us.
    ToAgent,
    /// Sent by the agent.
    FromAgent,
    /// A line on the agent's stdout that is no message.
    Stray,
    /// A line on the agent's stderr.
    Stderr,
}

/// A trace that the agent's tasks write and the bridge reads.
pub type Shared = Arc<Mutex<Trace>>;

/// The last frames, both ways.
#[derive(Debug)]
pub struct Trace {
    begun: Instant,
    redactor: Redactor,
    frames: VecDeque<Frame>,
    held: usize,
    /// Requests that are not answered yet, for the log: who asked, the id, the method and when.
    asked: HashMap<(bool, String), (String, Duration)>,
}

#[derive(Debug)]
struct Frame {
    at: Duration,
    direction: Direction,
    size: usize,
    /// The frame, or its beginning.
    bytes: Box<[u8]>,
    /// Of a frame that is not whole, what cannot be read from its beginning.
    head: Option<Head>,
}

/// What tells a message from others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Head {
    method: Option<String>,
    /// As it stands on the wire.
    id: Option<String>,
}

/// One frame made readable.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// Seconds since the start of the agent.
    pub t: f64,
    /// Who sent it.
    pub direction: Direction,
    /// Its method, where it is a request or a notification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Its id, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its length in bytes.
    pub size: usize,
    /// From the request to this answer, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// The message without secrets; a text where it is no JSON, or not kept whole.
    pub message: Value,
}

impl Entry {
    /// Who sent what; `None` for what is no message.
    fn words(&self) -> Option<String> {
        let arrow = match self.direction {
            Direction::ToAgent => "→",
            Direction::FromAgent => "←",
            Direction::Stray | Direction::Stderr => return None,
        };
        let what = self.method.as_deref().unwrap_or("answer");
        let id = self.id.as_ref().map_or_else(String::new, |id| format!(" {id}"));
        Some(format!("{arrow} {what}{id}"))
    }
}

impl Trace {
    /// An empty trace that begins now.
    pub fn new(redactor: Redactor) -> Self {
        let (frames, asked) = (VecDeque::new(), HashMap::new());
        Self { begun: Instant::now(), redactor, frames, held: 0, asked }
    }

    /// Adds what the agent sent, with what it was read as.
    pub fn heard(&mut self, bytes: &[u8], message: Option<&Message<'_>>) {
        let direction = if message.is_some() { Direction::FromAgent } else { Direction::Stray };
        if let Some(message) = message.filter(|_| logged()) {
            self.log(direction, Head::of(message), bytes.len());
        }
        let head = message.filter(|_| bytes.len() > KEPT).map(Head::of);
        self.record(direction, bytes, head);
    }

    /// Adds what we sent.
    pub fn said(&mut self, line: &str) {
        if logged() {
            self.log(Direction::ToAgent, Head::of_ours(line), line.len());
        }
        let head = (line.len() > KEPT).then(|| Head::of_ours(line));
        self.record(Direction::ToAgent, line.as_bytes(), head);
    }

    /// Adds a line of stderr.
    pub fn stderr(&mut self, line: &str) {
        self.record(Direction::Stderr, line.as_bytes(), None);
    }

    /// What is hidden.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The last `count` frames, oldest first.
    pub fn last(&self, count: usize) -> Vec<Entry> {
        let mut asked = HashMap::new();
        let skipped = self.frames.len().saturating_sub(count);
        let entries = self.frames.iter().enumerate().filter_map(|(index, frame)| {
            let head = frame.head();
            let latency = frame.latency(&head, &mut asked);
            (index >= skipped).then(|| frame.entry(head, latency, &self.redactor))
        });
        entries.collect()
    }

    /// The last `count` messages in a few words each, oldest first: who sent what. The rest is in [`Trace::jsonl`].
    pub fn words(&self, count: usize) -> Vec<String> {
        let entries = self.last(usize::MAX);
        let messages = entries.iter().rev().filter_map(Entry::words).take(count);
        let mut words: Vec<String> = messages.collect();
        words.reverse();
        words
    }

    /// Everything that is kept, as JSON Lines.
    pub fn jsonl(&self) -> String {
        let mut lines = String::new();
        for entry in self.last(usize::MAX) {
            // Numbers, texts and JSON values: there is nothing in it that cannot be written.
            if let Ok(line) = serde_json::to_string(&entry) {
                lines.push_str(&line);
                lines.push('\n');
            }
        }
        lines
    }

    /// One line of the log: the method, the size, and for an answer how long it took. Never what was said.
    fn log(&mut self, direction: Direction, head: Head, size: usize) {
        let by_us = direction == Direction::ToAgent;
        let now = self.begun.elapsed();
        match (head.method, head.id) {
            (Some(method), None) if method == "session/update" => {
                tracing::trace!(target: "acp", ?direction, method, size);
            }
            (Some(method), Some(id)) => {
                tracing::debug!(target: "acp", ?direction, method, id, size);
                if self.asked.len() < FRAMES {
                    self.asked.insert((by_us, id), (method, now));
                }
            }
            (None, Some(id)) => {
                let (method, begun) = self.asked.remove(&(!by_us, id.clone())).unwrap_or_default();
                let latency = now.saturating_sub(begun);
                tracing::debug!(target: "acp", ?direction, answers = method, id, size, ?latency);
            }
            (method, None) => tracing::debug!(target: "acp", ?direction, method, size),
        }
    }

    fn record(&mut self, direction: Direction, bytes: &[u8], head: Option<Head>) {
        let kept: Box<[u8]> = bytes[..bytes.len().min(KEPT)].into();
        self.held += kept.len();
        let at = self.begun.elapsed();
        self.frames.push_back(Frame { at, direction, size: bytes.len(), bytes: kept, head });
        while self.held > HELD || self.frames.len() > FRAMES {
            let Some(oldest) = self.frames.pop_front() else {
                break;
            };
            self.held -= oldest.bytes.len();
        }
    }
}

/// Whether anybody reads what `log` writes: it is no work otherwise.
fn logged() -> bool {
    tracing::enabled!(target: "acp", tracing::Level::DEBUG)
}

impl Head {
    fn of(message: &Message<'_>) -> Self {
        let (method, id) = match message {
            Message::Request { id, method, .. } => (Some(method), Some(id)),
            Message::Notification { method, .. } => (Some(method), None),
            Message::Answer { id, .. } => (None, Some(id)),
        };
        Self { method: method.map(ToString::to_string), id: id.map(|id| id.get().to_owned()) }
    }

    /// What we write begins with the id and the method, so that the rest need not be looked at.
    fn of_ours(line: &str) -> Self {
        let line = line.get(..KEPT).unwrap_or(line);
        let ends = [",\"params\":", ",\"result\":", ",\"error\":"];
        let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(0);
        let whole = format!("{},\"result\":0}}", &line[..end]);
        codec::parse(&whole).map(|message| Self::of(&message)).unwrap_or_default()
    }
}

impl Frame {
    fn head(&self) -> Head {
        if let Some(head) = &self.head {
            return head.clone();
        }
        if !matches!(self.direction, Direction::ToAgent | Direction::FromAgent) {
            return Head::default();
        }
        let text = String::from_utf8_lossy(&self.bytes);
        codec::parse(&text).map(|message| Head::of(&message)).unwrap_or_default()
    }

    /// What is no JSON, as text, unless it may hold what the user filled in or is to open.
    fn beginning(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let is_form = self.direction == Direction::ToAgent && text.contains(FILLED_IN);
        let is_address = text.contains("elicitation/create");
        if is_form || is_address { String::new() } else { text.into_owned() }
    }

    /// Notes a request, or takes the time since it where this is its answer.
    fn latency(
        &self,
        head: &Head,
        asked: &mut HashMap<(bool, String), Duration>,
    ) -> Option<Duration> {
        let id = head.id.clone()?;
        let by_us = self.direction == Direction::ToAgent;
        if head.method.is_some() {
            asked.insert((by_us, id), self.at);
            return None;
        }
        let begun = asked.remove(&(!by_us, id))?;
        Some(self.at.saturating_sub(begun))
    }

    fn entry(&self, head: Head, latency: Option<Duration>, redactor: &Redactor) -> Entry {
        let mut message =
            serde_json::from_slice(&self.bytes).unwrap_or_else(|_| self.beginning().into());
        redactor.json(&mut message);
        Entry {
            t: self.at.as_secs_f64(),
            direction: self.direction,
            method: head.method,
            id: head.id,
            size: self.size,
            latency_ms: latency.map(|latency| latency.as_secs_f64() * 1000.0),
            message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(trace: &mut Trace, line: &str) {
        let message = codec::parse(line).ok();
        trace.heard(line.as_bytes(), message.as_ref());
    }

    #[test]
    fn frames_are_told_with_method_id_size_and_latency() {
        let mut trace = Trace::new(Redactor::default());
        trace.said(r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}"#);
        heard(&mut trace, r#"{"method":"fs/read_text_file","id":1}"#);
        heard(&mut trace, r#"{"id":1,"result":{"token":"t"}}"#);
        heard(&mut trace, "npm warn");
        trace.stderr("oops");
        let all = trace.last(10);
        assert_eq!(all[0].method.as_deref(), Some("session/prompt"));
        assert_eq!((all[2].id.as_deref(), all[2].size), (Some("1"), 31));
        assert!(all[0].latency_ms.is_none() && all[1].latency_ms.is_none());
        assert!(all[2].latency_ms.is_some());
        assert_eq!((all[3].direction, all[4].direction), (Direction::Stray, Direction::Stderr));
        let jsonl = trace.jsonl();
        assert_eq!(jsonl.lines().count(), 5);
        assert!(jsonl.contains(r#"{"token":"[redacted]"}"#), "{jsonl}");
        assert_eq!(trace.last(2)[1].message, "oops");
    }

    #[test]
    fn a_long_frame_keeps_its_head_and_loses_its_tail() {
        let mut trace = Trace::new(Redactor::default());
        let text = "x".repeat(KEPT);
        trace.said(&format!(
            r#"{{"jsonrpc":"2.0","id":",\"result\":","result":{{"content":"{text}"}}}}"#
        ));
        heard(&mut trace, &format!(r#"{{"params":"{text}","method":"session/update"}}"#));
        let all = trace.last(2);
        assert_eq!(all[0].id.as_deref(), Some(r#"",\"result\":""#));
        assert_eq!(all[1].method.as_deref(), Some("session/update"));
        assert!(all[0].size > KEPT && all[0].message.as_str().unwrap().len() < 1000);
    }

    /// ACP 136.
    #[test]
    fn a_form_is_never_shown_however_long_it_is() {
        let mut trace = Trace::new(Redactor::default());
        for filling in [1, KEPT] {
            let content = format!(r#"{{"name":"secret{}"}}"#, "x".repeat(filling));
            let result = format!(r#"{{"action":"accept","content":{content}}}"#);
            trace.said(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
        }
        let shown = trace.jsonl();
        assert!(shown.lines().count() == 2 && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn it_stays_small() {
        let mut trace = Trace::new(Redactor::default());
        for _ in 0..300 {
            trace.stderr(&"x".repeat(KEPT));
        }
        assert!(trace.held <= HELD && trace.frames.len() == HELD / KEPT);
        for _ in 0..20_000 {
            trace.stderr("");
        }
        assert_eq!(trace.frames.len(), FRAMES);
    }
}
