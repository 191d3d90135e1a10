//! Which sessions there are: those that the indexes list, and those in the archive. Where both have one, the index is right, since
//! the archive keeps a session until the index lists it again.

use super::archive;
use super::index;
use crate::session::saved::{SavedSession, StoreKey};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::Path;

/// Returns the sessions of a folder, most recently used first. `store` is the folder of the store. An index that cannot be read
/// is left out.
pub(super) fn of_folder(store: &Path, cwd: &Path) -> Vec<SavedSession> {
    let indexed = index::read(store, cwd).unwrap_or_else(|error| {
        tracing::error!(path = %cwd.display(), %error, "sessions cannot be read");
        Vec::new()
    });
    merged(indexed, archive::list(store, cwd))
}

/// Returns the sessions of all folders, most recently used first. What cannot be read is left out.
pub(super) fn of_all_folders(store: &Path) -> Vec<SavedSession> {
    merged(index::read_all(store), archive::list_all(store))
}

fn merged(mut sessions: Vec<SavedSession>, archived: Vec<SavedSession>) -> Vec<SavedSession> {
    if !archived.is_empty() {
        let listed: HashSet<StoreKey> = sessions.iter().map(SavedSession::key).collect();
        sessions.extend(archived.into_iter().filter(|session| !listed.contains(&session.key())));
    }
    sessions.sort_by_key(|session| Reverse(session.used_at));
    sessions
}
