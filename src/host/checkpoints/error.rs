//! What can go wrong with checkpoints, each in one line for the user.

use super::ids::{ContentId, TurnId};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why there is no checkpoint, turn or content.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckpointError {
    /// The root is not to be covered.
    #[error("{} is not covered by checkpoints: {why}", .root.display())]
    Refused {
        /// The root.
        root: PathBuf,
        /// What is wrong with it.
        why: Refusal,
    },
    /// The store of the root cannot be read or written.
    #[error("checkpoints of {} cannot be kept: {reason}", .root.display())]
    Store {
        /// The root.
        root: PathBuf,
        /// What failed.
        reason: String,
    },
    /// Files were to be changed, and none was.
    #[error("no file in {} was changed: {reason}", .root.display())]
    NothingRestored {
        /// The root.
        root: PathBuf,
        /// What failed.
        reason: String,
    },
    /// There is no folder for checkpoints.
    #[error("no checkpoints are kept: there is no folder for them")]
    Off,
    /// The program is about to exit, or the thread of the root has panicked.
    #[error("checkpoints have ended")]
    Ended,
    /// No turn has this id any more.
    #[error("the changes of turn {0} are not kept any more")]
    NoTurn(TurnId),
    /// The content is not kept any more, or never was.
    #[error("this content is not kept any more")]
    NoContent(ContentId),
}

/// What is wrong with a root.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It is `/`.
    #[error("it is the whole file system")]
    Everything,
    /// It is the user's home.
    #[error("it is your home folder")]
    Home,
    /// It holds the user's home.
    #[error("your home folder is below it")]
    AboveHome,
    /// It has more files than allowed.
    #[error("it has more than {0} files")]
    TooManyFiles(usize),
    /// It does not exist, is no folder or cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

impl CheckpointError {
    pub(super) fn store(root: &Path, error: &io::Error) -> Self {
        Self::Store { root: root.to_owned(), reason: reason(error) }
    }

    pub(super) fn nothing_restored(root: &Path, error: &io::Error) -> Self {
        Self::NothingRestored { root: root.to_owned(), reason: reason(error) }
    }
}

/// Says what failed, and what to do about it.
pub(super) fn reason(error: &io::Error) -> String {
    let hint = if is_no_room(error) { ". Make room on the disk" } else { "" };
    format!("{error}{hint}")
}

/// Whether a file could not be written because the disk is full, or a limit is reached.
pub(super) fn is_no_room(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
