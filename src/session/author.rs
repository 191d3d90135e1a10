//! Identifies who changed a file: the chat, its session, the turn and the tool call.

use super::ids::{SessionId, ToolCallId};

/// The id of a chat, unique in this process, whichever agent it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChatId(pub u32);

/// Identifies a session among those of all agents, since two agents may use the same session id. It
/// stays the same while the chat uses the session, even if the agent is restarted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    /// The chat that uses the session.
    pub chat: ChatId,
    /// The id that the agent gave it.
    pub session: SessionId,
}

/// The author of a change that an agent made, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Author {
    /// The session in which it was made.
    pub session: SessionKey,
    /// The turn in which it was made, counted from 1 since the chat was opened.
    pub turn: u64,
    /// The tool call that made it; `None` if it is not known.
    pub tool_call: Option<ToolCallId>,
}
