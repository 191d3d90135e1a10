//! Turns whose changes are kept, to be shown and taken back.

use crate::session::author::{Author, ChatId};
use crate::session::ids::SessionId;
use std::path::PathBuf;

/// Identifies a kept turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TurnRef {
    /// The folder whose files it changed: a real path.
    pub root: PathBuf,
    /// Its id among the turns of that folder.
    pub id: String,
}

/// A kept turn, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTurn {
    /// Identifies it.
    pub turn: TurnRef,
    /// Who made it: the session with the number of the turn, if this program knows it.
    pub by: Option<Author>,
    /// When it ended, in seconds since 1970.
    pub time: u64,
    /// The agent's name in the configuration.
    pub agent: String,
    /// The beginning of the prompt.
    pub prompt: String,
    /// Whether it has been undone.
    pub is_undone: bool,
    /// How many files it changed.
    pub files: usize,
    /// How many lines it added.
    pub added: usize,
    /// How many lines it removed.
    pub removed: usize,
}

/// Which turn to undo or redo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoTarget {
    /// The last one that has not been undone.
    Last,
    /// The one that was undone last.
    LastUndone,
    /// This one.
    Turn(TurnRef),
}

/// A wish to undo or redo a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoRequest {
    /// The chat to ask in.
    pub chat: ChatId,
    /// The folders of the chat.
    pub roots: Vec<PathBuf>,
    /// Which turn.
    pub target: UndoTarget,
    /// Whether to take back what somebody else may have changed, too.
    pub force: bool,
}

/// What undoing or redoing a turn would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoPlan {
    /// The turn whose changes are taken back. For a redo, the undo.
    pub turn: TurnRef,
    /// The undone turn that is brought back by a redo.
    pub redoes: Option<TurnRef>,
    /// Whether to take back what somebody else may have changed, too.
    pub force: bool,
    /// The session it was in.
    pub session: SessionId,
    /// The beginning of the prompt.
    pub prompt: String,
    /// When it ended, in seconds since 1970.
    pub time: u64,
    /// What happens to each path.
    pub files: Vec<PlannedFile>,
    /// How many files could not be covered when the turn began.
    pub not_covered: usize,
    /// Whether the turn began before all files had been read.
    pub is_late: bool,
    /// Whether the user had agreed to another plan, which files that have changed meanwhile have made this.
    pub is_again: bool,
}

/// What happens to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// The path.
    pub path: PathBuf,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// What happens to it.
    pub action: PlannedAction,
    /// A digest of what it becomes.
    pub becomes: u64,
}

/// What happens to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedAction {
    /// It becomes again what it was.
    Restore,
    /// Only its permissions become again what they were.
    Mode {
        /// What they are.
        from: u32,
        /// What they were.
        to: u32,
    },
    /// It was something else, which takes the place of what is there.
    Replace {
        /// What is there, such as a folder.
        now: &'static str,
        /// What was there.
        before: &'static str,
    },
    /// It did not exist and is deleted.
    Delete,
    /// It was deleted and comes back.
    Create,
    /// What others have changed since is kept; how many places stay as they are.
    Merge(usize),
    /// It is left alone, for this reason.
    Leave(String),
}

/// What has become of an undo or redo.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoOutcome {
    /// The paths that were changed.
    pub changed: Vec<PathBuf>,
    /// Those of them whose buffers have unsaved changes.
    pub unsaved: Vec<PathBuf>,
    /// How many places were kept, as others have changed them since.
    pub conflicts: usize,
    /// The paths that were left alone, with the reason.
    pub left: Vec<(PathBuf, String)>,
    /// Why it cannot be taken back, if so.
    pub not_kept: Option<String>,
}

/// Something to do with checkpoints.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckpointCommand {
    /// Begin to read the files in the folders of a chat, since a turn may change them soon. If that takes long,
    /// `Event::FolderScan` follows.
    Prepare(ChatId, Vec<PathBuf>),
    /// The turn of a chat was not sent.
    Drop(ChatId),
    /// The turn of a chat has ended: keep what it changed.
    End {
        /// The session and turn.
        by: Author,
        /// The agent's name in the configuration.
        agent: String,
        /// The prompt.
        prompt: String,
    },
    /// List the kept turns of these folders. `Event::TurnsListed` follows.
    List {
        /// The chat.
        chat: ChatId,
        /// The folders.
        roots: Vec<PathBuf>,
        /// The number of the Lua call that wants them; `None` lets the user choose.
        request: Option<u64>,
        /// Only those of this session with this prompt.
        of: Option<(SessionId, String)>,
    },
    /// Show what a turn changed. `Event::TurnShown` follows.
    Show(ChatId, TurnRef),
    /// Find out what undoing a turn would do. `Event::UndoPlanned` follows.
    Plan(UndoRequest),
    /// Undo or redo a turn. `Event::Undone` follows.
    Undo(ChatId, Box<UndoPlan>),
}
