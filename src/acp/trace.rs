//! The traffic with one agent: recorded for `:RatTrace`, summed up for the report of the agent's exit and for the log. What is
//! recorded is kept by the [`spool`].

pub mod filter;
mod headline;
pub mod page;
mod pieces;
mod queue;
mod reader;
pub mod save;
mod seams;
pub mod spool;

use super::redact::Redactor;
use crate::jsonrpc::incoming::{self, Message};
use crate::jsonrpc::recording::Direction;
use crate::session::signs::{ARROW, BACK};
use parking_lot::Mutex;
use spool::{LIMITS, Spool};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest line of an agent that is recorded, in bytes. On its way to the disk it takes several times as much memory.
const LONGEST_RECORDED: usize = 16 << 20;

/// How many messages can be summed up.
const RECENT: usize = 8;

/// How many requests may be unanswered until no more are noted for the log.
const MAX_REQUESTS: usize = 10_000;

/// How much of a line is searched for its method and id, in bytes.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// A trace that the tasks of the connection write and the event loop reads.
pub type Shared = Arc<Mutex<Trace>>;

/// The traffic in both directions.
#[derive(Debug)]
pub struct Trace {
    start: Instant,
    /// When the agent was heard last: asking for the time for each line of a flood would cost too much.
    heard: Duration,
    spool: Spool,
    /// The last messages.
    recent: VecDeque<(Direction, Head)>,
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

/// The method and id of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Head {
    method: Option<String>,
    /// As JSON text.
    id: Option<String>,
}

impl Trace {
    /// Creates an empty trace that starts now and keeps the traffic in this folder, or less of it in memory.
    pub fn new(redactor: Redactor, folder: Option<PathBuf>) -> Self {
        let (recent, requests) = (VecDeque::new(), HashMap::new());
        let spool = Spool::start(folder, redactor, LIMITS);
        let (start, heard) = (Instant::now(), Duration::ZERO);
        Self { start, heard, spool, recent, tap: None, requests }
    }

    /// Passes every message to `tap` as well, with its secrets.
    #[must_use]
    pub fn with_tap(self, tap: Option<Tap>) -> Self {
        Self { tap, ..self }
    }

    /// The lines that are recorded next have come just now.
    pub fn hear(&mut self) {
        self.heard = self.start.elapsed();
    }

    /// Records a line of the agent's stdout. `message` is `None` if it could not be parsed.
    pub fn record_received(&mut self, bytes: &[u8], message: Option<&Message<'_>>) {
        let direction = if message.is_some() { Direction::FromAgent } else { Direction::Stray };
        if let Some(Tap(tap)) = self.tap.as_ref().filter(|_| message.is_some()) {
            tap(bytes);
        }
        if let Some(message) = message {
            self.note(direction, message, bytes.len());
        }
        if bytes.len() > LONGEST_RECORDED {
            return self.spool.record(self.heard, Direction::Missing, b"1");
        }
        self.spool.record(self.heard, direction, bytes);
    }

    /// Records a line that we sent.
    pub fn record_sent(&mut self, line: &Arc<String>) {
        if let Some(Tap(tap)) = &self.tap {
            tap(line.as_bytes());
        }
        with_head_of_sent(line, |message| self.note(Direction::ToAgent, message, line.len()));
        self.spool.record_sent(self.start.elapsed(), line);
    }

    /// Records a line of stderr.
    pub fn record_stderr(&mut self, line: &str) {
        self.spool.record(self.start.elapsed(), Direction::Stderr, line.as_bytes());
    }

    /// Returns the redactor that hides the secrets of this agent.
    pub fn redactor(&self) -> &Redactor {
        self.spool.redactor()
    }

    /// Returns what is recorded.
    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// Returns the last `count` messages in a few words each, oldest first; there are at most `RECENT`.
    pub fn summaries(&self, count: usize) -> Vec<String> {
        let skipped = self.recent.len().saturating_sub(count);
        self.recent.iter().skip(skipped).map(|(direction, head)| head.summary(*direction)).collect()
    }

    fn note(&mut self, direction: Direction, message: &Message<'_>, size: usize) {
        // Its memory is used again, since this is done for every message.
        let oldest = if self.recent.len() == RECENT { self.recent.pop_front() } else { None };
        let (_, mut head) = oldest.unwrap_or((direction, Head::default()));
        head.set(message);
        if is_logged() {
            self.log(direction, head.clone(), size);
        }
        self.recent.push_back((direction, head));
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
                if self.requests.len() < MAX_REQUESTS {
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
}

/// Returns whether `Trace::log` has any effect, so that its arguments are computed only then.
fn is_logged() -> bool {
    tracing::enabled!(target: "acp", tracing::Level::DEBUG)
}

impl Head {
    fn of(message: &Message<'_>) -> Self {
        let mut head = Self::default();
        head.set(message);
        head
    }

    fn set(&mut self, message: &Message<'_>) {
        let (method, id) = match message {
            Message::Request { id, method, .. } => (Some(method), Some(id)),
            Message::Notification { method, .. } => (Some(method), None),
            Message::Response { id, .. } => (None, Some(id)),
        };
        set(&mut self.method, method.map(AsRef::as_ref));
        set(&mut self.id, id.map(|id| id.get()));
    }

    /// Returns the direction, method and id in a few words.
    fn summary(&self, direction: Direction) -> String {
        let arrow = if direction == Direction::ToAgent { ARROW } else { BACK };
        let what = self.method.as_deref().unwrap_or("answer");
        let id = self.id.as_ref().map_or_else(String::new, |id| format!(" {id}"));
        format!("{arrow} {what}{id}")
    }
}

fn set(text: &mut Option<String>, new: Option<&str>) {
    match (text.as_mut(), new) {
        (Some(text), Some(new)) => new.clone_into(text),
        (_, new) => *text = new.map(str::to_owned),
    }
}

/// Parses the beginning of a line that we sent, if it can be. We write the id and the method first, so the params or the result
/// need not be parsed.
fn with_head_of_sent(line: &str, run: impl FnOnce(&Message<'_>)) {
    let line = line.get(..MAX_HEAD_BYTES).unwrap_or(line);
    let ends = [",\"params\":", ",\"result\":", ",\"error\":"];
    let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(0);
    let without_payload = format!("{},\"result\":0}}", &line[..end]);
    if let Ok(message) = incoming::parse(&without_payload) {
        run(&message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(trace: &mut Trace, line: &str) {
        let message = incoming::parse(line).ok();
        trace.record_received(line.as_bytes(), message.as_ref());
    }

    fn send(trace: &mut Trace, line: &str) {
        trace.record_sent(&Arc::new(line.to_owned()));
    }

    fn trace() -> Trace {
        Trace::new(Redactor::default(), None)
    }

    #[test]
    fn everything_is_recorded_with_its_origin_and_without_secrets() {
        let mut trace = trace();
        send(&mut trace, r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}"#);
        receive(&mut trace, r#"{"method":"fs/read_text_file","id":1}"#);
        receive(&mut trace, r#"{"id":1,"result":{"token":"t"}}"#);
        receive(&mut trace, "npm warn");
        trace.record_stderr("oops");
        let text = trace.spool().text();
        let directions = ["to_agent", "from_agent", "from_agent", "stray", "stderr"];
        for (line, direction) in text.lines().zip(directions) {
            assert!(line.contains(&format!(r#""direction":"{direction}""#)), "{line}");
        }
        assert!(text.contains(r#""message":"oops""#) && text.contains(r#"{"token":"[redacted]"}"#));
        let all = ["→ session/prompt 1", "← fs/read_text_file 1", "← answer 1"];
        assert_eq!(trace.summaries(10), all);
        assert_eq!(trace.summaries(2), all[1..]);
    }

    #[test]
    fn a_line_that_is_too_long_is_missing() {
        let mut trace = trace();
        receive(&mut trace, r#"{"method":"one"}"#);
        receive(
            &mut trace,
            &format!(r#"{{"method":"long","params":"{}"}}"#, "x".repeat(LONGEST_RECORDED)),
        );
        receive(&mut trace, r#"{"method":"two"}"#);
        let text = trace.spool().text();
        let lines: Vec<_> = text.lines().collect();
        assert!(
            lines.len() == 3 && lines[1].contains(r#""direction":"missing","message":1"#),
            "{text}"
        );
        assert_eq!(trace.summaries(2), ["← long", "← two"]);
    }

    #[test]
    fn the_method_and_id_of_a_long_message_are_known() {
        let mut trace = trace();
        let text = "x".repeat(MAX_HEAD_BYTES * 2);
        let id = r#"",\"result\":""#;
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":"{text}"}}}}"#);
        send(&mut trace, &answer);
        receive(&mut trace, &format!(r#"{{"params":"{text}","method":"session/update"}}"#));
        let all = [r#"→ answer ",\"result\":""#, "← session/update"];
        assert_eq!(trace.summaries(2), all);
    }

    /// ACP 136.
    #[test]
    fn the_answer_to_a_form_is_hidden_however_long_it_is() {
        let mut trace = trace();
        for length in [1, MAX_HEAD_BYTES] {
            let content = format!(r#"{{"name":"secret{}"}}"#, "x".repeat(length));
            let result = format!(r#"{{"action":"accept","content":{content}}}"#);
            send(&mut trace, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
        }
        let shown = trace.spool().text();
        assert!(shown.lines().count() == 2 && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn few_messages_are_kept_to_sum_them_up() {
        let mut trace = trace();
        for number in 0..100 {
            receive(&mut trace, &format!(r#"{{"method":"m","id":{number}}}"#));
        }
        assert_eq!(trace.recent.len(), RECENT);
        assert_eq!(trace.summaries(1), ["← m 99"]);
    }
}
