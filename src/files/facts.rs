//! What Neovim and the user did to the buffer of a document, and what follows from it for what is known of the file. It
//! changes no text but what an agent wrote before the buffer was there.

use std::sync::Arc;

use super::document::{Document, beside};
use super::error::FileError;
use crate::edit::{Text, apply, diff, merge, refine};

impl Document {
    /// The buffer is unmodified, and was not saved: undoing may have led to a text that was saved once and is not what
    /// Neovim last read or wrote. That must not be lost as if it were.
    pub(super) async fn became_clean(&mut self) -> Result<(), FileError> {
        self.note().await?;
        let Some(open) = self.open().await? else { return Ok(()) };
        let Some(synced) = self.synced.clone() else { return Ok(()) };
        if open.buffer.modified || open.text.same_lines(&synced.text) {
            return Ok(());
        }
        if self.facts().await? != Some(synced.facts)
            && let Some(file) = self.on_disk(Some(&open.buffer)).await?
            && self.is_synced(&open, &file).await?
        {
            return Ok(()); // Saved after all, without its autocommands.
        }
        self.editor.mark_modified(open.buffer.id, open.buffer.tick).await?;
        Ok(())
    }

    /// An agent has changed the file while no buffer showed it: `before` was its text.
    pub(super) fn changed_unopened(&mut self, before: &Arc<Text>, after: &Arc<Text>) {
        let first = self.unopened.take().map_or_else(|| Arc::clone(before), |unopened| unopened.0);
        self.unopened = Some((first, Arc::clone(after)));
    }

    /// A buffer has read the file: what agents did to it before becomes a step that can be undone. What others did to it
    /// since is no part of that.
    pub(super) async fn was_read(&mut self) -> Result<(), FileError> {
        self.note().await?;
        let Some((before, after)) = self.unopened.take() else { return Ok(()) };
        let Some(open) = self.open().await? else { return Ok(()) };
        let live = Arc::clone(&open.text);
        let edits = beside(move || {
            let back = merge(&after, &live, &before).ok()?.hunks;
            let old = apply(&back, &live);
            Some((refine(&back, &live), refine(&diff(&old, &live), &old)))
        });
        if let Some((back, forth)) = edits.await? {
            self.editor.as_step(open.buffer.id, open.buffer.tick, &back, &forth).await?;
        }
        Ok(())
    }
}
