//! The built-in tour: an ACP agent on stdin and stdout that needs no model, no key and no network. It knows nothing of
//! the rest of the crate; to the client it is an agent like any other.

mod client;
mod project;
mod replies;
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

use client::{Client, Failure};
use turn::{Session, Signal, Turn};

/// Plays the agent until stdin ends. `RAT_TOUR_PACE` scales its pauses: 1 is the default, 0 is as fast as possible.
pub fn run() -> ExitCode {
    let pace =
        std::env::var("RAT_TOUR_PACE").ok().and_then(|pace| pace.parse().ok()).unwrap_or(1.0);
    serve(std::io::stdin(), std::io::stdout(), pace);
    ExitCode::SUCCESS
}

/// Plays the agent on any two pipes until `input` ends; then what is running is cancelled.
/// `pace` scales the pauses, from 0 to 100.
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

/// The side that takes messages. Each turn runs on a thread of its own, so that cancel is always heard.
struct Agent {
    client: Arc<Client>,
    pace: f64,
    capabilities: Option<Value>,
    sessions: HashMap<String, Entry>,
}

/// A session and the turn that runs in it.
struct Entry {
    session: Arc<Session>,
    turn: Option<Running>,
}

struct Running {
    signals: Sender<Signal>,
    thread: JoinHandle<()>,
    answered: Arc<AtomicBool>,
}

impl Agent {
    fn new(client: Arc<Client>, pace: f64) -> Self {
        Self { client, pace, capabilities: None, sessions: HashMap::new() }
    }

    /// Source: ACP v1, transports: one JSON object a line.
    fn receive(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return self.client.reply(&Value::Null, Err(Failure::new(-32700, "not a JSON object")));
        };
        let params = &message["params"];
        match (message["method"].as_str(), message.get("id")) {
            (None, Some(id)) => self.client.take_answer(id, &message),
            (Some("session/prompt"), Some(id)) => {
                if let Err(failure) = self.start_turn(id, params) {
                    self.client.reply(id, Err(failure));
                }
            }
            (Some(method), Some(id)) => {
                let result = self.answer(method, params);
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

    fn answer(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        match method {
            "initialize" => {
                self.capabilities = Some(params["clientCapabilities"].clone());
                Ok(initialized())
            }
            "session/new" => self.open(params),
            _ => Err(Failure::new(-32601, &format!("the tour does not know {method}"))),
        }
    }

    fn open(&mut self, params: &Value) -> Result<Value, Failure> {
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

    /// The answer to the prompt is the turn's to give, unless this fails.
    fn start_turn(&mut self, id: &Value, params: &Value) -> Result<(), Failure> {
        let name = params["sessionId"].as_str().unwrap_or_default();
        let unknown =
            || Failure::new(-32002, "no such session").with_data(json!({"sessionId": name}));
        let entry = self.sessions.get_mut(name).ok_or_else(unknown)?;
        if entry.turn.as_ref().is_some_and(|turn| !turn.answered.load(Ordering::Acquire)) {
            return Err(Failure::new(-32600, "a turn is running in this session"));
        }
        let prompt = params["prompt"].as_array().cloned();
        let prompt = prompt.ok_or_else(|| Failure::new(-32602, "prompt must be an array"))?;
        let (turn, signals) = Turn::new(Arc::clone(&self.client), Arc::clone(&entry.session));
        let answered = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (client, id, answered) =
                (Arc::clone(&self.client), id.clone(), Arc::clone(&answered));
            move || {
                let reason = turn.play(|turn| replies::reply(turn, &prompt));
                // Before the answer: the next prompt may come as soon as the client has it.
                answered.store(true, Ordering::Release);
                client.reply(&id, Ok(json!({"stopReason": reason})));
            }
        });
        entry.turn = Some(Running { signals, thread, answered });
        Ok(())
    }

    fn cancel(&self, params: &Value) {
        let entry = params["sessionId"].as_str().and_then(|name| self.sessions.get(name));
        if let Some(turn) = entry.and_then(|entry| entry.turn.as_ref()) {
            // A turn that has just ended hears nothing any more, as it should.
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
fn initialized() -> Value {
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
