//! A client of MCP, as agents are: it starts a server as it is told to, and calls its tools.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use serde_json::{Value as Json, json};

use super::DEADLINE;

/// A running server.
pub struct Mcp {
    /// Its process.
    pub child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Json>,
    inbox: VecDeque<Json>,
    next_id: u64,
}

/// The answer to a call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its text.
    pub text: String,
    /// Whether the call has failed.
    pub is_error: bool,
}

impl Mcp {
    /// Starts the server `rat` among those of a session, with its variables and no others, and shakes hands.
    pub fn start(servers: &Json) -> Self {
        let mut mcp = Self::spawn(servers, |_| {});
        mcp.initialize();
        mcp
    }

    /// Starts it without a handshake.
    pub fn spawn(servers: &Json, prepare: impl FnOnce(&mut Command)) -> Self {
        let all = servers.as_array().expect("a list of servers");
        let server = all.iter().find(|server| server["name"] == "rat").expect("our server");
        let text = |value: &Json| value.as_str().expect("a text").to_owned();
        let mut command = Command::new(text(&server["command"]));
        command.args(server["args"].as_array().expect("arguments").iter().map(text)).env_clear();
        for variable in server["env"].as_array().expect("variables") {
            command.env(text(&variable["name"]), text(&variable["value"]));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        prepare(&mut command);
        let mut child = command.spawn().expect("the server starts");
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("its stdout"));
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).expect("JSON from the server");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, inbox: VecDeque::new(), next_id: 0 }
    }

    /// Shakes hands, and gives what the server says of itself.
    pub fn initialize(&mut self) -> Json {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let about = self.request("initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        about["result"].clone()
    }

    /// Sends a request, and gives the whole message that answers it.
    pub fn request(&mut self, method: &str, params: Json) -> Json {
        let id = self.begin(method, params);
        self.expect_answer(id)
    }

    /// Sends a request, and gives its id.
    pub fn begin(&mut self, method: &str, params: Json) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Calls a tool.
    pub fn call(&mut self, name: &str, arguments: Json) -> Told {
        let id = self.begin_call(name, arguments);
        self.expect_told(id)
    }

    /// Calls a tool; [`Mcp::expect_told`] waits for the answer.
    pub fn begin_call(&mut self, name: &str, arguments: Json) -> u64 {
        self.begin("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Waits for the answer to a call.
    pub fn expect_told(&mut self, id: u64) -> Told {
        let answer = self.expect_answer(id);
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("no text in {answer}")).to_owned();
        Told { text, is_error: result["isError"] == json!(true) }
    }

    /// Waits for the message that answers this request.
    pub fn expect_answer(&mut self, id: u64) -> Json {
        self.expect(|message| message["id"] == json!(id) && message.get("method").is_none())
    }

    /// Waits for a message.
    pub fn expect(&mut self, fits: impl Fn(&Json) -> bool) -> Json {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(at) = self.inbox.iter().position(&fits) {
                return self.inbox.remove(at).expect("it is there");
            }
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(message) => self.inbox.push_back(message),
                Err(RecvTimeoutError::Timeout) => panic!("no answer; there is {:?}", self.inbox),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the server has ended; there is {:?}", self.inbox)
                }
            }
        }
    }

    /// Whether the answer to a request has come.
    pub fn is_answered(&mut self, id: u64) -> bool {
        self.inbox.extend(self.lines.try_iter());
        self.inbox.iter().any(|message| message["id"] == json!(id))
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Json) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// Writes bytes to its stdin.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().expect("its stdin").write_all(bytes).expect("it reads");
    }

    /// Closes its stdin, and waits until it has ended.
    pub fn close(&mut self) {
        self.stdin = None;
        self.child.wait().expect("its end");
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
