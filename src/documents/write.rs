//! `fs/write_text_file`: an agent's text becomes part of a document, merged with what others did to
//! it since the agent read it. Nothing of the user's is saved, lost or overwritten without a word.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::disk;
use super::document::{Document, Known, MOST_TRIES, Made, Open, Sent, beside};
use super::editor::{Encoding, Then};
use super::error::FileError;
use super::on_disk::OnDisk;
use super::{Via, WriteRequest, Written};
use crate::core::policy::WriteDirty;
use crate::edit::{Conflict, Hunk, Text, apply, diff, merge, refine};

/// So long after it was sent a text may be written once more by the agent itself; and the time of a file may lie so much
/// before it was.
const REPEAT_AFTER: Duration = Duration::from_secs(5);
const REPEAT_BEFORE: Duration = Duration::from_secs(2);

/// What a write will do to an open document.
struct Plan {
    /// What the agent sent, in the file's shape.
    theirs: Arc<Text>,
    /// For the buffer.
    hunks: Vec<Hunk>,
    then: Then,
    /// For the file, where the buffer keeps unsaved changes of the user.
    file: Option<Text>,
    saves_unsaved: bool,
    /// Nothing is to be done.
    is_there: bool,
}

/// Why a write cannot be done.
enum Unplanned {
    /// The user has changed the same lines.
    Overlap(Vec<Conflict>),
    /// It would save the user's unsaved changes with it, and the user wants to be asked.
    AsksUser,
}

impl Document {
    pub(super) async fn write(&mut self, request: &WriteRequest) -> Result<Written, FileError> {
        if request.content.contains('\0') {
            return Err(self.not_text("what was sent holds NUL bytes".to_owned()));
        }
        let began = SystemTime::now();
        self.finish_reading().await?;
        if request.base.is_none() {
            self.know_glimpsed(&request.by.session).await?;
        }
        let mut adopted = None;
        for _ in 0..MOST_TRIES {
            let result = match self.open_with_disk().await? {
                Some((open, file)) => self.write_open(request, &open, file, &mut adopted).await,
                None => {
                    adopted = self.catch_up_closed(&request.by).await?.or(adopted);
                    self.write_closed(request).await.map(Some)
                }
            };
            if let Some(result) = result.transpose() {
                if result.is_ok() {
                    self.note_written(&request.by.session);
                }
                let known =
                    self.known.get(&request.by.session).and_then(|known| known.text.clone());
                if let (Ok(_), Some(text)) = (&result, known) {
                    if let Some(model) = self.models.get_mut(&request.by.session) {
                        *model = Arc::clone(&text);
                    }
                    if request.repeats {
                        let within = began - REPEAT_BEFORE..SystemTime::now() + REPEAT_AFTER;
                        let sent = Sent { text, turn: request.by.turn, within };
                        self.sent.insert(request.by.session.clone(), sent);
                    }
                }
                return match result {
                    Ok(written) => {
                        let adopted = adopted.or_else(|| self.untold.take()).map(Box::new);
                        Ok(Written { adopted, ..written })
                    }
                    Err(error) => {
                        self.untold = adopted.or(self.untold.take());
                        Err(error)
                    }
                };
            }
        }
        self.untold = adopted.or(self.untold.take());
        Err(FileError::Busy(self.path.clone()))
    }

    /// `None`: the buffer has changed so that all has to be looked at again.
    async fn write_open(
        &mut self,
        request: &WriteRequest,
        open: &Open,
        file: Option<OnDisk>,
        adopted: &mut Option<Written>,
    ) -> Result<Option<Written>, FileError> {
        if let Some(file) = &file
            && !self.is_synced(open, file).await?
            && !self.is_own_doing(request, open, file)
        {
            if self.take_sent(file, &request.by) {
                self.settle(open, file.clone()).await?;
            } else {
                *adopted = self.adopt(&request.by, open, file).await?.or(adopted.take());
            }
            return Ok(None);
        }
        let plan = self.plan(request, open, file.as_ref()).await?;
        if plan.is_there {
            if let Some(file) = &file {
                self.settle_written(file).await?;
            }
            self.learn(request.by.session.clone(), Known::new(plan.theirs));
            return Ok(Some(self.written(request, &open.text, &open.text, Vec::new())));
        }
        if let Some(reason) = open.buffer.locked.clone() {
            return Err(FileError::Refused { path: self.path.clone(), reason });
        }
        let encoding = file.as_ref().map_or(&open.buffer.encoding, |file| &file.encoding);
        self.check_characters(&plan.hunks, encoding).await?;
        let edits = refine(&plan.hunks, &open.text);
        let (before, after, saved, stamp) = match self.make(open, edits, plan.then).await? {
            Made::Done { before, after, saved, stamp } => (before, after, saved, stamp),
            Made::Again => return Ok(None),
            Made::Failed { reason, before, after } => {
                let repaired = self.repair(file.as_ref(), &after, encoding).await?;
                self.take_back(open, &before, &after).await?;
                if let Some(file) = repaired {
                    self.acknowledge(&file).await?;
                    self.synced = Some(file);
                }
                return Err(FileError::Refused { path: self.path.clone(), reason });
            }
        };
        if let Some(text) = plan.file {
            let written = self.write_file(text, encoding, file.as_ref()).await;
            if !matches!(written, Ok(true)) {
                self.take_back(open, &before, &after).await?;
                return written.map(|_| None);
            }
        } else {
            // If somebody was quick to write the file again, that is not what Neovim wrote.
            let facts = self.facts().await?.map(|facts| facts.as_stamped(stamp));
            self.synced = facts.map(|facts| {
                let encoding = open.buffer.encoding.clone();
                OnDisk { text: saved, facts, encoding }
            });
        }
        let known = known(plan.theirs, plan.hunks, &open.text, &before, &after).await?;
        self.learn(request.by.session.clone(), known);
        let hunks = difference(&before, &after).await?;
        self.record_change(&request.by, Via::Protocol, (&before, &after), &hunks).await?;
        let mut written = self.written(request, &before, &after, hunks);
        (written.created, written.saved_unsaved) = (file.is_none(), plan.saves_unsaved);
        Ok(Some(written))
    }

    /// Whether the file has been changed only by the agent itself, to what it sends us now.
    fn is_own_doing(&self, request: &WriteRequest, open: &Open, file: &OnDisk) -> bool {
        let base = self.base(request, &open.text);
        let synced = self.last_synced(open);
        *file.text == Text::matching(&request.content, &open.text)
            && base.zip(synced).is_none_or(|(base, synced)| base == synced)
    }

    async fn plan(
        &self,
        request: &WriteRequest,
        open: &Open,
        file: Option<&OnDisk>,
    ) -> Result<Plan, FileError> {
        let live = Arc::clone(&open.text);
        let synced = self.synced.as_ref().map(|synced| Arc::clone(&synced.text));
        let base = self.base(request, &live).or(synced).unwrap_or_else(|| Arc::clone(&live));
        let (content, modified) = (request.content.clone(), open.buffer.modified);
        let on_disk = file.map(|file| Arc::clone(&file.text));
        let dirty = modified.then_some(request.dirty);
        let seen = self.models.get(&request.by.session).filter(|_| modified);
        let seen = seen.map(|seen| matching(seen, &live));
        let plan = beside(move || {
            let seen = seen.filter(|seen| puts_back(seen, &base, &content));
            let base = seen.as_deref().unwrap_or(&base);
            make_plan(base, &live, on_disk.as_deref(), &content, dirty)
        });
        plan.await?.map_err(|why| match why {
            Unplanned::Overlap(conflicts) => self.conflict(&conflicts, modified),
            Unplanned::AsksUser => FileError::Unsaved(self.path.clone()),
        })
    }

    /// What the agent means to change: the text it is certain of, else what its session last read or wrote.
    fn base(&self, request: &WriteRequest, live: &Text) -> Option<Arc<Text>> {
        let certain = request.base.as_ref().map(|base| Arc::new(Text::matching(base, live)));
        certain.or_else(|| {
            let known = self.known.get(&request.by.session)?.text.as_ref()?;
            Some(matching(known, live))
        })
    }

    pub(super) fn conflict(&self, conflicts: &[Conflict], unsaved: bool) -> FileError {
        let lines = conflicts.iter().map(|conflict| conflict.ours.clone()).collect();
        FileError::Conflict { path: self.path.clone(), lines, unsaved }
    }

    /// Writes the file beside a buffer that keeps unsaved changes. `false`: somebody else has
    /// written it meanwhile.
    async fn write_file(
        &mut self,
        text: Text,
        encoding: &Encoding,
        expected: Option<&OnDisk>,
    ) -> Result<bool, FileError> {
        let text = Arc::new(text);
        if let Some(expected) = expected.filter(|expected| expected.text == text) {
            self.settle_written(expected).await?;
            return Ok(true);
        }
        if self.facts().await? != expected.map(|expected| expected.facts) {
            return Ok(false);
        }
        let file = self.put(text, encoding).await?;
        self.acknowledge(&file).await?;
        self.synced = Some(file);
        Ok(true)
    }

    /// The file needs no writing: the agent may have been quicker to do that itself than to have us told.
    async fn settle_written(&mut self, file: &OnDisk) -> Result<(), FileError> {
        if self.synced.as_ref().is_none_or(|synced| synced.facts != file.facts) {
            self.acknowledge(file).await?;
            self.synced = Some(file.clone());
        }
        Ok(())
    }

    /// Replaces the file on disk.
    pub(super) async fn put(
        &self,
        text: Arc<Text>,
        encoding: &Encoding,
    ) -> Result<OnDisk, FileError> {
        let bytes = self.to_bytes(Arc::clone(&text), encoding).await?;
        let facts = self.disk(move |path, call| disk::write(path, &bytes, call)).await?;
        let facts = facts.map_err(|error| FileError::writing(self.path.clone(), &error))?;
        Ok(OnDisk { text, facts, encoding: encoding.clone() })
    }

    /// Takes an edit back by its inverse: `:undo` might take back what the user typed since.
    async fn take_back(
        &mut self,
        open: &Open,
        before: &Arc<Text>,
        after: &Arc<Text>,
    ) -> Result<(), FileError> {
        let was_modified = open.buffer.modified;
        for _ in 0..MOST_TRIES {
            let Some(now) = self.open().await? else { return Ok(()) };
            let (from, live, to) = (Arc::clone(after), Arc::clone(&now.text), Arc::clone(before));
            let merged = beside(move || merge(&from, &live, &to)).await?;
            let Ok(merged) = merged else {
                tracing::warn!(path = %self.path.display(), "the user has changed an edit that failed");
                return Ok(());
            };
            let is_clean = !was_modified && now.text.same_lines(after);
            let then = if is_clean { Then::Unmodified } else { Then::Leave };
            let edits = refine(&merged.hunks, &now.text);
            if !matches!(self.make(&now, edits, then).await?, Made::Again) {
                return Ok(());
            }
        }
        Err(FileError::Busy(self.path.clone()))
    }

    /// A file that is not loaded is written by us; no buffer is made.
    async fn write_closed(&mut self, request: &WriteRequest) -> Result<Written, FileError> {
        let file = self.on_disk(None).await?;
        let encoding = file.as_ref().map_or(&Encoding::Utf8, |file| &file.encoding);
        let before = file.as_ref().map(|file| Arc::clone(&file.text)).unwrap_or_default();
        let base = self.base(request, &before).filter(|_| file.is_some());
        let base = base.unwrap_or_else(|| Arc::clone(&before));
        let (live, content) = (Arc::clone(&before), request.content.clone());
        let merged = beside(move || {
            let theirs = Text::matching(&content, if live.is_empty() { &base } else { &live });
            merge(&base, &live, &theirs).map(|merged| {
                let after = apply(&merged.hunks, &live);
                // A file without text has no shape to keep.
                let shape = if live.is_empty() { theirs.shape() } else { merged.shape };
                (theirs, after.with_shape(shape), merged.hunks)
            })
        })
        .await?;
        let (theirs, after, hunks) =
            merged.map_err(|conflicts| self.conflict(&conflicts, false))?;
        let after = Arc::new(after);
        if file.is_none() || after != before {
            let put = self.put(Arc::clone(&after), encoding).await?;
            self.synced = Some(put);
        }
        self.learn(request.by.session.clone(), Known::new(Arc::new(theirs)));
        self.record_change(&request.by, Via::Protocol, (&before, &after), &hunks).await?;
        self.changed_unopened(&before, &after);
        let mut written = self.written(request, &before, &after, hunks);
        written.created = file.is_none();
        Ok(written)
    }

    fn written(
        &self,
        request: &WriteRequest,
        before: &Arc<Text>,
        after: &Arc<Text>,
        hunks: Vec<Hunk>,
    ) -> Written {
        Written {
            path: self.path.clone(),
            by: request.by.clone(),
            before: Arc::clone(before),
            after: Arc::clone(after),
            hunks,
            via: Via::Protocol,
            created: false,
            saved_unsaved: false,
            adopted: None,
            kept: Vec::new(),
            deleted: false,
        }
    }
}

/// What the agent knows of a text it has written: what it sent, and what a formatter made of that.
async fn known(
    sent: Arc<Text>,
    hunks: Vec<Hunk>,
    live: &Arc<Text>,
    before: &Arc<Text>,
    after: &Arc<Text>,
) -> Result<Known, FileError> {
    // What the user typed meanwhile cannot be told from what a formatter did.
    if live != before {
        return Ok(Known::new(sent));
    }
    let (before, after) = (Arc::clone(before), Arc::clone(after));
    beside(move || {
        let planned = apply(&hunks, &before);
        let formatted = merge(&planned, &sent, &after).ok().filter(|made| !made.hunks.is_empty());
        let left = formatted.map(|made| Arc::new(apply(&made.hunks, &sent)));
        Known { left: left.unwrap_or_else(|| Arc::clone(&sent)), text: Some(sent), ahead: None }
    })
    .await
}

/// The difference, made beside the loop.
pub(super) async fn difference(
    before: &Arc<Text>,
    after: &Arc<Text>,
) -> Result<Vec<Hunk>, FileError> {
    let (before, after) = (Arc::clone(before), Arc::clone(after));
    beside(move || diff(&before, &after)).await
}

/// A text with its line ends read as those of another.
fn matching(text: &Arc<Text>, other: &Text) -> Arc<Text> {
    if text.shape().ending == other.shape().ending {
        return Arc::clone(text);
    }
    Arc::new(Text::matching(&text.content(), other))
}

/// Whether `content` takes a change in the text that was read last back to just what the model had seen. Then it was made
/// from that, whatever a tool has read right before it writes, and knows nothing of the change.
fn puts_back(seen: &Text, read: &Text, content: &str) -> bool {
    let changes = diff(read, &Text::matching(content, read));
    diff(read, seen).iter().any(|hunk| changes.contains(hunk))
}

/// Merges into the buffer and, where it has unsaved changes, apart from that into the file, unless `dirty` has it
/// saved whole; `None` if it has none.
fn make_plan(
    base: &Text,
    live: &Text,
    file: Option<&Text>,
    content: &str,
    dirty: Option<WriteDirty>,
) -> Result<Plan, Unplanned> {
    let theirs = Text::matching(content, live);
    let merged = merge(base, live, &theirs).map_err(Unplanned::Overlap)?;
    let save = Then::Save { eol: merged.shape.final_newline };
    let mut plan = Plan {
        theirs: Arc::new(theirs),
        hunks: merged.hunks,
        then: save,
        file: None,
        saves_unsaved: dirty.is_some(),
        is_there: false,
    };
    let Some(dirty) = dirty else {
        if let Some(file) = file {
            let final_newline = file.shape().final_newline == merged.shape.final_newline;
            plan.is_there = plan.hunks.is_empty() && final_newline && file.same_lines(live);
        }
        return Ok(plan);
    };
    if let Some(file) = file
        && let Ok(beside) = merge(base, file, &plan.theirs)
    {
        plan.is_there =
            plan.hunks.is_empty() && beside.hunks.is_empty() && beside.shape == file.shape();
        if dirty != WriteDirty::Save {
            plan.then = Then::Leave;
            plan.file = Some(apply(&beside.hunks, file).with_shape(beside.shape));
            plan.saves_unsaved = false;
        }
    } else if dirty == WriteDirty::Ask {
        // There is no file yet, or the agent edited text it had read unsaved: without that text the edit makes no
        // sense in the file.
        return Err(Unplanned::AsksUser);
    }
    Ok(plan)
}
