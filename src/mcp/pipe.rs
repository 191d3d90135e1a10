//! `rat-nvim mcp`: what an agent starts as an MCP server. It carries lines between the agent and the socket of the bridge. Where
//! there is no bridge, or it does not know the token, it answers by itself: the tools are listed, and each call gets an error,
//! so that the agent goes on without them.

use super::connection::WELCOME;
use super::protocol::{self, Reaction};
use super::socket::{SOCKET_VARIABLE, TOKEN_VARIABLE};
use crate::core::messages::tools::ToolAnswer;
use crate::jsonrpc::incoming::{Line, Lines, Message, parse};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// What somebody is told who starts it in a terminal.
const BY_HAND: &str = "\
rat-nvim mcp: this is what coding agents start to use the tools of Neovim (`:help rat-editor-tools`)
rat-nvim mcp: rat.nvim tells them how when it opens a session; there is nothing to do by hand
";

/// How long the bridge may take to say whether it knows the token.
const WELCOME_LIMIT: Duration = Duration::from_secs(5);

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// What both directions share.
#[derive(Debug)]
struct Link {
    /// `None` once there is no bridge.
    stream: Option<UnixStream>,
    /// Why there is none, for the agent's model.
    why: String,
    /// The agent's requests that the bridge has not answered, with their ids.
    open: Vec<(Box<RawValue>, String)>,
}

/// Runs until stdin is closed.
pub fn run() -> ExitCode {
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        // There is nowhere else to say that stderr is closed.
        let _ = io::stderr().write_all(BY_HAND.as_bytes());
        return ExitCode::from(2);
    }
    let (link, reader) = match connect() {
        Ok((stream, reader)) => {
            (Link { stream: Some(stream), why: String::new(), open: Vec::new() }, Some(reader))
        }
        Err(why) => (Link { stream: None, why, open: Vec::new() }, None),
    };
    let link = Arc::new(Mutex::new(link));
    if let Some(reader) = reader {
        let link = Arc::clone(&link);
        std::thread::spawn(move || from_bridge(reader, &link));
    }
    from_agent(&link);
    if let Some(stream) = &link.lock().stream {
        let _ = stream.shutdown(Shutdown::Both);
    }
    ExitCode::SUCCESS
}

/// Connects to the bridge. Otherwise says why that is not possible.
fn connect() -> Result<(UnixStream, BufReader<UnixStream>), String> {
    let variable = |name: &str| {
        std::env::var(name)
            .map_err(|_| format!("{name} is not set, so it is not known which Neovim is meant"))
    };
    let (path, token) = (variable(SOCKET_VARIABLE)?, variable(TOKEN_VARIABLE)?);
    let gone =
        |error: io::Error| format!("the Neovim that started this agent does not answer ({error})");
    let mut stream = UnixStream::connect(path).map_err(gone)?;
    stream.set_read_timeout(Some(WELCOME_LIMIT)).map_err(gone)?;
    stream.write_all(format!("{token}\n").as_bytes()).map_err(gone)?;
    let mut reader = BufReader::new(stream.try_clone().map_err(gone)?);
    let mut said = String::new();
    reader.read_line(&mut said).map_err(gone)?;
    match said.trim_end() {
        WELCOME => {
            stream.set_read_timeout(None).map_err(gone)?;
            Ok((stream, reader))
        }
        "" => Err("the Neovim that started this agent is gone".to_owned()),
        refusal => Err(refusal.to_owned()),
    }
}

/// Carries lines of the agent to the bridge.
fn from_agent(link: &Mutex<Link>) {
    let mut lines = Lines::new(protocol::LONGEST);
    let mut bytes = vec![0; CHUNK];
    let mut stdin = io::stdin().lock();
    while let Some(count) = read(&mut stdin, &mut bytes) {
        lines.feed(&bytes[..count], |line| match line {
            Line::Whole(whole) => link.lock().pass_on(whole),
            Line::TooLong { bytes: length } => say(&protocol::too_long(length)),
        });
    }
}

/// Carries lines of the bridge to the agent.
fn from_bridge(mut reader: impl Read, link: &Mutex<Link>) {
    let mut lines = Lines::default();
    let mut bytes = vec![0; CHUNK];
    while let Some(count) = read(&mut reader, &mut bytes) {
        lines.feed(&bytes[..count], |line| {
            if let Line::Whole(whole) = line {
                let text = String::from_utf8_lossy(whole);
                link.lock().answered(&text);
                say(&text);
            }
        });
    }
    link.lock().bridge_is_gone();
}

/// Reads some bytes. `None` at the end.
fn read(from: &mut impl Read, bytes: &mut [u8]) -> Option<usize> {
    loop {
        match from.read(bytes) {
            Ok(0) => return None,
            Ok(count) => return Some(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Writes a line to the agent.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    // If the agent does not read any more, its end of stdin follows.
    let _ = out
        .write_all(line.as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
}

impl Link {
    fn pass_on(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let Some(stream) = &mut self.stream else { return self.answer_alone(&text) };
        if let Ok(Message::Request { id, .. }) = parse(&text) {
            self.open.push((id.to_owned(), text.clone().into_owned()));
        }
        let whole = [line, b"\n"].concat();
        if stream.write_all(&whole).is_err() {
            self.bridge_is_gone();
        }
    }

    fn answered(&mut self, line: &str) {
        if let Ok(Message::Response { id, .. }) = parse(line) {
            self.open.retain(|(open, _)| open.get() != id.get());
        }
    }

    /// Answers what is open, and from now on everything.
    fn bridge_is_gone(&mut self) {
        if self.stream.take().is_some() {
            "this session of the agent has ended, or Neovim is gone".clone_into(&mut self.why);
        }
        for (_, line) in std::mem::take(&mut self.open) {
            self.answer_alone(&line);
        }
    }

    fn answer_alone(&self, line: &str) {
        match protocol::react(line, &[]) {
            Reaction::Reply(reply) => say(&reply),
            Reaction::Call(call) => {
                let why = format!("the editor's tools cannot be used: {}", self.why);
                say(&protocol::called(call.id, &ToolAnswer::error(why)));
            }
            Reaction::Cancel(_) | Reaction::Nothing => {}
        }
    }
}
