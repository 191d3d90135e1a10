//! Which documents each session has to do with, so that one is asked about its own only, and the bound on how many are
//! known. It reads no file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex as Queue;

use super::Files;
use super::document::Document;
use crate::session::author::SessionKey;

/// So many documents are known to a session with their texts; of those it touched before, the next write asks it to read
/// them again.
const MOST_DOCUMENTS: usize = 1_000;

/// The documents of each session.
#[derive(Debug, Default)]
pub(super) struct Touched(HashMap<SessionKey, Own>);

/// Those of one session, and in which order it touched them last.
#[derive(Debug, Default)]
struct Own {
    when: HashMap<PathBuf, u64>,
    order: BTreeMap<u64, PathBuf>,
    last: u64,
}

impl Own {
    /// Gives one that is too many.
    fn touch(&mut self, path: &Path) -> Option<PathBuf> {
        self.last += 1;
        if let Some(before) = self.when.insert(path.to_owned(), self.last) {
            self.order.remove(&before);
        }
        self.order.insert(self.last, path.to_owned());
        if self.order.len() <= MOST_DOCUMENTS {
            return None;
        }
        let (_, oldest) = self.order.pop_first()?;
        self.when.remove(&oldest);
        Some(oldest)
    }
}

impl Files {
    /// The document, for something that a session does with it.
    pub(super) fn touch(&self, path: &Path, session: &SessionKey) -> Arc<Queue<Document>> {
        let mut touched = self.touched.lock();
        let own = touched.0.entry(session.clone()).or_default();
        let oldest = own.touch(path);
        drop(touched);
        if let Some(oldest) = oldest {
            let (document, session) = (self.document(&oldest), session.clone());
            tokio::spawn(async move { document.lock().await.dim(&session) });
        }
        self.document(path)
    }

    /// Those of a session, by path.
    pub(super) fn of(&self, session: &SessionKey) -> Vec<(PathBuf, Arc<Queue<Document>>)> {
        let touched = self.touched.lock();
        let own = touched.0.get(session);
        let mut paths: Vec<_> = own.into_iter().flat_map(|own| own.when.keys().cloned()).collect();
        drop(touched);
        paths.sort();
        paths.into_iter().map(|path| (path.clone(), self.document(&path))).collect()
    }

    /// Forgets what a session knows, when it is over, and the documents that nobody has to do with then.
    pub async fn forget(&self, session: &SessionKey) {
        let own = self.of(session);
        self.touched.lock().0.remove(session);
        self.turns_over.lock().remove(session);
        for (path, document) in own {
            document.lock().await.forget(session);
            drop(document);
            self.drop_idle(&path);
        }
    }

    /// Lets go of the documents that no session has to do with and that are not loaded. `names` are those of loaded
    /// buffers: of others Neovim is asked.
    pub async fn sweep(&self, names: &HashSet<PathBuf>) {
        let documents: Vec<_> =
            self.documents.lock().iter().map(|(path, it)| (path.clone(), it.clone())).collect();
        for (path, document) in documents.into_iter().filter(|(path, _)| !names.contains(path)) {
            // One that somebody works on is not idle.
            let is_idle = document.try_lock().is_ok_and(|document| document.is_idle());
            drop(document);
            if !is_idle || !matches!(self.editor.find(&path, None).await, Ok(None)) {
                continue;
            }
            self.drop_idle(&path);
        }
    }

    fn drop_idle(&self, path: &Path) {
        let mut documents = self.documents.lock();
        let is_idle = documents.get(path).is_some_and(|kept| {
            // Held once: nobody waits in its queue.
            Arc::strong_count(kept) == 1 && kept.try_lock().is_ok_and(|it| it.is_idle())
        });
        if is_idle {
            documents.remove(path);
        }
    }

    /// How many documents something is known of.
    pub fn count(&self) -> usize {
        self.documents.lock().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_touched_longest_ago_is_too_many() {
        let mut own = Own::default();
        let path = |number: usize| PathBuf::from(number.to_string());
        for number in 0..MOST_DOCUMENTS {
            assert_eq!(own.touch(&path(number)), None);
        }
        assert_eq!(own.touch(&path(0)), None);
        assert_eq!(own.touch(&path(MOST_DOCUMENTS)), Some(path(1)));
        assert_eq!((own.order.len(), own.when.len()), (MOST_DOCUMENTS, MOST_DOCUMENTS));
    }
}
