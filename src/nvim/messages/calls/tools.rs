//! Calls for the editor's own tools.

use super::{Nothing, calls};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// Asks what language servers and the editor know. The answer is the message `found`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Ask {
    /// The number of the question.
    pub id: u64,
    /// The question.
    pub question: Question,
}

/// What is asked. Paths are real, and lines are counted from 1.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Question {
    /// What is wrong in files.
    Diagnostics {
        /// The files; all that are loaded if there are none.
        files: Vec<String>,
        /// The least severe ones that are wanted: `error`, `warning`, `info` or `hint`.
        severity: &'static str,
        /// Only those are wanted that were not there before the last edit of this chat.
        since_last_edit_of: Option<u32>,
    },
    /// Waits until it is known what is wrong in files, since an agent is about to change them.
    Settle {
        /// The files.
        files: Vec<String>,
    },
    /// Where a symbol is used.
    References(Symbol),
    /// Where a symbol is defined.
    Definition(Symbol),
    /// The symbols of a file.
    FileSymbols {
        /// The file.
        file: String,
    },
    /// The symbols of the project.
    ProjectSymbols {
        /// The folder of the project.
        folder: String,
        /// What their names contain.
        query: String,
    },
    /// What renaming a symbol changes.
    Rename {
        /// The symbol.
        at: Symbol,
        /// Its new name.
        new_name: String,
    },
    /// What is offered for a line.
    Actions {
        /// The file.
        file: String,
        /// The line.
        line: u32,
    },
    /// What one of these changes.
    Action {
        /// The file.
        file: String,
        /// The line.
        line: u32,
        /// Its title.
        title: String,
    },
    /// The files the user has open.
    OpenBuffers {},
    /// The quickfix list.
    Quickfix {},
    /// Shows another quickfix list.
    SetQuickfix {
        /// Its entries.
        items: Vec<Item>,
    },
    /// Runs a tool that the user has added.
    Own {
        /// Its name.
        name: String,
        /// Its arguments as JSON text.
        input: String,
    },
}

/// A symbol in a file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Symbol {
    /// The file.
    pub file: String,
    /// The symbol, as it stands in the text.
    pub symbol: String,
    /// The line it is in; missing if that is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// An entry of a quickfix list.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Item {
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// What is there.
    pub text: String,
}

calls! {
    Ask = "rat.tools", "ask" => Nothing;
}
