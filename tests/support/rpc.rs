//! msgpack-RPC with the Neovim of a test, in step: one call, one answer. Knows nothing of what is called.

use std::collections::HashMap;
use std::io::{BufReader, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rmpv::Value;

/// What can come of a call besides its result.
#[derive(Debug)]
pub enum CallError {
    /// Neovim answered with an error; its text.
    Refused(String),
    /// No answer within the deadline: Neovim is busy or waits for a key.
    Silent,
    /// Neovim is gone.
    Gone,
}

/// A notification from Neovim.
pub struct Notification {
    /// Its name: `redraw` or what `rpcnotify()` was given.
    pub method: String,
    /// Its arguments.
    pub params: Vec<Value>,
}

/// One connection.
pub struct Rpc {
    stdin: Box<dyn Write>,
    answers: Receiver<(u64, Value, Value)>,
    early: HashMap<u64, (Value, Value)>,
    next: u64,
}

impl Rpc {
    /// Speaks over a child's pipes or a socket; each notification goes to `notify`, on a thread that reads.
    pub fn new(
        stdin: impl Write + 'static,
        stdout: impl Read + Send + 'static,
        notify: impl FnMut(Notification) + Send + 'static,
    ) -> Self {
        let (sender, answers) = channel();
        std::thread::spawn(move || read(stdout, &sender, notify));
        Self { stdin: Box::new(stdin), answers, early: HashMap::new(), next: 0 }
    }

    /// Calls a method and waits for its answer.
    pub fn call(
        &mut self,
        method: &str,
        params: Vec<Value>,
        deadline: Duration,
    ) -> Result<Value, CallError> {
        let id = self.send(method, params)?;
        self.wait(id, deadline)
    }

    /// Sends a call without waiting. The id is for [`Rpc::wait`].
    pub fn send(&mut self, method: &str, params: Vec<Value>) -> Result<u64, CallError> {
        self.next += 1;
        let id = self.next;
        let message = Value::Array(vec![0.into(), id.into(), method.into(), Value::Array(params)]);
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, &message).map_err(|_| CallError::Gone)?;
        self.stdin
            .write_all(&bytes)
            .and_then(|()| self.stdin.flush())
            .map_err(|_| CallError::Gone)?;
        Ok(id)
    }

    /// Waits for the answer to one call; those to others are kept.
    pub fn wait(&mut self, id: u64, deadline: Duration) -> Result<Value, CallError> {
        let end = Instant::now() + deadline;
        loop {
            if let Some((error, result)) = self.early.remove(&id) {
                return if error.is_nil() {
                    Ok(result)
                } else {
                    Err(CallError::Refused(error_text(&error)))
                };
            }
            match self.answers.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok((id, error, result)) => drop(self.early.insert(id, (error, result))),
                Err(RecvTimeoutError::Timeout) => return Err(CallError::Silent),
                Err(RecvTimeoutError::Disconnected) => return Err(CallError::Gone),
            }
        }
    }
}

/// Errors come as `[type, text]`.
fn error_text(error: &Value) -> String {
    let text = error.as_array().and_then(|pair| pair.get(1)).and_then(Value::as_str);
    text.map_or_else(|| error.to_string(), str::to_owned)
}

fn read(
    stdout: impl Read,
    answers: &Sender<(u64, Value, Value)>,
    mut notify: impl FnMut(Notification),
) -> Option<()> {
    let mut reader = BufReader::with_capacity(1 << 16, stdout);
    loop {
        let Ok(Value::Array(message)) = rmpv::decode::read_value(&mut reader) else { return None };
        let mut parts = message.into_iter();
        match parts.next()?.as_u64()? {
            1 => answers.send((parts.next()?.as_u64()?, parts.next()?, parts.next()?)).ok()?,
            2 => {
                let method = parts.next()?.as_str()?.to_owned();
                let Value::Array(params) = parts.next()? else { return None };
                notify(Notification { method, params });
            }
            // Nobody asks the user interface anything; Neovim would be left waiting, and the test says so.
            _ => {}
        }
    }
}
