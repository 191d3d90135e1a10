//! Keeps contents that are in no file of a root, for changes that are to be made.

use super::covered::Covered;
use super::error::CheckpointError;
use super::ids::ContentId;
use super::tree_path::TreePath;

impl Covered {
    /// Keeps what is to become the content of a path. `None` if it must not reach the disk and there is no room in memory, or
    /// if it is larger than a file may be.
    pub(super) fn keep(
        &mut self,
        path: &TreePath,
        content: &[u8],
    ) -> Result<Option<ContentId>, CheckpointError> {
        if content.len() as u64 > self.limits.file {
            return Ok(None);
        }
        let is_private = self.is_private(path);
        let kept = self.stored.keep(content, is_private).and_then(|id| {
            self.stored.pack.get_mut().flush()?;
            Ok(id)
        });
        kept.map_err(|error| CheckpointError::store(&self.root, &error))
    }
}
