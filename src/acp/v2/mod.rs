//! The draft of version 2 of ACP: converts between its JSON and the messages of `core`. What it did not change is encoded and
//! decoded as in version 1; both are equally lenient.

pub mod outgoing;
pub mod reply;
pub mod request;
pub mod table;
mod tool;
pub mod update;

use super::dialect::{CallKind, Dialect, EncodeError, IncomingRequest, Method, Refusal};
use super::v1::chunk::LastIds;
use super::v1::{elicitation, meta};
use crate::core::messages::agent::{AgentEvent, CallError, Reply};
use crate::core::messages::call::Call;
use crate::core::messages::effect::Answer;
use crate::session::agent::AgentCapabilities;
use crate::session::ids::SessionId;
use crate::session::update::Update;
use serde_json::value::RawValue;
use update::Plans;

/// Version 2 with one agent.
#[derive(Debug, Default)]
pub struct V2 {
    capabilities: AgentCapabilities,
    last_ids: LastIds,
    plans: Plans,
    /// How many permission requests were about no tool call.
    general_requests: u64,
}

impl V2 {
    /// Creates the dialect for an agent with these capabilities.
    pub fn new(capabilities: AgentCapabilities) -> Self {
        Self { capabilities, ..Self::default() }
    }

    fn update(&mut self, params: &str, events: &mut Vec<AgentEvent>) {
        let decoded = update::notification(params, &mut self.last_ids, &mut self.plans);
        let Some((session, updates)) = decoded else { return };
        let is_chunk = matches!(updates[..], [Update::Chunk { .. }]);
        // All chunks of a stream have the same `_meta`.
        let meta = if is_chunk { None } else { meta::of_update(params).map(Update::Meta) };
        let updates = updates.into_iter().chain(meta);
        events
            .extend(updates.map(|update| AgentEvent::Update { session: session.clone(), update }));
    }
}

impl Dialect for V2 {
    fn call(&mut self, id: i64, call: &Call) -> Result<String, EncodeError> {
        outgoing::call(id, call, self.capabilities)
    }

    fn cancel(&self, _id: i64, session: &SessionId) -> Result<String, EncodeError> {
        Ok(outgoing::cancel(session)?)
    }

    fn withdraw(&self, id: i64) -> Result<Option<String>, EncodeError> {
        Ok(Some(outgoing::withdraw(id)?))
    }

    fn answer(&self, id: &RawValue, answer: &Answer) -> Result<String, EncodeError> {
        outgoing::answer(id, answer)
    }

    fn request(
        &mut self,
        method: &str,
        params: Option<&str>,
    ) -> Result<(Method, IncomingRequest), Refusal> {
        let method = request::method(method)?;
        Ok((method, request::decode(method, params, &mut self.general_requests)?))
    }

    fn notification(&mut self, method: &str, params: &str, events: &mut Vec<AgentEvent>) {
        match method {
            "session/update" => self.update(params, events),
            "elicitation/complete" => {
                events.extend(elicitation::complete(params).map(AgentEvent::ElicitationComplete));
            }
            _ => tracing::debug!(target: "acp", method, "ignored"),
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
        super::v1::reply::error(error)
    }

    fn after_result(&self, method: &str, result: &str) -> (Option<SessionId>, Vec<Update>) {
        let (named, meta) = meta::of_answer(method, result).unzip();
        let (session, commands) = reply::commands(result).unzip();
        let updates = commands.into_iter().chain(meta.map(Update::Meta)).collect();
        (session.or(named).flatten(), updates)
    }
}
