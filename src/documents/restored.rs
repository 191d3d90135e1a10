//! Follows files that a checkpoint has restored on disk, and what was pending there of the turn that was undone by that.

use std::path::Path;
use std::sync::Arc;

use super::blocking::run_blocking;
use super::document::Document;
use super::editor::Then;
use super::error::DocumentError;
use super::registry::{Documents, run_to_completion};
use super::restore::turn_of;
use super::review::choose;
use crate::core::messages::review::ChangeScope;
use crate::edit::Version;
use crate::session::author::Author;

/// A turn that was undone in a file by restoring it.
#[derive(Debug, Clone)]
pub struct Undone {
    /// The turn. Its tool call does not count.
    pub by: Author,
    /// Whether nothing of it stays.
    pub is_whole: bool,
}

impl Document {
    /// Follows a file that was restored on disk, as a change of the agent if `by` is given. With `undone` it has become what
    /// it would be without what is pending of that turn.
    pub(super) async fn was_restored(
        &mut self,
        by: Option<&Author>,
        undone: Option<&Undone>,
    ) -> Result<(), DocumentError> {
        if let Some((undone, record)) = undone.zip(self.record.clone()) {
            // Otherwise it would be guessed from the texts whose lines came and went.
            let of_turn = turn_of(&undone.by);
            let scope = ChangeScope { has_kept: true, ..of_turn.clone() };
            let rejection = run_blocking(move || {
                let (planned, choice) = choose(record, &scope);
                planned.plan_rejection(&choice)
            });
            let (rejection, file) = (rejection.await?, self.read_file(None).await?);
            let after = file.map_or_else(|| self.no_file(), |file| Version::of_file(file.text));
            self.record_rejection(rejection, after).await?;
            if undone.is_whole {
                self.keep_rest(of_turn).await?;
            }
        }
        if let Some(by) = by {
            self.follow_redone(by).await?;
        } else if self.find().await?.is_none() {
            // The record follows when it is looked at.
            self.baseline = self.read_file(None).await.ok().flatten();
            self.was_missing = self.baseline.is_none() && self.is_missing().await?;
            self.unopened_change = None;
        } else if let Some((loaded, Some(file))) = self.buffer_and_file().await? {
            let shape = loaded.text.shape();
            let is_whole = loaded.text.same_lines(&file.text) && shape == file.text.shape();
            if is_whole && loaded.buffer.modified {
                // It was all that was left of the file.
                let (facts, encoding) = (file.facts, file.encoding.clone());
                let (modified, unresolved, by) = (false, Vec::new(), None);
                let then = Then::FollowDisk { facts, shape, encoding, modified, unresolved, by };
                self.apply_edits(&loaded, Vec::new(), then).await?;
            } else {
                self.update_timestamp(&file).await?;
            }
            self.baseline = Some(file);
        }
        Ok(())
    }

    /// Has nothing of a turn be pending any more: what the record still takes for the turn's was there before it.
    async fn keep_rest(&mut self, of_turn: ChangeScope) -> Result<(), DocumentError> {
        let Some(mut record) = self.record.take() else { return Ok(()) };
        let kept = run_blocking(move || {
            let (_, choice) = choose(record.clone(), &of_turn);
            if !choice.is_empty() {
                Arc::make_mut(&mut record).keep(&choice);
            }
            record
        });
        self.record = Some(kept.await?);
        Ok(())
    }
}

impl Documents {
    /// Follows a file that was restored on disk, as a change of the agent if `by` is given. With `undone` it has become what
    /// it would be without what is pending of that turn.
    pub async fn was_restored(
        &self,
        path: &Path,
        by: Option<&Author>,
        undone: Option<Undone>,
    ) -> Result<(), DocumentError> {
        let document = self.document(path);
        let by = by.cloned();
        run_to_completion(async move {
            document.lock().await.was_restored(by.as_ref(), undone.as_ref()).await
        })
        .await
    }
}
