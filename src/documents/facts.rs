//! Metadata by which a version of a file is recognised: modification time, size, inode and mode. Pure data; no file is
//! accessed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

/// A modification time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileTime {
    /// Seconds since 1970.
    pub seconds: i64,
    /// The fraction of a second, in nanoseconds.
    pub nanoseconds: i64,
}

impl FileTime {
    /// Converts to the type of the clock. Times before 1970, and those out of range, become 1970.
    pub(super) fn to_system_time(self) -> SystemTime {
        let seconds = u64::try_from(self.seconds).unwrap_or(0);
        let nanoseconds = u32::try_from(self.nanoseconds).unwrap_or(0);
        let since = Duration::new(seconds, nanoseconds);
        SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

/// Time and size of a file, as Neovim records them when it reads or writes one. The size distinguishes two writes
/// within the time resolution of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Modification time.
    pub time: FileTime,
    /// Size in bytes.
    pub size: u64,
}

/// Metadata by which a version of a file is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskFacts {
    /// Modification time.
    pub time: FileTime,
    /// Size in bytes.
    pub size: u64,
    /// Inode number.
    pub inode: u64,
    /// File type and permissions.
    pub mode: u32,
}

impl DiskFacts {
    /// Stands for a file that does not exist. No file has these facts.
    pub(super) const MISSING: Self =
        Self { time: FileTime { seconds: 0, nanoseconds: 0 }, size: 0, inode: 0, mode: 0 };

    /// Returns the part that Neovim also records.
    pub(super) fn stamp(&self) -> Stamp {
        Stamp { time: self.time, size: self.size }
    }

    /// Replaces time and size by those that Neovim recorded after writing, if known: somebody may have written the file
    /// since.
    pub(super) fn as_stamped(self, stamp: Option<Stamp>) -> Self {
        let Stamp { time, size } = stamp.unwrap_or_else(|| self.stamp());
        Self { time, size, ..self }
    }
}

impl From<&Metadata> for DiskFacts {
    fn from(metadata: &Metadata) -> Self {
        let time = FileTime { seconds: metadata.mtime(), nanoseconds: metadata.mtime_nsec() };
        Self { time, size: metadata.size(), inode: metadata.ino(), mode: metadata.mode() }
    }
}
