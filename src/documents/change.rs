//! Describes a change an agent has made to a document, for `bridge` and for the document's record.

use std::path::PathBuf;

use crate::core::messages::review::ChangeAuthor;
use crate::edit::{Hunk, Snapshot, UnresolvedHunk};
use crate::session::author::Author;

/// How a change was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// `fs/write_text_file`.
    Protocol,
    /// The agent, or a command it ran, wrote to the disk itself.
    Disk,
}

/// The origin of a step in a document's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The agent's session and turn.
    pub by: Author,
    /// How it was made.
    pub via: Via,
    /// Whether it is known that the agent made it: it wrote through us, or while a tool call ran, or nobody looked at what
    /// each tool call changed, since that takes too long.
    pub is_certain: bool,
}

impl Origin {
    /// Who made the change.
    pub fn author(&self) -> ChangeAuthor {
        ChangeAuthor { by: self.by.clone(), is_certain: self.is_certain }
    }
}

/// A change an agent has made to a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentChange {
    /// Real path of the file.
    pub path: PathBuf,
    /// The agent's session and turn.
    pub by: Author,
    /// The text before: the buffer's if the file is loaded, else the file's.
    pub before: Snapshot,
    /// The text after, including what formatters changed.
    pub after: Snapshot,
    /// From `before` to `after`; empty if the file already had the text.
    pub hunks: Vec<Hunk>,
    /// How it was made.
    pub via: Via,
    /// Whether the file did not exist before.
    pub created: bool,
    /// Whether the user's unsaved changes were saved with it, because the agent had edited a text that contained them.
    /// The user is told.
    pub saved_unsaved: bool,
    /// A change on disk that was merged into the buffer first.
    pub disk_change: Option<Box<AgentChange>>,
    /// Lines of `before` that the buffer still has although the file has others in their place, for the user to
    /// resolve.
    pub unresolved: Vec<UnresolvedHunk>,
    /// Whether the file was deleted. If it is loaded, the buffer still has its text, unsaved, and there are no hunks.
    pub deleted: bool,
}
