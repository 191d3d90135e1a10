//! The JSON-RPC state of one connection: matches answers to calls and requests by their ids, and makes sure that each is
//! answered once. A pure state machine: messages and commands go in, events and lines come out. What to answer is decided
//! elsewhere.

use super::dialect::{
    CallKind, Dialect, ElicitationOwner, EncodeError, IncomingRequest, Method, Refusal,
};
use super::versions;
use crate::core::messages::agent::{AgentEvent, CallError, INTERNAL_ERROR, INVALID_PARAMS, Reply};
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
    dialect: Box<dyn Dialect>,
    open: bool,
}

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
}

impl Peer {
    /// Creates the state at the start of a connection.
    pub fn new(tokens: Tokens) -> Self {
        Self {
            tokens,
            next_id: 1,
            calls: HashMap::new(),
            requests: HashMap::new(),
            dialect: versions::initial(),
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
            Message::Response { id, outcome } => self.handle_answer(id, outcome, out),
        }
    }

    /// Calls the agent. If the connection is closed or the call cannot be encoded, it fails at once.
    pub fn call(&mut self, call: CallId, request: &Call, out: &mut Outcome) {
        let id = self.next_id;
        let line = match self.dialect.call(id, request) {
            Ok(line) if self.open => line,
            Ok(_) => return out.events.push(failed_call(call, CallError::Closed)),
            Err(error) => {
                let error = CallError::Malformed(format!("cannot be sent: {error}"));
                return out.events.push(failed_call(call, error));
            }
        };
        self.next_id += 1;
        let (method, session) = (request.method(), request.session().cloned());
        let pending = PendingCall { call, method, kind: CallKind::of(request), session };
        self.calls.insert(id, pending);
        out.lines.push(line);
    }

    /// Sends `session/cancel`.
    pub fn cancel(&mut self, session: &SessionId, out: &mut Outcome) {
        self.send(self.dialect.cancel(session), out);
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
        let Some(id) = self.id_of(call) else {
            return;
        };
        self.calls.remove(&id);
        self.send(self.dialect.withdraw(id), out);
        out.events.push(failed_call(call, CallError::Timeout(timeout)));
    }

    /// Answers a request of the agent. If the token is spent or the connection is closed, that is only logged.
    pub fn answer(&mut self, token: RequestToken, answer: &Answer, out: &mut Outcome) {
        let Some(PendingRequest { id, method }) = self.requests.remove(&token) else {
            tracing::warn!(target: "acp", ?token, "an answer to a request that is not waiting");
            return;
        };
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
        let mut calls: Vec<_> = self.calls.drain().collect();
        calls.sort_unstable_by_key(|(id, _)| *id);
        let closed =
            calls.into_iter().map(|(_, pending)| failed_call(pending.call, CallError::Closed));
        out.events.extend(closed);
    }

    fn send(&self, line: Result<String, EncodeError>, out: &mut Outcome) {
        match line {
            Ok(line) if self.open => out.lines.push(line),
            Ok(_) => {}
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
        let decoded = self.dialect.request(method, params.map(RawValue::get));
        let decoded =
            decoded.and_then(|(method, request)| Ok((method, self.request_event(token, request)?)));
        match decoded {
            Ok((method, event)) => {
                self.requests.insert(token, PendingRequest { id: id.to_owned(), method });
                out.events.push(event);
            }
            Err(Refusal { code, message }) => {
                tracing::warn!(target: "acp", method, code, message, "refused");
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
        out: &mut Outcome,
    ) {
        let pending = id.get().parse().ok().and_then(|id: i64| self.calls.remove(&id));
        let Some(PendingCall { call, method, kind, session }) = pending else {
            tracing::debug!(target: "acp", id = id.get(), "an answer that is late or not ours");
            return;
        };
        let result = match outcome {
            Ok(result) => self.dialect.result(kind, result.get()),
            Err(error) => Err(self.dialect.error(error.get())),
        };
        match &result {
            Ok(Reply::Initialized(info)) => {
                if let Some(dialect) = versions::negotiated(info) {
                    self.dialect = dialect;
                }
            }
            Ok(_) => {}
            Err(error) => tracing::info!(target: "acp", method, ?error, "failed"),
        }
        out.events.push(AgentEvent::Answer { call, result });
        let meta = outcome.ok().and_then(|result| self.dialect.result_meta(method, result.get()));
        out.events.extend(meta.map(|(named, meta)| match named.or(session) {
            Some(session) => AgentEvent::Update { session, update: Update::Meta(meta) },
            None => AgentEvent::Meta(meta),
        }));
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
