//! One JSON-RPC peer: whose ids are whose, and one answer for each request, both ways. A pure state machine:
//! messages in, events and lines out. It decides nothing about what is asked.

use super::codec::Message;
use super::convert::chunk::LastIds;
use super::convert::elicitation::{self, Named};
use super::convert::request::{self, Asked, Method, Refusal};
use super::convert::{meta, outgoing, reply, update};
use crate::core::effect::{Answer, Call};
use crate::core::elicitation::Scope;
use crate::core::event::agent::{CallError, FromAgent, INTERNAL_ERROR, INVALID_PARAMS, Reply};
use crate::core::event::{CallId, Token};
use crate::session::agent::AgentCapabilities;
use crate::session::ids::SessionId;
use crate::session::update::Update;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Where tokens come from, so that no two agents of this process share one.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Arc<AtomicU64>);

impl Tokens {
    fn next(&self) -> Token {
        Token(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// What a step of the peer leads to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// For `State`, in order.
    pub events: Vec<FromAgent>,
    /// Lines for the agent, in order, without their end.
    pub lines: Vec<String>,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Peer {
    tokens: Tokens,
    next_id: i64,
    calls: HashMap<i64, Pending>,
    owed: HashMap<Token, Owed>,
    agent: AgentCapabilities,
    last_ids: LastIds,
    open: bool,
}

/// A call of ours that waits.
#[derive(Debug)]
struct Pending {
    call: CallId,
    method: &'static str,
    kind: reply::Kind,
    session: Option<SessionId>,
}

/// A request of the agent that waits.
#[derive(Debug)]
struct Owed {
    id: Box<RawValue>,
    method: Method,
}

impl Peer {
    /// A peer at the start of a connection.
    pub fn new(tokens: Tokens) -> Self {
        Self {
            tokens,
            next_id: 1,
            calls: HashMap::new(),
            owed: HashMap::new(),
            agent: AgentCapabilities::default(),
            last_ids: LastIds::default(),
            open: true,
        }
    }

    /// Takes one message of the agent.
    pub fn receive(&mut self, message: Message<'_>, out: &mut Outcome) {
        match message {
            Message::Request { id, method, params } => self.requested(id, &method, params, out),
            Message::Notification { method, params } => self.notified(&method, params, out),
            Message::Answer { id, outcome } => self.answered(id, outcome, out),
        }
    }

    /// Calls the agent. After the end of the connection, and where it cannot be said, the answer is there at
    /// once.
    pub fn call(&mut self, call: CallId, request: &Call, out: &mut Outcome) {
        let id = self.next_id;
        let line = match outgoing::call(id, request, &self.agent) {
            Ok(line) if self.open => line,
            Ok(_) => return out.events.push(failed(call, CallError::Closed)),
            Err(error) => {
                let error = CallError::Malformed(format!("cannot be sent: {error}"));
                return out.events.push(failed(call, error));
            }
        };
        self.next_id += 1;
        let (method, session) = (request.method(), request.session().cloned());
        let pending = Pending { call, method, kind: reply::Kind::of(request), session };
        self.calls.insert(id, pending);
        out.lines.push(line);
    }

    /// Sends `session/cancel`.
    pub fn cancel(&mut self, session: &SessionId, out: &mut Outcome) {
        self.send(outgoing::cancel(session), out);
    }

    /// Tells the agent that the answer to `call` is not wanted any more; the answer still comes.
    pub fn withdraw(&mut self, call: CallId, out: &mut Outcome) {
        if let Some(id) = self.id_of(call) {
            self.send(outgoing::withdraw(id), out);
        }
    }

    /// Whether the agent waits for the user, and cannot be blamed for being late.
    pub fn waits_for_user(&self) -> bool {
        let asks = |owed: &Owed| matches!(owed.method, Method::Permission | Method::Elicitation);
        self.owed.values().any(asks)
    }

    /// Ends the wait for `call` after `waited` and tells the agent so. Nothing happens where the answer came.
    pub fn expire(&mut self, call: CallId, waited: Duration, out: &mut Outcome) {
        let Some(id) = self.id_of(call) else {
            return;
        };
        self.calls.remove(&id);
        self.send(outgoing::withdraw(id), out);
        out.events.push(failed(call, CallError::Timeout(waited)));
    }

    /// Answers a request of the agent. A token that is spent, or of a connection that ended, is only logged.
    pub fn answer(&mut self, token: Token, answer: &Answer, out: &mut Outcome) {
        let Some(Owed { id, method }) = self.owed.remove(&token) else {
            tracing::warn!(target: "acp", ?token, "an answer to a request that waits for none");
            return;
        };
        let fits = match answer {
            Answer::Text(_) => method == Method::Read,
            Answer::Written => method == Method::Write,
            Answer::Permission(_) => method == Method::Permission,
            Answer::Terminal(_) => method == Method::CreateTerminal,
            Answer::Output { .. } => method == Method::TerminalOutput,
            Answer::Exited(_) => method == Method::WaitForExit,
            Answer::Done => matches!(method, Method::KillTerminal | Method::ReleaseTerminal),
            Answer::Elicitation(_) => method == Method::Elicitation,
            Answer::Error { .. } => true,
        };
        let line = match outgoing::answer(&id, answer) {
            Ok(line) if fits => line,
            Ok(_) => {
                tracing::error!(target: "acp", ?token, method = method.name(), "a misfit answer");
                outgoing::error(&id, INTERNAL_ERROR, "Internal error")
            }
            Err(error) => outgoing::error(&id, INTERNAL_ERROR, &error.to_string()),
        };
        out.lines.push(line);
    }

    /// Ends the connection: each waiting call is answered, and nothing is sent from here on.
    pub fn close(&mut self, out: &mut Outcome) {
        self.open = false;
        self.owed.clear();
        let mut calls: Vec<_> = self.calls.drain().collect();
        calls.sort_unstable_by_key(|(id, _)| *id);
        let closed = calls.into_iter().map(|(_, pending)| failed(pending.call, CallError::Closed));
        out.events.extend(closed);
    }

    fn send(&self, line: Result<String, outgoing::Unsayable>, out: &mut Outcome) {
        match line {
            Ok(line) if self.open => out.lines.push(line),
            Ok(_) => {}
            Err(error) => tracing::error!(target: "acp", %error, "cannot be sent"),
        }
    }

    fn id_of(&self, call: CallId) -> Option<i64> {
        self.calls.iter().find(|(_, pending)| pending.call == call).map(|(id, _)| *id)
    }

    fn requested(
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
        let understood = request::method(method).and_then(|method| {
            let asked = request::decode(method, params.map(RawValue::get))?;
            Ok((method, self.event(token, asked)?))
        });
        match understood {
            Ok((method, event)) => {
                self.owed.insert(token, Owed { id: id.to_owned(), method });
                out.events.push(event);
            }
            Err(Refusal { code, message }) => {
                tracing::warn!(target: "acp", method, code, message, "refused");
                out.lines.push(outgoing::error(id, code, &message));
            }
        }
    }

    fn event(&self, token: Token, asked: Asked) -> Result<FromAgent, Refusal> {
        let (scope, elicitation) = match asked {
            Asked::Session(session, request) => {
                return Ok(FromAgent::Request { token, session, request });
            }
            Asked::User(scope, elicitation) => (scope, elicitation),
        };
        let scope = match scope {
            Named::Session(session) => Scope::Session(session),
            Named::Request(id) => {
                let ours = id.as_i64().or_else(|| id.as_str()?.parse().ok());
                let pending = ours.and_then(|ours| self.calls.get(&ours));
                let message = format!("requestId {id} names no request that waits");
                let pending = pending.ok_or(Refusal { code: INVALID_PARAMS, message })?;
                Scope::Call(pending.call)
            }
        };
        Ok(FromAgent::Elicitation { token, scope, elicitation })
    }

    fn notified(&mut self, method: &str, params: Option<&RawValue>, out: &mut Outcome) {
        let params = params.map_or("", RawValue::get);
        match method {
            "session/update" => {
                let Some((session, update)) = update::notification(params, &mut self.last_ids)
                else {
                    return;
                };
                let meta = match &update {
                    // There are too many of them, and what comes with them is the same each time.
                    Update::Chunk { .. } => None,
                    _ => meta::of_update(params),
                };
                let meta = meta.map(|meta| FromAgent::Update {
                    session: session.clone(),
                    update: Update::Meta(meta),
                });
                out.events.push(FromAgent::Update { session, update });
                out.events.extend(meta);
            }
            "elicitation/complete" => {
                out.events
                    .extend(elicitation::complete(params).map(FromAgent::ElicitationComplete));
            }
            "$/cancel_request" => out.events.extend(self.withdrawn(params)),
            // Unknown notifications are ignored (ACP extensibility).
            _ => tracing::debug!(target: "acp", method, "ignored"),
        }
    }

    /// The newest waiting request of the id that `$/cancel_request` names.
    fn withdrawn(&self, params: &str) -> Option<FromAgent> {
        let params: Value = serde_json::from_str(params).ok()?;
        let id = params.get("requestId")?;
        let names_it =
            |owed: &Owed| serde_json::from_str::<Value>(owed.id.get()).ok().as_ref() == Some(id);
        let found = self.owed.iter().filter(|(_, owed)| names_it(owed));
        found.map(|(token, _)| *token).max().map(FromAgent::Withdrawn)
    }

    fn answered(
        &mut self,
        id: &RawValue,
        outcome: Result<&RawValue, &RawValue>,
        out: &mut Outcome,
    ) {
        let ours = id.get().parse().ok().and_then(|id: i64| self.calls.remove(&id));
        let Some(Pending { call, method, kind, session }) = ours else {
            tracing::debug!(target: "acp", id = id.get(), "an answer that is late or not ours");
            return;
        };
        let result = match outcome {
            Ok(result) => reply::decode(kind, result.get()),
            Err(error) => Err(reply::error(error.get())),
        };
        match &result {
            Ok(Reply::Initialized(info)) => self.agent = info.capabilities,
            Ok(_) => {}
            Err(error) => tracing::info!(target: "acp", method, ?error, "failed"),
        }
        out.events.push(FromAgent::Answer { call, result });
        let meta = outcome.ok().and_then(|result| meta::of_answer(method, result.get()));
        out.events.extend(meta.map(|(named, meta)| match named.or(session) {
            Some(session) => FromAgent::Update { session, update: Update::Meta(meta) },
            None => FromAgent::Meta(meta),
        }));
    }
}

fn failed(call: CallId, error: CallError) -> FromAgent {
    FromAgent::Answer { call, result: Err(error) }
}

#[cfg(test)]
mod tests;
