//! The user's decisions on what is pending in a document. Keeping changes no text; rejecting changes the buffer as one undo
//! step, or the file if it is not loaded.

use std::ops::Range;

use super::blocking::run_blocking;
use super::change::Origin;
use super::disk_text::DiskText;
use super::document::{ChangeOutcome, Document, LoadedBuffer, MAX_TRIES};
use super::editor::Then;
use super::error::DocumentError;
use crate::core::messages::review::{ChangeScope, PendingFile, PendingLines};
use crate::edit::{Choice, PendingHunk, Record, Rejection, apply, refine};

/// What became of a rejection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rejected {
    /// How many places have changed.
    pub hunks: usize,
    /// Lines of the text before (0-based) that stay, because they were changed since.
    pub conflicts: Vec<Range<usize>>,
}

impl Document {
    /// Returns what is pending.
    pub(super) async fn pending(&mut self) -> Result<Vec<PendingHunk>, DocumentError> {
        Ok(self.record().await?.map(|record| record.pending()).unwrap_or_default())
    }

    pub(super) fn has_record(&self) -> bool {
        self.record.is_some()
    }

    /// Returns what is pending in the buffer; `None` without a buffer, or if no agent has changed the file.
    pub(super) async fn pending_lines(&mut self) -> Result<Option<PendingFile>, DocumentError> {
        if !self.has_record() {
            return Ok(None);
        }
        let Some(loaded) = self.buffer_with_text().await? else { return Ok(None) };
        let hunks = self.pending().await?.into_iter().map(|hunk| PendingLines {
            start: hunk.text.start,
            count: hunk.text.len(),
            removed: hunk.base.len(),
        });
        let (path, tick) = (self.path.clone(), loaded.buffer.tick);
        Ok(Some(PendingFile { path, tick, hunks: hunks.collect() }))
    }

    /// Keeps what is pending: it belongs to the base from now on. Returns how many hunks are no longer pending.
    pub(super) async fn keep(&mut self, scope: &ChangeScope) -> Result<usize, DocumentError> {
        let Some(mut record) = self.record().await? else { return Ok(0) };
        let before = record.pending().len();
        record.keep(&choose(&record, scope));
        let left = record.pending().len();
        self.record = Some(record);
        Ok(before.saturating_sub(left))
    }

    /// Rejects what is pending. A buffer without unsaved changes is saved.
    pub(super) async fn reject(&mut self, scope: &ChangeScope) -> Result<Rejected, DocumentError> {
        for _ in 0..MAX_TRIES {
            let Some(record) = self.record().await? else { return Ok(Rejected::default()) };
            let scope = scope.clone();
            let (record, rejection) = run_blocking(move || {
                let rejection = record.plan_rejection(&choose(&record, &scope));
                (record, rejection)
            })
            .await?;
            let rejected =
                Rejected { hunks: rejection.hunks.len(), conflicts: rejection.conflicts.clone() };
            if rejection.changes_nothing() {
                return Ok(rejected);
            }
            let is_done = match self.buffer_and_file().await? {
                Some((loaded, file)) => {
                    self.reject_loaded(record, &rejection, loaded, file).await?
                }
                None => self.reject_unloaded(record, &rejection).await?,
            };
            if is_done {
                return Ok(rejected);
            }
        }
        Err(DocumentError::Busy(self.path.clone()))
    }

    /// Returns `false` if the text has changed since the rejection was planned.
    async fn reject_loaded(
        &mut self,
        mut record: Box<Record<Origin>>,
        rejection: &Rejection,
        loaded: LoadedBuffer,
        file: Option<DiskText>,
    ) -> Result<bool, DocumentError> {
        if !loaded.text.same_lines(record.current()) {
            return Ok(false);
        }
        if let Some(reason) = loaded.buffer.locked.clone() {
            return Err(DocumentError::Refused { path: self.path.clone(), reason });
        }
        // A change on disk that is still to be followed must not be overwritten.
        let can_save = match &file {
            Some(file) => !loaded.buffer.modified && self.is_baseline(&loaded, file).await?,
            None => false,
        };
        let shape = rejection.shape.unwrap_or(loaded.text.shape());
        let save = Then::Save { eol: shape.final_newline };
        let then = if can_save { save } else { Then::Nothing };
        let edits = refine(&rejection.hunks, &loaded.text);
        match self.apply_edits(&loaded, edits, then).await? {
            ChangeOutcome::Done { after, saved, stamp, undo, .. } => {
                if can_save {
                    self.set_saved(saved, stamp, loaded.buffer.encoding).await?;
                }
                record.reject(rejection, &after, undo);
                self.record = Some(record);
                Ok(true)
            }
            ChangeOutcome::Retry => Ok(false),
            ChangeOutcome::Failed { reason, before, after } => {
                self.revert(&loaded, &before, &after).await?;
                Err(DocumentError::Refused { path: self.path.clone(), reason })
            }
        }
    }

    async fn reject_unloaded(
        &mut self,
        mut record: Box<Record<Origin>>,
        rejection: &Rejection,
    ) -> Result<bool, DocumentError> {
        let Some(file) = self.read_file(None).await? else { return Ok(false) };
        let before = record.current().clone();
        if !file.text.same_lines(&before) {
            return Ok(false);
        }
        let shape = rejection.shape.unwrap_or(file.text.shape());
        let after = apply(&rejection.hunks, &before).with_shape(shape);
        let after = self.revisions.snapshot(after);
        self.baseline = Some(self.replace_file(after.clone(), &file.encoding).await?);
        record.reject(rejection, &after, None);
        self.record = Some(record);
        self.record_unopened_change(&before, &after);
        Ok(true)
    }
}

fn choose(record: &Record<Origin>, scope: &ChangeScope) -> Choice {
    record.choose(scope.lines.as_ref(), |origin| scope.includes(&origin.by))
}
