//! What autocommands of a write have made of a buffer, a formatter for example: that is nobody's typing, so the lines they
//! change stay those of whoever had brought them.

use std::ops::Range;
use std::sync::Arc;

use super::blocking::run_blocking;
use super::document::Document;
use super::error::DocumentError;
use crate::edit::{Hunk, Snapshot, Text, Version, replay};

impl Document {
    /// Records those of the changes of a text that writes have made.
    pub(super) async fn record_writes(
        &mut self,
        text: &Snapshot,
        changes: &[Hunk],
        by_writes: Vec<Range<usize>>,
    ) -> Result<(), DocumentError> {
        for range in by_writes {
            if changes.len() < range.end || self.record.is_none() {
                continue;
            }
            let [before, after] = [range.start, range.end].map(|end| {
                let (text, changes) = (text.clone(), changes[..end].to_vec());
                run_blocking(move || replay(&text, &changes, false))
            });
            let (before, after) = (self.version_of(before.await?), self.version_of(after.await?));
            let Some(mut record) = self.record.take() else { continue };
            let recorded = run_blocking(move || {
                let it = Arc::make_mut(&mut record);
                it.catch_up(&before);
                it.was_formatted(&after);
                record
            });
            self.record = Some(recorded.await?);
        }
        Ok(())
    }

    fn version_of(&self, text: Text) -> Version {
        Version::of_buffer(self.revisions.snapshot(text), None)
    }
}
