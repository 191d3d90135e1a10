//! An ACP agent whose part the test itself plays, line by line. It answers nothing by itself, so any order of any
//! messages can be had.

use std::collections::VecDeque;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value as Json, json};

use super::frames::{Report, order, reports};
use super::{DEADLINE, Screen, poll_for, repository};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// How much of a message the traffic in a failure shows.
const SHOWN: usize = 400;

/// A request from the client. It stays open until the test answers.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its id as it came.
    pub id: Json,
    /// Its method.
    pub method: String,
    /// Its parameters.
    pub params: Json,
}

/// A request to the client whose answer has not been waited for yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending(u64);

/// The agent: a listening socket and the process that connected last.
pub struct Agent {
    listener: UnixListener,
    path: PathBuf,
    screen: Arc<Mutex<Screen>>,
    process: Option<Process>,
    next_id: u64,
    traffic: Vec<String>,
    /// The MCP servers of the session that was opened last.
    pub mcp_servers: Json,
}

/// One running relay.
struct Process {
    socket: UnixStream,
    reports: Receiver<Report>,
    hello: Json,
    inbox: VecDeque<Json>,
    garbage: Vec<Vec<u8>>,
    signs: Vec<Sign>,
    grandchildren: Vec<u32>,
}

/// What has happened to a process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    StdinClosed,
    Deaf,
    Terminated,
    Gone,
}

impl Agent {
    /// Listens in `folder`; a failure shows `screen` too.
    pub(super) fn listen(folder: &Path, screen: Arc<Mutex<Screen>>) -> Self {
        let path = folder.join(format!("agent{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        let listener = UnixListener::bind(&path).expect("listen for an agent");
        listener.set_nonblocking(true).expect("a socket that can be asked");
        Self {
            listener,
            path,
            screen,
            process: None,
            next_id: 0,
            traffic: Vec::new(),
            mcp_servers: Json::Null,
        }
    }

    /// The command line that starts it.
    pub fn command(&self) -> Vec<String> {
        let relay = repository().join("tests/support/relay.py");
        // Without what only slows its start.
        ["python3".into(), "-ES".into(), relay, self.path.clone()]
            .map(|word| word.to_string_lossy().into_owned())
            .to_vec()
    }

    /// Its entry in the `agents` of `setup`. A process that has ended is not started again by itself.
    pub fn config(&self) -> Json {
        let command = self.command();
        json!({"command": command[0], "args": command[1..], "reconnect": "prompt"})
    }

    /// Waits until the client has started (again) a process of this agent, and plays that one from now on.
    pub fn expect_start(&mut self) {
        let listener = &self.listener;
        let Some(socket) = poll_for(DEADLINE, || listener.accept().ok()) else {
            self.fail("the agent was not started")
        };
        let socket = socket.0;
        socket.set_nonblocking(false).expect("a socket that waits");
        let reports = reports(socket.try_clone().expect("a second handle"));
        self.note("--", "started");
        self.process = Some(Process {
            socket,
            reports,
            hello: Json::Null,
            inbox: VecDeque::new(),
            garbage: Vec::new(),
            signs: Vec::new(),
            grandchildren: Vec::new(),
        });
        self.expect("its hello", |process| (!process.hello.is_null()).then_some(()));
    }

    /// Answers `initialize` with these fields beside the version, and gives what was asked.
    pub fn initialize(&mut self, fields: Json) -> Request {
        let request = self.expect_request("initialize");
        self.reply(&request, overlaid(json!({"protocolVersion": 1}), fields));
        request
    }

    /// Answers `session/new` with this id, and gives what was asked.
    pub fn open(&mut self, session: &str) -> Request {
        let request = self.expect_request("session/new");
        self.reply(&request, json!({"sessionId": session}));
        request
    }

    /// Answers `initialize` as an agent that takes embedded context, and `session/new` with the id `s1`.
    pub fn handshake(&mut self) -> String {
        self.handshake_with(json!({}), json!({}))
    }

    /// Like [`Agent::handshake`], with fields laid over the two results. Gives the session's id.
    pub fn handshake_with(&mut self, initialized: Json, opened: Json) -> String {
        let usual = json!({
            "agentCapabilities": {"promptCapabilities": {"embeddedContext": true}},
            "agentInfo": {"name": "fake", "title": "Fake agent", "version": "1.0.0"},
        });
        self.initialize(overlaid(usual, initialized));
        let request = self.expect_request("session/new");
        let result = overlaid(json!({"sessionId": "s1"}), opened);
        let session = result["sessionId"].as_str().unwrap_or_default().to_owned();
        self.reply(&request, result);
        session
    }

    /// Waits for a request with this method. Other messages stay where they are.
    pub fn expect_request(&mut self, method: &str) -> Request {
        let message = self.expect_message(method, true);
        if message["params"]["mcpServers"].is_array() {
            self.mcp_servers = message["params"]["mcpServers"].clone();
        }
        Request {
            id: message["id"].clone(),
            method: method.to_owned(),
            params: message["params"].clone(),
        }
    }

    /// Waits for a notification with this method and gives its parameters.
    pub fn expect_notification(&mut self, method: &str) -> Json {
        self.expect_message(method, false)["params"].clone()
    }

    fn expect_message(&mut self, method: &str, request: bool) -> Json {
        self.expect(method, |process| {
            let fits = |message: &Json| {
                message["method"] == method && message.get("id").is_some() == request
            };
            let index = process.inbox.iter().position(fits)?;
            process.inbox.remove(index)
        })
    }

    /// Answers a request.
    pub fn reply(&mut self, request: &Request, result: Json) {
        self.send(&json!({"jsonrpc": "2.0", "id": request.id, "result": result}));
    }

    /// Answers a request with an error.
    pub fn reply_error(&mut self, request: &Request, code: i64, message: &str) {
        self.send(&json!({"jsonrpc": "2.0", "id": request.id, "error": {"code": code, "message": message}}));
    }

    /// Sends a `session/update`.
    pub fn update(&mut self, session: &str, update: Json) {
        self.notify("session/update", json!({"sessionId": session, "update": update}));
    }

    /// Streams a piece of the agent's message.
    pub fn say(&mut self, session: &str, words: &str) {
        let update = json!({"sessionUpdate": "agent_message_chunk", "content": text(words)});
        self.update(session, update);
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Json) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and waits for its result, or its error object.
    pub fn request(&mut self, method: &str, params: Json) -> Result<Json, Json> {
        let pending = self.ask(method, params);
        self.expect_answer(pending)
    }

    /// Sends a request; [`Agent::expect_answer`] waits for what comes of it.
    pub fn ask(&mut self, method: &str, params: Json) -> Pending {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        Pending(id)
    }

    /// Waits for the answer to a request: its result, or its error object.
    pub fn expect_answer(&mut self, pending: Pending) -> Result<Json, Json> {
        let answer = self.expect(&format!("the answer to {}", pending.0), |process| {
            let index = process.inbox.iter().position(|message| answers(message, pending))?;
            process.inbox.remove(index)
        });
        answer.get("error").map_or_else(|| Ok(answer["result"].clone()), |error| Err(error.clone()))
    }

    /// Waits for the whole message that answers the request with this id.
    pub fn expect_reply_to(&mut self, id: u64) -> Json {
        self.expect(&format!("the answer to {id}"), |process| {
            let index = process.inbox.iter().position(|message| answers(message, Pending(id)))?;
            process.inbox.remove(index)
        })
    }

    /// Does not want the answer to a request any more (`$/cancel_request`).
    pub fn withdraw(&mut self, pending: Pending) {
        self.notify("$/cancel_request", json!({"requestId": pending.0}));
    }

    /// Whether the answer to a request has come by now; it stays to be expected.
    pub fn is_answered(&mut self, pending: Pending) -> bool {
        self.take_reports();
        self.process
            .as_ref()
            .is_some_and(|process| process.inbox.iter().any(|message| answers(message, pending)))
    }

    /// The methods of the messages that came and were not expected so far, in order; answers as `answer`.
    pub fn unexpected(&mut self) -> Vec<String> {
        self.take_reports();
        let name = |message: &Json| message["method"].as_str().unwrap_or("answer").to_owned();
        self.process.iter().flat_map(|process| process.inbox.iter().map(name)).collect()
    }

    /// Sends one message as a line.
    pub fn send(&mut self, message: &Json) {
        self.note("->", &message.to_string());
        self.order(b'o', format!("{message}\n").as_bytes());
    }

    /// Writes bytes to stdout as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.note("->", &format!("{} raw bytes", bytes.len()));
        self.order(b'o', bytes);
    }

    /// Writes a line to stderr.
    pub fn stderr(&mut self, line: &str) {
        self.order(b'e', format!("{line}\n").as_bytes());
    }

    /// Exits with a status after a last line on stderr.
    pub fn exit(&mut self, status: u8, last_words: &str) {
        self.note("--", &format!("exits with {status}"));
        self.stderr(last_words);
        self.order(b'x', status.to_string().as_bytes());
    }

    /// Closes stdout and lives on.
    pub fn close_stdout(&mut self) {
        self.order(b'c', b"");
    }

    /// From now on SIGTERM is noticed and ignored. (A closed stdin never ends the agent by itself.)
    pub fn ignore_sigterm(&mut self) {
        self.order(b'k', b"");
        self.expect("that SIGTERM is ignored", |process| process.has(Sign::Deaf).then_some(()));
    }

    /// Starts a grandchild that ignores stdin and SIGTERM and would outlive the agent. Gives its pid.
    pub fn start_grandchild(&mut self) -> u32 {
        self.order(b'g', b"");
        self.expect("the grandchild's pid", |process| process.grandchildren.pop())
    }

    /// Waits until the client has closed stdin.
    pub fn expect_stdin_closed(&mut self) {
        self.expect("the end of stdin", |process| process.has(Sign::StdinClosed).then_some(()));
    }

    /// Waits until SIGTERM has come, which must be ignored by then.
    pub fn expect_sigterm(&mut self) {
        self.expect("SIGTERM", |process| process.has(Sign::Terminated).then_some(()));
    }

    /// Waits until the process is gone.
    pub fn expect_gone(&mut self) {
        let gone = poll_for(DEADLINE, || {
            self.take_reports();
            self.process.as_ref().is_none_or(|process| process.has(Sign::Gone)).then_some(())
        });
        if gone.is_none() {
            self.fail("the agent still lives");
        }
    }

    /// The pid of the running process.
    pub fn pid(&self) -> u32 {
        self.fact("pid").as_u64().and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default()
    }

    /// What the process said when it started: `pid`, `pgid`, `cwd`, `argv`, `env`.
    pub fn fact(&self, name: &str) -> &Json {
        self.process.as_ref().map_or(&Json::Null, |process| &process.hello[name])
    }

    /// Lines on stdin that were no JSON.
    pub fn garbage(&mut self) -> Vec<Vec<u8>> {
        self.take_reports();
        self.process.as_ref().map(|process| process.garbage.clone()).unwrap_or_default()
    }

    fn order(&mut self, kind: u8, payload: &[u8]) {
        let Some(process) = &mut self.process else { self.fail("the agent is not running") };
        // A relay that is gone is seen by the next expectation.
        let _ = order(&mut process.socket, kind, payload);
    }

    /// Waits until `look` finds what it wants in the process.
    fn expect<T>(&mut self, what: &str, mut look: impl FnMut(&mut Process) -> Option<T>) -> T {
        let found = poll_for(DEADLINE, || {
            self.take_reports();
            let process = self.process.as_mut()?;
            match look(process) {
                None if process.has(Sign::Gone) => Some(None),
                found => found.map(Some),
            }
        });
        match found {
            Some(Some(found)) => found,
            Some(None) => self.fail(&format!("the agent is gone; waited for {what}")),
            None => self.fail(&format!("never came: {what}")),
        }
    }

    fn take_reports(&mut self) {
        let Some(process) = &mut self.process else { return };
        let mut notes = Vec::new();
        loop {
            match process.reports.try_recv() {
                Ok(report) => notes.push(process.take(report)),
                Err(TryRecvError::Disconnected) => break process.signs.push(Sign::Gone),
                Err(TryRecvError::Empty) => break,
            }
        }
        for note in notes {
            self.note("<-", &note);
        }
    }

    fn note(&mut self, direction: &str, text: &str) {
        let shown: String = text.chars().take(SHOWN).collect();
        self.traffic.push(format!("{direction} {shown}"));
    }

    /// Fails the test with all that was said and what the user would see.
    pub fn fail(&self, what: &str) -> ! {
        let screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner).text();
        panic!("{what}\n--- traffic\n{}\n--- screen\n{screen}\n---", self.traffic.join("\n"));
    }
}

impl Process {
    fn has(&self, sign: Sign) -> bool {
        self.signs.contains(&sign)
    }

    /// Keeps what was reported. Gives what the traffic shows of it.
    fn take(&mut self, report: Report) -> String {
        match report {
            Report::Hello(facts) => {
                self.hello = facts;
                "hello".to_owned()
            }
            Report::StdinClosed => {
                self.signs.push(Sign::StdinClosed);
                "end of stdin".to_owned()
            }
            Report::Deaf => {
                self.signs.push(Sign::Deaf);
                "ignores SIGTERM".to_owned()
            }
            Report::Terminated => {
                self.signs.push(Sign::Terminated);
                "SIGTERM".to_owned()
            }
            Report::Grandchild(pid) => {
                self.grandchildren.push(pid);
                format!("grandchild {pid}")
            }
            Report::Line(line) => {
                let text = String::from_utf8_lossy(&line).into_owned();
                match serde_json::from_slice(&line) {
                    Ok(message) => self.inbox.push_back(message),
                    Err(_) => self.garbage.push(line),
                }
                text
            }
        }
    }
}

/// A block of content that is text.
pub fn text(text: &str) -> Json {
    json!({"type": "text", "text": text})
}

/// Two options of a permission request: `yes` allows once, `no` rejects once.
pub fn yes_or_no() -> Json {
    json!([
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ])
}

fn answers(message: &Json, pending: Pending) -> bool {
    message.get("method").is_none() && message["id"] == json!(pending.0)
}

/// `base` with the fields of `over` in place of its own.
pub(super) fn overlaid(mut base: Json, over: Json) -> Json {
    if let (Some(base), Json::Object(over)) = (base.as_object_mut(), over) {
        base.extend(over);
    }
    base
}
