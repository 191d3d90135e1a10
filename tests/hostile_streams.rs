//! Answers and streams of a server that are cut off, without an end or far too large in a part that chance chooses: whatever part
//! it is, no more memory is needed than the help says, and the connection ends or goes on.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rat_nvim::acp::transport::any::AnyTransport;
use rat_nvim::acp::transport::child::ChildProcesses;
use rat_nvim::acp::{Agents, GracePeriods};
use rat_nvim::core::messages::agent::AgentEvent;
use rat_nvim::core::messages::call::{Call, SessionParams};
use rat_nvim::core::messages::effect::{AgentCommand, AgentEffect};
use rat_nvim::core::messages::ids::{AgentId, CallId};
use rat_nvim::process::confine::Launcher;
use rat_nvim::secrets::Secrets;
use rat_nvim::session::agent::{AgentConfig, RemoteAgent};
use rat_nvim::session::update::Update;
use serde_json::Value as Json;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::support::{Dice, Held, Inputs, binary};

const MIB: usize = 1 << 20;

/// How many bytes may be taken (`:help rat-memory`), beside what this process has for itself.
const MOST: u64 = 256 << 20;

/// How many more for a byte of text that is passed on.
const PER_BYTE: u64 = 4;

/// How many inputs are played unless `RAT_HOSTILE` says so.
const COUNT: u64 = 200;

/// So many are played between looks at the memory.
const BATCH: u64 = 10;

/// How long one may take, and how long a server waits for somebody who does not read.
const LIMIT: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_millis(300);

/// What is inserted.
const FILLERS: &[&str] = &[
    "x",
    "1,",
    "[",
    "{\"a\":",
    "\\u0000",
    "\n",
    "data: x\n",
    "data\n\n",
    "id: x\n",
    "a: b\r\n",
    "é",
    "\0",
];

/// What is done to a part of what is sent.
#[derive(Debug, Clone, Copy)]
enum Harm {
    /// The connection ends within it.
    Cut,
    /// So many bytes are inserted.
    Insert(usize),
    /// It is sent so many times.
    Repeat(usize),
}

/// What one server does: at which part of which answer.
#[derive(Debug, Clone, Copy)]
struct Plan {
    is_websocket: bool,
    answer: usize,
    part: usize,
    harm: Harm,
    filler: &'static str,
}

impl Plan {
    fn of(dice: &mut Dice) -> Self {
        let most = match dice.within(0..100) {
            0 => 150 * MIB,
            1..=4 => 20 * MIB,
            _ => MIB,
        };
        let size = dice.within(1..most);
        let harm = match dice.within(0..6) {
            0 => Harm::Cut,
            1 | 2 => Harm::Repeat(size / 16),
            _ => Harm::Insert(size),
        };
        Self {
            is_websocket: dice.once_in(3),
            answer: dice.within(0..5),
            part: dice.within(0..24),
            harm,
            filler: *dice.pick(FILLERS),
        }
    }

    /// Sends the parts, one of them as planned.
    fn send(self, stream: &mut TcpStream, parts: &[&str]) -> io::Result<()> {
        let harmed = self.part % parts.len();
        for (number, part) in parts.iter().enumerate() {
            if number != harmed {
                stream.write_all(part.as_bytes())?;
                continue;
            }
            match self.harm {
                Harm::Cut => {
                    stream.write_all(&part.as_bytes()[..part.len() / 2])?;
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                Harm::Insert(bytes) => {
                    stream.write_all(part.as_bytes())?;
                    repeat(stream, self.filler, bytes)?;
                }
                Harm::Repeat(times) => repeat(stream, part, part.len() * times)?,
            }
        }
        Ok(())
    }
}

fn repeat(stream: &mut TcpStream, text: &str, bytes: usize) -> io::Result<()> {
    let block = text.repeat((64_usize << 10).div_ceil(text.len().max(1)));
    let mut left = bytes;
    while left > 0 && !text.is_empty() {
        let count = left.min(block.len());
        stream.write_all(&block.as_bytes()[..count])?;
        left -= count;
    }
    Ok(())
}

/// A server, which takes no more connections when this is dropped.
struct Server {
    address: SocketAddr,
    url: String,
    /// Whether it has done what was planned.
    done: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // That it comes wakes the server.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(plan: Plan) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let scheme = if plan.is_websocket { "ws" } else { "http" };
    let address = listener.local_addr().unwrap();
    let url = format!("{scheme}://{address}/");
    let (done, is_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (told, ends) = (done.clone(), is_over.clone());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if ends.load(Ordering::SeqCst) {
                return;
            }
            let told = told.clone();
            thread::spawn(move || answer_all(stream, plan, &told));
        }
    });
    Server { address, url, done, is_over }
}

fn answer_all(mut stream: TcpStream, plan: Plan, done: &AtomicBool) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let begin = head.len();
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
            let line = head[begin..].to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let message: Json = serde_json::from_slice(&body).unwrap_or_default();
        let id = message["id"].to_string();
        let answer = match message["method"].as_str() {
            Some("initialize") => 0,
            Some("session/new") => 1,
            Some(_) => 2,
            None if head.to_ascii_lowercase().contains("acp-session-id") => 3,
            None => 4,
        };
        let key = head.lines().find_map(|line| line.strip_prefix("sec-websocket-key: "));
        let accept = key.map(|key| derive_accept_key(key.as_bytes()));
        let is_websocket = accept.is_some();
        let parts = match &accept {
            Some(accept) => websocket(accept),
            None if answer < 3 => message_parts(&id),
            None => stream_parts(),
        };
        if plan.answer == answer || is_websocket {
            let sent = plan.send(&mut stream, &parts);
            done.store(true, Ordering::SeqCst);
            return sent;
        }
        for part in &parts {
            stream.write_all(part.as_bytes())?;
        }
        // A stream stays open; an answer ends with the connection, since its length is not told.
        if answer < 3 {
            return Ok(());
        }
    }
}

/// A message as the answer to a request.
fn message_parts(id: &str) -> Vec<&str> {
    vec![
        "HTTP/1.1 200 OK\r\n",
        "content-type: ",
        "application/json",
        "\r\n",
        "acp-connection-id: ",
        "c",
        "\r\n",
        "set-cookie: ",
        "a",
        "=b",
        "; path=/\r\n",
        "connection: close\r\n",
        "\r\n",
        "{\"jsonrpc\":\"2.0\",\"id\":",
        id,
        ",\"result\":{\"protocolVersion\":",
        "1",
        ",\"agentInfo\":{\"name\":\"",
        "x",
        "\",\"version\":\"1\"},\"sessionId\":\"",
        "s1",
        "\",\"stopReason\":\"",
        "end_turn",
        "\"}}",
    ]
}

/// A stream of events.
fn stream_parts<'a>() -> Vec<&'a str> {
    vec![
        "HTTP/1.1 200 OK\r\n",
        "content-type: text/event-stream\r\n",
        "\r\n",
        ": hello",
        "\n",
        "retry: ",
        "0",
        "\n",
        "id: ",
        "1",
        "\n",
        "event: x\n",
        "data: ",
        "{\"jsonrpc\":\"2.0\",\"method\":\"",
        "session/update",
        "\",\"params\":{\"sessionId\":\"",
        "s1",
        "\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"",
        "x",
        "\"}}}",
        "}",
        "\n",
        "\n",
        "id\n\n",
    ]
}

/// The head of a WebSocket and frames: a ping, a text, one in pieces, one that says how long it will be, a close.
fn websocket(accept: &str) -> Vec<&str> {
    vec![
        "HTTP/1.1 101 Switching Protocols\r\n",
        "upgrade: websocket\r\nconnection: Upgrade\r\n",
        "sec-websocket-accept: ",
        accept,
        "\r\n",
        "\r\n",
        // FIN and opcodes from 0x80 on are no text: these are pieces and reserved frames, as chance has it.
        "\x01\x02{}",
        "\0\x02  ",
        "\0\x7f\0\0\0\0\x01\0\0\0",
        "\x02\x7e\x40\0",
        "\x09\x04ping",
    ]
}

/// Connects, begins a session and a turn, and stops. Gives how many bytes of text were passed on, which the transcript has then.
async fn play(plan: Plan) -> u64 {
    let server = serve(plan);
    let (out, mut inbox) = mpsc::channel(16);
    let short = Duration::from_millis(100);
    let grace = GracePeriods { stdin: short, term: short, drain: short, unread: short };
    let children = ChildProcesses::new(Launcher { program: binary() }, None);
    let transport = Arc::new(AnyTransport::new(children));
    let mut agents = Agents::new(out, transport, grace, Secrets::default());
    let agent = AgentId(1);
    let mut run = |action| agents.run(AgentEffect { agent, action });
    let remote = RemoteAgent {
        url: server.url.clone(),
        headers: Vec::new(),
        ca_file: None,
        secrets: Vec::new(),
    };
    let config =
        AgentConfig { remote: Some(remote), ..AgentConfig::new("x".into(), String::new()) };
    run(AgentCommand::Start { config: Box::new(config), cwd: Path::new("/").to_owned() });
    let calls = [
        Call::Initialize,
        Call::NewSession(SessionParams::default()),
        Call::Prompt { session: "s1".into(), blocks: Vec::new() },
    ];
    let mut calls = (1..).map(CallId).zip(calls);
    let mut next = |run: &mut dyn FnMut(AgentCommand)| {
        if let Some((call, request)) = calls.next() {
            run(AgentCommand::Call { call, request, timeout: Some(PATIENCE) });
        }
    };
    next(&mut run);
    let (begun, mut is_stopped, mut shown) = (Instant::now(), false, 0);
    loop {
        assert!(begun.elapsed() < LIMIT, "{plan:?} has no end");
        if !is_stopped && (server.done.load(Ordering::SeqCst) || begun.elapsed() > PATIENCE * 3) {
            is_stopped = true;
            run(AgentCommand::Stop);
        }
        let Ok(batch) = timeout(PATIENCE / 10, inbox.recv()).await else { continue };
        let Some((_, events)) = batch else { return shown };
        for event in events {
            match event {
                AgentEvent::Exited(_) => return shown,
                AgentEvent::Update { update: Update::Chunk { content, .. }, .. } => {
                    shown += content.text().map_or(0, str::len) as u64;
                }
                AgentEvent::Answer { .. } => next(&mut run),
                _ => {}
            }
        }
    }
}

/// Holds (Transports): Whatever part of what a server sends is cut off, endless or far too large, it takes no more memory than the help says, and the connection ends in good time.
#[test]
fn any_part_may_be_harmed() {
    let _alone = crate::alone();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.unwrap();
    let inputs = Inputs::of_many("streams", COUNT);
    let pid = std::process::id();
    // What is loaded when it is first used is not counted.
    runtime.block_on(play(Plan::of(&mut inputs.dice(u64::MAX))));
    let mut most = 0;
    inputs.in_batches(BATCH, |numbers| {
        // What the allocator has kept of those before is not counted.
        let before = Held::forget_peak(pid).and_then(|()| Held::by(pid));
        let mut shown = 0;
        for number in numbers {
            let plan = Plan::of(&mut inputs.dice(number));
            let played = runtime.block_on(async { timeout(LIMIT * 2, play(plan)).await });
            shown = shown.max(played.expect("an end"));
        }
        // There is no /proc everywhere.
        if let Some((before, after)) = before.zip(Held::by(pid)) {
            let peak = after.peak.saturating_sub(before.memory);
            let limit = MOST + PER_BYTE * shown;
            assert!(peak <= limit, "{} MiB, allowed are {}", peak >> 20, limit >> 20);
            most = most.max(peak);
        }
    });
    let _ = writeln!(io::stderr(), "streams: {} MiB at most", most >> 20);
}
