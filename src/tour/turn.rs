//! [`Turn`], a running turn of the tour: sends updates and requests with the pauses of a real
//! agent. Each step fails with [`Stopped`] once the client has cancelled the turn.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::client::Client;
use super::signal::Failure;
use super::signal::Signal;

/// The turn was cancelled, so nothing more may be sent.
#[derive(Debug)]
pub(super) struct Stopped;

/// The state of a session.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) cwd: PathBuf,
    /// Whether the client has `fs/read_text_file`.
    pub(super) reads: bool,
    /// Whether the client has `fs/write_text_file`.
    pub(super) writes: bool,
    /// Whether the user allowed edits for the whole session.
    pub(super) edits_allowed: AtomicBool,
    /// Whether the tour was played to its end.
    pub(super) toured: AtomicBool,
    pace: f64,
    calls: Mutex<u64>,
}

impl Session {
    pub(super) fn new(id: String, cwd: PathBuf, capabilities: &Value, pace: f64) -> Self {
        let offers = |name: &str| capabilities["fs"][name] == json!(true);
        Self {
            id,
            cwd,
            reads: offers("readTextFile"),
            writes: offers("writeTextFile"),
            edits_allowed: AtomicBool::new(false),
            toured: AtomicBool::new(false),
            pace,
            calls: Mutex::new(0),
        }
    }
}

/// A running turn.
pub(super) struct Turn {
    client: Arc<Client>,
    pub(super) session: Arc<Session>,
    inbox: Receiver<Signal>,
    outbox: Sender<Signal>,
    open_calls: Vec<String>,
    messages: u64,
    written: usize,
}

impl Turn {
    /// Creates a turn, and the sender of its signals.
    pub(super) fn new(client: Arc<Client>, session: Arc<Session>) -> (Self, Sender<Signal>) {
        let (outbox, inbox) = channel();
        let signals = outbox.clone();
        (
            Self {
                client,
                session,
                inbox,
                outbox,
                open_calls: Vec::new(),
                messages: 0,
                written: 0,
            },
            signals,
        )
    }

    /// Runs the steps and returns the stop reason. If the turn is cancelled, its open tool calls
    /// fail.
    pub(super) fn play(
        mut self,
        steps: impl FnOnce(&mut Self) -> Result<(), Stopped>,
    ) -> &'static str {
        if steps(&mut self).is_ok() {
            return "end_turn";
        }
        // ACP v1 has no status for a cancelled call.
        for call in std::mem::take(&mut self.open_calls) {
            let content = json!([text_content("Cancelled.")]);
            self.update(&json!({
                "sessionUpdate": "tool_call_update", "toolCallId": call, "status": "failed", "content": content,
            }));
        }
        "cancelled"
    }

    /// Streams a message of the agent, word by word.
    pub(super) fn say(&mut self, text: &str) -> Result<(), Stopped> {
        self.stream("agent_message_chunk", text, Duration::from_millis(40))
    }

    /// Streams the agent's reasoning, word by word.
    pub(super) fn think(&mut self, text: &str) -> Result<(), Stopped> {
        self.stream("agent_thought_chunk", text, Duration::from_millis(25))
    }

    fn stream(&mut self, kind: &str, text: &str, pause: Duration) -> Result<(), Stopped> {
        self.begin_message();
        // The client separates messages itself, so a message needs no empty lines at its end.
        for word in text.trim_end().split_inclusive([' ', '\n']) {
            self.chunk(kind, word);
            self.pause(pause)?;
        }
        Ok(())
    }

    /// Starts a new message.
    pub(super) fn begin_message(&mut self) {
        self.messages += 1;
    }

    /// Sends a chunk of a message without a pause.
    pub(super) fn say_at_once(&mut self, text: &str) -> Result<(), Stopped> {
        self.chunk("agent_message_chunk", text);
        self.pause(Duration::ZERO)
    }

    fn chunk(&mut self, kind: &str, text: &str) {
        self.written += text.len();
        let message = format!("{}-{kind}-{}", self.session.id, self.messages);
        let content = json!({"type": "text", "text": text});
        self.update(&json!({"sessionUpdate": kind, "messageId": message, "content": content}));
    }

    /// Sends the plan: the first `done` entries are completed, the next one is in progress.
    pub(super) fn plan(&self, entries: &[&str], done: usize) {
        let status = |index: usize| match index.cmp(&done) {
            std::cmp::Ordering::Less => "completed",
            std::cmp::Ordering::Equal => "in_progress",
            std::cmp::Ordering::Greater => "pending",
        };
        let entry = |(index, text): (usize, &&str)| json!({"content": text, "priority": "medium", "status": status(index)});
        let entries: Vec<Value> = entries.iter().enumerate().map(entry).collect();
        self.update(&json!({"sessionUpdate": "plan", "entries": entries}));
    }

    /// Sends the usage, with about four bytes per token and no cost.
    pub(super) fn usage(&self) {
        let cost = json!({"amount": 0.0, "currency": "USD"});
        let used = self.written / 4;
        self.update(
            &json!({"sessionUpdate": "usage_update", "used": used, "size": 200_000, "cost": cost}),
        );
    }

    /// Adds a tool call with the given fields and returns its id.
    pub(super) fn open_call(&mut self, mut call: Value) -> String {
        let id = {
            let mut calls = self.session.calls.lock();
            *calls += 1;
            format!("call-{calls}")
        };
        call["sessionUpdate"] = json!("tool_call");
        call["toolCallId"] = json!(id);
        self.open_calls.push(id.clone());
        self.update(&call);
        id
    }

    /// Updates fields of a tool call.
    pub(super) fn update_call(&mut self, id: &str, mut fields: Value) {
        if matches!(fields["status"].as_str(), Some("completed" | "failed")) {
            self.open_calls.retain(|open| open != id);
        }
        fields["sessionUpdate"] = json!("tool_call_update");
        fields["toolCallId"] = json!(id);
        self.update(&fields);
    }

    /// Sends a `session/update` of this session.
    pub(super) fn update(&self, update: &Value) {
        self.client.update(&self.session.id, update);
    }

    /// Sends a request and waits for the response, without a timeout.
    pub(super) fn request(
        &mut self,
        method: &str,
        mut params: Value,
    ) -> Result<Result<Value, Failure>, Stopped> {
        params["sessionId"] = json!(self.session.id);
        let request = self.client.request(method, &params, self.outbox.clone());
        loop {
            match self.inbox.recv().map_err(|_| Stopped)? {
                Signal::Response(id, result) if id == request => return Ok(result),
                Signal::Cancel => return Err(Stopped),
                Signal::Response(..) | Signal::Line(_) | Signal::End => {}
            }
        }
    }

    /// Waits for `time`, scaled by the pace.
    pub(super) fn pause(&mut self, time: Duration) -> Result<(), Stopped> {
        let end = Instant::now() + time.mul_f64(self.session.pace);
        loop {
            match self.inbox.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Ok(Signal::Cancel) | Err(RecvTimeoutError::Disconnected) => return Err(Stopped),
                Ok(Signal::Response(..) | Signal::Line(_) | Signal::End) => {}
            }
        }
    }

    /// Returns the sender for a program's output, which [`Turn::next_line`] receives.
    pub(super) fn listener(&self) -> Sender<Signal> {
        self.outbox.clone()
    }

    /// Waits for the next line of the running program; `None` at its end.
    pub(super) fn next_line(&mut self) -> Result<Option<String>, Stopped> {
        loop {
            match self.inbox.recv().map_err(|_| Stopped)? {
                Signal::Line(line) => return Ok(Some(line)),
                Signal::End => return Ok(None),
                Signal::Cancel => return Err(Stopped),
                Signal::Response(..) => {}
            }
        }
    }
}

/// Formats a text as the content of a tool call.
pub(super) fn text_content(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}
