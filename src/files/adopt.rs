//! What an agent did to a file on disk itself: the buffer follows, as one undoable change and without
//! a question, and keeps what the user wrote. It writes no file, but for one that an agent overwrote
//! with a text it had already sent us.

use std::sync::Arc;

use super::disk::DiskFacts;
use super::document::{Document, Known, MOST_TRIES, Made, Open, Sent, beside};
use super::editor::Then;
use super::error::FileError;
use super::limits::{MOST_AHEAD, MOST_TEXT};
use super::on_disk::OnDisk;
use super::write::difference;
use super::{Via, Written};
use crate::edit::{Hunk, Taken, Text, keep_all, leave, refine, shared, take_in};
use crate::session::author::{Author, SessionKey};

impl Document {
    pub(super) async fn disk_changed(&mut self, by: &Author) -> Result<Option<Written>, FileError> {
        let followed = self.follow_disk(by).await?;
        let Some(untold) = self.untold.take() else { return Ok(followed) };
        Ok(Some(match followed {
            Some(followed) => Written { adopted: Some(Box::new(untold)), ..followed },
            None => untold,
        }))
    }

    async fn follow_disk(&mut self, by: &Author) -> Result<Option<Written>, FileError> {
        let session = &by.session;
        let facts = self.facts().await?;
        if facts.is_some() && facts == self.synced.as_ref().map(|synced| synced.facts) {
            return Ok(None);
        }
        if facts.is_none() && !self.is_missing().await? {
            return Ok(None); // Agents name folders, too.
        }
        self.finish_reading().await?;
        for _ in 0..MOST_TRIES {
            let Some((open, file)) = self.open_with_disk().await? else {
                return self.closed_changed(by).await;
            };
            let Some(file) = file else { return self.deleted(by, &open).await };
            if self.take_sent(&file, by) {
                self.settle(&open, file).await?;
                return Ok(None);
            }
            if self.is_synced(&open, &file).await? {
                // The user's own save, or a file that was only touched.
                return Ok(None);
            }
            self.note_on_disk(session, Some(&file.text));
            let adopted = self.adopt(by, &open, &file).await?;
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
        by: &Author,
        open: &Open,
        file: &OnDisk,
    ) -> Result<Option<Written>, FileError> {
        let taken = self.take(&by.session, open, file).await?;
        let shape = taken.text.shape();
        let is_file = taken.text.same_lines(&file.text) && shape == file.text.shape();
        let then = Then::Adopt {
            facts: file.facts,
            shape,
            encoding: file.encoding.clone(),
            modified: !is_file,
            kept: taken.kept.clone(),
        };
        let edits = refine(&taken.hunks, &open.text);
        let (before, after) = match self.make(open, edits, then).await? {
            Made::Done { before, after, .. } => (before, after),
            Made::Failed { reason, before, after } => {
                tracing::warn!(path = %self.path.display(), reason, "Neovim took no note of a file");
                (before, after)
            }
            Made::Again => return Ok(None),
        };
        let was = self.last_synced(open);
        self.leaves(&by.session, (was, Some(&open.text)), &file.text).await?;
        self.synced = Some(file.clone());
        let hunks = difference(&before, &after).await?;
        let news = !hunks.is_empty() || !taken.kept.is_empty();
        self.record_change(by, Via::Disk, (&before, &after), &hunks).await?;
        let written = self.followed(by, before, after, hunks);
        Ok(news.then_some(Written { kept: taken.kept, ..written }))
    }

    async fn take(
        &self,
        session: &SessionKey,
        open: &Open,
        file: &OnDisk,
    ) -> Result<Taken, FileError> {
        let (live, theirs) = (Arc::clone(&open.text), Arc::clone(&file.text));
        let Some(synced) = self.last_synced(open) else {
            // What the user has changed cannot be told from what the agent has.
            return beside(move || keep_all(&live, &theirs)).await;
        };
        let read = self.known.get(session).and_then(|known| known.before(self.synced.as_ref()));
        let read = read.unwrap_or_else(|| Arc::clone(&synced));
        beside(move || take_in(&read, &synced, &live, &theirs)).await
    }

    /// The text that buffer and file last had both; without unsaved changes, the buffer's.
    pub(super) fn last_synced(&self, open: &Open) -> Option<Arc<Text>> {
        if !open.buffer.modified {
            return Some(Arc::clone(&open.text));
        }
        self.synced.as_ref().map(|synced| Arc::clone(&synced.text))
    }

    /// Whether the file has what a session sent us just now and was to write itself, too; who is taken for its writer may
    /// be wrong. Counts once.
    pub(super) fn take_sent(&mut self, file: &OnDisk, by: &Author) -> bool {
        self.sent.retain(|session, sent| *session != by.session || sent.turn == by.turn);
        let text = &file.text;
        let is_sent = |sent: &Sent| {
            sent.text.same_lines(text)
                && sent.text.shape().final_newline == text.shape().final_newline
                && sent.within.contains(&file.facts.time.on_clock())
        };
        let count = self.sent.len();
        self.sent.retain(|_, sent| !is_sent(sent));
        self.sent.len() < count
    }

    /// An agent has overwritten the file with a text that we have merged already.
    pub(super) async fn settle(&mut self, open: &Open, file: OnDisk) -> Result<(), FileError> {
        let file = match self.last_synced(open) {
            Some(text) if text != file.text => self.put(text, &file.encoding).await?,
            _ => file,
        };
        self.acknowledge(&file).await?;
        self.synced = Some(file);
        Ok(())
    }

    /// The file is gone. Its buffer has the text now that nobody else has: it counts as unsaved.
    async fn deleted(&mut self, by: &Author, open: &Open) -> Result<Option<Written>, FileError> {
        // Its text stays what the user began with, should it come back.
        let (facts, encoding) = (DiskFacts::GONE, open.buffer.encoding.clone());
        self.synced = self.last_synced(open).map(|text| OnDisk { text, facts, encoding });
        // One that was never on disk, or whose end is known.
        if open.buffer.stamp.is_none() || !self.is_missing().await? {
            return Ok(None);
        }
        self.editor.file_gone(open.buffer.id).await?;
        let text = Arc::clone(&open.text);
        let written = self.followed(by, Arc::clone(&text), text, Vec::new());
        Ok(Some(Written { deleted: true, ..written }))
    }

    /// What others did to a file that is not loaded and that we know, before it is written.
    pub(super) async fn catch_up_closed(
        &mut self,
        by: &Author,
    ) -> Result<Option<Written>, FileError> {
        let Some(known) = self.synced.as_ref().map(|synced| synced.facts) else { return Ok(None) };
        if self.facts().await? == Some(known) {
            return Ok(None);
        }
        self.closed_changed(by).await
    }

    /// A file that is not loaded: there is something to tell only if we know what was there before.
    async fn closed_changed(&mut self, by: &Author) -> Result<Option<Written>, FileError> {
        let session = &by.session;
        let is_known = self.synced.is_some() || self.known.contains_key(session);
        let most = if is_known { MOST_TEXT } else { MOST_AHEAD };
        let file = match self.on_disk_up_to(most, None).await {
            // Nobody looks at it, and nobody knows what it was.
            Err(FileError::Large { .. }) => {
                self.synced = None;
                return Ok(None);
            }
            file => file?,
        };
        let Some(file) = file else { return Ok(None) };
        self.take_sent(&file, by);
        self.note_on_disk(session, Some(&file.text));
        let synced = self.synced.as_ref();
        let before = synced.map(|synced| Arc::clone(&synced.text));
        let before = before.or_else(|| self.known.get(session).and_then(|it| it.before(None)));
        self.leaves(session, (before.clone(), None), &file.text).await?;
        self.synced = Some(file.clone());
        let created = before.is_none() && std::mem::take(&mut self.was_missing);
        let Some(before) = before.or(created.then(Arc::default)) else { return Ok(None) };
        let hunks = difference(&before, &file.text).await?;
        let news = !hunks.is_empty();
        self.record_change(by, Via::Disk, (&before, &file.text), &hunks).await?;
        self.changed_unopened(&before, &file.text);
        let written = self.followed(by, before, file.text, hunks);
        Ok(news.then_some(Written { created, ..written }))
    }

    /// Notes how a session left the file: what others had brought in since it read the file is no more known to it than it
    /// was, also if it is in the file only now. That was in the file before, or in the buffer, not saved.
    async fn leaves(
        &mut self,
        session: &SessionKey,
        (before, live): (Option<Arc<Text>>, Option<&Arc<Text>>),
        file: &Arc<Text>,
    ) -> Result<(), FileError> {
        let known = self.known.get(session);
        let text = known.and_then(|known| known.text.clone());
        let read = known.and_then(|known| known.before(self.synced.as_ref()));
        let file = Arc::clone(file);
        let was = before.iter().chain(live).cloned();
        let was: Vec<_> = was.filter(|was| read.as_ref().is_some_and(|read| read != was)).collect();
        let left = match read {
            Some(read) if !was.is_empty() => {
                beside(move || {
                    let left = was.iter().map(|was| leave(&read, was, &file));
                    left.reduce(|one, other| shared(&one, &other)).map_or(file.clone(), Arc::new)
                })
                .await?
            }
            _ => file,
        };
        self.known.insert(session.clone(), Known { text, left, ahead: None });
        Ok(())
    }

    fn followed(
        &self,
        by: &Author,
        before: Arc<Text>,
        after: Arc<Text>,
        hunks: Vec<Hunk>,
    ) -> Written {
        Written {
            path: self.path.clone(),
            by: by.clone(),
            before,
            after,
            hunks,
            via: Via::Disk,
            created: false,
            saved_unsaved: false,
            adopted: None,
            kept: Vec::new(),
            deleted: false,
        }
    }
}
