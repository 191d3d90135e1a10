//! What agents have changed and nobody has decided on yet, and what the user decides.

use crate::session::author::{Author, ChatId, SessionKey};
use crate::session::ids::ToolCallId;
use std::ops::Range;
use std::path::PathBuf;

/// What the user does with pending changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewAction {
    /// They are pending no more.
    Keep,
    /// The text is as if they had never been made.
    Reject,
}

/// Which pending changes of a file something is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeScope {
    /// Only the hunks that touch these lines (0-based).
    pub lines: Option<Range<usize>>,
    /// Only what this session changed.
    pub session: Option<SessionKey>,
    /// Only what was changed in this turn.
    pub turn: Option<u64>,
    /// Only what this tool call changed.
    pub tool_call: Option<ToolCallId>,
}

impl ChangeScope {
    /// Whether changes by an author belong to it, wherever they are.
    pub fn includes(&self, by: &Author) -> bool {
        self.session.as_ref().is_none_or(|session| *session == by.session)
            && self.turn.is_none_or(|turn| turn == by.turn)
            && self.tool_call.as_ref().is_none_or(|call| Some(call) == by.tool_call.as_ref())
    }
}

/// A decision on the pending changes of one file, or of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// What to do.
    pub action: ReviewAction,
    /// The name of the file's buffer; `None` for all files.
    pub path: Option<PathBuf>,
    /// Which changes.
    pub changes: ChangeScope,
}

/// The user's wish, before it is known what the last turn is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRequest {
    /// What to do.
    pub action: ReviewAction,
    /// The chat whose last turn it is about; `None` for the changes of all.
    pub last_turn_of: Option<Option<ChatId>>,
    /// The name of the file's buffer; `None` for all files.
    pub path: Option<PathBuf>,
    /// Only the hunks that touch these lines (0-based).
    pub lines: Option<Range<usize>>,
}

/// What became of a decision in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedFile {
    /// The real path.
    pub path: PathBuf,
    /// How many hunks were kept or rejected.
    pub hunks: usize,
    /// How many places stay as they are, because somebody has changed them since.
    pub conflicts: usize,
}

/// What is pending in a loaded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingFile {
    /// The real path.
    pub path: PathBuf,
    /// 'changedtick' of the buffer that the lines refer to.
    pub tick: i64,
    /// In the order of the text.
    pub hunks: Vec<PendingLines>,
}

/// A pending hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingLines {
    /// Its first line, or the line after removed ones (0-based).
    pub start: usize,
    /// How many lines it has.
    pub count: usize,
    /// How many lines it replaces.
    pub removed: usize,
}
