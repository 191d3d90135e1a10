//! The draft of version 2 of ACP: converts between its JSON and the messages of `core`. What it did not change is encoded and
//! decoded as in version 1; both are equally lenient.

mod children;
pub mod outgoing;
pub mod reply;
pub mod request;
pub mod table;
mod tool;
pub mod update;

use super::dialect::{
    CallKind, Dialect, ElicitationOwner, EncodeError, IncomingRequest, Method, Refusal,
    unknown_notification,
};
use super::v1::chunk::LastIds;
use super::v1::{elicitation, meta};
use crate::core::messages::agent::{AgentEvent, CallError, Reply};
use crate::core::messages::call::Call;
use crate::core::messages::effect::Answer;
use crate::session::agent::AgentCapabilities;
use crate::session::ids::SessionId;
use crate::session::update::Update;
use children::Children;
use serde_json::value::RawValue;
use update::{News, Plans};

/// Version 2 with one agent.
#[derive(Debug, Default)]
pub struct V2 {
    capabilities: AgentCapabilities,
    last_ids: LastIds,
    plans: Plans,
    children: Children,
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
        let (session, updates) = match decoded {
            Some(News::Updates(session, updates)) => (session, updates),
            Some(News::Subagent { parent, child }) => {
                return self.children.announce(&parent, child);
            }
            None => return,
        };
        if let Some(shown_in) = self.children.shown_in(&session) {
            let adopted = updates.into_iter().filter_map(|it| children::adopted(&session, it));
            let event = |update| AgentEvent::Update { session: shown_in.clone(), update };
            return events.extend(adopted.map(event));
        }
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
        let mut request = request::decode(method, params, &mut self.general_requests)?;
        let (IncomingRequest::Session(session, _)
        | IncomingRequest::Elicitation(ElicitationOwner::Session(session), _)) = &request
        else {
            return Ok((method, request));
        };
        if let Some(shown_in) = self.children.shown_in(session) {
            request = children::adopted_request(shown_in, request);
        }
        Ok((method, request))
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
        super::v1::reply::error(error)
    }

    fn after_result(&self, method: &str, result: &str) -> (Option<SessionId>, Vec<Update>) {
        let (named, meta) = meta::of_answer(method, result).unzip();
        let (session, commands) = reply::commands(result).unzip();
        let updates = commands.into_iter().chain(meta.map(Update::Meta)).collect();
        (session.or(named).flatten(), updates)
    }
}
