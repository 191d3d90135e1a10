//! Requests of agents that we have not answered.

use crate::core::messages::effect::Effect;
use crate::core::messages::ids::AgentId;
use crate::core::messages::tools::ToolCallToken;
use crate::session::author::ChatId;

/// A request of an agent that we have not answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PendingRequest {
    pub(super) by: Requester,
    pub(super) chat: ChatId,
    /// The effect to run again once the user allows the file; `None` unless it is a read or a write.
    pub(super) file: Option<Effect>,
}

/// Who gets the answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requester {
    /// This agent.
    Agent(AgentId),
    /// Ourselves: it is the write of an answer's code (`handlers::in_place`).
    InPlace,
    /// Ourselves: it is a step of this call of one of the editor's tools (`handlers::editor_tools`).
    Tool(ToolCallToken),
}
