//! The port to the editor: what the documents ask of Neovim, in types. Whoever implements it
//! decides nothing.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use thiserror::Error;

use super::DiskFacts;
use crate::edit::{Edit, Hunk, Kept, LineEnding, Shape, Text};

pub use super::encoding::{Encoding, Order};

/// A buffer (`:help bufnr()`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferId(pub i64);

/// A time on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileTime {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds beside them.
    pub nanoseconds: i64,
}

impl FileTime {
    /// As the clock shows it; the beginning of time for one that it cannot show.
    pub(super) fn on_clock(self) -> SystemTime {
        let seconds = u64::try_from(self.seconds).unwrap_or(0);
        let nanoseconds = u32::try_from(self.nanoseconds).unwrap_or(0);
        let since = Duration::new(seconds, nanoseconds);
        SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

/// By what the file that Neovim last read or wrote is told from a later one: two writes within one tick of the disk's clock
/// have one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// When it was last changed.
    pub time: FileTime,
    /// Bytes.
    pub size: u64,
}

/// What is known of a loaded buffer beside its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// Which.
    pub id: BufferId,
    /// `'changedtick'`.
    pub tick: i64,
    /// How many lines it has; one at least.
    pub lines: usize,
    /// About how many bytes they have.
    pub bytes: usize,
    /// Whether there is no text at all, not even an empty line.
    pub empty: bool,
    /// Whether it has unsaved changes.
    pub modified: bool,
    /// Why it cannot be changed or saved, if so.
    pub locked: Option<String>,
    /// The shape of its text: as in the file while it is unmodified, else as saving would leave it.
    pub shape: Shape,
    /// The line ends Neovim looks for in a file it reads (`'fileformats'`).
    pub formats: Vec<LineEnding>,
    /// Whether Neovim looks for the encoding of a file it reads (`'fileencodings'`).
    pub finds_encoding: bool,
    /// How it is written.
    pub encoding: Encoding,
    /// The file's when Neovim last read or wrote it, if that was seen.
    pub stamp: Option<Stamp>,
}

/// A buffer, and what changed in it since the tick asked about, in order: `None` if that is too
/// long ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// As it is now.
    pub buffer: Buffer,
    /// Each refers to the text the one before left.
    pub changes: Option<Vec<Hunk>>,
}

/// Some lines of a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// Joined by `\n`.
    pub text: String,
    /// How many.
    pub count: usize,
    /// The tick they are of.
    pub tick: i64,
    /// Whether they reach the end of the buffer.
    pub is_end: bool,
}

/// What follows a change of a buffer, in the same breath.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    /// Nothing: the buffer has unsaved changes then.
    Leave,
    /// It is saved (`:write`), the last line with its end or without.
    Save {
        /// Whether the last line gets its end.
        eol: bool,
    },
    /// It counts as unmodified: the change took it back to what the file says.
    Unmodified,
    /// Neovim takes note of the file as it is, without a reload or a question (`:help timestamp`).
    Adopt {
        /// The file whose text is in the buffer.
        facts: DiskFacts,
        /// What the file has beside its lines, for the buffer to have too.
        shape: Shape,
        /// How it is written.
        encoding: Encoding,
        /// Whether the buffer then has text that the file has not.
        modified: bool,
        /// Lines, before the change, that the buffer keeps although the file has others: they are
        /// marked.
        kept: Vec<Kept>,
    },
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Made; the changes since the tick are ours and those of autocommands.
    Done {
        /// As it is now.
        found: Found,
        /// How many of the changes are in the file, if it was saved: autocommands may make more
        /// afterwards.
        saved: Option<usize>,
    },
    /// Not made: the buffer had changed since the tick.
    Stale(Found),
    /// It was made, but saving failed, or it was made in part.
    Failed {
        /// In Neovim's words.
        reason: String,
        /// With what was changed nevertheless.
        found: Found,
    },
    /// Not made for the moment: another change of this buffer runs (a formatter that waits, for
    /// example), or Neovim lets nobody change text (`:help textlock`).
    Busy,
    /// Not made: the buffer is not loaded any more.
    Gone,
}

/// A text in an encoding that only Neovim knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoded {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// The first character that the encoding has not; none where that is not to be said.
    Lacks(String),
}

/// Why the editor gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditorError {
    /// An error in the editor.
    #[error("{0}")]
    Failed(String),
    /// A buffer holds bytes that are not UTF-8.
    #[error("the buffer holds bytes that are not UTF-8")]
    NotText,
    /// A buffer changed all the time while it was read.
    #[error("the buffer keeps changing")]
    Restless,
}

/// Neovim, as far as documents go.
#[async_trait]
pub trait Editor: Send + Sync + std::fmt::Debug {
    /// The loaded buffer of a file, by real path; `known` is the one found before and its tick
    /// then.
    async fn find(
        &self,
        path: &Path,
        known: Option<(BufferId, i64)>,
    ) -> Result<Option<Found>, EditorError>;

    /// The whole text of a buffer at one moment, fetched in slices.
    async fn snapshot(&self, id: BufferId) -> Result<(Buffer, Text), EditorError>;

    /// The same, and of a buffer with unsaved changes, unless it is still as `known`, the lines of a range, from 0, or all
    /// of them where that costs no more.
    async fn glance(
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

    /// Marks a buffer that is still at `tick` as one with text that its file has not.
    async fn mark_modified(&self, id: BufferId, tick: i64) -> Result<(), EditorError>;

    /// Makes a change of a buffer's file that was made before it was opened a step that can be undone, as long as
    /// nothing else has been done in it: `back` leads to the text before, `forth` from there to the text of now.
    async fn as_step(
        &self,
        id: BufferId,
        tick: i64,
        back: &[Edit],
        forth: &[Edit],
    ) -> Result<(), EditorError>;

    /// Lets Neovim take note that the file of a buffer is gone, without a message. The buffer has unsaved changes then.
    async fn file_gone(&self, id: BufferId) -> Result<(), EditorError>;

    /// Bytes in an encoding of that name as text; `None` if they are none, or would not come back
    /// byte for byte.
    async fn decode(&self, bytes: &[u8], encoding: &str) -> Result<Option<String>, EditorError>;

    /// Text in an encoding of that name.
    async fn encode(&self, text: &str, encoding: &str) -> Result<Encoded, EditorError>;
}
