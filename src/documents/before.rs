//! What a file was before an agent changed it, which is sometimes only known after its first change has been recorded.

use std::path::Path;
use std::sync::Arc;

use super::blocking::run_blocking;
use super::disk_text::DiskText;
use super::document::Document;
use super::error::DocumentError;
use super::facts::DiskFacts;
use super::registry::{Documents, run_to_completion};
use super::uncertain_start::UncertainStart;
use crate::edit::{Record, Version, diff};
use crate::session::author::Author;

impl Document {
    /// Notes that the record is about to begin with a change of an agent that may have changed the file on disk before.
    pub(super) fn begin_uncertain(&mut self, by: &Author) {
        self.uncertain_start = Some(UncertainStart { by: by.clone(), changes: Vec::new() });
    }

    /// Puts what the agent had changed on disk before its first write into the record, now that it is known what the file
    /// was before; `None` if it did not exist. Does nothing if decisions have been taken in the meantime.
    pub(super) async fn complete_start(
        &mut self,
        before: Option<&DiskText>,
        by: &Author,
    ) -> Result<(), DocumentError> {
        let Some(UncertainStart { by, changes }) =
            self.uncertain_start.take_if(|start| start.is_of_turn(by))
        else {
            return Ok(());
        };
        let Some(record) = self.record.as_ref() else { return Ok(()) };
        let Some(first) = changes.first().filter(|_| record.has_only_steps(changes.len())) else {
            return Ok(());
        };
        let start = before.map_or_else(|| self.no_file(), |it| Version::of_file(it.text.clone()));
        let (from, origin) = (first.before.clone(), self.on_disk(&by));
        let completed = run_blocking(move || {
            let hunks = diff(&start.text, &from.text);
            if hunks.is_empty() && start.exists == from.exists {
                return None;
            }
            let mut record = Record::new(&start);
            record.change(origin, &start, &from, &hunks);
            for change in changes {
                let hunks = change.hunks();
                record.change(change.origin, &change.before, &change.after, &hunks);
            }
            Some(Arc::new(record))
        });
        if let Some(record) = completed.await? {
            self.record = Some(record);
        }
        Ok(())
    }

    /// Records what the file was before an agent may have changed it; `None` if it did not exist. Does nothing if that is
    /// known already.
    /// `is_coarse` says that the turn is not looked at after each of its tool calls.
    pub(super) async fn set_before(
        &mut self,
        bytes: Option<Vec<u8>>,
        by: &Author,
        is_coarse: bool,
    ) -> Result<(), DocumentError> {
        self.coarse_turn = is_coarse.then(|| (by.session.clone(), by.turn));
        if self.uncertain_start.is_some() {
            let before = match bytes.clone() {
                Some(bytes) => Some(self.decode_file(bytes, DiskFacts::MISSING, None).await?),
                None => None,
            };
            self.complete_start(before.as_ref(), by).await?;
        }
        let facts = self.baseline.as_ref().map(|baseline| baseline.facts);
        let is_known = (facts.is_some() && facts != self.preloaded) || self.was_missing;
        if is_known || self.find().await?.is_some() {
            return Ok(());
        }
        (self.baseline, self.preloaded) = (None, None);
        match bytes {
            Some(bytes) => {
                // These are nobody's facts, so that the file is read.
                self.baseline = Some(self.decode_file(bytes, DiskFacts::MISSING, None).await?);
            }
            None => self.was_missing = true,
        }
        Ok(())
    }
}

impl Documents {
    /// Records what a file was before an agent may have changed it; `None` if it did not exist. Does nothing if that is known
    /// already.
    pub async fn set_before(
        &self,
        path: &Path,
        bytes: Option<Vec<u8>>,
        by: &Author,
        is_coarse: bool,
    ) -> Result<(), DocumentError> {
        let (document, by) = (self.document(path), by.clone());
        run_to_completion(
            async move { document.lock().await.set_before(bytes, &by, is_coarse).await },
        )
        .await
    }
}
