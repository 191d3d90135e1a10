//! The record of a document: what agents and others have changed since an agent first changed the file.

use std::sync::Arc;

use super::blocking::run_blocking;
use super::change::Origin;
use super::document::Document;
use super::error::DocumentError;
use crate::edit::{Hunk, Record, Text, Version};

impl Document {
    /// Adds a change of an agent to the record.
    pub(super) async fn record_change(
        &mut self,
        origin: Origin,
        before: Version,
        after: Version,
        hunks: &[Hunk],
    ) -> Result<(), DocumentError> {
        let record = self.record.take().unwrap_or_else(|| Arc::new(Record::new(&before)));
        let hunks = hunks.to_owned();
        let start = self.uncertain_start.take();
        self.uncertain_start = start.and_then(|it| it.with(&origin, (&before, &after), &hunks));
        let updated = run_blocking(move || {
            let mut record = record;
            Arc::make_mut(&mut record).change(origin, &before, &after, &hunks);
            record
        });
        self.record = Some(updated.await?);
        Ok(())
    }

    /// Returns all changes since an agent first changed the file, up to the present text. `None` if no agent has.
    pub(super) async fn record(&mut self) -> Result<Option<Arc<Record<Origin>>>, DocumentError> {
        if self.record.is_some() {
            let now = self.version().await?;
            self.update_record(now).await?;
        }
        Ok(self.record.clone())
    }

    /// Returns what the buffer has, or else the file as it was last followed: who has changed it since is found out when that is
    /// followed, too.
    pub(super) async fn version(&mut self) -> Result<Version, DocumentError> {
        if let Some(loaded) = self.buffer_with_text().await? {
            return Ok(loaded.version());
        }
        match &self.baseline {
            Some(file) => Ok(Version::of_file(file.text.clone())),
            None if self.was_missing => Ok(self.no_file()),
            None => self.version_on_disk().await,
        }
    }

    async fn version_on_disk(&self) -> Result<Version, DocumentError> {
        let file = self.read_file(None).await?;
        Ok(file.map_or_else(|| self.no_file(), |file| Version::of_file(file.text)))
    }

    /// Returns what the buffer has, or else the file as it is.
    pub(super) async fn present_version(&mut self) -> Result<Version, DocumentError> {
        match self.buffer_with_text().await? {
            Some(loaded) => Ok(loaded.version()),
            None => self.version_on_disk().await,
        }
    }

    /// Returns all changes up to the present text, also those that nobody has followed, as if they were nobody's. `None` if no
    /// agent has changed the file.
    pub(super) async fn present_record(
        &mut self,
    ) -> Result<Option<Arc<Record<Origin>>>, DocumentError> {
        let Some(record) = self.record().await? else { return Ok(None) };
        let known = self.baseline.as_ref().map(|baseline| baseline.facts);
        if self.find().await?.is_some() || known.is_some() && self.facts().await? == known {
            return Ok(Some(record));
        }
        let now = self.version_on_disk().await?;
        let present = run_blocking(move || {
            let mut record = record;
            if !record.is_at(&now) {
                Arc::make_mut(&mut record).catch_up(&now);
            }
            record
        });
        present.await.map(Some)
    }

    /// The version of a file that does not exist.
    pub(super) fn no_file(&self) -> Version {
        let text = self.revisions.snapshot(Text::default());
        Version { exists: false, ..Version::of_file(text) }
    }

    /// Brings the record up to the present version.
    pub(super) async fn update_record(&mut self, now: Version) -> Result<(), DocumentError> {
        if self.record.as_ref().is_none_or(|record| record.is_at(&now)) {
            return Ok(());
        }
        let Some(mut record) = self.record.take() else { return Ok(()) };
        let updated = run_blocking(move || {
            Arc::make_mut(&mut record).catch_up(&now);
            record
        });
        self.record = Some(updated.await?);
        Ok(())
    }
}
