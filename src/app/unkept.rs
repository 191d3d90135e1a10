//! Folders whose last turn could not be kept, and why: an undo must not take back the one before instead.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Why the last turns of folders are not kept.
#[derive(Debug, Default)]
pub(super) struct Unkept(Mutex<HashMap<PathBuf, String>>);

impl Unkept {
    /// The turn that runs or has ended in a folder cannot be kept. Returns whether that is news.
    pub(super) fn add(&self, root: &Path, why: &str) -> bool {
        self.0.lock().insert(root.to_owned(), why.to_owned()).as_deref() != Some(why)
    }

    /// A turn that has changed a folder is kept.
    pub(super) fn remove(&self, root: &Path) {
        self.0.lock().remove(root);
    }

    /// Why the last turn of one of these folders is not kept; `None` if it is.
    pub(super) fn why(&self, roots: &[PathBuf]) -> Option<String> {
        let unkept = self.0.lock();
        roots.iter().find_map(|root| unkept.get(root).cloned())
    }
}
