//! Version 1 of ACP: converts between its JSON and the messages of `core`. Encoding is strict. Decoding is lenient: an invalid
//! part of a message is left out if the rest makes sense without it.

pub mod chunk;
pub mod elicitation;
pub mod meta;
pub mod outgoing;
pub mod reply;
pub mod request;
pub mod table;
pub mod tool;
pub mod update;

use super::dialect::{
    CallKind, Dialect, EncodeError, IncomingRequest, Method, Refusal, unknown_notification,
};
use crate::core::messages::agent::{AgentEvent, CallError, Reply};
use crate::core::messages::call::Call;
use crate::core::messages::effect::Answer;
use crate::session::agent::AgentCapabilities;
use crate::session::ids::SessionId;
use crate::session::update::Update;
use chunk::LastIds;
use serde_json::value::RawValue;

/// Version 1 with one agent.
#[derive(Debug, Default)]
pub struct V1 {
    capabilities: AgentCapabilities,
    last_ids: LastIds,
}

impl V1 {
    /// Creates the dialect for an agent with these capabilities.
    pub fn new(capabilities: AgentCapabilities) -> Self {
        Self { capabilities, last_ids: LastIds::default() }
    }

    fn update(&mut self, params: &str, events: &mut Vec<AgentEvent>) {
        let Some((session, update)) = update::notification(params, &mut self.last_ids) else {
            return;
        };
        let meta = match &update {
            // All chunks of a stream have the same `_meta`.
            Update::Chunk { .. } => None,
            _ => meta::of_update(params),
        };
        let meta = meta.map(|meta| AgentEvent::Update {
            session: session.clone(),
            update: Update::Meta(meta),
        });
        events.push(AgentEvent::Update { session, update });
        events.extend(meta);
    }
}

impl Dialect for V1 {
    fn call(&mut self, id: i64, call: &Call) -> Result<String, EncodeError> {
        Ok(outgoing::call(id, call, self.capabilities)?)
    }

    fn cancel(&self, _id: i64, session: &SessionId) -> Result<String, EncodeError> {
        Ok(outgoing::cancel(session)?)
    }

    fn withdraw(&self, id: i64) -> Result<Option<String>, EncodeError> {
        Ok(Some(outgoing::withdraw(id)?))
    }

    fn answer(&self, id: &RawValue, answer: &Answer) -> Result<String, EncodeError> {
        Ok(outgoing::answer(id, answer)?)
    }

    fn request(
        &mut self,
        method: &str,
        params: Option<&str>,
    ) -> Result<(Method, IncomingRequest), Refusal> {
        let method = request::method(method)?;
        Ok((method, request::decode(method, params)?))
    }

    fn notification(&mut self, method: &str, params: &str, events: &mut Vec<AgentEvent>) {
        match method {
            "session/update" => self.update(params, events),
            "elicitation/complete" => {
                events.extend(elicitation::complete(params).map(AgentEvent::ElicitationComplete));
            }
            _ => events.extend(unknown_notification(method, params)),
        }
    }

    fn result(
        &mut self,
        call: CallKind,
        _session: Option<&SessionId>,
        result: &str,
    ) -> Result<Reply, CallError> {
        reply::decode(call, result)
    }

    fn error(&self, error: &str) -> CallError {
        reply::error(error)
    }

    fn after_result(&self, method: &str, result: &str) -> (Option<SessionId>, Vec<Update>) {
        let (session, meta) = meta::of_answer(method, result).unzip();
        (session.flatten(), meta.map(Update::Meta).into_iter().collect())
    }
}
