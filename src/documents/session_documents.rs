//! Tracks which documents each session has accessed, and limits their number by dropping the least recently used.
//! Accesses no file.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::session::author::SessionKey;

/// How many documents a session can access before the texts of the least recently used are forgotten. It has to read
/// such a file again before writing it if the file has changed.
const MAX_DOCUMENTS: usize = 1_000;

/// The documents of each session.
#[derive(Debug, Default)]
pub(super) struct SessionDocuments(HashMap<SessionKey, RecentPaths>);

/// The paths one session has accessed, by the number of the last access.
#[derive(Debug, Default)]
struct RecentPaths {
    last_access: HashMap<PathBuf, u64>,
    by_access: BTreeMap<u64, PathBuf>,
    accesses: u64,
}

impl RecentPaths {
    /// Records an access. Returns the least recently used path if there are too many; it is removed.
    fn touch(&mut self, path: &Path) -> Option<PathBuf> {
        self.accesses += 1;
        if let Some(before) = self.last_access.insert(path.to_owned(), self.accesses) {
            self.by_access.remove(&before);
        }
        self.by_access.insert(self.accesses, path.to_owned());
        if self.by_access.len() <= MAX_DOCUMENTS {
            return None;
        }
        let (_, oldest) = self.by_access.pop_first()?;
        self.last_access.remove(&oldest);
        Some(oldest)
    }
}

impl SessionDocuments {
    /// Records that a session accesses a document. If it has accessed too many, returns the least recently used, which
    /// is not tracked any more.
    pub(super) fn touch(&mut self, path: &Path, session: &SessionKey) -> Option<PathBuf> {
        self.0.entry(session.clone()).or_default().touch(path)
    }

    /// Returns the paths a session has accessed, sorted.
    pub(super) fn paths_of(&self, session: &SessionKey) -> Vec<PathBuf> {
        let recent = self.0.get(session).into_iter();
        let mut paths: Vec<_> =
            recent.flat_map(|recent| recent.last_access.keys().cloned()).collect();
        paths.sort();
        paths
    }

    /// Forgets a session.
    pub(super) fn remove(&mut self, session: &SessionKey) {
        self.0.remove(session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_path_is_dropped() {
        let mut recent = RecentPaths::default();
        let path = |number: usize| PathBuf::from(number.to_string());
        for number in 0..MAX_DOCUMENTS {
            assert_eq!(recent.touch(&path(number)), None);
        }
        assert_eq!(recent.touch(&path(0)), None);
        assert_eq!(recent.touch(&path(MAX_DOCUMENTS)), Some(path(1)));
        assert_eq!(
            (recent.by_access.len(), recent.last_access.len()),
            (MAX_DOCUMENTS, MAX_DOCUMENTS)
        );
    }
}
