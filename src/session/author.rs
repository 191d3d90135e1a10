//! Who changed a file. It knows no files.

use super::ids::{SessionId, ToolCallId};

/// One conversation of ours, whichever agent it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChatId(pub u32);

/// A session among those of all agents: two of them may give theirs one name. It stays the same while the conversation
/// goes on with it, also on a process that was started again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    /// In which conversation.
    pub chat: ChatId,
    /// As its agent named it.
    pub session: SessionId,
}

/// An agent's doing, as far as it can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// In which session.
    pub session: SessionKey,
    /// In which turn of it, counted from 1 since the chat was opened.
    pub turn: u64,
    /// With which tool call, if that is known.
    pub tool_call: Option<ToolCallId>,
}
