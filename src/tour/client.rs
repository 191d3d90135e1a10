//! The client as the tour's threads see it: lines out, answers in. It decides nothing about what is said.

use std::collections::HashMap;
use std::io::Write;
use std::sync::mpsc::Sender;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::turn::Signal;

/// An error object. Source: JSON-RPC 2.0; the codes are in ACP v1, errors.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl Failure {
    pub(super) fn new(code: i64, message: &str) -> Self {
        Self { code, message: message.to_owned(), data: None }
    }

    pub(super) fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// What the client said went wrong, with its code.
    pub(super) fn text(&self) -> String {
        format!("{} ({})", self.message, self.code)
    }

    fn from_json(error: &Value) -> Self {
        let message = error["message"].as_str().unwrap_or("an error without a message");
        Self {
            code: error["code"].as_i64().unwrap_or_default(),
            message: message.to_owned(),
            data: None,
        }
    }

    fn to_json(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        error
    }
}

/// The other end of the pipes.
pub(super) struct Client {
    output: Mutex<Box<dyn Write + Send>>,
    waiting: Mutex<Waiting>,
}

/// Who waits for the answer to which of our requests.
#[derive(Default)]
struct Waiting {
    last: u64,
    turns: HashMap<u64, Sender<Signal>>,
}

impl Client {
    pub(super) fn new(output: impl Write + Send + 'static) -> Self {
        Self { output: Mutex::new(Box::new(output)), waiting: Mutex::default() }
    }

    /// Answers a request.
    pub(super) fn reply(&self, id: &Value, result: Result<Value, Failure>) {
        self.send(&match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(failure) => json!({"jsonrpc": "2.0", "id": id, "error": failure.to_json()}),
        });
    }

    /// Sends a `session/update`.
    pub(super) fn update(&self, session: &str, update: &Value) {
        let params = json!({"sessionId": session, "update": update});
        self.send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    /// Sends a request whose answer goes to `turn`. Gives its id.
    pub(super) fn request(&self, method: &str, params: &Value, turn: Sender<Signal>) -> u64 {
        let id = {
            let mut waiting = self.waiting.lock();
            waiting.last += 1;
            let id = waiting.last;
            waiting.turns.insert(id, turn);
            id
        };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Hands an answer to the turn that waits for it; one that nobody waits for is dropped.
    pub(super) fn take_answer(&self, id: &Value, message: &Value) {
        let Some(id) = id.as_u64() else { return };
        let Some(turn) = self.waiting.lock().turns.remove(&id) else { return };
        let result = message
            .get("error")
            .map_or_else(|| Ok(message["result"].clone()), |e| Err(Failure::from_json(e)));
        // A cancelled turn no longer listens.
        let _ = turn.send(Signal::Answer(id, result));
    }

    /// A client that no longer reads has closed our stdin too, and that ends everything: no error to handle here.
    fn send(&self, message: &Value) {
        let mut output = self.output.lock();
        let _ = writeln!(output, "{message}").and_then(|()| output.flush());
    }
}
