//! How much is covered and kept, and how far a scan is.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How much is covered and kept.
#[derive(Clone, Debug)]
pub struct Limits {
    /// A root with more files is refused.
    pub files: usize,
    /// Contents of files with more bytes are not kept.
    pub file: u64,
    /// How many bytes of contents are kept of a root as it is now; what is beyond is not covered.
    pub total: u64,
    /// Contents of ignored files with more bytes are not held in memory.
    pub ignored_file: u64,
    /// How many bytes the contents of a root may take on disk; beyond that, the oldest turns are forgotten.
    pub stored: u64,
    /// How many turns are remembered.
    pub turns: usize,
    /// How long a turn is remembered.
    pub age: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 200_000,
            file: 8 << 20,
            total: 512 << 20,
            ignored_file: 64 << 10,
            stored: 1 << 30,
            turns: 200,
            age: Duration::from_secs(30 * 24 * 60 * 60),
        }
    }
}

/// How far the first scan of a root is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many files have been read.
    pub read: usize,
    /// How many files to read have been found so far.
    pub found: usize,
    /// How long the scan has taken so far.
    pub elapsed: Duration,
}

/// What a scan and those who wait for it share.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Set to end the scan early.
    pub(super) cancel: AtomicBool,
    pub(super) read: AtomicUsize,
    pub(super) found: AtomicUsize,
    first: Mutex<First>,
    /// How long the last scan took.
    took: Mutex<Option<Duration>>,
}

/// What is known of the first scan.
#[derive(Debug, Default)]
enum First {
    #[default]
    Waiting,
    Running(Instant),
    Over,
}

impl Watch {
    /// A scan has been asked for. Only the first one counts.
    pub(super) fn begin(&self) {
        let mut first = self.first.lock();
        if matches!(*first, First::Waiting) {
            *first = First::Running(Instant::now());
        }
    }

    /// A scan is over, whether or not it has succeeded.
    pub(super) fn end(&self) {
        *self.first.lock() = First::Over;
    }

    /// A scan has succeeded.
    pub(super) fn took(&self, time: Duration) {
        *self.took.lock() = Some(time);
    }

    /// How long the last scan took.
    pub(super) fn scan_time(&self) -> Option<Duration> {
        *self.took.lock()
    }

    /// How far the first scan is; `None` if it is over or nobody has asked for it.
    pub(super) fn progress(&self) -> Option<Progress> {
        let elapsed = match *self.first.lock() {
            First::Running(since) => since.elapsed(),
            First::Waiting | First::Over => return None,
        };
        let [read, found] = [&self.read, &self.found].map(|count| count.load(Ordering::Relaxed));
        Some(Progress { read, found, elapsed })
    }
}
