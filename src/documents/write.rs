//! `fs/write_text_file`: merges the text an agent sends with what others have changed since the agent read the file.
//! Never saves, loses or overwrites changes of the user silently.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::agent_view::{AgentView, SentLate, SentText};
use super::blocking::run_blocking;
use super::change::{AgentChange, Origin, Via};
use super::disk;
use super::disk_text::DiskText;
use super::document::{ChangeOutcome, Document, LoadedBuffer, MAX_TRIES};
use super::editor::Then;
use super::encoding::Encoding;
use super::error::DocumentError;
use super::facts::Stamp;
use super::requests::WriteRequest;
use super::write_plan::{Merged, Plan, PlanError, make_plan, merge_into, reverts_to};
use crate::edit::{Conflict, Hunk, Snapshot, Text, Version, apply, diff, merge, refine};

/// Until when after the answer an agent may write the text it has sent to the disk itself, and how much earlier than
/// the request the modification time of that file may be.
const OWN_WRITE_AFTER: Duration = Duration::from_secs(5);
const OWN_WRITE_BEFORE: Duration = Duration::from_secs(2);

impl Document {
    /// Merges and writes a text, and updates what the session knows.
    pub(super) async fn write(
        &mut self,
        request: &WriteRequest,
    ) -> Result<AgentChange, DocumentError> {
        let started_at = SystemTime::now();
        self.prepare_write(request).await?;
        let mut disk_change = None;
        for _ in 0..MAX_TRIES {
            let result = match self.buffer_and_file().await? {
                Some((loaded, file)) => {
                    self.write_loaded(request, &loaded, file, &mut disk_change).await
                }
                None => {
                    let change = self.follow_unloaded_before_write(request).await?;
                    disk_change = change.or(disk_change);
                    self.write_unloaded(request).await.map(Some)
                }
            };
            if let Some(result) = result.transpose() {
                if let Ok(change) = &result {
                    self.acknowledge_sent(&request.by.session);
                    self.consented(request, &change.after).await?;
                }
                let view = self.views.get(&request.by.session);
                let sent = view.and_then(|view| view.merge_base.clone());
                if let (Ok(_), Some(text)) = (&result, sent) {
                    if let Some(model) = self.model_bases.get_mut(&request.by.session) {
                        *model = text.clone();
                    }
                    if request.repeats {
                        let end = SystemTime::now() + OWN_WRITE_AFTER;
                        let within = started_at - OWN_WRITE_BEFORE..end;
                        let sent = SentText { text, turn: request.by.turn, within };
                        self.last_sent.insert(request.by.session.clone(), sent);
                    }
                }
                return match result {
                    Ok(change) => {
                        let disk_change = disk_change.or_else(|| self.unreported.take());
                        Ok(AgentChange { disk_change: disk_change.map(Box::new), ..change })
                    }
                    Err(error) => {
                        self.unreported = disk_change.or(self.unreported.take());
                        Err(error)
                    }
                };
            }
        }
        self.unreported = disk_change.or(self.unreported.take());
        Err(DocumentError::Busy(self.path.clone()))
    }

    /// Checks what was sent, and loads what it is based on.
    pub(super) async fn prepare_write(
        &mut self,
        request: &WriteRequest,
    ) -> Result<(), DocumentError> {
        if request.content.contains('\0') {
            return Err(self.not_text("what was sent holds NUL bytes".to_owned()));
        }
        self.complete_partial_read().await?;
        if request.base.is_none() {
            self.load_excerpted(&request.by.session).await?;
        }
        Ok(())
    }

    /// Writes a loaded document: changes the buffer, and saves it or writes the file beside it. If the file has changed
    /// on disk, merges that first and returns it in `disk_change`. `None` if the caller has to start over with the new
    /// state.
    async fn write_loaded(
        &mut self,
        request: &WriteRequest,
        loaded: &LoadedBuffer,
        file: Option<DiskText>,
        disk_change: &mut Option<AgentChange>,
    ) -> Result<Option<AgentChange>, DocumentError> {
        if let Some(file) = &file
            && !self.is_baseline(loaded, file).await?
            && !self.is_own_write(request, loaded, file)
        {
            if self.consume_sent(file, &request.by) {
                self.restore_merged(loaded, file.clone()).await?;
            } else {
                let change = self.follow_file(&request.by, loaded, file).await?;
                *disk_change = change.or(disk_change.take());
            }
            return Ok(None);
        }
        let plan = self.plan(request, loaded, file.as_ref()).await?;
        if plan.is_noop {
            if let Some(file) = &file {
                self.set_baseline(file).await?;
            }
            let theirs = self.revisions.snapshot(plan.theirs);
            self.set_view(request.by.session.clone(), AgentView::new(theirs));
            return Ok(Some(self.change_by(request, &loaded.text, &loaded.text, Vec::new())));
        }
        if let Some(reason) = loaded.buffer.locked.clone() {
            return Err(DocumentError::Refused { path: self.path.clone(), reason });
        }
        let encoding = file.as_ref().map_or(&loaded.buffer.encoding, |file| &file.encoding);
        self.check_characters(&plan.hunks, encoding).await?;
        let edits = refine(&plan.hunks, &loaded.text);
        let is_saved = matches!(plan.then, Then::Save { .. });
        let (before, after, saved, stamp, undo) =
            match self.apply_edits(loaded, edits, plan.then).await? {
                ChangeOutcome::Done { before, after, saved, stamp, undo } => {
                    (before, after, saved, stamp, undo)
                }
                ChangeOutcome::Retry => return Ok(None),
                ChangeOutcome::Failed { reason, before, after } => {
                    let repaired = self.repair(file.as_ref(), &after, encoding).await?;
                    self.revert(loaded, &before, &after).await?;
                    if let Some(file) = repaired {
                        self.update_timestamp(&file).await?;
                        self.baseline = Some(file);
                    }
                    return Err(DocumentError::Refused { path: self.path.clone(), reason });
                }
            };
        if let Some(text) = plan.file {
            let written = self.write_beside_buffer(text, encoding, file.as_ref()).await;
            if !matches!(written, Ok(true)) {
                self.revert(loaded, &before, &after).await?;
                return written.map(|_| None);
            }
        } else if is_saved {
            self.set_saved(saved, stamp, loaded.buffer.encoding.clone()).await?;
        }
        let theirs = self.revisions.snapshot(plan.theirs);
        let view = self.view_after_write(theirs, plan.hunks, &loaded.text, &before, &after).await?;
        self.set_view(request.by.session.clone(), view);
        let hunks = difference(&before, &after).await?;
        let origin = Origin { by: request.by.clone(), via: Via::Protocol, is_certain: true };
        // A file that is only in the buffer does not exist for the agent, but does for the user.
        let from = Version::of_buffer(before.clone(), Some(loaded.undo()));
        self.record_change(origin, from, Version::of_buffer(after.clone(), undo), &hunks).await?;
        let mut change = self.change_by(request, &before, &after, hunks);
        (change.created, change.saved_unsaved) = (file.is_none(), plan.saves_unsaved);
        Ok(Some(change))
    }

    /// Whether the agent itself has already written the text it is sending, and nobody else has changed the file.
    fn is_own_write(&self, request: &WriteRequest, loaded: &LoadedBuffer, file: &DiskText) -> bool {
        let base = self.base(request, &loaded.text);
        let baseline = self.last_common(loaded);
        *file.text == Text::matching(&request.content, &loaded.text)
            && base.zip(baseline).is_none_or(|(base, baseline)| base == baseline.into_text())
    }

    /// Merges the text into buffer and file, without changing either.
    pub(super) async fn plan(
        &self,
        request: &WriteRequest,
        loaded: &LoadedBuffer,
        file: Option<&DiskText>,
    ) -> Result<Plan, DocumentError> {
        let live = loaded.text.clone();
        let baseline = || self.baseline.as_ref().map(|baseline| baseline.text.clone().into_text());
        let base = self.base(request, &live).or_else(baseline);
        let base = base.unwrap_or_else(|| live.clone().into_text());
        let (content, modified) = (request.content.clone(), loaded.buffer.modified);
        let on_disk = file.map(|file| file.text.clone());
        let dirty = modified.then_some(request.dirty);
        let model_base = self.model_bases.get(&request.by.session).filter(|_| modified);
        let model_base = model_base.map(|text| matching(text, &live));
        let plan = run_blocking(move || {
            let model_base = model_base.filter(|seen| reverts_to(seen, &base, &content));
            let base = model_base.as_deref().unwrap_or(&base);
            make_plan(base, &live, on_disk.as_deref(), &content, dirty)
        });
        plan.await?.map_err(|why| match why {
            PlanError::Overlap(conflicts) => self.conflict(&conflicts, modified),
            PlanError::AskUser => DocumentError::Unsaved(self.path.clone()),
        })
    }

    /// Returns the text that the agent's text is based on, in the shape of `live`: the one in the request, else the one
    /// the session last read or sent.
    fn base(&self, request: &WriteRequest, live: &Text) -> Option<Arc<Text>> {
        let given = request.base.as_ref().map(|base| Arc::new(Text::matching(base, live)));
        given.or_else(|| {
            let merge_base = self.views.get(&request.by.session)?.merge_base.as_ref()?;
            Some(matching(merge_base, live))
        })
    }

    /// An error that names the conflicting lines.
    pub(super) fn conflict(&self, conflicts: &[Conflict], unsaved: bool) -> DocumentError {
        let lines = conflicts.iter().map(|conflict| conflict.ours.clone()).collect();
        DocumentError::Conflict { path: self.path.clone(), lines, unsaved }
    }

    /// Writes the file of a buffer that keeps its unsaved changes. Returns `false` if somebody else has written the
    /// file meanwhile.
    async fn write_beside_buffer(
        &mut self,
        text: Text,
        encoding: &Encoding,
        expected: Option<&DiskText>,
    ) -> Result<bool, DocumentError> {
        if let Some(expected) = expected.filter(|expected| *expected.text == text) {
            self.set_baseline(expected).await?;
            return Ok(true);
        }
        if self.facts().await? != expected.map(|expected| expected.facts) {
            // An agent that writes the text itself as well may just have done so.
            let Some(file) = self.read_file(None).await?.filter(|file| *file.text == text) else {
                return Ok(false);
            };
            self.set_baseline(&file).await?;
            return Ok(true);
        }
        let file = self.replace_file(self.revisions.snapshot(text), encoding).await?;
        self.update_timestamp(&file).await?;
        self.baseline = Some(file);
        Ok(true)
    }

    /// Makes the text that Neovim has just saved the baseline. The stamp is that of Neovim's own write, since somebody may
    /// have written the file again.
    pub(super) async fn set_saved(
        &mut self,
        text: Snapshot,
        stamp: Option<Stamp>,
        encoding: Encoding,
    ) -> Result<(), DocumentError> {
        let facts = self.facts().await?.map(|facts| facts.as_stamped(stamp));
        self.baseline = facts.map(|facts| DiskText { text, facts, encoding });
        Ok(())
    }

    /// Makes the file as it is now the baseline, and updates Neovim's timestamp. It may differ from the baseline
    /// because the agent has already written the text itself.
    async fn set_baseline(&mut self, file: &DiskText) -> Result<(), DocumentError> {
        if self.baseline.as_ref().is_none_or(|baseline| baseline.facts != file.facts) {
            self.update_timestamp(file).await?;
            self.baseline = Some(file.clone());
        }
        Ok(())
    }

    /// Replaces the file on disk. Returns it as it is then.
    pub(super) async fn replace_file(
        &self,
        text: Snapshot,
        encoding: &Encoding,
    ) -> Result<DiskText, DocumentError> {
        let bytes = self.encode_file(text.clone(), encoding).await?;
        let facts = self.call_disk(move |path, call| disk::write(path, &bytes, call)).await?;
        let facts =
            facts.map_err(|error| DocumentError::write_failed(self.path.clone(), &error))?;
        Ok(DiskText { text, facts, encoding: encoding.clone() })
    }

    /// Reverts an edit of the buffer by the inverse edit. Not by `:undo`, which might undo what the user has typed
    /// since.
    pub(super) async fn revert(
        &mut self,
        loaded: &LoadedBuffer,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<(), DocumentError> {
        let was_modified = loaded.buffer.modified;
        for _ in 0..MAX_TRIES {
            let Some(now) = self.buffer_with_text().await? else { return Ok(()) };
            let (from, live, to) = (after.clone(), now.text.clone(), before.clone());
            let merged = run_blocking(move || merge(&from, &live, &to)).await?;
            let Ok(merged) = merged else {
                tracing::warn!(path = %self.path.display(), "the user has changed an edit that failed");
                return Ok(());
            };
            let is_clean = !was_modified && now.text.same_lines(after);
            let then = if is_clean { Then::Unmodified } else { Then::Nothing };
            let edits = refine(&merged.hunks, &now.text);
            if !matches!(self.apply_edits(&now, edits, then).await?, ChangeOutcome::Retry) {
                return Ok(());
            }
        }
        Err(DocumentError::Busy(self.path.clone()))
    }

    /// Writes a file that is not loaded. Creates no buffer.
    async fn write_unloaded(
        &mut self,
        request: &WriteRequest,
    ) -> Result<AgentChange, DocumentError> {
        let file = self.read_file(None).await?;
        let encoding = file.as_ref().map_or(&Encoding::Utf8, |file| &file.encoding);
        let before = file.as_ref().map(|file| file.text.clone());
        let before = before.unwrap_or_else(|| self.revisions.snapshot(Text::default()));
        let Merged { theirs, after, hunks } =
            self.merge_unloaded(request, &before, file.is_some()).await?;
        let after = Arc::new(after);
        // Most often nothing was merged, and the text is needed once.
        let theirs = if theirs == *after { Arc::clone(&after) } else { Arc::new(theirs) };
        let (after, theirs) = (self.revisions.snapshot(after), self.revisions.snapshot(theirs));
        let base = self.base(request, &before);
        let is_late = self.is_late(self.baseline.as_ref());
        self.set_view(request.by.session.clone(), AgentView::new(theirs));
        if file.is_none() || after != before {
            let written = self.replace_file(after.clone(), encoding).await?;
            self.baseline = Some(written);
        } else {
            // The agent wrote the text itself before it asked. If the file were not recorded, its whole text would be
            // attributed to the author of the next change.
            self.baseline.clone_from(&file);
            if is_late {
                // What it was before, the checkpoint may know. Another session may be the first to look there.
                self.preloaded = file.as_ref().map(|file| file.facts);
                let late = |file| SentLate { by: request.by.clone(), base, file };
                self.sent_late = file.map(late);
                return Ok(self.change_by(request, &before, &after, hunks));
            }
        }
        let origin = Origin { by: request.by.clone(), via: Via::Protocol, is_certain: true };
        let from = Version { exists: file.is_some(), ..Version::of_file(before.clone()) };
        if is_late {
            self.begin_uncertain(&request.by);
        }
        self.record_change(origin, from, Version::of_file(after.clone()), &hunks).await?;
        self.record_unopened_change(&before, &after);
        let mut change = self.change_by(request, &before, &after, hunks);
        change.created = file.is_none();
        Ok(change)
    }

    /// Merges what an agent sends into the text of a file that is not loaded, without changing it.
    pub(super) async fn merge_unloaded(
        &self,
        request: &WriteRequest,
        before: &Snapshot,
        exists: bool,
    ) -> Result<Merged, DocumentError> {
        let base = self.base(request, before).filter(|_| exists);
        let base = base.unwrap_or_else(|| before.clone().into_text());
        let (live, content) = (before.clone(), request.content.clone());
        let merged = run_blocking(move || merge_into(&base, &live, &content));
        merged.await?.map_err(|conflicts| self.conflict(&conflicts, false))
    }

    /// Returns what a session knows after a write: the text it sent, with what formatters have changed in it. `live` is
    /// the text the edits were made for, `before` and `after` those right before and right after they were applied.
    async fn view_after_write(
        &self,
        sent: Snapshot,
        hunks: Vec<Hunk>,
        live: &Snapshot,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<AgentView, DocumentError> {
        // The user has typed meanwhile, which cannot be told from a formatter's changes.
        if live != before {
            return Ok(AgentView::new(sent));
        }
        let (own, before, after) = (sent.clone(), before.clone(), after.clone());
        let formatted = run_blocking(move || {
            let planned = apply(&hunks, &before);
            let formatted =
                merge(&planned, &own, &after).ok().filter(|merged| !merged.hunks.is_empty());
            formatted.map(|formatted| apply(&formatted.hunks, &own))
        });
        let formatted = formatted.await?.map(|text| self.revisions.snapshot(text));
        Ok(AgentView {
            last_written: formatted.unwrap_or_else(|| sent.clone()),
            merge_base: Some(sent),
            read_ahead: None,
        })
    }

    /// Describes the change a request has made.
    fn change_by(
        &self,
        request: &WriteRequest,
        before: &Snapshot,
        after: &Snapshot,
        hunks: Vec<Hunk>,
    ) -> AgentChange {
        AgentChange {
            path: self.path.clone(),
            by: request.by.clone(),
            before: before.clone(),
            after: after.clone(),
            hunks,
            via: Via::Protocol,
            created: false,
            saved_unsaved: false,
            disk_change: None,
            unresolved: Vec::new(),
            deleted: false,
        }
    }
}

/// Computes a diff on a blocking thread.
pub(super) async fn difference(
    before: &Snapshot,
    after: &Snapshot,
) -> Result<Vec<Hunk>, DocumentError> {
    let (before, after) = (before.clone(), after.clone());
    run_blocking(move || diff(&before, &after)).await
}

/// Returns a text with its line ends interpreted as in `other`.
fn matching(text: &Snapshot, other: &Text) -> Arc<Text> {
    if text.shape().ending == other.shape().ending {
        return text.clone().into_text();
    }
    Arc::new(Text::matching(&text.content(), other))
}
