//! Requests of agents that we have not answered.

use crate::core::messages::effect::Effect;
use crate::core::messages::ids::AgentId;
use crate::session::author::ChatId;

/// A request of an agent that we have not answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PendingRequest {
    /// Who gets the answer. `None`: it is the write of an answer's code, which we make ourselves (`handlers::in_place`).
    pub(super) agent: Option<AgentId>,
    pub(super) chat: ChatId,
    /// The effect to run again once the user allows the file; `None` unless it is a read or a write.
    pub(super) file: Option<Effect>,
}
