//! What all connections of the server share: who may call, who is connected, and which calls are open.

use super::protocol;
use super::socket::Socket;
use crate::core::messages::event::Event;
use crate::core::messages::tools::{GrantId, ToolAnswer, ToolCallToken, ToolsEvent, UserTool};
use crate::jsonrpc::room::{Room, Share};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc};

/// How many calls of one connection may be open at once.
pub(super) const MAX_OPEN: usize = 64;

/// How many connections there may be at once.
pub(super) const MAX_CONNECTIONS: usize = 256;

/// How much all connections may hold of lines that are not complete, in bytes, and of lines that nobody has read yet.
const MAX_UNFINISHED: usize = 32 << 20;
const MAX_UNREAD: usize = 32 << 20;

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) events: mpsc::UnboundedSender<Event>,
    pub(super) state: Mutex<ServerState>,
    /// What the lines take that are not complete.
    pub(super) unfinished: Room,
    /// What the lines take that nobody has read yet.
    unread: Room,
    pub(super) connections: Arc<Semaphore>,
}

/// The state of the server.
#[derive(Debug, Default)]
pub(super) struct ServerState {
    /// `None` until something was granted.
    pub(super) socket: Option<Socket>,
    /// By their tokens.
    pub(super) grants: HashMap<String, GrantId>,
    /// By numbers of ours.
    pub(super) callers: HashMap<u64, Caller>,
    pub(super) calls: HashMap<ToolCallToken, Waiting>,
    /// What is offered besides our own tools.
    pub(super) user_tools: Vec<UserTool>,
    last: u64,
}

/// The other end of a connection. Dropping it ends the connection.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) grant: GrantId,
    /// How many of its calls are open.
    open: usize,
    lines: Option<mpsc::Sender<String>>,
    /// What these take.
    unread: Share,
}

/// A call that waits for its answer.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Whose call it is.
    caller: u64,
    /// The id to answer with.
    id: Box<RawValue>,
}

impl ServerState {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Lets a caller in that knows a token, and whose lines are sent to `lines`. Returns its number; `None` if nothing was granted
    /// by this token.
    fn admit(&mut self, token: &str, lines: mpsc::Sender<String>, unread: Share) -> Option<u64> {
        let grant = *self.grants.get(token)?;
        let number = self.next();
        self.callers.insert(number, Caller { grant, open: 0, lines: Some(lines), unread });
        Some(number)
    }

    /// Ends a grant, the connections that use it and their calls.
    pub(super) fn revoke(&mut self, grant: GrantId) {
        self.grants.retain(|_, other| *other != grant);
        self.callers.retain(|_, caller| caller.grant != grant);
        let Self { callers, calls, .. } = self;
        calls.retain(|_, waiting| callers.contains_key(&waiting.caller));
    }

    /// Closes the socket, and forgets everybody.
    pub(super) fn close(&mut self) {
        *self = Self { last: self.last, ..Self::default() };
    }
}

impl Caller {
    /// Sends a line. Ends the connection if too many wait to be read.
    fn send(&mut self, line: String) {
        if !self.unread.hold(self.unread.held() + line.len()) {
            self.lines = None;
        }
        if self.lines.as_ref().is_some_and(|lines| lines.try_send(line).is_err()) {
            self.lines = None;
        }
    }
}

impl Shared {
    /// Creates what connections share. What happens is sent to `events`.
    pub(super) fn new(events: mpsc::UnboundedSender<Event>) -> Self {
        Self {
            events,
            state: Mutex::default(),
            unfinished: Room::new(MAX_UNFINISHED),
            unread: Room::new(MAX_UNREAD),
            connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        }
    }

    /// Lets a caller of this user in, as [`ServerState::admit`] does.
    pub(super) fn admit(&self, user: u32, token: &str, lines: mpsc::Sender<String>) -> Option<u64> {
        let mut state = self.state.lock();
        let is_user = state.socket.as_ref().is_some_and(|socket| socket.user == user);
        if is_user { state.admit(token, lines, self.unread.share()) } else { None }
    }

    /// A caller has read a line of so many bytes.
    pub(super) fn was_read(&self, caller: u64, bytes: usize) {
        if let Some(caller) = self.state.lock().callers.get_mut(&caller) {
            let unread = caller.unread.held().saturating_sub(bytes);
            caller.unread.hold(unread);
        }
    }

    /// Reports something. Once the event loop has ended, it is dropped.
    pub(super) fn report(&self, event: ToolsEvent) {
        let _ = self.events.send(Event::Tools(event));
    }

    /// Sends a line to a caller.
    pub(super) fn send(&self, caller: u64, line: String) {
        if let Some(caller) = self.state.lock().callers.get_mut(&caller) {
            caller.send(line);
        }
    }

    /// Sends a line to all callers.
    pub(super) fn send_to_all(&self, line: &str) {
        for caller in self.state.lock().callers.values_mut() {
            caller.send(line.to_owned());
        }
    }

    /// Notes that a call is open. `None` if too many are.
    pub(super) fn enter(&self, caller: u64, id: &RawValue) -> Option<(ToolCallToken, GrantId)> {
        let mut state = self.state.lock();
        let token = ToolCallToken(state.next());
        let known = state.callers.get_mut(&caller).filter(|caller| caller.open < MAX_OPEN)?;
        known.open += 1;
        let grant = known.grant;
        state.calls.insert(token, Waiting { caller, id: id.to_owned() });
        Some((token, grant))
    }

    /// Answers a call. Nothing happens if nobody waits for the answer any more.
    pub(super) fn answer(&self, token: ToolCallToken, answer: &ToolAnswer) {
        let mut state = self.state.lock();
        let Some(waiting) = state.calls.remove(&token) else { return };
        if let Some(caller) = state.callers.get_mut(&waiting.caller) {
            caller.open -= 1;
            caller.send(protocol::called(&waiting.id, answer));
        }
    }

    /// A caller does not want the answer to a call any more, and gets none (MCP cancellation).
    pub(super) fn cancel(&self, caller: u64, id: &RawValue) {
        let mut state = self.state.lock();
        let is_meant = |waiting: &Waiting| waiting.caller == caller && waiting.id.get() == id.get();
        let found = state.calls.iter().find(|(_, waiting)| is_meant(waiting));
        let Some(token) = found.map(|(token, _)| *token) else { return };
        state.calls.remove(&token);
        if let Some(caller) = state.callers.get_mut(&caller) {
            caller.open -= 1;
        }
        drop(state);
        self.report(ToolsEvent::Withdrawn(token));
    }

    /// A connection is over.
    pub(super) fn leave(&self, caller: u64) {
        let mut state = self.state.lock();
        state.callers.remove(&caller);
        let gone = state.calls.extract_if(|_, waiting| waiting.caller == caller);
        let gone: Vec<_> = gone.map(|(token, _)| token).collect();
        drop(state);
        for token in gone {
            self.report(ToolsEvent::Withdrawn(token));
        }
    }
}
