//! Streams of server-sent events that an agent's messages arrive in: each is followed as long as it can be, and taken up where
//! it broke off if the server numbers its events. Nothing is passed on twice.

use super::link::ToUs;
use super::server::{Failure, Server};
use super::sse::{Parser, ServerEvent};
use crate::core::messages::agent::{ExitCause, Obstacle};
use crate::jsonrpc::incoming;
use crate::jsonrpc::incoming::{LONGEST_LINE, Message};
use crate::jsonrpc::room::Room;
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, Response, StatusCode};
use serde::Deserialize;
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};
use tokio::time::sleep;

/// The media type of such streams.
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// From what to what the wait before a stream is opened again grows, unless the server says how long to wait at first.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How often in a row a stream is opened again before the connection counts as lost.
const MAX_ATTEMPTS: u32 = 5;

/// How often a session's stream is asked for that the server does not know yet, and the first wait.
const MAX_UNKNOWN: u32 = 8;
const UNKNOWN_WAIT: Duration = Duration::from_millis(25);

/// The shortest such wait, whatever the server says: otherwise one that ends each stream at once gets hundreds of requests a second.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);

/// Bytes that all streams and answers of a connection may hold before they are passed on: the longest message and some short ones.
const ROOM: usize = LONGEST_LINE + (1 << 20);

/// The longest name of a session that a request can carry, in bytes.
const LONGEST_NAME: usize = 4 << 10;

/// How many ids are kept to recognize events that are repeated.
const MAX_KNOWN_IDS: usize = 4096;

/// Where all messages of the agent arrive, whatever brings them.
pub(super) struct Inbox {
    pub(super) server: Server,
    to_us: AsyncMutex<ToUs>,
    /// Shared by all streams and answers.
    room: Room,
    /// The ids of our requests whose result names a new session.
    opening: Mutex<HashSet<String>>,
    new_sessions: mpsc::UnboundedSender<String>,
    /// Whether the server has no stream besides the answers to our requests.
    lacks_stream: AtomicBool,
}

/// Nobody reads the messages any more.
#[derive(Debug)]
pub(super) struct Unread;

/// Which stream it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// What the request for it names.
    pub(super) headers: HeaderMap,
    /// The session whose messages it brings; `None` for one of the whole connection.
    pub(super) session: Option<String>,
    /// Whether the server has made a connection out of the handshake, and forgets it when it starts anew.
    pub(super) has_connection: bool,
}

/// The head of an answer that names a new session.
#[derive(Deserialize)]
struct Opened {
    #[serde(rename = "sessionId")]
    session: String,
}

impl Inbox {
    /// Creates the inbox, and where it tells of new sessions.
    pub(super) fn new(server: Server, to_us: ToUs) -> (Arc<Self>, mpsc::UnboundedReceiver<String>) {
        let (new_sessions, told) = mpsc::unbounded_channel();
        let to_us = AsyncMutex::new(to_us);
        let (opening, lacks_stream) = (Mutex::default(), AtomicBool::new(false));
        let room = Room::new(ROOM);
        (Arc::new(Self { server, to_us, room, opening, new_sessions, lacks_stream }), told)
    }

    /// The result of our request with this id will name a new session.
    pub(super) fn expect_session(&self, id: String) {
        self.opening.lock().insert(id);
    }

    /// Passes on a message of the agent; waits while we are slow.
    pub(super) async fn message(&self, data: &[u8]) -> Result<(), Unread> {
        let data = data.trim_ascii();
        if data.is_empty() {
            return Ok(());
        }
        if !self.opening.lock().is_empty()
            && let Some(session) = self.opened(data)
        {
            // Fails only if the connection has ended.
            let _ = self.new_sessions.send(session);
        }
        self.to_us.lock().await.message(data).await.map_err(|_| Unread)
    }

    /// Returns the session that an answer names, if it was expected to.
    fn opened(&self, data: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(data).ok()?;
        let Ok(Message::Response { id, outcome, .. }) = incoming::parse(text) else { return None };
        if !self.opening.lock().remove(id.get()) {
            return None;
        }
        let opened = serde_json::from_str::<Opened>(outcome.ok()?.get()).ok()?;
        Some(opened.session).filter(|session| session.len() <= LONGEST_NAME)
    }

    /// Passes on what the answer to a request holds: messages as events, or one as JSON. `id` is that of our request. Returns
    /// whether the only message was an error response.
    pub(super) async fn body(
        &self,
        mut response: Response,
        id: Option<&str>,
    ) -> Result<bool, ExitCause> {
        let unread = |_| ExitCause::HungUp(String::new());
        let broken = |error: reqwest::Error| Failure::of(&error).lost();
        if is_event_stream(&response) {
            let (mut parser, mut events) = (Parser::new(&self.room), Vec::new());
            let mut is_answered = id.is_none();
            while let Some(bytes) = response.chunk().await.map_err(broken)? {
                parser.feed(&bytes, &mut events);
                for event in events.drain(..) {
                    is_answered = is_answered || answers(&event.data, id);
                    self.message(&event.data).await.map_err(unread)?;
                }
                parser.passed_on();
            }
            if !is_answered && self.lacks_stream.load(Ordering::Relaxed) {
                return Err(ExitCause::Lost("its answer broke off".to_owned()));
            }
            return Ok(false);
        }
        let (mut body, mut share) = (Vec::new(), self.room.share());
        while let Some(bytes) = response.chunk().await.map_err(broken)? {
            let length = body.len() + bytes.len();
            if length > LONGEST_LINE || !share.hold(length) {
                return Err(ExitCause::Lost("a message is too long".to_owned()));
            }
            body.extend_from_slice(&bytes);
        }
        // Some servers put a word there.
        if !body.trim_ascii().starts_with(b"{") {
            return Ok(false);
        }
        let is_error = std::str::from_utf8(&body).is_ok_and(|text| {
            matches!(incoming::parse(text), Ok(Message::Response { outcome: Err(_), .. }))
        });
        self.message(&body).await.map_err(unread)?;
        Ok(is_error)
    }
}

/// Whether a message is the response to our request `id`.
fn answers(data: &[u8], id: Option<&str>) -> bool {
    let message = std::str::from_utf8(data).ok().map(|text| incoming::parse(text.trim()));
    matches!(message, Some(Ok(Message::Response { id: found, .. })) if Some(found.get()) == id)
}

/// Whether the answer is a stream of events.
pub(super) fn is_event_stream(response: &Response) -> bool {
    media_type(response).is_some_and(|media| media.starts_with(EVENT_STREAM))
}

/// Returns the media type of an answer.
pub(super) fn media_type(response: &Response) -> Option<&str> {
    response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok())
}

/// How far a stream was followed.
#[derive(Debug, Default)]
struct Position {
    last_id: Option<String>,
    /// Hashes of ids, of which a server may have made long ones.
    known: HashSet<u64>,
    oldest: VecDeque<u64>,
    hasher: RandomState,
    /// Whether the server may be repeating what came before the stream broke off.
    may_repeat: bool,
}

impl Position {
    /// Notes an event. Returns whether it came before.
    fn is_repeated(&mut self, event: &ServerEvent) -> bool {
        let Some(id) = &event.id else { return false };
        let id = self.hasher.hash_one(id);
        if self.known.contains(&id) {
            return self.may_repeat;
        }
        self.may_repeat = false;
        if self.oldest.len() == MAX_KNOWN_IDS
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.known.insert(id);
        self.oldest.push_back(id);
        false
    }
}

/// Opens a stream and passes its messages on until it cannot be followed any more; returns why. `established` is completed once
/// it is open, or will be later.
pub(super) async fn follow(
    inbox: Arc<Inbox>,
    place: Place,
    established: oneshot::Sender<()>,
) -> ExitCause {
    let mut established = Some(established);
    let mut tell = move || established.take().map(|established| established.send(()));
    let (mut position, mut parser) = (Position::default(), Parser::new(&inbox.room));
    let (mut was_open, mut attempts, mut unknown) = (false, 0, 0);
    loop {
        let mut request = inbox.server.request(Method::GET);
        request = request.header(ACCEPT, EVENT_STREAM).headers(place.headers.clone());
        if let Some(id) = &position.last_id {
            request = request.header("Last-Event-ID", id);
        }
        let detail = match inbox.server.send(request).await {
            Ok(response) => {
                tell();
                was_open = true;
                let before = position.last_id.clone();
                let broken = match read(&inbox, response, &mut parser, &mut position).await {
                    Ok(broken) => broken,
                    Err(Unread) => return ExitCause::HungUp(String::new()),
                };
                if position.last_id != before {
                    attempts = 0;
                }
                broken
            }
            Err(failure) if was_open => {
                if !failure.obstacle.may_pass() {
                    let is_forgotten =
                        place.has_connection && failure.obstacle == Obstacle::NotFound;
                    return if is_forgotten {
                        ExitCause::Lost(failure.detail)
                    } else {
                        failure.unreachable()
                    };
                }
                failure.detail
            }
            Err(failure) => {
                tell();
                let is_unknown = place.session.is_some() && failure.obstacle == Obstacle::NotFound;
                if is_unknown && unknown < MAX_UNKNOWN {
                    sleep(UNKNOWN_WAIT * 2_u32.pow(unknown)).await;
                    unknown += 1;
                    continue;
                }
                if !place.has_connection && is_without_stream(&failure) {
                    inbox.lacks_stream.store(true, Ordering::Relaxed);
                    return std::future::pending().await;
                }
                return if place.has_connection { failure.lost() } else { failure.unreachable() };
            }
        };
        if position.last_id.is_none() || attempts == MAX_ATTEMPTS {
            return ExitCause::Lost(detail);
        }
        let first = parser.retry().unwrap_or(FIRST_WAIT).max(SHORTEST_WAIT);
        sleep(first.saturating_mul(2_u32.pow(attempts)).min(LONGEST_WAIT)).await;
        attempts += 1;
        position.may_repeat = true;
        // What was cut off is sent again as a whole.
        parser = parser.restarted(&inbox.room);
    }
}

/// Whether the server answers each request by itself and has no stream besides.
fn is_without_stream(failure: &Failure) -> bool {
    let lacking = [StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_IMPLEMENTED];
    failure.status.is_some_and(|status| lacking.contains(&status))
}

/// Passes on what a stream brings until it ends; returns how it ended.
async fn read(
    inbox: &Inbox,
    mut response: Response,
    parser: &mut Parser,
    position: &mut Position,
) -> Result<String, Unread> {
    let mut events = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(bytes)) => parser.feed(&bytes, &mut events),
            Ok(None) => return Ok("its stream of events ended".to_owned()),
            Err(error) => return Ok(Failure::of(&error).detail),
        }
        for event in events.drain(..) {
            if !position.is_repeated(&event) {
                inbox.message(&event.data).await?;
            }
        }
        parser.passed_on();
        if position.last_id.as_deref() != parser.last_id() {
            position.last_id = parser.last_id().map(str::to_owned);
        }
    }
}
