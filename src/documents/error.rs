//! Errors of reading and writing documents, worded for the agent that gets them as an answer.

use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use thiserror::Error;

use super::editor::EditorError;
use super::limits::{MAX_TEXT_SIZE, megabytes};
use crate::core::messages::agent::{INTERNAL_ERROR, NOT_FOUND};

/// Why a file could not be read or written. Each message says in one line what happened and what the agent can do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// The file does not exist.
    #[error("{} does not exist: create it by writing it, or check the path", .0.display())]
    Missing(PathBuf),
    /// The content is binary, or not valid in the encoding of the file.
    #[error("{} is not text ({reason}): use another tool for it", .path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The agent and somebody else have changed the same lines. Nothing was written.
    #[error("{}", conflict(path, lines, *unsaved))]
    Conflict {
        /// The file.
        path: PathBuf,
        /// The lines in the present text, from 0, end exclusive; an empty range is the position before a line. Empty if
        /// it is not known which lines have changed.
        lines: Vec<Range<usize>>,
        /// Whether the file has unsaved changes.
        unsaved: bool,
    },
    /// The edit is based on the user's unsaved changes, which would have to be saved with it. Nothing was written.
    #[error("{} was not written: your edit needs the user's unsaved changes saved: ask the user", .0.display())]
    Unsaved(PathBuf),
    /// Neovim refused to change or save the buffer, or a character cannot be encoded. The buffer is unchanged.
    #[error("{} was not written, {reason}: ask the user", .path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Neovim's reason, or ours.
        reason: String,
    },
    /// The operating system reported an error.
    #[error("{} could not be {verb}: {reason}", .path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// `read` or `written`.
        verb: &'static str,
        /// The operating system's error.
        reason: String,
    },
    /// The file, or the part that was requested, is too large. Nothing was written.
    #[error("{} {reason}", .path.display())]
    Large {
        /// The file.
        path: PathBuf,
        /// What is too large, and what to do instead.
        reason: String,
    },
    /// The file system does not respond. A write may or may not have taken effect.
    #[error(
        "{}: its file system did not answer within {seconds} s: try again later, or ask the user",
        .path.display()
    )]
    Unresponsive {
        /// The file.
        path: PathBuf,
        /// How long we waited for it.
        seconds: u64,
    },
    /// The text kept changing while it was read or written.
    #[error("{} keeps changing in the editor: try again", .0.display())]
    Busy(PathBuf),
    /// Neovim could not change text for several seconds, because the user is in the middle of a command. Nothing was
    /// written.
    #[error(
        "{} was not written, Neovim waits for the user in the middle of a command: ask the user to \
         finish it (or to press <Esc>), then try again",
        .0.display()
    )]
    Held(PathBuf),
    /// Neovim has exited, or there was an internal error.
    #[error("the editor failed: {0}")]
    Editor(String),
}

impl DocumentError {
    /// Returns what to tell the user, who asked for a change of the file: what happened and what to do, without the path.
    pub fn message_for_user(&self) -> String {
        match self {
            Self::Missing(_) => "the file does not exist".to_owned(),
            Self::NotText { reason, .. } => format!("it is not text ({reason})"),
            Self::Refused { reason, .. } => reason.clone(),
            Self::Disk { verb, reason, .. } => format!("it could not be {verb}: {reason}"),
            Self::Unresponsive { seconds, .. } => {
                format!("its file system did not answer within {seconds} s. Try again later.")
            }
            Self::Busy(_) => "it keeps changing. Try again.".to_owned(),
            Self::Held(_) => {
                "Neovim is in the middle of a command. Finish it, or press <Esc>, and try again."
                    .to_owned()
            }
            Self::Large { .. } => "it is too large".to_owned(),
            Self::Conflict { lines, unsaved, .. } => {
                let place = if *unsaved { "in the editor " } else { "" };
                format!("{} changed {place}meanwhile", places(lines))
            }
            Self::Unsaved(_) | Self::Editor(_) => self.to_string(),
        }
    }

    /// Returns the error code of the answer (ACP `ErrorCode`).
    pub fn code(&self) -> i64 {
        match self {
            Self::Missing(_) => NOT_FOUND,
            Self::NotText { .. }
            | Self::Conflict { .. }
            | Self::Unsaved(_)
            | Self::Refused { .. }
            | Self::Disk { .. }
            | Self::Large { .. }
            | Self::Unresponsive { .. }
            | Self::Busy(_)
            | Self::Held(_)
            | Self::Editor(_) => INTERNAL_ERROR,
        }
    }

    /// An error of the operating system while reading.
    pub(super) fn read_failed(path: PathBuf, error: &io::Error) -> Self {
        Self::Disk { path, verb: "read", reason: error.to_string() }
    }

    /// A file of `size` bytes that is too large to be held in memory.
    pub(super) fn too_large(path: PathBuf, size: u64) -> Self {
        let (size, max) = (megabytes(size), megabytes(MAX_TEXT_SIZE));
        let reason = format!(
            "has {size}, more than the {max} that can be handled as a whole: read parts of it \
             (`line` and `limit`), and change it with another tool"
        );
        Self::Large { path, reason }
    }

    /// An error of the operating system while writing.
    pub(super) fn write_failed(path: PathBuf, error: &io::Error) -> Self {
        Self::Disk { path, verb: "written", reason: error.to_string() }
    }
}

impl From<EditorError> for DocumentError {
    fn from(error: EditorError) -> Self {
        Self::Editor(error.to_string())
    }
}

/// How many places a conflict names; the agent has to read the whole file again anyway.
const MAX_PLACES: usize = 8;

fn conflict(path: &std::path::Path, lines: &[Range<usize>], unsaved: bool) -> String {
    let (name, places) = (path.display(), places(lines));
    let how = if unsaved { "in the editor (not saved yet) " } else { "" };
    format!(
        "{name} was not written: {places} changed {how}since you read it: read the file again, then repeat the edit"
    )
}

fn places(lines: &[Range<usize>]) -> String {
    let mut text = String::new();
    if lines.is_empty() {
        text.push_str("its text");
    }
    for (index, range) in lines.iter().take(MAX_PLACES).enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        // Writing to a `String` cannot fail.
        let _ = match range.len() {
            0 => write!(text, "the text before line {}", range.start + 1),
            1 => write!(text, "line {}", range.start + 1),
            _ => write!(text, "lines {}-{}", range.start + 1, range.end),
        };
    }
    if lines.len() > MAX_PLACES {
        let _ = write!(text, " and {} more places", lines.len() - MAX_PLACES);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_names_the_lines() {
        let check = |lines: &[(usize, usize)], words: &str| {
            let lines = lines.iter().map(|&(start, end)| start..end).collect();
            let error = DocumentError::Conflict { path: "/x".into(), lines, unsaved: true };
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
