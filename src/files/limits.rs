//! How much of a file is read, whatever for. Every bound on that stands here; nothing else does.

/// A text that is held whole, to be read, merged or followed, has at most so many bytes in its file.
pub(super) const MOST_TEXT: u64 = 64 << 20;

/// And at most so many lines: each costs some bytes more.
pub(super) const MOST_TEXT_LINES: usize = 4 << 20;

/// Of a file that is not loaded, so many bytes are read ahead of a change by the agent itself.
pub(super) const MOST_AHEAD: u64 = 4 << 20;

/// A larger file is not held whole when some of its lines are asked for.
pub(super) const MOST_FOR_LINES: u64 = 16 << 20;

/// Lines that are asked for of such a file have at most so many bytes together.
pub(super) const MOST_EXCERPT: usize = 8 << 20;

/// And they begin within so many bytes of its start: finding them means reading all that is before.
pub(super) const MOST_SKIPPED: u64 = 1 << 30;

/// Bytes as people write them.
pub(super) fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1 << 20))
}
