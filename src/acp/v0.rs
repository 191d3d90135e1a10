//! ACP as it was in release 0.1.1 of its libraries: version 1 without what came later, and decoded more strictly at the other
//! end.

use super::dialect::{CallKind, Dialect, EncodeError, IncomingRequest, Method, Refusal};
use super::v1::V1;
use crate::core::messages::agent::{AgentEvent, CallError, Reply};
use crate::core::messages::call::Call;
use crate::core::messages::effect::Answer;
use crate::jsonrpc::outgoing::result;
use crate::session::ids::SessionId;
use crate::session::update::Update;
use serde_json::Value;
use serde_json::value::RawValue;

/// Release 0.1.1 with one agent.
#[derive(Debug)]
pub struct V0(V1);

impl V0 {
    /// Creates the dialect on top of version 1.
    pub fn new(v1: V1) -> Self {
        Self(v1)
    }
}

impl Dialect for V0 {
    fn call(&mut self, id: i64, call: &Call) -> Result<String, EncodeError> {
        self.0.call(id, call)
    }

    fn cancel(&self, id: i64, session: &SessionId) -> Result<String, EncodeError> {
        self.0.cancel(id, session)
    }

    fn answer(&self, id: &RawValue, answer: &Answer) -> Result<String, EncodeError> {
        match answer {
            // An object would fail the agent's call.
            Answer::Written => Ok(result(id, &Value::Null)?),
            other => self.0.answer(id, other),
        }
    }

    fn request(
        &mut self,
        method: &str,
        params: Option<&str>,
    ) -> Result<(Method, IncomingRequest), Refusal> {
        self.0.request(method, params)
    }

    fn notification(&mut self, method: &str, params: &str, events: &mut Vec<AgentEvent>) {
        self.0.notification(method, params, events);
    }

    fn result(
        &mut self,
        call: CallKind,
        session: Option<&SessionId>,
        result: &str,
    ) -> Result<Reply, CallError> {
        self.0.result(call, session, result)
    }

    fn error(&self, error: &str) -> CallError {
        self.0.error(error)
    }

    fn after_result(&self, method: &str, result: &str) -> (Option<SessionId>, Vec<Update>) {
        self.0.after_result(method, result)
    }
}
