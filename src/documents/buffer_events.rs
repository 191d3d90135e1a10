//! Reactions to events of a document's buffer: Neovim has read the file, or the buffer has become unmodified. The text
//! of the buffer stays the same; the most they do is set `'modified'` or add an undo step.

use super::blocking::run_blocking;
use super::document::Document;
use super::error::DocumentError;
use crate::edit::{Snapshot, apply, diff, merge, refine};

impl Document {
    /// The buffer has become unmodified without being saved: undo may have led to a text that was saved once, but is
    /// not what Neovim last read or wrote. Marks such a buffer modified, so that its text is not lost.
    pub(super) async fn became_unmodified(&mut self) -> Result<(), DocumentError> {
        self.record_baseline().await?;
        let Some(loaded) = self.buffer_with_text().await? else { return Ok(()) };
        let Some(baseline) = self.baseline.clone() else { return Ok(()) };
        if loaded.buffer.modified || loaded.text.same_lines(&baseline.text) {
            return Ok(());
        }
        if self.facts().await? != Some(baseline.facts)
            && let Some(file) = self.read_file(Some(&loaded.buffer)).await?
            && self.is_baseline(&loaded, &file).await?
        {
            return Ok(()); // It was saved, without autocommands.
        }
        self.editor.mark_modified(loaded.buffer.id, loaded.buffer.tick).await?;
        Ok(())
    }

    /// Records a change that an agent made while the file was not loaded, for [`Self::was_read`].
    pub(super) fn record_unopened_change(&mut self, before: &Snapshot, after: &Snapshot) {
        let first = self.unopened_change.take().map_or_else(|| before.clone(), |change| change.0);
        self.unopened_change = Some((first, after.clone()));
    }

    /// Neovim has read the file into a buffer. Turns what agents did to the file before into an undo step, without what
    /// others have done to it since.
    pub(super) async fn was_read(&mut self) -> Result<(), DocumentError> {
        self.record_baseline().await?;
        let Some((before, after)) = self.unopened_change.take() else { return Ok(()) };
        let Some(loaded) = self.buffer_with_text().await? else { return Ok(()) };
        let live = loaded.text.clone();
        let edits = run_blocking(move || {
            let back = merge(&after, &live, &before).ok()?.hunks;
            let old = apply(&back, &live);
            Some((refine(&back, &live), refine(&diff(&old, &live), &old)))
        });
        if let Some((back, forth)) = edits.await? {
            self.editor.add_undo_step(loaded.buffer.id, loaded.buffer.tick, &back, &forth).await?;
        }
        Ok(())
    }
}
