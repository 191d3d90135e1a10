//! The files of projects, for the user to choose from: lists each folder once, keeps the list for a while, and finds those
//! that match what is typed. Every function may block.

mod fuzzy;
mod list;
#[cfg(test)]
mod tests;

use crate::host::ignored::RuleFiles;
use fuzzy::Pattern;
use list::List;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A list older than this is made again.
const FRESH: Duration = Duration::from_secs(5);
/// Lists of so many folders are kept.
const MAX_FOLDERS: usize = 4;

/// The lists. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ProjectFiles(Arc<Mutex<Lists>>);

#[derive(Debug, Default)]
struct Lists {
    kept: HashMap<PathBuf, Kept>,
    /// Folders that are being listed: one that does not answer holds up one thread, not one for each key.
    listing: HashSet<PathBuf>,
}

#[derive(Clone, Debug)]
struct Kept {
    list: Arc<List>,
    at: Instant,
    /// Of its files that say what is ignored, only those that have changed are read again.
    rules: Arc<RuleFiles>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Relative paths, the best first; those of folders end with `/`.
    pub paths: Vec<String>,
    /// Whether they are of a list that is due to be made again with [`ProjectFiles::renew`].
    pub is_old: bool,
}

impl ProjectFiles {
    /// Finds at most `count` files and folders below a folder that match `typed`. An old list is used if something in it
    /// matches.
    pub fn find(&self, folder: &Path, typed: &str, count: usize) -> Found {
        let pattern = Pattern::new(typed);
        let kept = self.0.lock().kept.get(folder).cloned();
        if let Some(Kept { list, at, .. }) = kept {
            let paths = list.best(&pattern, count);
            let is_old = at.elapsed() >= FRESH;
            if !is_old || !paths.is_empty() {
                return Found { paths, is_old };
            }
        }
        Found { paths: self.renew(folder).best(&pattern, count), is_old: false }
    }

    /// Makes the list of a folder again, unless that is being done.
    pub fn renew(&self, folder: &Path) -> Arc<List> {
        let (old, rules) = {
            let mut lists = self.0.lock();
            let is_first = lists.listing.insert(folder.to_owned());
            let (old, rules) = match lists.kept.get(folder) {
                Some(Kept { list, rules, .. }) => (list.clone(), rules.clone()),
                None => Default::default(),
            };
            if !is_first {
                return old;
            }
            (old, rules)
        };
        let new = List::of(folder, &rules, &old);
        let list = if new == *old { old } else { Arc::new(new) };
        let mut lists = self.0.lock();
        lists.listing.remove(folder);
        let kept = Kept { list: list.clone(), at: Instant::now(), rules };
        lists.kept.insert(folder.to_owned(), kept);
        if lists.kept.len() > MAX_FOLDERS {
            let oldest = lists.kept.iter().min_by_key(|(_, kept)| kept.at);
            let oldest = oldest.map(|(folder, _)| folder.clone());
            oldest.map(|folder| lists.kept.remove(&folder));
        }
        list
    }
}
