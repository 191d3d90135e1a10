//! What an agent wrote to the disk itself: the buffer follows, as one undoable change and without a
//! question. It writes no file, but for one that an agent overwrote with a text it had already sent
//! us.

use std::sync::Arc;

use super::document::{Document, MOST_TRIES, Made, OnDisk, Open, beside, on_disk};
use super::editor::Then;
use super::error::FileError;
use super::write::difference;
use super::{Via, Written, disk};
use crate::edit::{Conflict, Merged, Text, diff, merge, refine};
use crate::session::ids::SessionId;

impl Document {
    pub(super) async fn disk_changed(
        &mut self,
        session: &SessionId,
    ) -> Result<Option<Written>, FileError> {
        let facts = disk::facts(&self.path);
        if facts.is_none() || facts == self.synced.as_ref().map(|synced| synced.facts) {
            return Ok(None);
        }
        for _ in 0..MOST_TRIES {
            let Some((open, file)) = self.open_with_disk().await? else {
                return self.closed_changed(session).await;
            };
            let Some(file) = file else { return Ok(None) };
            if let Some(refused) = self.take_sent(session, &file.text) {
                self.settle(&open, file, refused).await?;
                return Ok(None);
            }
            if self.is_synced(&open, &file) {
                // The user's own save, or a file that was only touched.
                self.acknowledge(&file).await?;
                return Ok(None);
            }
            self.note_on_disk(session, Some(&file.text));
            let adopted = self.adopt(session, &open, &file).await?;
            if adopted.is_some() || self.synced.as_ref().is_some_and(|s| s.facts == file.facts) {
                return Ok(adopted);
            }
        }
        Err(FileError::Busy(self.path.clone()))
    }

    /// Brings the file's text into the buffer. `None` if nothing came of it: the buffer had it all,
    /// or has changed meanwhile (then the file still counts as new).
    pub(super) async fn adopt(
        &mut self,
        session: &SessionId,
        open: &Open,
        file: &OnDisk,
    ) -> Result<Option<Written>, FileError> {
        let synced = self.synced.as_ref().map(|synced| Arc::clone(&synced.text));
        let (live, theirs) = (Arc::clone(&open.text), Arc::clone(&file.text));
        let modified = open.buffer.modified;
        let merged = beside(move || bring_in(synced.as_deref(), &live, &theirs, modified)).await?;
        let merged = merged.map_err(|conflicts| self.conflict(&conflicts, true))?;
        let then = Then::Adopt { facts: file.facts, eol: merged.shape.final_newline };
        let edits = refine(&merged.hunks, &open.text);
        let (before, after) = match self.make(open, edits, then).await? {
            Made::Done { before, after, .. } => (before, after),
            Made::Failed { reason, before, after } => {
                tracing::warn!(path = %self.path.display(), reason, "Neovim took no note of a file");
                (before, after)
            }
            Made::Again => return Ok(None),
        };
        self.synced = Some(file.clone());
        let hunks = difference(&before, &after).await?;
        Ok((!hunks.is_empty()).then(|| Written {
            path: self.path.clone(),
            session: session.clone(),
            tool_call: None,
            before,
            after,
            hunks,
            via: Via::Disk,
            created: false,
            saved_unsaved: false,
            adopted: None,
        }))
    }

    /// Whether the file's text is what this session sent us last, and if so whether we had refused
    /// it. Counts once.
    pub(super) fn take_sent(&mut self, session: &SessionId, file: &Text) -> Option<bool> {
        let is_sent = self.sent.get(session).is_some_and(|sent| {
            sent.text.same_lines(file)
                && sent.text.shape().final_newline == file.shape().final_newline
        });
        if is_sent { self.sent.remove(session).map(|sent| sent.refused) } else { None }
    }

    /// An agent has overwritten the file with a text that we have merged already, or have refused.
    async fn settle(&mut self, open: &Open, file: OnDisk, refused: bool) -> Result<(), FileError> {
        if refused {
            // The user's text is in the buffer alone now: it must not be reloaded away.
            self.editor.mark_modified(open.buffer.id).await?;
            return Ok(());
        }
        let merged = self.synced.as_ref().map(|synced| Arc::clone(&synced.text));
        let file = match merged {
            Some(text) if text != file.text => self.put(text, &open.buffer.encoding).await?,
            _ => file,
        };
        self.acknowledge(&file).await?;
        self.synced = Some(file);
        Ok(())
    }

    /// A file that is not loaded: there is something to tell only if we know what was there before.
    async fn closed_changed(&mut self, session: &SessionId) -> Result<Option<Written>, FileError> {
        let Some(file) = on_disk(&self.path, None).await? else { return Ok(None) };
        let _ = self.take_sent(session, &file.text);
        self.note_on_disk(session, Some(&file.text));
        let before = self.synced.replace(file.clone()).map(|synced| synced.text);
        let before = before.or_else(|| self.known.get(session).cloned());
        let Some(before) = before else { return Ok(None) };
        let hunks = difference(&before, &file.text).await?;
        Ok((!hunks.is_empty()).then(|| Written {
            path: self.path.clone(),
            session: session.clone(),
            tool_call: None,
            before,
            after: file.text,
            hunks,
            via: Via::Disk,
            created: false,
            saved_unsaved: false,
            adopted: None,
        }))
    }
}

/// An unmodified buffer becomes what the file is; into unsaved changes the file's are merged.
fn bring_in(
    synced: Option<&Text>,
    live: &Text,
    file: &Text,
    modified: bool,
) -> Result<Merged, Vec<Conflict>> {
    match synced {
        _ if !modified => Ok(Merged { hunks: diff(live, file), shape: file.shape() }),
        Some(synced) => merge(synced, live, file),
        None => Err(Vec::new()),
    }
}
