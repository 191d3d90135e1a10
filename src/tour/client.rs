//! [`Client`], the tour's connection to the ACP client: sends messages and routes responses to the
//! turn that waits for them.

use std::collections::HashMap;
use std::io::Write;
use std::sync::mpsc::Sender;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::jsonrpc::outgoing;

use super::signal::{Failure, Signal};

/// The connection to the client, shared by all threads.
pub(super) struct Client {
    output: Mutex<Box<dyn Write + Send>>,
    requests: Mutex<Requests>,
}

/// The requests without a response, and the turns that wait for it.
#[derive(Default)]
struct Requests {
    last_id: u64,
    turns: HashMap<u64, Sender<Signal>>,
}

impl Client {
    pub(super) fn new(output: impl Write + Send + 'static) -> Self {
        Self { output: Mutex::new(Box::new(output)), requests: Mutex::default() }
    }

    /// Responds to a request.
    pub(super) fn reply(&self, id: &Value, result: Result<Value, Failure>) {
        self.send(match result {
            Ok(result) => outgoing::result(id, &result),
            Err(failure) => outgoing::error(id, &failure.to_json()),
        });
    }

    /// Sends a `session/update`.
    pub(super) fn update(&self, session: &str, update: &Value) {
        let params = json!({"sessionId": session, "update": update});
        self.send(outgoing::notification("session/update", &params));
    }

    /// Sends a request, whose response goes to `turn`, and returns its id.
    pub(super) fn request(&self, method: &str, params: &Value, turn: Sender<Signal>) -> u64 {
        let id = {
            let mut requests = self.requests.lock();
            requests.last_id += 1;
            let id = requests.last_id;
            requests.turns.insert(id, turn);
            id
        };
        self.send(outgoing::request(id, method, params));
        id
    }

    /// Passes a response to the turn that waits for it. An unexpected one is dropped.
    pub(super) fn handle_response(&self, id: &Value, message: &Value) {
        let Some(id) = id.as_u64() else { return };
        let Some(turn) = self.requests.lock().turns.remove(&id) else { return };
        let result = message
            .get("error")
            .map_or_else(|| Ok(message["result"].clone()), |e| Err(Failure::from_json(e)));
        // Fails if the turn was cancelled.
        let _ = turn.send(Signal::Response(id, result));
    }

    /// Sends a line. Errors are ignored: a client that no longer reads also closes our stdin, which
    /// ends the agent.
    fn send(&self, message: serde_json::Result<String>) {
        let Ok(message) = message else { return };
        let mut output = self.output.lock();
        let _ = writeln!(output, "{message}").and_then(|()| output.flush());
    }
}
