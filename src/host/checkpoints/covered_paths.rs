//! What single paths of a root that is covered are now.

use super::covered::Covered;
use super::entry::{Entry, State};
use super::error::CheckpointError;
use super::tree::Tree;
use super::tree_path::TreePath;
use std::{fs, io};

impl Covered {
    /// Returns files as they are now, and keeps their contents.
    ///
    /// # Errors
    /// If the root cannot be read, or a content not be kept.
    pub(super) fn states(
        &mut self,
        paths: &[TreePath],
    ) -> Result<Vec<Option<State>>, CheckpointError> {
        let states = Tree::open(&self.root).and_then(|tree| {
            let states = paths.iter().map(|path| self.state(&tree, path)).collect();
            self.stored.pack.get_mut().flush()?;
            states
        });
        states.map_err(|error| CheckpointError::store(&self.root, &error))
    }

    pub(super) fn names_in(&self, folder: &TreePath) -> Result<Vec<TreePath>, CheckpointError> {
        let unreadable = |error: io::Error| CheckpointError::store(&self.root, &error);
        let entries = folder.under(&self.root).read_dir().map_err(unreadable)?;
        let name = |entry: fs::DirEntry| folder.join(entry.file_name().as_encoded_bytes());
        entries.map(|entry| entry.map(name).map_err(unreadable)).collect()
    }

    pub(super) fn state(&mut self, tree: &Tree, path: &TreePath) -> io::Result<Option<State>> {
        if !path.is_proper() {
            return Ok(None);
        }
        // What cannot be read is as good as not there: it is not restored either.
        let Ok(Some(found)) = tree.look(path, self.limits.file) else { return Ok(None) };
        let is_private = self.is_private(path);
        let content = match &found.content {
            Some(content) => self.stored.keep(content, is_private)?,
            None => None,
        };
        Ok(Some(State {
            kind: found.kind,
            mode: found.mode,
            size: found.size,
            content,
            link: found.link,
        }))
    }

    /// Whether the content of a path must not reach the disk.
    pub(super) fn is_private(&self, path: &TreePath) -> bool {
        let Some(manifest) = &self.manifest else { return false };
        match manifest.get(path) {
            Some(Entry { content: Some(id), .. }) => self.stored.memory.has(id),
            Some(entry) => entry.is_ignored(),
            None => path.split().is_some_and(|(folder, _)| manifest.hides(&folder)),
        }
    }
}
