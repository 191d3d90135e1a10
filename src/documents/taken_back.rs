//! Decisions on a document that the user takes back: what was kept is pending again, and what a rejection has changed in the
//! buffer and on disk is as it was before. A text that has changed since is left alone.

use std::path::Path;
use std::sync::Arc;

use super::blocking::run_blocking;
use super::disk;
use super::disk_text::DiskText;
use super::document::{Document, MAX_TRIES};
use super::encoding::Encoding;
use super::error::DocumentError;
use super::registry::{Documents, run_to_completion};
use super::way_back::{Of, WayBack};
use crate::edit::{Kept, Place, Snapshot, Version, diff};

impl Document {
    pub(super) fn keeper(&mut self) -> Arc<()> {
        self.keeper.upgrade().unwrap_or_else(|| {
            let keeper = Arc::new(());
            self.keeper = Arc::downgrade(&keeper);
            keeper
        })
    }

    /// Returns the way back from a rejection that was just recorded. `deleted` is the file that it has deleted.
    pub(super) fn way_back_from_rejection(
        &mut self,
        before: Place,
        deleted: Option<DiskText>,
    ) -> Option<WayBack> {
        let after = self.record.as_ref()?.place();
        let deleted = deleted.map(|file| (file.encoding, file.facts.mode));
        Some(WayBack::new(Of::Rejected { before, after, deleted }, self.keeper()))
    }

    /// Takes a decision back. Returns `false` if it is left alone, since the text has changed after it.
    pub(super) async fn take_back(&mut self, way_back: &WayBack) -> Result<bool, DocumentError> {
        let (before, after, deleted) = match &way_back.of {
            Of::Kept(kept) => return self.keep_no_longer(kept.clone()).await.map(|()| true),
            Of::Rejected { before, after, deleted } => (*before, *after, deleted.as_ref()),
        };
        for _ in 0..MAX_TRIES {
            let Some(mut record) = self.record().await? else { return Ok(false) };
            if record.place() == before {
                // The user has undone the rejection in the buffer.
                return Ok(true);
            }
            if record.place() != after {
                return Ok(false);
            }
            let current = record.current().clone();
            let found = run_blocking(move || {
                let (text, form) = Arc::make_mut(&mut record).text_at(before)?;
                let hunks = diff(&current, &text);
                Some((current, text, form, hunks))
            });
            let Some((current, text, form, hunks)) = found.await? else { return Ok(false) };
            let Some((loaded, file)) = self.buffer_and_file().await? else {
                let text = form.exists.then(|| self.revisions.snapshot(text));
                return self.take_back_unloaded(before, (current, text), deleted).await;
            };
            if !loaded.text.same_lines(&current) {
                continue;
            }
            if let Some(file) = &file
                && !loaded.buffer.modified
                && !self.is_baseline(&loaded, file).await?
            {
                return Ok(false);
            }
            let changed = self.change_loaded(loaded, file, &hunks, form.shape, !form.exists);
            let Some(now) = changed.await? else { continue };
            self.set_deleted_mode(deleted).await?;
            self.return_to(before, now).await?;
            return Ok(true);
        }
        Err(DocumentError::Busy(self.path.clone()))
    }

    /// Gives a file that is not loaded the text it had before; `None` deletes it. Returns `false` if it does not have the
    /// text that is known.
    async fn take_back_unloaded(
        &mut self,
        before: Place,
        (current, text): (Snapshot, Option<Snapshot>),
        deleted: Option<&(Encoding, u32)>,
    ) -> Result<bool, DocumentError> {
        let file = self.read_file(None).await?;
        if file.as_ref().map_or(!current.is_empty(), |file| !file.text.same_lines(&current)) {
            return Ok(false);
        }
        let Some(text) = text else {
            self.delete_file().await?;
            let now = self.no_file();
            self.return_to(before, now).await?;
            return Ok(true);
        };
        let encoding = file.as_ref().map(|file| &file.encoding);
        let encoding = encoding.or(deleted.map(|(encoding, _)| encoding));
        let encoding = encoding.cloned().unwrap_or(Encoding::Utf8);
        self.baseline = Some(self.replace_file(text.clone(), &encoding).await?);
        self.was_missing = false;
        self.set_deleted_mode(deleted).await?;
        if file.is_some() {
            self.record_unopened_change(&current, &text);
        }
        self.return_to(before, Version::of_file(text)).await?;
        Ok(true)
    }

    /// Gives a file that was deleted and is back the mode it had.
    async fn set_deleted_mode(
        &mut self,
        deleted: Option<&(Encoding, u32)>,
    ) -> Result<(), DocumentError> {
        let Some(&(_, mode)) = deleted else { return Ok(()) };
        let set = self.call_disk(move |path, _| disk::set_mode(path, mode)).await?;
        set.map_err(|error| DocumentError::write_failed(self.path.clone(), &error))?;
        if let Some((facts, baseline)) = self.facts().await?.zip(self.baseline.as_mut()) {
            baseline.facts = facts;
        }
        Ok(())
    }

    async fn keep_no_longer(&mut self, kept: Kept) -> Result<(), DocumentError> {
        let Some(mut record) = self.record().await? else { return Ok(()) };
        self.record = None;
        let updated = run_blocking(move || {
            Arc::make_mut(&mut record).take_back(&kept);
            record
        });
        self.record = Some(updated.await?);
        Ok(())
    }

    async fn return_to(&mut self, place: Place, now: Version) -> Result<(), DocumentError> {
        let Some(mut record) = self.record.take() else { return Ok(()) };
        let updated = run_blocking(move || {
            Arc::make_mut(&mut record).return_to(place, &now);
            record
        });
        self.record = Some(updated.await?);
        Ok(())
    }

    /// Makes the folder of a file that is about to be saved.
    pub(super) async fn make_folder(&mut self) -> Result<bool, DocumentError> {
        let made = self.call_disk(|path, _| disk::create_folders(path)).await?;
        made.map_err(|error| DocumentError::write_failed(self.path.clone(), &error))?;
        Ok(true)
    }
}

impl Documents {
    /// Takes a decision back. Returns `false` if it is left alone, since the text has changed after it.
    pub async fn take_back(&self, path: &Path, way_back: WayBack) -> Result<bool, DocumentError> {
        let document = self.document(path);
        run_to_completion(async move { document.lock().await.take_back(&way_back).await }).await
    }

    /// Returns where the record of a file is; `None` if no agent has changed the file.
    pub async fn place(&self, path: &Path) -> Option<Place> {
        let document = self.known_document(path)?;
        let found = run_to_completion(async move { document.lock().await.record().await }).await;
        found.ok().flatten().map(|record| record.place())
    }

    /// Returns the way back from a rejection that was carried out elsewhere, to where the record was before.
    pub async fn way_back(&self, path: &Path, before: Place) -> Option<WayBack> {
        let document = self.known_document(path)?;
        let found = run_to_completion(async move {
            let mut document = document.lock().await;
            document.record().await?;
            Ok(document.way_back_from_rejection(before, None))
        });
        found.await.ok().flatten()
    }

    /// What a rejection was about is pending again, since the file has been given the text that it had before.
    pub async fn return_by(&self, path: &Path, way_back: &WayBack) -> Result<(), DocumentError> {
        let Of::Rejected { before, .. } = way_back.of else { return Ok(()) };
        let document = self.document(path);
        run_to_completion(async move {
            let mut document = document.lock().await;
            let now = document.version().await?;
            document.return_to(before, now).await
        })
        .await
    }
}
