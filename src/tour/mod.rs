//! The built-in tour: a scripted ACP agent on stdin and stdout, which needs no model, API key or
//! network. It shares only `jsonrpc` with the rest of the crate, which treats it like any other
//! agent.

mod client;
mod project;
mod replies;
mod signal;
mod story;
mod turn;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use serde_json::{Value, json};

use client::Client;
use signal::Failure;
use signal::Signal;
use turn::{Session, Turn};

/// Runs the agent on stdin and stdout. `RAT_TOUR_PACE` scales its pauses: 1 is the default, 0 means
/// none.
pub fn run() -> ExitCode {
    let pace =
        std::env::var("RAT_TOUR_PACE").ok().and_then(|pace| pace.parse().ok()).unwrap_or(1.0);
    serve(std::io::stdin(), std::io::stdout(), pace);
    ExitCode::SUCCESS
}

/// Runs the agent until `input` ends, then cancels running turns. `pace` scales the pauses, from 0
/// to 100.
pub fn serve(input: impl Read, output: impl Write + Send + 'static, pace: f64) {
    let pace = if pace.is_finite() { pace.clamp(0.0, 100.0) } else { 1.0 };
    let mut agent = Agent::new(Arc::new(Client::new(output)), pace);
    for line in BufReader::new(input).split(b'\n') {
        let Ok(line) = line else { break };
        if !line.iter().all(u8::is_ascii_whitespace) {
            agent.receive(&line);
        }
    }
    agent.close();
}

/// The main thread, which handles incoming messages. Each turn runs on its own thread, so that
/// `session/cancel` is handled at once.
struct Agent {
    client: Arc<Client>,
    pace: f64,
    capabilities: Option<Value>,
    sessions: HashMap<String, Entry>,
}

/// A session and its latest turn.
struct Entry {
    session: Arc<Session>,
    turn: Option<RunningTurn>,
}

struct RunningTurn {
    signals: Sender<Signal>,
    thread: JoinHandle<()>,
    /// Whether the turn has ended, so that the next one may start.
    ended: Arc<AtomicBool>,
}

impl Agent {
    fn new(client: Arc<Client>, pace: f64) -> Self {
        Self { client, pace, capabilities: None, sessions: HashMap::new() }
    }

    /// Source: ACP v1, transports: one JSON object per line.
    fn receive(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return self.client.reply(&Value::Null, Err(Failure::new(-32700, "not a JSON object")));
        };
        let params = &message["params"];
        match (message["method"].as_str(), message.get("id")) {
            (None, Some(id)) => self.client.handle_response(id, &message),
            (Some("session/prompt"), Some(id)) => {
                if let Err(failure) = self.start_turn(id, params) {
                    self.client.reply(id, Err(failure));
                }
            }
            (Some(method), Some(id)) => {
                let result = self.handle_request(method, params);
                let opened = result
                    .as_ref()
                    .ok()
                    .and_then(|result| result["sessionId"].as_str())
                    .map(str::to_owned);
                self.client.reply(id, result);
                if let Some(session) = opened {
                    self.client.update(&session, &replies::commands());
                }
            }
            (Some("session/cancel"), None) => self.cancel(params),
            _ => {}
        }
    }

    fn handle_request(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        match method {
            "initialize" => {
                self.capabilities = Some(params["clientCapabilities"].clone());
                Ok(initialize_result())
            }
            "session/new" => self.new_session(params),
            _ => Err(Failure::new(-32601, &format!("the tour does not know {method}"))),
        }
    }

    fn new_session(&mut self, params: &Value) -> Result<Value, Failure> {
        let capabilities = self
            .capabilities
            .clone()
            .ok_or_else(|| Failure::new(-32600, "initialize comes first"))?;
        let cwd = params["cwd"].as_str().map(PathBuf::from).filter(|cwd| cwd.is_absolute());
        let cwd = cwd.ok_or_else(|| Failure::new(-32602, "cwd must be an absolute path"))?;
        let id = format!("tour-{}", self.sessions.len() + 1);
        let session = Arc::new(Session::new(id.clone(), cwd, &capabilities, self.pace));
        self.sessions.insert(id.clone(), Entry { session, turn: None });
        Ok(json!({"sessionId": id}))
    }

    /// Starts a turn, which responds to the prompt at its end. If this fails, the caller has to
    /// respond.
    fn start_turn(&mut self, id: &Value, params: &Value) -> Result<(), Failure> {
        let name = params["sessionId"].as_str().unwrap_or_default();
        let unknown =
            || Failure::new(-32002, "no such session").with_data(json!({"sessionId": name}));
        let entry = self.sessions.get_mut(name).ok_or_else(unknown)?;
        if entry.turn.as_ref().is_some_and(|turn| !turn.ended.load(Ordering::Acquire)) {
            return Err(Failure::new(-32600, "a turn is running in this session"));
        }
        let prompt = params["prompt"].as_array().cloned();
        let prompt = prompt.ok_or_else(|| Failure::new(-32602, "prompt must be an array"))?;
        let (turn, signals) = Turn::new(Arc::clone(&self.client), Arc::clone(&entry.session));
        let ended = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (client, id, ended) = (Arc::clone(&self.client), id.clone(), Arc::clone(&ended));
            move || {
                let reason = turn.play(|turn| replies::reply(turn, &prompt));
                // Before the response, since the client may send the next prompt as soon as it has
                // it.
                ended.store(true, Ordering::Release);
                client.reply(&id, Ok(json!({"stopReason": reason})));
            }
        });
        entry.turn = Some(RunningTurn { signals, thread, ended });
        Ok(())
    }

    fn cancel(&self, params: &Value) {
        let entry = params["sessionId"].as_str().and_then(|name| self.sessions.get(name));
        if let Some(turn) = entry.and_then(|entry| entry.turn.as_ref()) {
            // Fails if the turn has just ended.
            let _ = turn.signals.send(Signal::Cancel);
        }
    }

    fn close(self) {
        for turn in self.sessions.into_values().filter_map(|entry| entry.turn) {
            let _ = turn.signals.send(Signal::Cancel);
            let _ = turn.thread.join();
        }
    }
}

/// Source: ACP v1, initialization.
fn initialize_result() -> Value {
    json!({
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": false,
            "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
            "mcpCapabilities": {"http": false, "sse": false},
        },
        "agentInfo": {"name": "rat-tour", "title": "Tour", "version": env!("CARGO_PKG_VERSION")},
        "authMethods": [],
    })
}
