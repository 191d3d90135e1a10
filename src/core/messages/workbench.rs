//! What the editor is asked for its own tools, and what it finds: what language servers know, diagnostics, and what the user
//! looks at.

use crate::edit::{PositionEncoding, RangeEdit};
use crate::session::author::ChatId;
use crate::session::editor_tool::{QuickfixItem, Severity};
use std::path::PathBuf;

/// What the editor is asked. Paths are real, and lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// What is wrong in these files; in all that are loaded if there are none.
    Diagnostics {
        /// The files.
        files: Vec<PathBuf>,
        /// The least severe ones that are wanted.
        severity: Severity,
        /// Only those are wanted that were not there before the last edit of this chat.
        since_last_edit_of: Option<ChatId>,
    },
    /// Waits until it is known what is wrong in these files, since an agent is about to change them.
    Settle(Vec<PathBuf>),
    /// Where a symbol is used.
    References(Symbol),
    /// Where a symbol is defined, and what it is.
    Definition(Symbol),
    /// The symbols of a file.
    FileSymbols(PathBuf),
    /// The symbols of the project below a folder that match a text.
    ProjectSymbols(PathBuf, String),
    /// What renaming a symbol changes.
    Rename(Symbol, String),
    /// What a language server offers for a line.
    Actions(PathBuf, u32),
    /// What one of these changes, by its title.
    Action(PathBuf, u32, String),
    /// The files the user has open.
    OpenBuffers,
    /// The quickfix list.
    Quickfix,
    /// Shows another quickfix list.
    SetQuickfix(Vec<QuickfixItem>),
    /// Runs a tool that the user has added, with these arguments as JSON text.
    Own(String, String),
}

/// A symbol in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The file.
    pub file: PathBuf,
    /// The symbol, as it stands in the text.
    pub name: String,
    /// The line it is in, if it is said.
    pub line: Option<u32>,
}

/// What the editor has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// Places in files.
    pub places: Vec<Place>,
    /// How many places there are; `places` may lack some.
    pub total: usize,
    /// The edits that a change needs, by file.
    pub edits: Vec<FileEdits>,
    /// What to tell the model besides, a line or text each.
    pub notes: Vec<String>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The path of the file.
    pub path: PathBuf,
    /// The line; 0 if it is about the whole file.
    pub line: u32,
    /// What is there, in one line. Empty: the line of the file.
    pub text: String,
}

/// Edits of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdits {
    /// The path of the file.
    pub path: PathBuf,
    /// How their positions count.
    pub encoding: PositionEncoding,
    /// The edits.
    pub edits: Vec<RangeEdit>,
}
