//! The JSON-RPC state of one connection: matches answers to calls and requests by their ids, and makes sure that each is
//! answered once. A pure state machine: messages and commands go in, events and lines come out. What to answer is decided
//! elsewhere.

use super::dialect::{
    CallKind, Dialect, ElicitationOwner, EncodeError, IncomingRequest, Method, Refusal,
    refused_method,
};
use super::handshake::{Handshake, Step};
use crate::core::messages::agent::{
    AgentEvent, CallError, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Reply,
};
use crate::core::messages::call::Call;
use crate::core::messages::effect::Answer;
use crate::core::messages::elicitation::Scope;
use crate::core::messages::ids::{CallId, RequestToken};
use crate::jsonrpc::incoming::Message;
use crate::jsonrpc::outgoing;
use crate::session::ids::SessionId;
use crate::session::update::Update;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Generates tokens that are unique across all agents of this process.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Arc<AtomicU64>);

impl Tokens {
    fn next(&self) -> RequestToken {
        RequestToken(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// The results of a step, appended by each method of [`Peer`].
#[derive(Debug, Default)]
pub struct Outcome {
    /// Events for `State`, in order.
    pub events: Vec<AgentEvent>,
    /// Lines for the agent, in order, without newlines.
    pub lines: Vec<String>,
}

/// Our end of a connection.
#[derive(Debug)]
pub struct Peer {
    tokens: Tokens,
    next_id: i64,
    calls: HashMap<i64, PendingCall>,
    requests: HashMap<RequestToken, PendingRequest>,
    /// How many bytes the parameters of `requests` have.
    request_bytes: usize,
    handshake: Handshake,
    /// The call of the handshake, until the agent is ready to read it.
    held: Option<CallId>,
    dialect: Box<dyn Dialect>,
    open: bool,
}

/// How many requests of an agent may wait for their answers, and how many bytes their parameters may have. An agent that works
/// never comes near; more are refused.
const MAX_REQUESTS: usize = 4096;
const MAX_REQUEST_BYTES: usize = 512 << 20;

/// How long an agent that prints something first is waited for.
const READY_LIMIT: Duration = Duration::from_secs(10);

/// A call of ours that has not been answered yet.
#[derive(Debug)]
struct PendingCall {
    call: CallId,
    method: &'static str,
    kind: CallKind,
    session: Option<SessionId>,
}

/// A request of the agent that has not been answered yet.
#[derive(Debug)]
struct PendingRequest {
    /// As it was sent, to be echoed exactly.
    id: Box<RawValue>,
    method: Method,
    /// How long its parameters are.
    bytes: usize,
}

impl Peer {
    /// Creates the state at the start of a connection.
    pub fn new(tokens: Tokens, handshake: Handshake) -> Self {
        Self {
            tokens,
            next_id: 1,
            calls: HashMap::new(),
            requests: HashMap::new(),
            request_bytes: 0,
            handshake,
            held: None,
            dialect: Handshake::initial_dialect(),
            open: true,
        }
    }

    /// Handles one message of the agent.
    pub fn receive(&mut self, message: Message<'_>, out: &mut Outcome) {
        match message {
            Message::Request { id, method, params } => {
                self.handle_request(id, &method, params, out);
            }
            Message::Notification { method, params } => {
                self.handle_notification(&method, params, out);
            }
            Message::Response { id, outcome, has_version } => {
                self.handle_answer(id, outcome, has_version, out);
            }
        }
    }

    /// The agent has printed a line, whether it is a message or not.
    pub fn saw_output(&mut self, out: &mut Outcome) {
        if let Some(call) = self.held.take() {
            self.offer(call, out);
        }
    }

    /// Whether a start or a login waits for the agent.
    pub fn is_starting(&self) -> bool {
        use CallKind::{Initialize, NewSession, Plain, Restore};
        let starts = |kind| matches!(kind, Initialize | NewSession | Restore | Plain);
        self.held.is_some() || self.calls.values().any(|pending| starts(pending.kind))
    }

    /// Returns after how long a silence of the agent [`Self::fell_silent`] is to be called, if at all.
    pub fn silence(&self) -> Option<Duration> {
        self.held.map(|_| READY_LIMIT).or_else(|| self.dialect.silence())
    }

    /// The agent has printed nothing for that long.
    pub fn fell_silent(&mut self, out: &mut Outcome) {
        self.saw_output(out);
        self.dialect.fell_silent(&mut out.events);
    }

    /// The agent has ended. Returns whether it is to be started again, because it may speak another protocol than it was
    /// offered. Then [`Self::offer_again`] follows.
    pub fn ended(&mut self) -> bool {
        self.initialize().is_some() && self.handshake.ended()
    }

    /// Sends the next offer of the handshake.
    pub fn offer_again(&mut self, out: &mut Outcome) {
        if let Some(id) = self.initialize()
            && let Some(PendingCall { call, .. }) = self.calls.remove(&id)
        {
            self.offer(call, out);
        }
    }

    /// Returns the id of the unanswered `initialize`.
    fn initialize(&self) -> Option<i64> {
        let calls = &mut self.calls.iter();
        calls.find(|(_, pending)| pending.kind == CallKind::Initialize).map(|(id, _)| *id)
    }

    fn offer(&mut self, call: CallId, out: &mut Outcome) {
        let id = self.take_id();
        let line = self.handshake.offer(id);
        self.send_call(id, call, &Call::Initialize, line, out);
    }

    fn take_id(&mut self) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    /// Calls the agent. If the connection is closed or the call cannot be encoded, it fails at once.
    pub fn call(&mut self, call: CallId, request: &Call, out: &mut Outcome) {
        if *request == Call::Initialize {
            if self.open && self.handshake.waits_for_output() {
                self.held = Some(call);
            } else {
                self.offer(call, out);
            }
            return;
        }
        let id = self.take_id();
        let line = self.dialect.call(id, request);
        self.send_call(id, call, request, line, out);
    }

    fn send_call(
        &mut self,
        id: i64,
        call: CallId,
        request: &Call,
        line: Result<String, EncodeError>,
        out: &mut Outcome,
    ) {
        let line = match line {
            Ok(line) if self.open => line,
            Ok(_) => return out.events.push(failed_call(call, CallError::Closed)),
            Err(error) => {
                let error = CallError::NotSent(error.to_string());
                return out.events.push(failed_call(call, error));
            }
        };
        let (method, session) = (request.method(), request.session().cloned());
        let pending = PendingCall { call, method, kind: CallKind::of(request), session };
        self.calls.insert(id, pending);
        out.lines.push(line);
    }

    /// Sends `session/cancel`.
    pub fn cancel(&mut self, session: &SessionId, out: &mut Outcome) {
        let id = self.take_id();
        self.send(self.dialect.cancel(id, session).map(Some), out);
    }

    /// Tells the agent that the answer to `call` is no longer wanted (`$/cancel_request`). The agent still answers.
    pub fn withdraw(&mut self, call: CallId, out: &mut Outcome) {
        if let Some(id) = self.id_of(call) {
            self.send(self.dialect.withdraw(id), out);
        }
    }

    /// Returns whether a request of the agent waits for the user, which may delay the agent's own answers.
    pub fn waits_for_user(&self) -> bool {
        self.requests.values().any(|request| request.method.asks_user())
    }

    /// Fails `call` because its `timeout` has passed, and withdraws it from the agent. Does nothing if it has been answered.
    pub fn expire(&mut self, call: CallId, timeout: Duration, out: &mut Outcome) {
        if self.held.take_if(|held| *held == call).is_some() {
            return out.events.push(failed_call(call, CallError::Timeout(timeout)));
        }
        let Some(id) = self.id_of(call) else {
            return;
        };
        self.calls.remove(&id);
        self.send(self.dialect.withdraw(id), out);
        out.events.push(failed_call(call, CallError::Timeout(timeout)));
    }

    /// Answers a request of the agent. If the token is spent or the connection is closed, that is only logged.
    pub fn answer(&mut self, token: RequestToken, answer: &Answer, out: &mut Outcome) {
        let Some(PendingRequest { id, method, bytes }) = self.requests.remove(&token) else {
            tracing::warn!(target: "acp", ?token, "an answer to a request that is not waiting");
            return;
        };
        self.request_bytes -= bytes;
        let line = match self.dialect.answer(&id, answer) {
            Ok(line) if method.allows(answer) => line,
            Ok(_) => {
                tracing::error!(target: "acp", ?token, method = method.name(), "an answer of the wrong type");
                error_line(&id, INTERNAL_ERROR, "Internal error")
            }
            Err(error) => error_line(&id, INTERNAL_ERROR, &error.to_string()),
        };
        out.lines.push(line);
    }

    /// Closes the connection: all unanswered calls fail, and nothing is sent from now on.
    pub fn close(&mut self, out: &mut Outcome) {
        self.open = false;
        self.requests.clear();
        self.request_bytes = 0;
        if let Some(call) = self.held.take() {
            out.events.push(failed_call(call, CallError::Closed));
        }
        let mut calls: Vec<_> = self.calls.drain().collect();
        calls.sort_unstable_by_key(|(id, _)| *id);
        let closed =
            calls.into_iter().map(|(_, pending)| failed_call(pending.call, CallError::Closed));
        out.events.extend(closed);
    }

    /// Tells the agent that the connection is going to be closed.
    pub fn goodbye(&mut self, out: &mut Outcome) {
        let id = self.take_id();
        self.send(Ok(self.dialect.goodbye(id)), out);
    }

    fn send(&self, line: Result<Option<String>, EncodeError>, out: &mut Outcome) {
        match line {
            Ok(line) => out.lines.extend(line.filter(|_| self.open)),
            Err(error) => tracing::error!(target: "acp", %error, "cannot be sent"),
        }
    }

    fn id_of(&self, call: CallId) -> Option<i64> {
        self.calls.iter().find(|(_, pending)| pending.call == call).map(|(id, _)| *id)
    }

    fn handle_request(
        &mut self,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
        out: &mut Outcome,
    ) {
        if !self.open {
            return;
        }
        let token = self.tokens.next();
        let bytes = params.map_or(0, |params| params.get().len());
        let decoded = if self.requests.len() >= MAX_REQUESTS
            || self.request_bytes + bytes > MAX_REQUEST_BYTES
        {
            let message = "too many requests wait for their answers".to_owned();
            Err(Refusal { code: INTERNAL_ERROR, message })
        } else if self.handshake.allows(method) {
            self.dialect.request(method, params.map(RawValue::get))
        } else {
            Err(Refusal::unknown_method(method))
        };
        let decoded =
            decoded.and_then(|(method, request)| Ok((method, self.request_event(token, request)?)));
        match decoded {
            Ok((method, event)) => {
                self.request_bytes += bytes;
                self.requests.insert(token, PendingRequest { id: id.to_owned(), method, bytes });
                out.events.push(event);
            }
            Err(Refusal { code, message }) => {
                tracing::warn!(target: "acp", method, code, message, "refused");
                if code == METHOD_NOT_FOUND {
                    let params = params.map_or("", RawValue::get);
                    let is_switched_off = !self.handshake.allows(method);
                    out.events.extend(refused_method(method, params, is_switched_off));
                }
                out.lines.push(error_line(id, code, &message));
            }
        }
    }

    /// Returns the event for a request of the agent. The call that an elicitation names must be unanswered.
    fn request_event(
        &self,
        token: RequestToken,
        request: IncomingRequest,
    ) -> Result<AgentEvent, Refusal> {
        let (owner, elicitation) = match request {
            IncomingRequest::Session(session, request) => {
                return Ok(AgentEvent::Request { token, session, request });
            }
            IncomingRequest::Elicitation(owner, elicitation) => (owner, elicitation),
        };
        let scope = match owner {
            ElicitationOwner::Session(session) => Scope::Session(session),
            ElicitationOwner::Call(id) => {
                let number = id.as_i64().or_else(|| id.as_str()?.parse().ok());
                let pending = number.and_then(|number| self.calls.get(&number));
                let message = format!("requestId {id} names no request that waits");
                let pending = pending.ok_or(Refusal { code: INVALID_PARAMS, message })?;
                Scope::Call(pending.call)
            }
        };
        Ok(AgentEvent::Elicitation { token, scope, elicitation })
    }

    fn handle_notification(&mut self, method: &str, params: Option<&RawValue>, out: &mut Outcome) {
        let params = params.map_or("", RawValue::get);
        match method {
            "$/cancel_request" => out.events.extend(self.withdrawn_request(params)),
            _ => self.dialect.notification(method, params, &mut out.events),
        }
    }

    /// Finds the request that `$/cancel_request` names. If several have the id, the newest one.
    fn withdrawn_request(&self, params: &str) -> Option<AgentEvent> {
        let params: Value = serde_json::from_str(params).ok()?;
        let id = params.get("requestId")?;
        let has_id = |request: &PendingRequest| {
            serde_json::from_str::<Value>(request.id.get()).ok().as_ref() == Some(id)
        };
        let matching = self.requests.iter().filter(|(_, request)| has_id(request));
        matching.map(|(token, _)| *token).max().map(AgentEvent::Withdrawn)
    }

    fn handle_answer(
        &mut self,
        id: &RawValue,
        outcome: Result<&RawValue, &RawValue>,
        has_version: bool,
        out: &mut Outcome,
    ) {
        let number = id.get().parse().ok();
        // An agent that could not read the offer may not know its id either.
        let number = number.or_else(|| self.initialize().filter(|_| id.get() == "null"));
        let pending = number.and_then(|id: i64| self.calls.remove(&id));
        let Some(PendingCall { call, method, kind, session }) = pending else {
            tracing::debug!(target: "acp", id = id.get(), "an answer that is late or not ours");
            return;
        };
        let outcome = outcome.map(RawValue::get).map_err(RawValue::get);
        if kind == CallKind::Initialize {
            return self.initialized(call, outcome, has_version, out);
        }
        let result = match outcome {
            Ok(result) => self.dialect.result(kind, session.as_ref(), result),
            Err(error) => Err(self.dialect.error(error)),
        };
        if let Err(error) = &result {
            tracing::info!(target: "acp", method, ?error, "failed");
        }
        out.events.push(AgentEvent::Answer { call, result });
        self.report_more(method, session, outcome, out);
    }

    /// The agent has answered an offer of the handshake.
    fn initialized(
        &mut self,
        call: CallId,
        outcome: Result<&str, &str>,
        has_version: bool,
        out: &mut Outcome,
    ) {
        let result = match self.handshake.answered(outcome, has_version) {
            Step::OfferAgain => return self.offer(call, out),
            Step::Chosen(dialect, info) => {
                self.dialect = dialect;
                Ok(Reply::Initialized(info))
            }
            Step::Failed(error) => {
                tracing::info!(target: "acp", ?error, "the handshake failed");
                Err(error)
            }
        };
        out.events.push(AgentEvent::Answer { call, result });
        self.report_more(Call::Initialize.method(), None, outcome, out);
    }

    /// Reports what a result tells besides its reply.
    fn report_more(
        &self,
        method: &str,
        session: Option<SessionId>,
        outcome: Result<&str, &str>,
        out: &mut Outcome,
    ) {
        let Ok(result) = outcome else { return };
        let (named, updates) = self.dialect.after_result(method, result);
        let session = named.or(session);
        for update in updates {
            match (session.clone(), update) {
                (Some(session), update) => out.events.push(AgentEvent::Update { session, update }),
                (None, Update::Meta(meta)) => out.events.push(AgentEvent::Meta(meta)),
                (None, _) => {}
            }
        }
    }
}

fn failed_call(call: CallId, error: CallError) -> AgentEvent {
    AgentEvent::Answer { call, result: Err(error) }
}

fn error_line(id: &RawValue, code: i64, message: &str) -> String {
    // Encoding raw JSON and a JSON value cannot fail.
    outgoing::error(id, &json!({ "code": code, "message": message })).unwrap_or_default()
}

#[cfg(test)]
mod tests;
