//! The ways in which a path gets back what it was.

/// How a path gets back what it was.
#[derive(Debug)]
pub(super) enum Way {
    /// The file on disk, byte for byte.
    Disk,
    /// The same, and what is pending of the turn is rejected by that.
    DiskRejecting,
    /// What is pending of the turn is rejected.
    Reject {
        /// How many places stay.
        conflicts: usize,
        /// Whether the file becomes exactly what it was.
        is_exact: bool,
    },
    /// The text of the buffer.
    Buffer,
    /// The file on disk, with what others have changed since.
    Merge,
    /// Not at all, for this reason.
    Leave(String),
}
