//! Which sessions there are: those that the indexes list, and those in the archive. Where both have one, the index is right, since
//! the archive keeps a session until the index lists it again. The indexes are read before and after the archive: a session that
//! another thread or program moves between the two meanwhile, in either direction, is in one of the three.

use super::archive;
use super::index;
use crate::session::saved::{SavedSession, StoreKey};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::Path;

/// Returns the sessions of a folder, most recently used first. `store` is the folder of the store. An index that cannot be read
/// is left out.
pub(super) fn of_folder(store: &Path, cwd: &Path) -> Vec<SavedSession> {
    let indexed = || {
        index::read(store, cwd).unwrap_or_else(|error| {
            tracing::error!(path = %cwd.display(), %error, "sessions cannot be read");
            Vec::new()
        })
    };
    let (before, archived) = (indexed(), archive::list(store, cwd));
    merged([indexed(), before, archived])
}

/// Returns the sessions of all folders, most recently used first. What cannot be read is left out.
pub(super) fn of_all_folders(store: &Path) -> Vec<SavedSession> {
    let (before, archived) = (index::read_all(store), archive::list_all(store));
    merged([index::read_all(store), before, archived])
}

/// Joins lists, of which earlier ones are right.
fn merged(lists: [Vec<SavedSession>; 3]) -> Vec<SavedSession> {
    let mut listed: HashSet<StoreKey> = HashSet::new();
    let mut sessions: Vec<SavedSession> =
        lists.into_iter().flatten().filter(|session| listed.insert(session.key())).collect();
    sessions.sort_by_key(|session| Reverse(session.used_at));
    sessions
}
