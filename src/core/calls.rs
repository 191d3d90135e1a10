//! Calls we have made to agents that are still waiting for a reply.

use crate::core::messages::ids::AgentId;
use crate::session::author::ChatId;

/// Who a call was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallOwner {
    /// Every chat that uses the agent.
    Agent(AgentId),
    /// One chat.
    Chat(ChatId),
}

/// Which reply a call is waiting for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExpectedReply {
    Initialize,
    Authenticate,
    NewSession,
    Fork,
    Load,
    Resume,
    Turn,
    /// A page of `session/list`.
    Sessions,
    /// The reply to `session/set_config_option`.
    Option {
        id: String,
        name: String,
        by_user: bool,
    },
    /// The reply to `session/set_mode` or `session/set_model`.
    Selected {
        setting: &'static str,
        value: String,
        by_user: bool,
    },
    /// The reply to `logout`.
    LoggedOut,
    /// The reply to `session/delete`.
    Deleted,
    /// A session whose chat has stopped in the meantime; it is closed as soon as its id is known.
    UnwantedSession,
    /// A reply that changes nothing, whether it succeeds or fails.
    Ignored,
}
