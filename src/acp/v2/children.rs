//! Sessions of subagents (ACP draft, subagents): what they do is shown in the session of the agent that has them, as an agent of
//! version 1 shows it. Their ids are unique only among themselves, so they are prefixed with the id of their session.

use crate::acp::dialect::{ElicitationOwner, IncomingRequest};
use crate::core::messages::agent::AgentRequest;
use crate::session::ids::{SessionId, TerminalId, ToolCallId};
use crate::session::tool_call::{ToolCallPatch, ToolContent};
use crate::session::update::Update;
use std::collections::HashMap;

/// The sessions of subagents, each with the session in which it is shown.
#[derive(Debug, Default)]
pub(super) struct Children(HashMap<SessionId, SessionId>);

impl Children {
    /// Records that `parent` has a subagent with the session `child`. It may itself be a subagent.
    pub(super) fn announce(&mut self, parent: &SessionId, child: SessionId) {
        let shown_in = self.shown_in(parent).unwrap_or(parent).clone();
        if shown_in != child {
            self.0.insert(child, shown_in);
        }
    }

    /// Returns the session in which that of a subagent is shown; `None` if it is not one.
    pub(super) fn shown_in(&self, session: &SessionId) -> Option<&SessionId> {
        self.0.get(session)
    }
}

/// Returns what is shown of an update of a subagent: what it does, but not what it says, which its agent sums up.
pub(super) fn adopted(child: &SessionId, update: Update) -> Option<Update> {
    match update {
        Update::ToolCall { id, mut patch } => {
            adopt_patch(child, &mut patch);
            Some(Update::ToolCall { id: call_id(child, &id), patch })
        }
        Update::ToolContent { id, mut content } => {
            adopt_content(child, &mut content);
            Some(Update::ToolContent { id: call_id(child, &id), content })
        }
        Update::Terminal { id, update } => {
            Some(Update::Terminal { id: terminal_id(child, &id), update })
        }
        _ => None,
    }
}

/// Makes a request of a subagent one of the session in which it is shown.
pub(super) fn adopted_request(shown_in: &SessionId, request: IncomingRequest) -> IncomingRequest {
    let session = shown_in.clone();
    match request {
        IncomingRequest::Session(child, AgentRequest::Permission(mut asked)) => {
            asked.tool_call = call_id(&child, &asked.tool_call);
            adopt_patch(&child, &mut asked.patch);
            IncomingRequest::Session(session, AgentRequest::Permission(asked))
        }
        IncomingRequest::Session(_, request) => IncomingRequest::Session(session, request),
        IncomingRequest::Elicitation(_, elicitation) => {
            IncomingRequest::Elicitation(ElicitationOwner::Session(session), elicitation)
        }
    }
}

fn adopt_patch(child: &SessionId, patch: &mut ToolCallPatch) {
    patch.by_subagent = true;
    patch.content.iter_mut().flatten().for_each(|content| adopt_content(child, content));
}

fn adopt_content(child: &SessionId, content: &mut ToolContent) {
    if let ToolContent::Terminal(id) = content {
        *id = terminal_id(child, id);
    }
}

fn call_id(child: &SessionId, id: &ToolCallId) -> ToolCallId {
    format!("{child}/{id}").into()
}

fn terminal_id(child: &SessionId, id: &TerminalId) -> TerminalId {
    format!("{child}/{id}").into()
}
