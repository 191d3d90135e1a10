//! Why a file could not be read or written, in words for an agent; it decides nothing.

use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use thiserror::Error;

use super::editor::EditorError;
use super::limits::{MOST_TEXT, megabytes};
use crate::core::event::agent::{INTERNAL_ERROR, NOT_FOUND};

/// Why a file could not be read or written. Each says what happened and what to do, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FileError {
    /// There is no such file.
    #[error("{} does not exist: create it by writing it, or check the path", .0.display())]
    Missing(PathBuf),
    /// Not bytes that are text in the encoding of the file.
    #[error("{} is not text ({reason}): use another tool for it", .path.display())]
    NotText {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Both sides changed the same lines. Nothing was written.
    #[error("{}", conflict(path, lines, *unsaved))]
    Conflict {
        /// Which file.
        path: PathBuf,
        /// The lines as they are now, from 0, end exclusive; an empty range is the place before
        /// that line.
        lines: Vec<Range<usize>>,
        /// Whether they are unsaved.
        unsaved: bool,
    },
    /// The edit builds on the user's unsaved changes, which would have to be saved with it. Nothing was written.
    #[error("{} was not written: your edit needs the user's unsaved changes saved: ask the user", .0.display())]
    Unsaved(PathBuf),
    /// Neovim would not change or save the buffer; it is as it was.
    #[error("{} was not written, {reason}: ask the user", .path.display())]
    Refused {
        /// Which file.
        path: PathBuf,
        /// In Neovim's words.
        reason: String,
    },
    /// The disk would not.
    #[error("{} could not be {verb}: {reason}", .path.display())]
    Disk {
        /// Which file.
        path: PathBuf,
        /// `read` or `written`.
        verb: &'static str,
        /// In the system's words.
        reason: String,
    },
    /// Too large for what was asked for. Nothing was written.
    #[error("{} {reason}", .path.display())]
    Large {
        /// Which file.
        path: PathBuf,
        /// What has which size, and what to do.
        reason: String,
    },
    /// The file system it lies on does not answer. What was to be written may be written or not.
    #[error(
        "{}: its file system did not answer within {seconds} s: try again later, or ask the user",
        .path.display()
    )]
    Silent {
        /// Which file.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The user changes the text faster than it can be written.
    #[error("{} keeps changing in the editor: try again", .0.display())]
    Busy(PathBuf),
    /// Neovim lets nobody change the buffer. Nothing was written.
    #[error(
        "{} was not written, Neovim waits for the user in the middle of a command: ask the user to \
         finish it (or to press <Esc>), then try again",
        .0.display()
    )]
    Held(PathBuf),
    /// Neovim is gone, or something went wrong inside.
    #[error("the editor failed: {0}")]
    Editor(String),
}

impl FileError {
    /// The ACP error code.
    pub fn code(&self) -> i64 {
        match self {
            Self::Missing(_) => NOT_FOUND,
            Self::NotText { .. }
            | Self::Conflict { .. }
            | Self::Unsaved(_)
            | Self::Refused { .. }
            | Self::Disk { .. }
            | Self::Large { .. }
            | Self::Silent { .. }
            | Self::Busy(_)
            | Self::Held(_)
            | Self::Editor(_) => INTERNAL_ERROR,
        }
    }

    pub(super) fn reading(path: PathBuf, error: &io::Error) -> Self {
        Self::Disk { path, verb: "read", reason: error.to_string() }
    }

    /// A file that is not to be held whole.
    pub(super) fn large(path: PathBuf, size: u64) -> Self {
        let (size, most) = (megabytes(size), megabytes(MOST_TEXT));
        let reason = format!(
            "has {size}, more than the {most} that can be handled as a whole: read parts of it \
             (`line` and `limit`), and change it with another tool"
        );
        Self::Large { path, reason }
    }

    pub(super) fn writing(path: PathBuf, error: &io::Error) -> Self {
        Self::Disk { path, verb: "written", reason: error.to_string() }
    }
}

impl From<EditorError> for FileError {
    fn from(error: EditorError) -> Self {
        Self::Editor(error.to_string())
    }
}

/// As many places are named; an agent reads the whole file again anyway.
const MOST_PLACES: usize = 8;

fn conflict(path: &std::path::Path, lines: &[Range<usize>], unsaved: bool) -> String {
    let mut text = format!("{} was not written: ", path.display());
    if lines.is_empty() {
        text.push_str("its text");
    }
    for (index, range) in lines.iter().take(MOST_PLACES).enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        // Writing to a String cannot fail.
        let _ = match range.len() {
            0 => write!(text, "the text before line {}", range.start + 1),
            1 => write!(text, "line {}", range.start + 1),
            _ => write!(text, "lines {}-{}", range.start + 1, range.end),
        };
    }
    if lines.len() > MOST_PLACES {
        let _ = write!(text, " and {} more places", lines.len() - MOST_PLACES);
    }
    let how = if unsaved { "in the editor (not saved yet) " } else { "" };
    text + " changed " + how + "since you read it: read the file again, then repeat the edit"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_names_the_lines() {
        let check = |lines: &[(usize, usize)], words: &str| {
            let lines = lines.iter().map(|&(start, end)| start..end).collect();
            let error = FileError::Conflict { path: "/x".into(), lines, unsaved: true };
            let rest = "changed in the editor (not saved yet) since you read it: \
                        read the file again, then repeat the edit";
            assert_eq!(error.to_string(), format!("/x was not written: {words} {rest}"));
        };
        check(&[(2, 3)], "line 3");
        check(&[(2, 5), (7, 7)], "lines 3-5, the text before line 8");
        check(&[(0, 1); 10], &(["line 1"; 8].join(", ") + " and 2 more places"));
        check(&[], "its text");
    }
}
