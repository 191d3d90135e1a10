//! Calls about documents: reading and changing the buffers of files.

use super::{LuaBytes, LuaText, Nothing, calls};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A buffer number (`:help bufnr()`).
type Buf = i64;
/// 'changedtick' of a buffer.
type Tick = i64;

macro_rules! arguments {
    ($($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? {
        $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)?
    })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Serialize)]
        #[cfg_attr(test, derive(JsonSchema))]
        pub struct $name $(<$life>)? {
            $($(#[$field_doc])* pub $field: $type,)*
        }
    )*};
}

arguments! {
    /// Starts recording the modification times of files and reporting events of buffers.
    Start {}

    /// Returns the file names of all loaded buffers.
    Files {
        /// Whether to leave out buffers without unsaved changes.
        modified: bool,
    }

    /// Finds the loaded buffer of a file, and tracks its changes from then on.
    Find<'a> {
        /// The real path.
        path: &'a str,
        /// The buffer it had before.
        known: Option<Buf>,
        /// Its 'changedtick' at that time.
        since: Option<Tick>,
    }

    /// Like `find`, but also returns lines of a buffer with unsaved changes: those asked for, or all if it is small.
    Glance<'a> {
        /// The real path.
        path: &'a str,
        /// The buffer it had before.
        known: Option<Buf>,
        /// Its 'changedtick' at that time.
        since: Option<Tick>,
        /// The first line, from 0.
        from: usize,
        /// The line after the last one.
        to: usize,
    }

    /// Divides a buffer into slices for a snapshot, so that no single call blocks Neovim for long.
    Slices {
        /// The buffer.
        buf: Buf,
        /// The first line, from 0.
        from: usize,
        /// The approximate size of a slice in bytes.
        bytes: u64,
    }

    /// Returns lines of a buffer, and its changes since a tick.
    Lines {
        /// The buffer.
        buf: Buf,
        /// The first line, from 0.
        from: usize,
        /// The line after the last one.
        to: usize,
        /// The 'changedtick' to report changes since.
        since: Tick,
    }

    /// Applies edits to a buffer as one undo step.
    Apply<'a> {
        /// The buffer.
        buf: Buf,
        /// The expected 'changedtick'; if it differs, nothing is done.
        tick: Tick,
        /// The edits, in order and without overlap.
        edits: Vec<Edit<'a>>,
        /// Whether the buffer then has the same text as the file.
        unmodified: bool,
    }

    /// Applies edits to a buffer and saves it.
    Write<'a> {
        /// The buffer.
        buf: Buf,
        /// The expected 'changedtick'; if it differs, nothing is done.
        tick: Tick,
        /// The edits, in order and without overlap.
        edits: Vec<Edit<'a>>,
        /// Whether the last line ends with a line break.
        eol: bool,
    }

    /// Updates a buffer after its file has changed on disk, without reloading it.
    FollowDisk<'a> {
        /// The buffer.
        buf: Buf,
        /// The expected 'changedtick'; if it differs, nothing is done.
        tick: Tick,
        /// The edits, in order and without overlap.
        edits: Vec<Edit<'a>>,
        /// The file's metadata when its text was read.
        file: File,
        /// The file's format.
        shape: Shape,
        /// Whether the buffer then has changes that are not in the file.
        modified: bool,
        /// Places where the buffer keeps its lines although the file has others.
        unresolved: Vec<Unresolved<'a>>,
        /// The turn in which the file has got them, or nothing.
        turn: String,
    }

    /// Ends the conflicts of a buffer with what was written in a turn, or brings them back.
    ConflictsUndone {
        /// The buffer.
        buf: Buf,
        /// The turn.
        turn: String,
        /// Whether it was undone; otherwise it was redone.
        undone: bool,
    }

    /// Sets 'modified' because the buffer has text that its file does not have.
    MarkModified {
        /// The buffer.
        buf: Buf,
        /// The expected 'changedtick'; if it differs, nothing is done.
        tick: Tick,
    }

    /// Adds an undo step for a change that was made to the file before it was opened.
    AsStep<'a> {
        /// The buffer.
        buf: Buf,
        /// The expected 'changedtick'; if it differs, nothing is done.
        tick: Tick,
        /// The edits back to the earlier text.
        back: Vec<Edit<'a>>,
        /// The edits from there to the current text.
        forth: Vec<Edit<'a>>,
    }

    /// Lets Neovim notice that the file of a buffer was deleted.
    FileGone {
        /// The buffer.
        buf: Buf,
    }

    /// Decodes bytes to UTF-8; returns nothing if they are not valid in the encoding.
    Decode<'a> {
        /// The bytes.
        bytes: LuaBytes,
        /// A 'fileencoding' other than Unicode.
        encoding: &'a str,
    }

    /// Asks the user's provider for the text of a file. The answer is the message `provided`.
    ProvideText<'a> {
        /// Our number of the question.
        id: u64,
        /// The real path.
        path: &'a str,
        /// The first line, from 1.
        line: Option<u32>,
        /// How many lines at most.
        limit: Option<u32>,
    }

    /// Asks the user's provider whether it writes a file itself. The answer is the message `provided`.
    ProvideWrite<'a> {
        /// Our number of the question.
        id: u64,
        /// The real path.
        path: &'a str,
        /// The whole new text.
        content: &'a str,
    }

    /// Encodes a UTF-8 text.
    Encode<'a> {
        /// The text.
        text: &'a str,
        /// A 'fileencoding' other than Unicode.
        encoding: &'a str,
    }
}

calls! {
    Start = "rat.document", "start" => Nothing;
    Files = "rat.document.track", "files" => Vec<LuaText>;
    Find<'_> = "rat.document.buffers", "find" => Option<Facts>;
    Glance<'_> = "rat.document.buffers", "glance" => Option<Glanced>;
    Slices = "rat.document.buffers", "slices" => SliceEnds;
    Lines = "rat.document.buffers", "lines" => Slice;
    Apply<'_> = "rat.document.buffers", "apply" => Outcome;
    Write<'_> = "rat.document.buffers", "write" => Outcome;
    FollowDisk<'_> = "rat.document.buffers", "follow_disk" => Outcome;
    MarkModified = "rat.document.buffers", "mark_modified" => Nothing;
    AsStep<'_> = "rat.document.buffers", "as_step" => Nothing;
    ConflictsUndone = "rat.document.conflict", "turn_undone" => Nothing;
    FileGone = "rat.document.buffers", "file_gone" => Nothing;
    Decode<'_> = "rat.document.encoding", "decode" => Option<LuaText>;
    ProvideText<'_> = "rat.document.provider", "read" => Nothing;
    ProvideWrite<'_> = "rat.document.provider", "write" => Nothing;
    Encode<'_> = "rat.document.encoding", "encode" => Encoded;
}

/// An edit of whole lines, `{first, -1, last, -1, lines}`, or of a part, `{row, column, row, column, lines}`, with
/// positions as in `nvim_buf_set_lines()` and `nvim_buf_set_text()`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Edit<'a>(pub i64, pub i64, pub i64, pub i64, pub &'a [String]);

/// A range of lines, from 0 and without the last one, and the lines the file has in their place.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Unresolved<'a>(pub usize, pub usize, pub &'a [String]);

/// The metadata that identifies a version of a file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct File {
    /// The modification time, in seconds since 1970.
    pub sec: i64,
    /// The nanoseconds of the modification time.
    pub nsec: i64,
    /// The size in bytes.
    pub size: u64,
    /// The inode number.
    pub inode: u64,
}

/// The format of a file, beside its lines.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// 'fileformat'; `unix` for 'binary' buffers.
    pub format: Format,
    /// Whether the last line ends with a line break.
    pub eol: bool,
    /// Whether the file begins with a byte order mark.
    pub bom: bool,
    /// 'fileencoding'.
    pub encoding: String,
}

/// 'fileformat': the line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// `<NL>`.
    Unix,
    /// `<CR><NL>`.
    Dos,
    /// `<CR>`.
    Mac,
}

/// Changed lines: the range before the change, from 0 and without the last one, and the new lines.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Change(pub usize, pub usize, pub Vec<LuaText>);

/// The state of a buffer, beside its lines.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The buffer.
    pub buf: Buf,
    /// 'changedtick'.
    pub tick: Tick,
    /// Where it is in its undo history (`:help changenr()`).
    pub undo: i64,
    /// The number of lines.
    pub lines: usize,
    /// The size of the lines in bytes, with one byte for each line break.
    pub bytes: usize,
    /// Whether there is no text, not even an empty line.
    pub empty: bool,
    /// Whether it has unsaved changes.
    pub modified: bool,
    /// Why it cannot be changed or saved.
    pub locked: Option<LuaText>,
    /// The format of its file, or the format it will have once unsaved changes are saved.
    pub shape: Shape,
    /// 'fileformats': the formats Neovim would try if it read the file again.
    pub formats: String,
    /// Whether Neovim would detect the encoding if it read the file again.
    pub finds_encoding: bool,
    /// The file's metadata when Neovim last read or wrote it.
    pub stamp: Option<Stamp>,
    /// The changes since the given tick, in order; missing if the tick is too old.
    pub changes: Option<Vec<Change>>,
    /// Which of them autocommands of a write made, such as a formatter, if any: ranges of places, from 0 and end exclusive.
    pub by_writes: Option<Vec<(usize, usize)>>,
}

/// The metadata that tells a file from a later version.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stamp {
    /// The modification time, in seconds since 1970.
    pub sec: i64,
    /// The nanoseconds of the modification time.
    pub nsec: i64,
    /// The size in bytes.
    pub size: u64,
}

/// The state of a buffer, and lines of it if they were returned.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Glanced {
    /// The state of the buffer.
    pub facts: Facts,
    /// The lines.
    pub part: Option<Slice>,
}

/// Lines of a buffer.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// The lines, joined by newlines.
    pub text: LuaText,
    /// The number of lines.
    pub count: usize,
    /// The 'changedtick' when they were read.
    pub tick: Tick,
    /// The changes since the given tick, in order; missing if the tick is too old.
    pub changes: Option<Vec<Change>>,
    /// The state of the buffer, if the lines reach its end.
    pub facts: Option<Facts>,
}

/// The ends of slices.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SliceEnds {
    /// The state of the buffer.
    pub facts: Facts,
    /// The line after each slice, from 0.
    pub ends: Vec<usize>,
}

/// The outcome of a change to a buffer.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Whether nothing was done because the buffer no longer belongs to the file.
    #[serde(default)]
    pub gone: bool,
    /// Whether nothing was done because text cannot be changed at the moment.
    #[serde(default)]
    pub busy: bool,
    /// Whether nothing was done because the buffer has a different 'changedtick'.
    #[serde(default)]
    pub stale: bool,
    /// Why the change was only made in part, or not saved.
    pub failed: Option<LuaText>,
    /// How many of the edits are in the file, if it was saved.
    pub saved: Option<usize>,
    /// The state of the buffer, unless `gone` or `busy`.
    pub facts: Option<Facts>,
}

/// An encoded text.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Encoded {
    /// The bytes, if every character could be encoded.
    pub bytes: Option<LuaBytes>,
    /// Otherwise the first character that the encoding does not have; empty if it is unknown.
    pub lacks: Option<LuaText>,
}
