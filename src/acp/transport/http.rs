//! The transport to agents behind HTTP: our messages are the bodies of POST requests, the agent's arrive as server-sent events.
//! There are two forms of it: the protocol's draft ("streamable HTTP"), in which the answer to `initialize` names a connection
//! and each session has a stream of its own, and one stream for everything, as OpenOxide has it.

use super::Opened;
use super::event_stream;
use super::event_stream::{EVENT_STREAM, Inbox, Place};
use super::link;
use super::link::{FromUs, ToUs};
use super::server::{Failure, Server};
use crate::core::messages::agent::{ExitCause, INTERNAL_ERROR, Obstacle};
use crate::jsonrpc::incoming;
use crate::jsonrpc::incoming::Message;
use crate::jsonrpc::outgoing;
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The headers of the protocol's draft.
const CONNECTION_ID: HeaderName = HeaderName::from_static("acp-connection-id");
const SESSION_ID: HeaderName = HeaderName::from_static("acp-session-id");

/// How long the next message waits for the answer to a request that carries the one before it. Servers that answer a prompt
/// only once its turn has ended must still get its cancellation.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many of our messages may wait for the end of what they are answered with, before no more are sent.
const MAX_POSTS: usize = 64;

/// How long a message waits for the stream of its session.
const STREAM_PATIENCE: Duration = Duration::from_secs(5);

/// How long what was sent last is waited for when we end a connection.
const LAST_WAIT: Duration = Duration::from_millis(200);

/// How long what other streams have received is still passed on when one has broken.
const BROKEN_TIMEOUT: Duration = Duration::from_secs(1);

/// Connects to `server`. With `has_one_stream` the form is known before the server has answered. Must be called inside a tokio
/// runtime.
pub(super) fn open(server: Server, has_one_stream: bool) -> Opened {
    link::open(|from_us, to_us| carry(server, has_one_stream, from_us, to_us))
}

/// What a message of ours is about.
#[derive(Default)]
struct Head {
    /// The id of a request, as written.
    id: Option<String>,
    method: String,
    session: Option<String>,
}

#[derive(Default, Deserialize)]
struct Params {
    #[serde(rename = "sessionId")]
    session: Option<String>,
}

impl Head {
    fn of(line: &[u8]) -> Self {
        let text = String::from_utf8_lossy(line);
        let session = |params: Option<&RawValue>| {
            let params = params.and_then(|it| serde_json::from_str::<Params>(it.get()).ok());
            params.unwrap_or_default().session
        };
        match incoming::parse(&text) {
            Ok(Message::Request { id, method, params }) => Self {
                id: Some(id.get().to_owned()),
                session: session(params),
                method: method.into_owned(),
            },
            Ok(Message::Notification { method, params }) => {
                Self { id: None, session: session(params), method: method.into_owned() }
            }
            _ => Self::default(),
        }
    }

    fn opens_session(&self) -> bool {
        matches!(self.method.as_str(), "session/new" | "session/fork")
    }

    fn ends_session(&self) -> bool {
        matches!(self.method.as_str(), "session/close" | "session/delete")
    }
}

/// Which of the two forms the server has.
enum Form {
    /// It has not answered.
    Unknown,
    /// That of the draft, with the name of the connection.
    Connection(HeaderValue),
    /// One stream for everything.
    OneStream,
}

struct Carrier {
    inbox: Arc<Inbox>,
    form: Form,
    /// Requests whose answers are not read to their end.
    posts: JoinSet<Result<(), ExitCause>>,
    /// The open streams, each with the session it is of.
    streams: JoinSet<(Option<String>, ExitCause)>,
    /// Sessions with a stream.
    sessions: HashSet<String>,
    /// Sessions that we have closed, whose streams may end.
    closed: HashSet<String>,
    new_sessions: mpsc::UnboundedReceiver<String>,
}

async fn carry(
    server: Server,
    has_one_stream: bool,
    mut from_us: FromUs,
    to_us: ToUs,
) -> ExitCause {
    let (inbox, new_sessions) = Inbox::new(server, to_us);
    let mut carrier = Carrier {
        inbox,
        form: Form::Unknown,
        posts: JoinSet::new(),
        streams: JoinSet::new(),
        sessions: HashSet::new(),
        closed: HashSet::new(),
        new_sessions,
    };
    if has_one_stream {
        carrier.form = Form::OneStream;
        carrier.listen(None);
    }
    let cause = carrier.serve(&mut from_us).await;
    if matches!(cause, ExitCause::Lost(_)) {
        // The others have received as much, and are about to notice the same.
        let rest = async { while carrier.streams.join_next().await.is_some() {} };
        let _ = timeout(BROKEN_TIMEOUT, rest).await;
    }
    carrier.streams.shutdown().await;
    cause
}

impl Carrier {
    /// Carries messages both ways until there are no more or the connection has broken.
    async fn serve(&mut self, from_us: &mut FromUs) -> ExitCause {
        loop {
            let line = tokio::select! {
                Some(Ok((session, cause))) = self.streams.join_next() => {
                    if session.is_some_and(|session| self.closed.contains(&session)) {
                        continue;
                    }
                    return cause;
                }
                Some(posted) = self.posts.join_next() => match posted {
                    Ok(Err(cause)) => return cause,
                    _ => continue,
                },
                Some(session) = self.new_sessions.recv() => {
                    self.listen(Some(session));
                    continue;
                }
                line = from_us.next(), if self.posts.len() < MAX_POSTS => line,
            };
            let Some(line) = line else { return self.close().await };
            let sent = match &self.form {
                Form::Unknown => self.begin(line).await,
                Form::Connection(_) | Form::OneStream => self.send(line).await,
            };
            if let Err(cause) = sent {
                return cause;
            }
        }
    }

    /// Sends the first message. What is answered tells the form.
    async fn begin(&mut self, line: Vec<u8>) -> Result<(), ExitCause> {
        let id = Head::of(&line).id;
        let request = self.post(line, HeaderMap::new());
        let response = self.inbox.server.send(request).await.map_err(Failure::unreachable)?;
        let media = event_stream::media_type(&response).unwrap_or_default().to_owned();
        if media.starts_with("text/html") {
            let detail = "a web page is there, and no agent".to_owned();
            return Err(Failure::new(Obstacle::NoAgent, detail).unreachable());
        }
        let connection = response.headers().get(CONNECTION_ID).cloned();
        if event_stream::is_event_stream(&response) {
            let inbox = self.inbox.clone();
            self.posts.spawn(async move { inbox.body(response, id.as_deref()).await.map(|_| ()) });
        } else if self.inbox.body(response, None).await? {
            // Refused; another offer may follow, and tell.
            return Ok(());
        }
        let form = if connection.is_some() { "of the draft" } else { "with one stream" };
        tracing::info!(target: "acp", form, "connected by HTTP");
        self.form = connection.map_or(Form::OneStream, Form::Connection);
        self.listen(None);
        Ok(())
    }

    /// Sends a message. Returns once the server has it, or after a while.
    async fn send(&mut self, line: Vec<u8>) -> Result<(), ExitCause> {
        let head = Head::of(&line);
        let mut headers = HeaderMap::new();
        if let Form::Connection(connection) = &self.form {
            headers.insert(CONNECTION_ID, connection.clone());
            if head.opens_session()
                && let Some(id) = &head.id
            {
                self.inbox.expect_session(id.clone());
            }
            if let Some(session) = &head.session {
                if let Ok(name) = HeaderValue::from_str(session) {
                    headers.insert(SESSION_ID, name);
                }
                if head.ends_session() {
                    self.closed.insert(session.clone());
                } else if let Some(established) = self.listen(Some(session.clone())) {
                    let _ = timeout(STREAM_PATIENCE, established).await;
                }
            }
        }
        let has_connection = matches!(self.form, Form::Connection(_));
        let request = self.post(line, headers);
        let (sent, is_sent) = oneshot::channel();
        let inbox = self.inbox.clone();
        self.posts.spawn(async move {
            let response = inbox.server.send(request).await;
            let _ = sent.send(());
            match response {
                Ok(response) => inbox.body(response, head.id.as_deref()).await.map(|_| ()),
                Err(failure) => refused(&inbox, failure, head.id, has_connection).await,
            }
        });
        let _ = timeout(PATIENCE, is_sent).await;
        Ok(())
    }

    fn post(&self, line: Vec<u8>, headers: HeaderMap) -> reqwest::RequestBuilder {
        let accepted = format!("application/json, {EVENT_STREAM}");
        let request = self.inbox.server.request(Method::POST).headers(headers);
        request.header(CONTENT_TYPE, "application/json").header(ACCEPT, accepted).body(line)
    }

    /// Opens the stream of the connection or of a session, unless it is open already. The result completes once it is.
    fn listen(&mut self, session: Option<String>) -> Option<oneshot::Receiver<()>> {
        let mut headers = HeaderMap::new();
        let mut has_connection = false;
        if let Form::Connection(connection) = &self.form {
            headers.insert(CONNECTION_ID, connection.clone());
            has_connection = true;
        }
        if let Some(session) = &session {
            let name = HeaderValue::from_str(session).ok()?;
            headers.insert(SESSION_ID, name);
            if !self.sessions.insert(session.clone()) {
                return None;
            }
        }
        let (established, is_established) = oneshot::channel();
        let (inbox, place) =
            (self.inbox.clone(), Place { headers, session: session.clone(), has_connection });
        self.streams
            .spawn(async move { (session, event_stream::follow(inbox, place, established).await) });
        Some(is_established)
    }

    /// Ends the connection in good order.
    async fn close(&mut self) -> ExitCause {
        let rest = async { while self.posts.join_next().await.is_some() {} };
        let _ = timeout(LAST_WAIT, rest).await;
        if let Form::Connection(connection) = &self.form {
            let request = self.inbox.server.request(Method::DELETE);
            let deleted = self.inbox.server.send(request.header(CONNECTION_ID, connection)).await;
            if let Err(failure) = deleted {
                tracing::info!(target: "acp", detail = failure.detail, "not ended in good order");
            }
        }
        ExitCause::HungUp(String::new())
    }
}

/// A message was not taken. If it is a request that others need not suffer from, it is answered with an error.
async fn refused(
    inbox: &Inbox,
    failure: Failure,
    id: Option<String>,
    has_connection: bool,
) -> Result<(), ExitCause> {
    if has_connection && failure.obstacle == Obstacle::NotFound {
        return Err(ExitCause::Lost(failure.detail));
    }
    let is_about_message = failure.status.is_some()
        && matches!(failure.obstacle, Obstacle::NoAgent | Obstacle::NoAnswer);
    let id = id.and_then(|id| RawValue::from_string(id).ok());
    let (true, Some(id)) = (is_about_message, id) else { return Err(failure.lost()) };
    let error = serde_json::json!({ "code": INTERNAL_ERROR, "message": failure.detail });
    let Ok(response) = outgoing::error(id, &error) else { return Err(failure.lost()) };
    inbox.message(response.as_bytes()).await.map_err(|_| ExitCause::HungUp(String::new()))
}
