//! One turn of the tour: what it can say and ask, with the pauses of a real agent. Each step ends early with
//! [`Stopped`] once the client has cancelled.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::client::{Client, Failure};

/// The turn was cancelled: say nothing more.
#[derive(Debug)]
pub(super) struct Stopped;

/// What can reach a running turn.
#[derive(Debug)]
pub(super) enum Signal {
    /// The client cancelled the turn, or is gone.
    Cancel,
    /// The answer to a request of this turn.
    Answer(u64, Result<Value, Failure>),
    /// A line that a program of this turn has written.
    Line(String),
    /// That program has closed its output.
    End,
}

/// What a session remembers from turn to turn.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) cwd: PathBuf,
    /// Whether the client offers `fs/read_text_file` and `fs/write_text_file`.
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// The user has said that edits are always allowed.
    pub(super) edits_allowed: AtomicBool,
    /// The tour has been played to its end.
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
    /// A turn and the way to reach it.
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

    /// Plays the steps. Gives the stop reason; after a cancel no tool call is left open.
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

    /// Streams a thought.
    pub(super) fn think(&mut self, text: &str) -> Result<(), Stopped> {
        self.stream("agent_thought_chunk", text, Duration::from_millis(25))
    }

    fn stream(&mut self, kind: &str, text: &str, pause: Duration) -> Result<(), Stopped> {
        self.begin_message();
        for word in text.split_inclusive([' ', '\n']) {
            self.chunk(kind, word);
            self.pause(pause)?;
        }
        Ok(())
    }

    /// What is said from here on belongs to a new message.
    pub(super) fn begin_message(&mut self) {
        self.messages += 1;
    }

    /// Sends one piece of a message at once. Only a cancel makes it an error.
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

    /// Shows the plan: as many entries are completed as `done` says, the next one is in progress.
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

    /// Tells how much has been said, in tokens of about four bytes. It costs nothing.
    pub(super) fn usage(&self) {
        let cost = json!({"amount": 0.0, "currency": "USD"});
        let used = self.written / 4;
        self.update(
            &json!({"sessionUpdate": "usage_update", "used": used, "size": 200_000, "cost": cost}),
        );
    }

    /// Announces a tool call with the given fields besides its id. Gives the id.
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

    /// Changes fields of a tool call. With `status` `completed` or `failed` it is over.
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

    /// Asks the client and waits for its answer, however long that takes.
    pub(super) fn request(
        &mut self,
        method: &str,
        mut params: Value,
    ) -> Result<Result<Value, Failure>, Stopped> {
        params["sessionId"] = json!(self.session.id);
        let asked = self.client.request(method, &params, self.outbox.clone());
        loop {
            match self.inbox.recv().map_err(|_| Stopped)? {
                Signal::Answer(id, result) if id == asked => return Ok(result),
                Signal::Cancel => return Err(Stopped),
                Signal::Answer(..) | Signal::Line(_) | Signal::End => {}
            }
        }
    }

    /// Waits as a real agent would; scaled by the pace.
    pub(super) fn pause(&mut self, time: Duration) -> Result<(), Stopped> {
        let end = Instant::now() + time.mul_f64(self.session.pace);
        loop {
            match self.inbox.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Ok(Signal::Cancel) | Err(RecvTimeoutError::Disconnected) => return Err(Stopped),
                Ok(Signal::Answer(..) | Signal::Line(_) | Signal::End) => {}
            }
        }
    }

    /// Where a program's output has to go to be seen by [`Turn::next_line`].
    pub(super) fn listener(&self) -> Sender<Signal> {
        self.outbox.clone()
    }

    /// The next line of the running program; `None` at its end.
    pub(super) fn next_line(&mut self) -> Result<Option<String>, Stopped> {
        loop {
            match self.inbox.recv().map_err(|_| Stopped)? {
                Signal::Line(line) => return Ok(Some(line)),
                Signal::End => return Ok(None),
                Signal::Cancel => return Err(Stopped),
                Signal::Answer(..) => {}
            }
        }
    }
}

/// A text as the content of a tool call.
pub(super) fn text_content(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}
