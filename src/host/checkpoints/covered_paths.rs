//! What single paths of a root that is covered are now.

use super::covered::Covered;
use super::entry::{Entry, State};
use super::error::CheckpointError;
use super::tree::{Found, Tree};
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

    /// Returns what a path is now, and which of two states that is. A content has two ids: one if its path was ignored
    /// when it was read, and one if not.
    pub(super) fn compare(
        &mut self,
        path: &TreePath,
        states: &[Option<State>; 2],
    ) -> Result<(Option<State>, [bool; 2]), CheckpointError> {
        // What is too large to be kept may be known to documents.
        let known = states.iter().flatten().filter(|state| state.content.is_some());
        let largest = known.map(|state| state.size).max().unwrap_or_default();
        let largest = largest.max(self.limits.file);
        let compared = Tree::open(&self.root).and_then(|tree| {
            let Some(found) = found(&tree, path, largest) else { return Ok((None, None)) };
            let now = self.kept(path, &found)?;
            self.stored.pack.get_mut().flush()?;
            Ok((found.content, Some(now)))
        });
        let (content, now) =
            compared.map_err(|error| CheckpointError::store(&self.root, &error))?;
        let is_content = |state: &State| {
            let both = state.content.as_ref().zip(content.as_deref());
            both.is_some_and(|(id, content)| self.stored.memory.is_of(id, content))
        };
        let is_now = |state: &Option<State>| match (state, &now) {
            (Some(state), Some(now)) if is_content(state) => {
                *state == State { content: state.content, ..now.clone() }
            }
            (state, now) => state == now,
        };
        let is_now = states.each_ref().map(is_now);
        Ok((now, is_now))
    }

    pub(super) fn state(&mut self, tree: &Tree, path: &TreePath) -> io::Result<Option<State>> {
        found(tree, path, self.limits.file).map(|found| self.kept(path, &found)).transpose()
    }

    /// Keeps the content of a file that was found.
    fn kept(&mut self, path: &TreePath, found: &Found) -> io::Result<State> {
        let is_private = self.is_private(path);
        let content = match &found.content {
            Some(content) => self.stored.keep(content, is_private)?,
            None => None,
        };
        let Found { kind, mode, size, link, .. } = *found;
        Ok(State { kind, mode, size, content, link })
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

/// What cannot be read is as good as not there: it is not restored either. A file is read if it has at most `largest` bytes.
fn found(tree: &Tree, path: &TreePath, largest: u64) -> Option<Found> {
    tree.look(path, largest).ok().flatten().filter(|_| path.is_proper())
}
