//! Who changed a file. It knows no files.

use super::ids::{SessionId, ToolCallId};

/// An agent's doing, as far as it can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// In which session.
    pub session: SessionId,
    /// In which turn of it, counted from 1 since the chat was opened.
    pub turn: u64,
    /// With which tool call, if that is known.
    pub tool_call: Option<ToolCallId>,
}
