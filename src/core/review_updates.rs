//! What has changed in the review and is not told yet.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// The editor is told at most once in this time, so that an agent that writes many times does not keep it busy.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);

/// What has changed in the review and is not told yet.
#[derive(Debug, Default)]
pub(super) struct ReviewUpdates {
    /// Files in which other lines may be pending.
    paths: BTreeSet<PathBuf>,
    /// Whether the list of changes may be another one.
    has_changed: bool,
    /// Whether the interval since the editor was told last is not over.
    is_held: bool,
}

impl ReviewUpdates {
    pub(super) fn add(&mut self, paths: Vec<PathBuf>) {
        self.paths.extend(paths);
    }

    pub(super) fn list_changed(&mut self) {
        self.has_changed = true;
    }

    /// The interval is over.
    pub(super) fn release(&mut self) {
        self.is_held = false;
    }

    /// Returns what is to be told now, and begins an interval; `None` if there is nothing, or not yet.
    pub(super) fn take(&mut self) -> Option<(Vec<PathBuf>, bool)> {
        if self.is_held || self.paths.is_empty() && !self.has_changed {
            return None;
        }
        self.is_held = true;
        let paths = std::mem::take(&mut self.paths).into_iter().collect();
        Some((paths, std::mem::take(&mut self.has_changed)))
    }
}
