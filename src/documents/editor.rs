//! The port to the editor: the [`Editor`] trait, through which documents find, read and change buffers. Implementations
//! make no decisions of their own.

use std::ops::Range;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use thiserror::Error;

use crate::edit::{Edit, Hunk, LineEnding, Shape, Text, UnresolvedHunk};
use crate::session::author::Author;

use super::encoding::Encoding;
use super::facts::{DiskFacts, Stamp};

/// A buffer (`:help bufnr()`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferId(pub i64);

/// A loaded buffer, without its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// Its number.
    pub id: BufferId,
    /// `'changedtick'`.
    pub tick: i64,
    /// Where it is in its undo history (`:help changenr()`).
    pub undo: i64,
    /// Number of lines, at least one.
    pub lines: usize,
    /// Size of the text in bytes, as reported by `nvim_buf_get_offset()`.
    pub bytes: usize,
    /// Whether the text has no lines at all, as opposed to one empty line.
    pub empty: bool,
    /// Whether it has unsaved changes (`'modified'`).
    pub modified: bool,
    /// The reason why it cannot be changed or saved, for example because the file is write-protected; `None` if it can.
    pub locked: Option<String>,
    /// Line ends, final newline and byte order mark: those of the file if the buffer is unmodified, otherwise those
    /// that saving would write.
    pub shape: Shape,
    /// The line ends Neovim tries to detect when it reads a file (`'fileformats'`).
    pub formats: Vec<LineEnding>,
    /// Whether Neovim detects the encoding when it reads a file (`'fileencodings'`).
    pub finds_encoding: bool,
    /// The encoding it is written in (`'fileencoding'`).
    pub encoding: Encoding,
    /// The stamp of the file when Neovim last read or wrote it; `None` if that was not observed.
    pub stamp: Option<Stamp>,
}

/// A buffer and the changes made in it since a given tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its present state.
    pub buffer: Buffer,
    /// The changes in order, each relative to the text after the one before. `None` if they are not known back to that
    /// tick.
    pub changes: Option<Vec<Hunk>>,
    /// Which of them autocommands of a write made, such as a formatter: ranges of places in the list.
    pub by_writes: Vec<Range<usize>>,
}

/// Some lines of a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// Joined by `\n`.
    pub text: String,
    /// Number of lines.
    pub count: usize,
    /// `'changedtick'` when they were read.
    pub tick: i64,
    /// Whether they include the last line of the buffer.
    pub is_end: bool,
}

/// What to do right after an edit of a buffer, in the same call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    /// Nothing; the buffer has unsaved changes then.
    Nothing,
    /// Save it (`:write`).
    Save {
        /// Whether the last line gets a line end (`'endofline'`).
        eol: bool,
    },
    /// Mark it unmodified, because the edit has restored the text of the file.
    Unmodified,
    /// Make Neovim accept the file as it is now, without a reload or a prompt (`:help timestamp`).
    FollowDisk {
        /// The file that the buffer now follows.
        facts: DiskFacts,
        /// The shape the buffer gets.
        shape: Shape,
        /// The encoding the buffer gets.
        encoding: Encoding,
        /// Whether the text of the buffer differs from the file.
        modified: bool,
        /// Lines, counted before the edit, that stay in the buffer although the file has others in their place. They
        /// are marked as conflicts.
        unresolved: Vec<UnresolvedHunk>,
        /// Who has written the others, if anything is unresolved.
        by: Option<Author>,
    },
}

/// The result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was made.
    Done {
        /// The buffer; its changes are the edits and what autocommands have changed.
        found: Found,
        /// If the buffer was saved, how many of the changes are in the file: autocommands may make more after it is
        /// written.
        saved: Option<usize>,
    },
    /// It was not made, because the buffer has changed since the tick.
    Stale(Found),
    /// It was made only in part, or saving failed.
    Failed {
        /// Neovim's error.
        reason: String,
        /// The buffer, with what was changed nevertheless.
        found: Found,
    },
    /// It cannot be made at the moment: another edit of this buffer is in progress, for example because a formatter
    /// waits, or text must not be changed (`:help textlock`).
    Busy,
    /// It was not made, because the buffer is not loaded any more.
    Gone,
}

/// The result of converting a text to an encoding that only Neovim supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoded {
    /// The encoded bytes.
    Bytes(Vec<u8>),
    /// The encoding lacks a character of the text: the first one, or an empty string if Neovim cannot tell which.
    Lacks(String),
}

/// Why a call to the editor failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditorError {
    /// Any other error, in the editor's words.
    #[error("{0}")]
    Failed(String),
    /// A buffer contains bytes that are not UTF-8.
    #[error("the buffer holds bytes that are not UTF-8")]
    NotText,
    /// A buffer changed so often while it was read that reading was given up.
    #[error("the buffer keeps changing")]
    KeepsChanging,
}

/// What documents need of Neovim.
#[async_trait]
pub trait Editor: Send + Sync + std::fmt::Debug {
    /// Lists the files of all loaded buffers, or with `modified` of those with unsaved changes, by buffer name.
    async fn loaded(&self, modified: bool) -> Result<Vec<PathBuf>, EditorError>;

    /// Whether the editor has exited, so that errors of other calls need not be reported.
    fn is_gone(&self) -> bool;

    /// Finds the loaded buffer of a file by its real path. `known` is the buffer found before, with its tick then;
    /// [`Found::changes`] are those since that tick.
    async fn find(
        &self,
        path: &Path,
        known: Option<(BufferId, i64)>,
    ) -> Result<Option<Found>, EditorError>;

    /// Reads the whole text of a buffer. It is fetched in slices and put together as of one moment.
    async fn snapshot(&self, id: BufferId) -> Result<(Buffer, Text), EditorError>;

    /// Like [`Self::find`]. If the buffer has unsaved changes and is not at the tick in `known`, also reads a range of
    /// lines, counted from 0; or all lines if there are few.
    async fn find_with_lines(
        &self,
        path: &Path,
        known: Option<(BufferId, i64)>,
        lines: Range<usize>,
    ) -> Result<Option<(Found, Option<Lines>)>, EditorError>;

    /// Makes edits in a buffer that is still at `tick`, as one undo step.
    async fn change(
        &self,
        id: BufferId,
        tick: i64,
        edits: &[Edit],
        then: &Then,
    ) -> Result<Outcome, EditorError>;

    /// Sets `'modified'` if the buffer is still at `tick`.
    async fn mark_modified(&self, id: BufferId, tick: i64) -> Result<(), EditorError>;

    /// Makes a change that was made to a file before it was opened undoable: `back` leads to the text before that
    /// change, and `forth` from there to the present text. Does nothing if the buffer is not at `tick` or already has
    /// undo history.
    async fn add_undo_step(
        &self,
        id: BufferId,
        tick: i64,
        back: &[Edit],
        forth: &[Edit],
    ) -> Result<(), EditorError>;

    /// Makes Neovim accept without a message that the file of a buffer was deleted, and sets `'modified'`.
    async fn file_gone(&self, id: BufferId) -> Result<(), EditorError>;

    /// Ends the conflicts of a buffer with what was written in a turn, since that is undone; or brings them back.
    async fn conflicts_are_undone(
        &self,
        _id: BufferId,
        _turn: &Author,
        _undone: bool,
    ) -> Result<(), EditorError> {
        Ok(())
    }

    /// Decodes bytes; `encoding` is Neovim's name for the encoding. `None` if they are not valid, or encoding the text
    /// again would give other bytes.
    async fn decode(&self, bytes: &[u8], encoding: &str) -> Result<Option<String>, EditorError>;

    /// Encodes a text; `encoding` is Neovim's name for the encoding.
    async fn encode(&self, text: &str, encoding: &str) -> Result<Encoded, EditorError>;

    /// Returns the text that a function of the user's gives in place of a file, or of the lines that are asked for; `None` if
    /// it leaves the file to us.
    async fn provided_text(
        &self,
        _path: &Path,
        _line: Option<u32>,
        _limit: Option<u32>,
    ) -> Option<String> {
        None
    }

    /// Whether a function of the user's has written a file in place of us.
    async fn provided_write(&self, _path: &Path, _content: &str) -> bool {
        false
    }
}
