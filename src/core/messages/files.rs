//! Results of reading, writing and watching files.

use crate::edit::unified::FileDiff;
use crate::edit::{Revision, Snapshot, Text};
use crate::session::prompt::FilesRead;
use std::path::PathBuf;
use std::sync::Arc;

/// What an agent cannot see for itself, collected for a prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptContext {
    /// Files whose buffers have unsaved changes.
    pub unsaved: Vec<UnsavedFile>,
    /// Files the agent wrote that others have changed since.
    pub changed: Vec<ChangedFile>,
    /// Buffers that could not be saved, one line each.
    pub problems: Vec<String>,
    /// The content of attached files.
    pub files: FilesRead,
}

/// A file whose buffer has unsaved changes.
#[derive(Debug, Clone, PartialEq)]
pub struct UnsavedFile {
    /// From the text on disk to the text in the buffer.
    pub diff: FileDiff,
    /// A `file://` URI.
    pub uri: String,
    /// The text in the buffer.
    pub text: Arc<Text>,
}

/// A file the agent wrote that others have changed since.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedFile {
    /// From the text the agent knows to the current text.
    pub diff: FileDiff,
    /// What the agent knows once it has read the diff.
    pub report: ReportedChange,
}

/// A file change that was reported to an agent. `None` stands for a missing file.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedChange {
    /// The real path.
    pub path: PathBuf,
    /// The text the agent knew before.
    pub was: Option<Revision>,
    /// The text after the reported change.
    pub now: Option<Snapshot>,
}

/// Something that has happened to a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferEvent {
    /// Neovim has read the file into it.
    Read,
    /// The user has saved it.
    Saved,
    /// It has become unmodified in another way, for example because the user has undone unsaved changes.
    Clean,
    /// Its text has changed while something is pending in it.
    Changed,
}

/// A change that an agent made to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The real path.
    pub path: PathBuf,
    /// Number of hunks.
    pub hunks: usize,
    /// Number of hunks where the buffer keeps the user's lines although the file has others.
    pub conflicts: usize,
    /// Whether the file did not exist before.
    pub created: bool,
    /// Whether the file was deleted.
    pub deleted: bool,
    /// `protocol` for a write through us, `disk` for a write by the agent itself.
    pub via: &'static str,
    /// Whether the agent certainly made it; otherwise somebody else may have.
    pub is_certain: bool,
}

impl FileChange {
    /// Whether the file was deleted under its buffer, which still has the text.
    pub fn is_deleted_under_buffer(&self) -> bool {
        self.deleted && self.hunks == 0
    }
}

/// What the user has said to a write that an agent has requested.
#[derive(Debug, Clone, PartialEq)]
pub enum Consent {
    /// The user is not asked before files are written.
    NotNeeded,
    /// The user has not been asked yet: only find out what the write would change.
    Missing,
    /// The user wants the change, so it is not pending.
    Given,
    /// The user wants another text.
    Edited {
        /// The text the agent has sent.
        sent: String,
        /// The text the file would have had.
        proposed: Arc<Text>,
        /// What the agent is told.
        note: String,
    },
}

/// A write that waits for the user's consent.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedWrite {
    /// The real path.
    pub path: PathBuf,
    /// Whether there is a file or a buffer.
    pub exists: bool,
    /// The present text.
    pub before: Arc<Text>,
    /// The text it would have.
    pub after: Arc<Text>,
}

/// The result of a read or a write.
#[derive(Debug, Clone, PartialEq)]
pub enum FileOutcome {
    /// The text that was read.
    Text(String),
    /// The file was written.
    Written {
        /// What has changed; empty if the file already had this text.
        changes: Vec<FileChange>,
        /// One line for the user, if there is something they should know.
        notice: Option<String>,
    },
    /// Nothing was written: the user is asked first.
    Proposed(Box<ProposedWrite>),
    /// Nothing was written: these are the writes that a call of one of the editor's own tools needs.
    Edits(Vec<ProposedWrite>),
    /// Nothing was written: the write would also save the user's unsaved changes, and the user has chosen to be asked.
    Unsaved(PathBuf),
    /// The path is outside the agent's scope, so the user has to allow it first.
    Outside {
        /// The real path of the file.
        file: PathBuf,
        /// Its folder; `None` if that is too broad to offer, such as a home directory.
        folder: Option<PathBuf>,
        /// Whether the path is inside, but the file has a name that is not (a hard link).
        has_other_name: bool,
    },
    /// A rule says to ask the user about this file, given by its real path.
    AskFirst(PathBuf),
    /// A rule of the user denies it.
    Denied {
        /// The real path of the file.
        file: PathBuf,
        /// The rule, as a line of text.
        rule: String,
    },
    /// It failed.
    Failed {
        /// A JSON-RPC or ACP error code.
        code: i64,
        /// One line for the agent.
        message: String,
        /// What to tell the user who wanted it, without the path.
        reason: String,
    },
}

/// Whether a tool call runs, for who has changed a file at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// From now on, what changes may be its doing.
    Runs,
    /// Until the user answers, nothing is.
    Waits,
    /// Nothing is any more.
    Ended,
}
