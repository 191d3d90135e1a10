//! The ways in which a path gets back what it was.

use crate::host::checkpoints::entry::State;
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// How a path gets back what it was.
#[derive(Debug)]
pub(super) enum Way {
    /// The file on disk, byte for byte.
    Disk,
    /// The same, and what is pending of the turn is rejected by that.
    DiskRejecting {
        /// How many places stay.
        conflicts: usize,
    },
    /// What is pending of the turn is rejected.
    Reject {
        /// How many places stay.
        conflicts: usize,
        /// Whether the file becomes exactly what it was.
        is_exact: bool,
        /// A digest of the text that it becomes.
        digest: u64,
    },
    /// The text of the buffer.
    Buffer {
        /// A digest of the text that it has.
        digest: u64,
    },
    /// The file on disk, with what others have changed since: these bytes.
    Merge(Vec<u8>),
    /// Not at all, for this reason.
    Leave(String),
}

impl Way {
    /// A digest of what the path becomes that was `before`.
    pub(super) fn digest(&self, before: Option<&State>) -> u64 {
        let content = before.and_then(|state| state.content);
        match self {
            Self::Disk | Self::DiskRejecting { .. } => digest(&content),
            Self::Reject { digest, .. } => *digest,
            Self::Buffer { digest: of_buffer } => digest(&(content, of_buffer)),
            Self::Merge(bytes) => digest(bytes),
            Self::Leave(why) => digest(why),
        }
    }
}

/// Returns a number that is the same for equal values, as long as the program runs.
pub(super) fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
