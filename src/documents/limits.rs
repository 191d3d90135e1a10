//! All limits on how much of a file is read.

/// Maximum size of a file whose whole text is held in memory, in bytes.
pub(super) const MAX_TEXT_SIZE: u64 = 64 << 20;

/// Maximum number of lines of such a file, since each line takes some memory beyond its text.
pub(super) const MAX_TEXT_LINES: usize = 4 << 20;

/// Maximum size of a file that is read only to know its text before an agent changes it on disk, in bytes.
pub(super) const MAX_PRELOAD_SIZE: u64 = 4 << 20;

/// Maximum size of a file that is read as a whole when an agent requests some of its lines, in bytes.
pub(super) const MAX_WHOLE_SIZE: u64 = 16 << 20;

/// Maximum size of the lines an agent can request of a larger file, in bytes.
pub(super) const MAX_EXCERPT_SIZE: usize = 8 << 20;

/// How far from the start of such a file these lines may begin, in bytes. Everything before has to be read to find
/// them.
pub(super) const MAX_SKIPPED_SIZE: u64 = 1 << 30;

/// Formats a size for an error message, rounded up.
pub(super) fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1 << 20))
}
