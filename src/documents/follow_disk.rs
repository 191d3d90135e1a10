//! Follows changes that an agent has made to a file on disk: merges them into the buffer as one undo step, without a
//! prompt and without losing what the user wrote. Writes a file only if the agent has overwritten it with a text that
//! it had sent us and that was merged already.

use super::agent_view::{AgentView, SentLate, SentText};
use super::blocking::run_blocking;
use super::change::{AgentChange, Origin, Via};
use super::disk_text::DiskText;
use super::document::{ChangeOutcome, Document, LoadedBuffer, MAX_TRIES};
use super::editor::Then;
use super::error::DocumentError;
use super::facts::{DiskFacts, FileTime};
use super::found::found_and_kept;
use super::limits::{MAX_PRELOAD_SIZE, MAX_TEXT_SIZE};
use super::requests::WriteRequest;
use super::write::difference;
use crate::edit::{
    ExternalMerge, Hunk, Snapshot, Text, Version, common_lines, merge_external, refine,
    without_merge, writer_view,
};
use crate::session::author::{Author, SessionKey};

impl Document {
    /// Brings a change on disk that was noticed into the buffer, as that of whoever has made it. Returns it together with one that
    /// was not reported before; `None` if there is nothing to report.
    pub(super) async fn disk_noticed(
        &mut self,
        by: &Author,
    ) -> Result<Option<AgentChange>, DocumentError> {
        let by = if self.is_as_followed(by).await? { by.clone() } else { self.whose(by).await? };
        self.disk_changed(&by).await
    }

    /// The same of a change that is known to be `by` whom it is said to be.
    async fn disk_changed(&mut self, by: &Author) -> Result<Option<AgentChange>, DocumentError> {
        let followed = self.follow_disk(by).await?;
        let Some(unreported) = self.unreported.take() else { return Ok(followed) };
        Ok(Some(match followed {
            Some(followed) => AgentChange { disk_change: Some(Box::new(unreported)), ..followed },
            None => unreported,
        }))
    }

    /// The origin of a change that was found on disk.
    pub(super) fn on_disk(&self, by: &Author) -> Origin {
        let is_coarse = self.coarse_turn.as_ref() == Some(&(by.session.clone(), by.turn));
        let is_seen = !self.unseen.holds(by, &self.path);
        let is_certain = is_seen && (by.tool_call.is_some() || is_coarse);
        Origin { by: by.clone(), via: Via::Disk, is_certain }
    }

    /// Whether the file is as it was last followed.
    async fn is_as_followed(&self, by: &Author) -> Result<bool, DocumentError> {
        let facts = self.facts().await?;
        // The turn may have found something else there, and put this back.
        let is_followed = facts.is_some() && facts == self.followed_facts();
        let is_known = is_followed && self.found_by(by).is_none();
        // Agents also name folders.
        Ok(is_known || facts.is_none() && !self.is_missing().await?)
    }

    async fn follow_disk(&mut self, by: &Author) -> Result<Option<AgentChange>, DocumentError> {
        let session = &by.session;
        if self.is_as_followed(by).await? {
            return Ok(None);
        }
        self.complete_partial_read().await?;
        for _ in 0..MAX_TRIES {
            let Some((loaded, file)) = self.buffer_and_file().await? else {
                return self.follow_unloaded(by).await;
            };
            let Some(file) = file else { return self.follow_deletion(by, &loaded).await };
            if self.consume_sent(&file, by) {
                self.restore_merged(&loaded, file).await?;
                return Ok(None);
            }
            if self.is_baseline(&loaded, &file).await? {
                // The user has saved, or only the modification time has changed.
                return Ok(None);
            }
            self.acknowledge_disk(session, Some(&file.text));
            let change = self.follow_file(by, &loaded, &file).await?;
            let is_baseline = |baseline: &DiskText| baseline.facts == file.facts;
            if change.is_some() || self.baseline.as_ref().is_some_and(is_baseline) {
                return Ok(change);
            }
        }
        Err(DocumentError::Busy(self.path.clone()))
    }

    /// Merges the text of the file into the buffer. `None` if the buffer already had all of it; or if the buffer has
    /// changed meanwhile, in which case the baseline is not updated and the caller has to start over.
    pub(super) async fn follow_file(
        &mut self,
        by: &Author,
        loaded: &LoadedBuffer,
        file: &DiskText,
    ) -> Result<Option<AgentChange>, DocumentError> {
        let found = self.as_found(by, loaded).await?;
        let external = self.merge_file(by, loaded, file).await?;
        let shape = external.text.shape();
        let is_file = external.text.same_lines(&file.text) && shape == file.text.shape();
        let then = Then::FollowDisk {
            facts: file.facts,
            shape,
            encoding: file.encoding.clone(),
            modified: !is_file,
            unresolved: external.unresolved.clone(),
            by: Some(by.clone()),
        };
        let edits = refine(&external.hunks, &loaded.text);
        let (before, after, undo) = match self.apply_edits(loaded, edits, then).await? {
            ChangeOutcome::Done { before, after, undo, .. } => (before, after, undo),
            ChangeOutcome::Failed { reason, before, after } => {
                tracing::warn!(path = %self.path.display(), reason, "Neovim did not note a file's new time");
                (before, after, None)
            }
            ChangeOutcome::Retry => return Ok(None),
        };
        let common = self.last_common(loaded);
        self.update_last_written(&by.session, (common, Some(&loaded.text)), &file.text).await?;
        self.baseline = Some(file.clone());
        let mut from = Version::of_buffer(before.clone(), Some(loaded.undo()));
        let mut start = before.clone();
        // If the user has typed meanwhile, it is not known where.
        if let Some(found) = found.filter(|_| before == loaded.text) {
            let (live, end) = (before.clone(), after.clone());
            let between = run_blocking(move || found_and_kept(&live, &found, &end)).await?;
            let between = self.revisions.snapshot(between);
            self.update_record(from).await?;
            (from, start) = (Version::of_buffer(between.clone(), None), between);
        }
        let hunks = difference(&start, &after).await?;
        let is_news = !hunks.is_empty() || !external.unresolved.is_empty();
        let origin = self.on_disk(by);
        let to = Version::of_buffer(after.clone(), undo);
        if start != before && hunks.is_empty() {
            self.update_record(to).await?;
        } else {
            self.record_change(origin, from, to, &hunks).await?;
        }
        let before = start;
        let change = self.disk_change(by, before, after, hunks);
        Ok(is_news.then_some(AgentChange { unresolved: external.unresolved, ..change }))
    }

    /// Returns the buffer's text with what a turn had found on disk, if that has not been followed.
    async fn as_found(
        &self,
        by: &Author,
        loaded: &LoadedBuffer,
    ) -> Result<Option<Text>, DocumentError> {
        let Some(file) = self.found_by(by).and_then(|found| found.file.as_ref()) else {
            return Ok(None);
        };
        let found = self.merge_file(by, loaded, file).await?;
        Ok(Some(found.text))
    }

    async fn merge_file(
        &self,
        by: &Author,
        loaded: &LoadedBuffer,
        file: &DiskText,
    ) -> Result<ExternalMerge, DocumentError> {
        let (live, theirs) = (loaded.text.clone(), file.text.clone());
        let Some(baseline) = self.last_common(loaded) else {
            // Without it, the user's changes cannot be told from the agent's.
            return run_blocking(move || without_merge(&live, &theirs)).await;
        };
        let view = self.views.get(&by.session).filter(|_| !self.has_read_file(by, loaded, file));
        let read = view.and_then(|view| view.known_at(self.baseline.as_ref()));
        let read = read.unwrap_or_else(|| baseline.clone());
        run_blocking(move || merge_external(&read, &baseline, &live, &theirs)).await
    }

    /// Whether it was a command that began once Neovim had last read or written the file: it has read what was there, and knows what
    /// the user has saved.
    fn has_read_file(&self, by: &Author, loaded: &LoadedBuffer, file: &DiskText) -> bool {
        let changed = file.facts.time.to_system_time();
        let Some(began) = self.call_times.command_began(by, changed) else { return false };
        let known = self.baseline.as_ref().map(|file| file.facts.time);
        let saved = loaded.buffer.stamp.map(|stamp| stamp.time);
        let mut times = saved.into_iter().chain(known).map(FileTime::to_system_time).peekable();
        times.peek().is_some() && times.all(|time| time <= began)
    }

    /// Returns the last text that buffer and file had in common: without unsaved changes that of the buffer, otherwise
    /// the baseline.
    pub(super) fn last_common(&self, loaded: &LoadedBuffer) -> Option<Snapshot> {
        if !loaded.buffer.modified {
            return Some(loaded.text.clone());
        }
        self.baseline.as_ref().map(|baseline| baseline.text.clone())
    }

    /// Whether the file has a text that a session has sent us shortly before and was expected to write to the disk as
    /// well. Consumes the record of it. That may be another session than `by`, which is only assumed to have written
    /// the file.
    pub(super) fn consume_sent(&mut self, file: &DiskText, by: &Author) -> bool {
        self.last_sent.retain(|session, sent| *session != by.session || sent.turn == by.turn);
        let text = &file.text;
        let is_sent = |sent: &SentText| {
            sent.text.same_lines(text)
                && sent.text.shape().final_newline == text.shape().final_newline
                && sent.within.contains(&file.facts.time.to_system_time())
        };
        let count = self.last_sent.len();
        self.last_sent.retain(|_, sent| !is_sent(sent));
        self.last_sent.len() < count
    }

    /// Writes the merged text again, after an agent has overwritten it with the text it had sent.
    pub(super) async fn restore_merged(
        &mut self,
        loaded: &LoadedBuffer,
        file: DiskText,
    ) -> Result<(), DocumentError> {
        let file = match self.last_common(loaded) {
            Some(text) if text != file.text => self.replace_file(text, &file.encoding).await?,
            _ => file,
        };
        self.update_timestamp(&file).await?;
        self.baseline = Some(file);
        Ok(())
    }

    /// Follows the deletion of a file. Only its buffer has the text now, so it becomes modified.
    async fn follow_deletion(
        &mut self,
        by: &Author,
        loaded: &LoadedBuffer,
    ) -> Result<Option<AgentChange>, DocumentError> {
        // The text stays in the baseline, as the base of unsaved changes should the file come back.
        let (facts, encoding) = (DiskFacts::MISSING, loaded.buffer.encoding.clone());
        self.baseline = self.last_common(loaded).map(|text| DiskText { text, facts, encoding });
        // The file has never been on disk, or exists again.
        if loaded.buffer.stamp.is_none() || !self.is_missing().await? {
            return Ok(None);
        }
        self.editor.file_gone(loaded.buffer.id).await?;
        self.deleted_by = Some(self.on_disk(by));
        let text = loaded.text.clone();
        let change = self.disk_change(by, text.clone(), text, Vec::new());
        Ok(Some(AgentChange { deleted: true, ..change }))
    }

    /// Follows a change of a file that is not loaded, if it is known what was there, before the agent's write to it.
    pub(super) async fn follow_unloaded_before_write(
        &mut self,
        request: &WriteRequest,
    ) -> Result<Option<AgentChange>, DocumentError> {
        let known = self.baseline.as_ref().map(|baseline| baseline.facts);
        if known.is_none() && !self.was_missing || self.facts().await? == known {
            return Ok(None);
        }
        if known.is_none() {
            self.find_own_creation(request).await?;
        }
        let by = self.whose(&request.by).await?;
        self.follow_unloaded(&by).await
    }

    /// Notes whether a file that was missing has the text that the session is sending: then it has written that itself.
    async fn find_own_creation(&mut self, request: &WriteRequest) -> Result<(), DocumentError> {
        let file = self.read_file(None).await?;
        let is_sent = |file: &DiskText| *file.text == Text::matching(&request.content, &file.text);
        let late = |file: DiskText| SentLate { by: request.by.clone(), base: None, file };
        self.sent_late = file.filter(is_sent).map(late);
        Ok(())
    }

    /// Whether a file as it was known so far may have been changed by an agent before it was first looked at.
    pub(super) fn is_late(&self, known: Option<&DiskText>) -> bool {
        self.record.is_none() && known.is_none_or(|known| Some(known.facts) == self.preloaded)
    }

    /// Follows a change of a file that is not loaded. It is only reported if the text before is known.
    async fn follow_unloaded(&mut self, by: &Author) -> Result<Option<AgentChange>, DocumentError> {
        if self.begin_as_found(by).await? {
            return Ok(None);
        }
        let is_known = self.baseline.is_some() || self.views.contains_key(&by.session);
        let max_size = if is_known { MAX_TEXT_SIZE } else { MAX_PRELOAD_SIZE };
        let file = match self.read_file_up_to(max_size, None).await {
            // Not worth reading just for a report.
            Err(DocumentError::Large { .. }) => {
                self.baseline = None;
                return Ok(None);
            }
            file => file?,
        };
        let Some(file) = file else {
            return self.follow_unloaded_deletion(by).await;
        };
        let late = self.sent_late.take();
        let mut late = late.filter(|sent| sent.is_made_from(self.baseline.as_ref()));
        if let Some(sent) = late.take_if(|sent| sent.file.facts != file.facts) {
            // Others have changed the file since.
            self.record_sent_late(sent).await?;
        }
        let by = late.as_ref().map_or(by, |sent| &sent.by);
        let session = &by.session;
        self.consume_sent(&file, by);
        self.acknowledge_disk(session, Some(&file.text));
        let was_missing = std::mem::take(&mut self.was_missing);
        let before = self.baseline.as_ref().map(|baseline| baseline.text.clone());
        // What the session knows of is the file that was there before it was missing.
        let view = self.views.get(session).filter(|_| !was_missing);
        let before = before.or_else(|| view.and_then(|view| view.known_at(None)));
        self.update_last_written(session, (before.clone(), None), &file.text).await?;
        let is_late = !was_missing && self.is_late(self.baseline.as_ref());
        self.baseline = Some(file.clone());
        let created = before.is_none() && was_missing;
        let empty = || self.revisions.snapshot(Text::default());
        let before = before.or_else(|| created.then(empty));
        let hunks = match &before {
            Some(before) => difference(before, &file.text).await?,
            None => Vec::new(),
        };
        if is_late && hunks.is_empty() {
            // It may have been changed before it was first looked at, which the checkpoint knows.
            self.preloaded = Some(file.facts);
            return Ok(None);
        }
        let Some(before) = before else { return Ok(None) };
        let is_news = !hunks.is_empty();
        let origin = match &late {
            Some(_) => Origin { by: by.clone(), via: Via::Protocol, is_certain: true },
            None => self.on_disk(by),
        };
        let from = Version { exists: !created, ..Version::of_file(before.clone()) };
        self.record_change(origin, from, Version::of_file(file.text.clone()), &hunks).await?;
        self.record_unopened_change(&before, &file.text);
        let change = self.disk_change(by, before, file.text, hunks);
        Ok(is_news.then_some(AgentChange { created, ..change }))
    }

    /// Records a text that was on disk already when it was sent, once it is known what it was made from.
    async fn record_sent_late(&mut self, sent: SentLate) -> Result<(), DocumentError> {
        let Some(before) = self.baseline.as_ref().map(|file| file.text.clone()) else {
            return Ok(());
        };
        let after = sent.file.text.clone();
        let hunks = difference(&before, &after).await?;
        if hunks.is_empty() {
            return Ok(());
        }
        self.baseline = Some(sent.file);
        let origin = Origin { by: sent.by, via: Via::Protocol, is_certain: true };
        self.record_unopened_change(&before, &after);
        self.record_change(origin, Version::of_file(before), Version::of_file(after), &hunks).await
    }

    /// Follows the deletion of a file that is not loaded. It is only reported if its text was known.
    async fn follow_unloaded_deletion(
        &mut self,
        by: &Author,
    ) -> Result<Option<AgentChange>, DocumentError> {
        let Some(baseline) = self.baseline.take() else { return Ok(None) };
        self.was_missing = true;
        let (before, after) = (baseline.text, self.no_file());
        let hunks = difference(&before, &after.text).await?;
        let (origin, text) = (self.on_disk(by), after.text.clone());
        self.record_change(origin, Version::of_file(before.clone()), after, &hunks).await?;
        let change = self.disk_change(by, before, text, hunks);
        let is_news = !change.hunks.is_empty();
        Ok(is_news.then_some(AgentChange { deleted: true, ..change }))
    }

    /// Updates [`AgentView::last_written`] after a session has changed the file to `file` on disk. Changes of others
    /// that the session has not read are left out, even if they are in the file now. `before` is the text of the file
    /// before its change and `live` the text of the buffer; either may contain such changes.
    async fn update_last_written(
        &mut self,
        session: &SessionKey,
        (before, live): (Option<Snapshot>, Option<&Snapshot>),
        file: &Snapshot,
    ) -> Result<(), DocumentError> {
        let view = self.views.get(session);
        let merge_base = view.and_then(|view| view.merge_base.clone());
        let at_baseline = view.and_then(|view| view.known_at(self.baseline.as_ref()));
        // It may have read the file for the first time between the baseline and its own change.
        let read = at_baseline.or_else(|| view.map(|view| view.last_written.clone()));
        let texts = before.iter().chain(live).cloned();
        let unread: Vec<_> =
            texts.filter(|text| read.as_ref().is_some_and(|read| read != text)).collect();
        let known = match read {
            Some(read) if !unread.is_empty() => {
                let file = file.clone();
                run_blocking(move || {
                    let known = unread.iter().map(|text| writer_view(&read, text, &file));
                    known.reduce(|one, other| common_lines(&one, &other))
                })
                .await?
            }
            _ => None,
        };
        let last_written =
            known.map_or_else(|| file.clone(), |known| self.revisions.snapshot(known));
        self.views
            .insert(session.clone(), AgentView { merge_base, last_written, read_ahead: None });
        Ok(())
    }

    /// Follows what the user has brought back of a session's doing, of which the session does not know.
    pub(super) async fn follow_redone(&mut self, by: &Author) -> Result<(), DocumentError> {
        let view = self.views.get(&by.session).cloned();
        let acknowledged = self.acknowledged.remove(&by.session);
        let followed = self.disk_changed(by).await;
        self.views.remove(&by.session);
        self.views.extend(view.map(|view| (by.session.clone(), view)));
        self.acknowledged.remove(&by.session);
        self.acknowledged.extend(acknowledged.map(|known| (by.session.clone(), known)));
        followed.map(drop)
    }

    /// Describes a change the agent has made on disk.
    fn disk_change(
        &self,
        by: &Author,
        before: Snapshot,
        after: Snapshot,
        hunks: Vec<Hunk>,
    ) -> AgentChange {
        AgentChange {
            path: self.path.clone(),
            by: by.clone(),
            before,
            after,
            hunks,
            via: Via::Disk,
            created: false,
            saved_unsaved: false,
            disk_change: None,
            unresolved: Vec::new(),
            deleted: false,
        }
    }
}
