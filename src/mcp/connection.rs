//! One connection of a pipe: who it is, then its messages. The first line is the token, which is answered by [`WELCOME`], or by
//! the reason why nothing is served.

use super::arguments::decode;
use super::protocol::{self, CallRequest, Reaction};
use super::shared::{MAX_OPEN, Shared};
use crate::core::messages::tools::{ToolAnswer, ToolCalled, ToolsEvent};
use crate::jsonrpc::incoming::{Line, Lines, repair_surrogates};
use crate::jsonrpc::printed::indented;
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// The answer to a token that is known.
pub(super) const WELCOME: &str = "welcome";

/// How long the token may be, in bytes, and how long a pipe may take to send it.
const LONGEST_TOKEN: usize = 256;
const TOKEN_LIMIT: Duration = Duration::from_secs(5);

/// The longest name of a tool call that a call says it is, in bytes.
const LONGEST_TOOL_CALL: usize = 4 << 10;

/// How many lines may wait to be read by a pipe.
const MAX_UNREAD: usize = 256;

/// Serves a connection until one of its ends closes it.
pub(super) async fn serve(stream: UnixStream, shared: Arc<Shared>) {
    if let Err(error) = talk(stream, &shared).await {
        tracing::debug!(target: "mcp", %error, "a connection has broken");
    }
}

async fn talk(mut stream: UnixStream, shared: &Arc<Shared>) -> io::Result<()> {
    let user = stream.peer_cred()?.uid();
    let (token, rest) = match timeout(TOKEN_LIMIT, read_token(&mut stream)).await {
        Ok(read) => read?,
        Err(_) => return Err(io::ErrorKind::TimedOut.into()),
    };
    let (lines, queue) = mpsc::channel(MAX_UNREAD);
    let Some(caller) = shared.admit(user, &token, lines) else {
        tracing::warn!(target: "mcp", user, "somebody without a valid token was refused");
        let refusal =
            "this session of the agent has ended, or was never given the editor's tools\n";
        return stream.write_all(refusal.as_bytes()).await;
    };
    stream.write_all(format!("{WELCOME}\n").as_bytes()).await?;
    let (from_pipe, to_pipe) = stream.into_split();
    let result = tokio::select! {
        read = read_all(from_pipe, rest, shared, caller) => read,
        written = write_all(to_pipe, queue, shared, caller) => written,
    };
    shared.leave(caller);
    result
}

/// Reads the first line. Returns it, and what has been read beyond it.
async fn read_token(stream: &mut UnixStream) -> io::Result<(String, Vec<u8>)> {
    let mut read = Vec::new();
    loop {
        if let Some(end) = memchr::memchr(b'\n', &read) {
            let token = String::from_utf8_lossy(&read[..end]).into_owned();
            return Ok((token, read.split_off(end + 1)));
        }
        if read.len() > LONGEST_TOKEN || stream.read_buf(&mut read).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

async fn read_all(
    mut pipe: OwnedReadHalf,
    mut read: Vec<u8>,
    shared: &Shared,
    caller: u64,
) -> io::Result<()> {
    let mut lines = Lines::new(protocol::LONGEST);
    let mut share = shared.unfinished.share();
    loop {
        lines.feed(&read, |line| shared.receive(caller, &line));
        if !share.hold(lines.held()) {
            lines.give_up();
            share.hold(0);
        }
        read.clear();
        if pipe.read_buf(&mut read).await? == 0 {
            return Ok(());
        }
    }
}

/// Ends once nothing more will be sent.
async fn write_all(
    mut pipe: OwnedWriteHalf,
    mut queue: mpsc::Receiver<String>,
    shared: &Shared,
    caller: u64,
) -> io::Result<()> {
    while let Some(line) = queue.recv().await {
        pipe.write_all(line.as_bytes()).await?;
        pipe.write_all(b"\n").await?;
        shared.was_read(caller, line.len());
    }
    pipe.shutdown().await
}

impl Shared {
    /// Reacts to a line of a caller.
    fn receive(&self, caller: u64, line: &Line<'_>) {
        let whole = match line {
            Line::Whole(whole) => whole,
            Line::TooLong { bytes: count } => {
                return self.send(caller, protocol::too_long(*count));
            }
        };
        let text = String::from_utf8_lossy(whole);
        let repaired = repair_surrogates(&text);
        let text = repaired.as_deref().unwrap_or(&text);
        let own = self.state.lock().user_tools.clone();
        match protocol::react(text, &own) {
            Reaction::Reply(line) => self.send(caller, line),
            Reaction::Call(call) => match decode(&call.name, &call.arguments, &own) {
                Ok(request) => {
                    // As agents' inputs are shown, so that the two can be compared.
                    let input = indented(&call.arguments);
                    let tool_call = tool_call_of(&call.meta).map(Into::into);
                    if let Some((token, grant)) = self.enter(caller, call.id) {
                        let asked = ToolCalled { token, grant, request, input, tool_call };
                        self.report(ToolsEvent::Called(Box::new(asked)));
                    } else {
                        let why = format!("{MAX_OPEN} calls are open already: wait for them first");
                        self.refuse(caller, &call, why);
                    }
                }
                Err(why) => self.refuse(caller, &call, why),
            },
            Reaction::Cancel(id) => self.cancel(caller, &id),
            Reaction::Nothing => {}
        }
    }

    fn refuse(&self, caller: u64, call: &CallRequest<'_>, why: String) {
        self.send(caller, protocol::called(call.id, &ToolAnswer::error(why)));
    }
}

/// Returns the tool call of the session that a call is: Claude and Codex say that in `_meta`.
fn tool_call_of(meta: &Value) -> Option<&str> {
    let mut named = ["claudecode/toolUseId", "callId"].iter().map(|key| meta.get(key)?.as_str());
    named.find_map(|name| name.filter(|name| name.len() <= LONGEST_TOOL_CALL))
}
