//! The recent traffic with one agent, for `:RatTrace`, the report of its exit and the log. Bounded in size. Frames are stored
//! as raw bytes and parsed and redacted only when they are read.

use super::redact::Redactor;
use crate::jsonrpc::incoming::{self, Message};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many bytes all stored frames may have.
const MAX_BYTES: usize = 4 << 20;

/// How many frames are stored.
const MAX_FRAMES: usize = 10_000;

/// How much of one frame is stored, in bytes.
const MAX_FRAME_BYTES: usize = 32 << 10;

/// Identifies the answer to a form (ACP elicitation), as we encode it.
const FORM_ANSWER: &str = r#""action":"accept""#;

/// The origin of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Sent by us.
    ToAgent,
    /// Sent by the agent.
    FromAgent,
    /// A line on the agent's stdout that is not a JSON-RPC message.
    Stray,
    /// A line on the agent's stderr.
    Stderr,
}

/// A trace that the tasks of the connection write and the event loop reads.
pub type Shared = Arc<Mutex<Trace>>;

/// The last frames in both directions.
#[derive(Debug)]
pub struct Trace {
    start: Instant,
    redactor: Redactor,
    frames: VecDeque<Frame>,
    /// How many bytes all `frames` have.
    bytes: usize,
    /// Gets every message as it was sent, without the line end.
    tap: Option<Tap>,
    /// Unanswered requests, for the log: whether they are ours and the id, to the method and the time since `start`.
    requests: HashMap<(bool, String), (String, Duration)>,
}

/// Gets messages of the protocol while they are sent and received.
#[derive(Clone)]
pub struct Tap(Arc<Sink>);

/// What a tap does with a message.
type Sink = dyn Fn(&[u8]) + Send + Sync;

impl Tap {
    /// Creates a tap that passes messages to `sink`, which must not wait.
    pub fn new(sink: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tap")
    }
}

#[derive(Debug)]
struct Frame {
    /// The time since the start of the trace.
    at: Duration,
    direction: Direction,
    /// The length of the whole frame, in bytes.
    size: usize,
    /// The first `MAX_FRAME_BYTES` bytes of the frame.
    bytes: Box<[u8]>,
    /// Set for a truncated frame, which cannot be parsed any more.
    head: Option<Head>,
}

/// The method and id of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Head {
    method: Option<String>,
    /// As JSON text.
    id: Option<String>,
}

/// A frame as it is shown, without secrets.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// Seconds since the start of the agent.
    pub t: f64,
    /// Where it came from.
    pub direction: Direction,
    /// The method of a request or a notification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The id of a request or an answer, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The length in bytes.
    pub size: usize,
    /// For an answer: the time since its request, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// The message, or its text if it is truncated or not JSON.
    pub message: Value,
}

impl Trace {
    /// Creates an empty trace that starts now.
    pub fn new(redactor: Redactor) -> Self {
        let (frames, requests) = (VecDeque::new(), HashMap::new());
        Self { start: Instant::now(), redactor, frames, bytes: 0, tap: None, requests }
    }

    /// Passes every message to `tap` as well, with its secrets.
    #[must_use]
    pub fn with_tap(self, tap: Option<Tap>) -> Self {
        Self { tap, ..self }
    }

    /// Records a line of the agent's stdout. `message` is `None` if it could not be parsed.
    pub fn record_received(&mut self, bytes: &[u8], message: Option<&Message<'_>>) {
        let direction = if message.is_some() { Direction::FromAgent } else { Direction::Stray };
        if let Some(Tap(tap)) = self.tap.as_ref().filter(|_| message.is_some()) {
            tap(bytes);
        }
        if let Some(message) = message.filter(|_| is_logged()) {
            self.log(direction, Head::of(message), bytes.len());
        }
        let head = message.filter(|_| bytes.len() > MAX_FRAME_BYTES).map(Head::of);
        self.record(direction, bytes, head);
    }

    /// Records a line that we sent.
    pub fn record_sent(&mut self, line: &str) {
        if let Some(Tap(tap)) = &self.tap {
            tap(line.as_bytes());
        }
        if is_logged() {
            self.log(Direction::ToAgent, Head::of_sent(line), line.len());
        }
        let head = (line.len() > MAX_FRAME_BYTES).then(|| Head::of_sent(line));
        self.record(Direction::ToAgent, line.as_bytes(), head);
    }

    /// Records a line of stderr.
    pub fn record_stderr(&mut self, line: &str) {
        self.record(Direction::Stderr, line.as_bytes(), None);
    }

    /// Returns the redactor that hides the secrets of this agent.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Returns the last `count` frames, oldest first.
    pub fn last(&self, count: usize) -> Vec<Entry> {
        let mut requests = HashMap::new();
        let skipped = self.frames.len().saturating_sub(count);
        let entries = self.frames.iter().enumerate().filter_map(|(index, frame)| {
            let head = frame.head();
            let latency = frame.latency(&head, &mut requests);
            (index >= skipped).then(|| frame.entry(head, latency, &self.redactor))
        });
        entries.collect()
    }

    /// Returns the last `count` messages in a few words each, oldest first. [`Trace::jsonl`] has all of them in full.
    pub fn summaries(&self, count: usize) -> Vec<String> {
        let messages = self.frames.iter().rev().filter_map(Frame::summary).take(count);
        let mut summaries: Vec<String> = messages.collect();
        summaries.reverse();
        summaries
    }

    /// Returns all stored frames as JSON Lines.
    pub fn jsonl(&self) -> String {
        let mut lines = String::new();
        for entry in self.last(usize::MAX) {
            // Serializing numbers, strings and JSON values cannot fail.
            if let Ok(line) = serde_json::to_string(&entry) {
                lines.push_str(&line);
                lines.push('\n');
            }
        }
        lines
    }

    /// Logs the method, the size, and for an answer the latency, but never the contents.
    fn log(&mut self, direction: Direction, head: Head, size: usize) {
        let by_us = direction == Direction::ToAgent;
        let now = self.start.elapsed();
        match (head.method, head.id) {
            (Some(method), None) if method == "session/update" => {
                tracing::trace!(target: "acp", ?direction, method, size);
            }
            (Some(method), Some(id)) => {
                tracing::debug!(target: "acp", ?direction, method, id, size);
                if self.requests.len() < MAX_FRAMES {
                    self.requests.insert((by_us, id), (method, now));
                }
            }
            (None, Some(id)) => {
                let request = self.requests.remove(&(!by_us, id.clone()));
                let (method, asked_at) = request.unwrap_or_default();
                let latency = now.saturating_sub(asked_at);
                tracing::debug!(target: "acp", ?direction, answers = method, id, size, ?latency);
            }
            (method, None) => tracing::debug!(target: "acp", ?direction, method, size),
        }
    }

    fn record(&mut self, direction: Direction, bytes: &[u8], head: Option<Head>) {
        let size = bytes.len();
        let bytes: Box<[u8]> = bytes[..size.min(MAX_FRAME_BYTES)].into();
        self.bytes += bytes.len();
        let at = self.start.elapsed();
        self.frames.push_back(Frame { at, direction, size, bytes, head });
        while self.bytes > MAX_BYTES || self.frames.len() > MAX_FRAMES {
            let Some(oldest) = self.frames.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes.len();
        }
    }
}

/// Returns whether `Trace::log` has any effect, so that its arguments are computed only then.
fn is_logged() -> bool {
    tracing::enabled!(target: "acp", tracing::Level::DEBUG)
}

impl Head {
    fn of(message: &Message<'_>) -> Self {
        let (method, id) = match message {
            Message::Request { id, method, .. } => (Some(method), Some(id)),
            Message::Notification { method, .. } => (Some(method), None),
            Message::Response { id, .. } => (None, Some(id)),
        };
        Self { method: method.map(ToString::to_string), id: id.map(|id| id.get().to_owned()) }
    }

    /// Parses a line that we sent. We write the id and the method first, so the params or the result need not be parsed.
    fn of_sent(line: &str) -> Self {
        let line = line.get(..MAX_FRAME_BYTES).unwrap_or(line);
        let ends = [",\"params\":", ",\"result\":", ",\"error\":"];
        let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(0);
        let without_payload = format!("{},\"result\":0}}", &line[..end]);
        incoming::parse(&without_payload).map(|message| Self::of(&message)).unwrap_or_default()
    }
}

impl Frame {
    /// Returns the direction, method and id in a few words; `None` if it is not a message.
    fn summary(&self) -> Option<String> {
        let arrow = match self.direction {
            Direction::ToAgent => "→",
            Direction::FromAgent => "←",
            Direction::Stray | Direction::Stderr => return None,
        };
        let head = self.head();
        let what = head.method.as_deref().unwrap_or("answer");
        let id = head.id.as_ref().map_or_else(String::new, |id| format!(" {id}"));
        Some(format!("{arrow} {what}{id}"))
    }

    fn head(&self) -> Head {
        if let Some(head) = &self.head {
            return head.clone();
        }
        if !matches!(self.direction, Direction::ToAgent | Direction::FromAgent) {
            return Head::default();
        }
        let text = String::from_utf8_lossy(&self.bytes);
        incoming::parse(&text).map(|message| Head::of(&message)).unwrap_or_default()
    }

    /// Returns the stored bytes as text, for a frame that cannot be parsed. Empty if it may contain what the user entered in a
    /// form or a URL to open, since these can be redacted only in JSON.
    fn raw_text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let is_form = self.direction == Direction::ToAgent && text.contains(FORM_ANSWER);
        let is_address = text.contains("elicitation/create");
        if is_form || is_address { String::new() } else { text.into_owned() }
    }

    /// Returns the time since the request, for an answer. For a request, adds it to `requests`.
    fn latency(
        &self,
        head: &Head,
        requests: &mut HashMap<(bool, String), Duration>,
    ) -> Option<Duration> {
        let id = head.id.clone()?;
        let by_us = self.direction == Direction::ToAgent;
        if head.method.is_some() {
            requests.insert((by_us, id), self.at);
            return None;
        }
        let asked_at = requests.remove(&(!by_us, id))?;
        Some(self.at.saturating_sub(asked_at))
    }

    fn entry(&self, head: Head, latency: Option<Duration>, redactor: &Redactor) -> Entry {
        let mut message =
            serde_json::from_slice(&self.bytes).unwrap_or_else(|_| self.raw_text().into());
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

    fn receive(trace: &mut Trace, line: &str) {
        let message = incoming::parse(line).ok();
        trace.record_received(line.as_bytes(), message.as_ref());
    }

    #[test]
    fn entries_have_method_id_size_and_latency() {
        let mut trace = Trace::new(Redactor::default());
        trace.record_sent(r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}"#);
        receive(&mut trace, r#"{"method":"fs/read_text_file","id":1}"#);
        receive(&mut trace, r#"{"id":1,"result":{"token":"t"}}"#);
        receive(&mut trace, "npm warn");
        trace.record_stderr("oops");
        let all = trace.last(10);
        assert_eq!(all[0].method.as_deref(), Some("session/prompt"));
        assert_eq!((all[2].id.as_deref(), all[2].size), (Some("1"), 31));
        assert!(all[0].latency_ms.is_none() && all[1].latency_ms.is_none());
        assert!(all[2].latency_ms.is_some());
        assert_eq!((all[3].direction, all[4].direction), (Direction::Stray, Direction::Stderr));
        let jsonl = trace.jsonl();
        assert_eq!(jsonl.lines().count(), 5);
        assert!(jsonl.contains(r#"{"token":"[redacted]"}"#), "{jsonl}");
        for direction in ["to_agent", "from_agent", "stray", "stderr"] {
            assert!(
                jsonl.contains(&format!(r#""direction":"{direction}""#)),
                "{direction}: {jsonl}"
            );
        }
        assert_eq!(trace.last(2)[1].message, "oops");
    }

    #[test]
    fn a_long_frame_is_truncated_but_has_its_method_and_id() {
        let mut trace = Trace::new(Redactor::default());
        let text = "x".repeat(MAX_FRAME_BYTES);
        trace.record_sent(&format!(
            r#"{{"jsonrpc":"2.0","id":",\"result\":","result":{{"content":"{text}"}}}}"#
        ));
        receive(&mut trace, &format!(r#"{{"params":"{text}","method":"session/update"}}"#));
        let all = trace.last(2);
        assert_eq!(all[0].id.as_deref(), Some(r#"",\"result\":""#));
        assert_eq!(all[1].method.as_deref(), Some("session/update"));
        assert!(all[0].size > MAX_FRAME_BYTES && all[0].message.as_str().unwrap().len() < 1000);
    }

    /// ACP 136.
    #[test]
    fn the_answer_to_a_form_is_hidden_however_long_it_is() {
        let mut trace = Trace::new(Redactor::default());
        for length in [1, MAX_FRAME_BYTES] {
            let content = format!(r#"{{"name":"secret{}"}}"#, "x".repeat(length));
            let result = format!(r#"{{"action":"accept","content":{content}}}"#);
            trace.record_sent(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
        }
        let shown = trace.jsonl();
        assert!(shown.lines().count() == 2 && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn the_size_of_a_trace_is_bounded() {
        let mut trace = Trace::new(Redactor::default());
        for _ in 0..300 {
            trace.record_stderr(&"x".repeat(MAX_FRAME_BYTES));
        }
        assert!(trace.bytes <= MAX_BYTES && trace.frames.len() == MAX_BYTES / MAX_FRAME_BYTES);
        for _ in 0..20_000 {
            trace.record_stderr("");
        }
        assert_eq!(trace.frames.len(), MAX_FRAMES);
    }
}
