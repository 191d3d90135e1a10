//! The editor of a world as its user has it, and what the user does there. `neovim` is the real one, `memory` the one that
//! plays a thousand times as many steps.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use rat_nvim::documents::Documents;
use rat_nvim::documents::editor::Editor;

use super::model::{Checked, Look};

/// What runs before each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Formatter {
    None,
    /// Takes the blanks away from the ends of all lines.
    Strip,
    /// Puts a comma behind all lines that end in a word.
    Commas,
    /// Sorts the lines from the second to the fifth.
    Sort,
}

impl Formatter {
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::None => "autocmd! BufWritePre *",
            Self::Strip => "autocmd BufWritePre * silent! keepjumps %s/ *$//e",
            Self::Commas => r"autocmd BufWritePre * silent! keepjumps %s/\d\zs$/,/e",
            Self::Sort => "autocmd BufWritePre * silent! 2,5sort",
        }
    }
}

/// Something a user does. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// Opens a file that is not open yet.
    Open(String),
    /// Goes to one that is; `quietly`: without autocommands.
    GoTo {
        name: String,
        quietly: bool,
    },
    /// Reads a file again and drops the changes of its buffer; opens it, if it is not open.
    Reread(String),
    /// Puts a new line below or above one.
    Insert {
        line: usize,
        above: bool,
        text: String,
    },
    Append {
        line: usize,
        text: String,
    },
    Change {
        line: usize,
        text: String,
    },
    Delete {
        first: usize,
        last: usize,
    },
    Copy {
        line: usize,
    },
    Move {
        line: usize,
        to: usize,
    },
    Undo,
    Redo,
    Earlier(usize),
    Later(usize),
    /// Drops all changes.
    Reload,
    Write {
        insists: bool,
    },
    Window(&'static str),
    /// Begins a line below one, and stays in Insert mode.
    Begin {
        line: usize,
        text: String,
    },
    /// Types at the end of the cursor's line, or in a new one below.
    Type {
        below: bool,
        text: String,
    },
    Escape,
    Format(Formatter),
}

impl Act {
    /// The command that does it.
    pub(crate) fn command(&self) -> String {
        match self {
            Self::Open(name) => format!("silent edit {name}"),
            Self::GoTo { name, quietly: true } => format!("silent noautocmd buffer {name}"),
            Self::GoTo { name, quietly: false } => format!("buffer {name}"),
            Self::Reread(name) => format!("silent edit! {name}"),
            Self::Write { insists } => format!("silent write{}", if *insists { "!" } else { "" }),
            Self::Format(formatter) => {
                // Those of the plugin are not the user's to remove.
                let own = formatter.command().replace("autocmd! ", "autocmd! own ");
                let own = own.replace("autocmd Buf", "autocmd own Buf");
                format!("augroup own | augroup END | autocmd! own | {own}")
            }
            _ => match self.normal() {
                Some(keys) => format!("normal! {keys}"),
                None => format!("silent! {}", self.plain()),
            },
        }
    }

    /// The keys that do it, from Normal mode to Normal mode but for typing.
    pub(crate) fn keys(&self) -> String {
        match (self, self.normal()) {
            (Self::Begin { .. } | Self::Type { .. } | Self::Escape, Some(keys)) => keys,
            (_, Some(keys)) => format!("{keys}<Esc>"),
            (_, None) => format!(":{}<CR>", self.command()),
        }
    }

    fn normal(&self) -> Option<String> {
        Some(match self {
            Self::Insert { line, above: false, text } | Self::Begin { line, text } => {
                format!("{line}Go{text}")
            }
            Self::Insert { line, above: true, text } => format!("{line}GO{text}"),
            Self::Append { line, text } => format!("{line}GA{text}"),
            Self::Change { line, text } => format!("{line}Gcc{text}"),
            Self::Type { below: true, text } => format!("<End><CR>{text}"),
            Self::Type { below: false, text } => format!("<End>{text}"),
            Self::Escape => "<Esc>".to_owned(),
            _ => return None,
        })
    }

    fn plain(&self) -> String {
        match self {
            Self::Delete { first, last } => format!("{first},{last}delete"),
            Self::Copy { line } => format!("{line}copy {line}"),
            Self::Move { line, to } => format!("{line}move {to}"),
            Self::Undo => "undo".to_owned(),
            Self::Redo => "redo".to_owned(),
            Self::Earlier(steps) => format!("earlier {steps}"),
            Self::Later(steps) => format!("later {steps}"),
            Self::Reload => "edit!".to_owned(),
            Self::Window(command) => (*command).to_owned(),
            other => unreachable!("{other:?} is no such command"),
        }
    }

    /// For the trail.
    pub(crate) fn shown(&self, with_keys: bool) -> String {
        if with_keys { format!("{} (keys)", self.keys()) } else { self.command() }
    }
}

/// An editor with documents, in a folder of its own.
#[async_trait]
pub(crate) trait Desk: Send + Sync {
    /// The documents that are loaded there.
    fn documents(&self) -> &Arc<Documents>;

    /// Where its files are: a real path.
    fn folder(&self) -> &Path;

    /// The editor alone, without documents.
    fn editor(&self) -> Arc<dyn Editor>;

    /// From now on, these are its documents.
    fn connect(&mut self, documents: Arc<Documents>);

    /// Another editor in the same folder, without documents. It has to end first.
    async fn beside(&self, autoread: bool) -> Box<dyn Desk>;

    /// How many lines a large file has here.
    fn large(&self) -> usize;

    /// Puts a file there.
    fn put(&self, name: &str, text: &str) -> PathBuf;

    async fn does(&self, act: &Act, with_keys: bool);

    /// Has the user type while something else goes on.
    async fn begins(&self, act: &Act);

    /// Waits until this word, which the user has begun to type, is there.
    async fn has_typed(&self, word: &str);

    /// The file in the user's window.
    async fn current(&self) -> PathBuf;

    /// How many lines it has.
    async fn lines(&self) -> usize;

    /// A file and its buffer.
    async fn look(&self, path: &Path) -> Look;

    /// What was told of buffers since: a word for what and a path a line.
    async fn told(&self) -> String;

    /// Has the disk's clock move on since a file was written, if the editor's next text for it has so many bytes.
    async fn lets_time_pass(&self, path: &Path, size: usize);

    /// That it waits for no answer of the user.
    async fn asks_nothing(&self) -> Checked;
}
