//! A document: one file, loaded in a buffer or not, with what Neovim and each session last knew of it, and edits of its
//! buffer. Requests of agents are in `read` and `write`, changes on disk in `follow_disk`.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;

use super::agent_view::{Acknowledged, AgentView, PartialRead, SentLate, SentText};
use super::blocking::run_blocking;
use super::call_times::CallTimes;
use super::change::{AgentChange, Origin};
use super::disk_text::DiskText;
use super::disks::Disks;
use super::editor::{Buffer, BufferId, Editor, EditorError, Found, Lines, Outcome, Then};
use super::error::DocumentError;
use super::facts::{DiskFacts, Stamp};
use super::found_by_turn::{FoundByTurns, Unseen};
use super::revisions::Revisions;
use super::uncertain_start::UncertainStart;
use crate::edit::{Edit, Hunk, Record, Shape, Snapshot, Text, UndoState, Version, rebase, replay};
use crate::session::author::SessionKey;

/// Delay before an edit is retried that Neovim could not make at the moment. It doubles with each attempt, up to a
/// maximum.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(10);
const MAX_RETRY_DELAY: Duration = Duration::from_millis(250);
/// How long to retry.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How often an operation starts over because the buffer has changed meanwhile.
pub(super) const MAX_TRIES: usize = 8;

/// A file by its real path.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) path: PathBuf,
    pub(super) editor: Arc<dyn Editor>,
    pub(super) disks: Arc<Disks>,
    pub(super) revisions: Arc<Revisions>,
    /// The file as Neovim last read or wrote it. `None` if that is not known.
    pub(super) baseline: Option<DiskText>,
    /// What each session knows of the file.
    pub(super) views: HashMap<SessionKey, AgentView>,
    /// The facts of the file when a session read lines of it without the rest being read: its next write is based on
    /// that version.
    pub(super) excerpt_facts: HashMap<SessionKey, DiskFacts>,
    /// For agents whose tools read through us without showing the text to the model: the text the model last read on
    /// disk, or has sent since.
    pub(super) model_bases: HashMap<SessionKey, Snapshot>,
    /// The text each session last sent and may also write to the disk itself.
    pub(super) last_sent: HashMap<SessionKey, SentText>,
    /// The sessions that have written the file, with what they know of it since.
    pub(super) acknowledged: HashMap<SessionKey, Acknowledged>,
    /// All changes since an agent first changed the file.
    pub(super) record: Option<Arc<Record<Origin>>>,
    /// Set while the record may lack what an agent changed before the first change in it.
    pub(super) uncertain_start: Option<UncertainStart>,
    /// A change on disk that was merged before a write that then failed. Reported with the next change.
    pub(super) unreported: Option<AgentChange>,
    /// The sessions that have read lines of a buffer whose whole text is still being fetched.
    pub(super) partial_read: Option<PartialRead>,
    /// The file did not exist when an agent was about to change it.
    pub(super) was_missing: bool,
    /// Who has deleted the file while it was loaded. Its lines are still in the buffer, so the record knows nothing of it.
    pub(super) deleted_by: Option<Origin>,
    /// The file as it was read because an agent was about to change it, or had changed it already: that cannot be told.
    pub(super) preloaded: Option<DiskFacts>,
    /// What a session sent that was on disk already, when nothing was known of the file yet.
    pub(super) sent_late: Option<SentLate>,
    /// The turn in which files are not looked at after each tool call, since that takes too long.
    pub(super) coarse_turn: Option<(SessionKey, u64)>,
    /// What turns have found on disk when they began, and nobody has followed.
    pub(super) found_by_turns: FoundByTurns,
    pub(super) unseen: Arc<Unseen>,
    pub(super) call_times: Arc<CallTimes>,
    /// What agents have changed since the file was last loaded: the texts before and after.
    pub(super) unopened_change: Option<(Snapshot, Snapshot)>,
    /// Is alive as long as somebody may take a decision on the file back.
    pub(super) keeper: Weak<()>,
    cached: Option<CachedText>,
}

/// The text of the buffer at a tick, so that only later changes have to be fetched.
#[derive(Debug)]
struct CachedText {
    id: BufferId,
    tick: i64,
    text: Snapshot,
}

/// A loaded buffer with its text.
#[derive(Debug, Clone)]
pub(super) struct LoadedBuffer {
    pub(super) buffer: Buffer,
    pub(super) text: Snapshot,
}

impl LoadedBuffer {
    /// Where the buffer is in its undo history.
    pub(super) fn undo(&self) -> UndoState {
        UndoState { buffer: self.buffer.id.0, seq: self.buffer.undo }
    }

    /// The text, for the record.
    pub(super) fn version(&self) -> Version {
        Version::of_buffer(self.text.clone(), Some(self.undo()))
    }
}

/// The result of an edit of the buffer.
#[derive(Debug)]
pub(super) enum ChangeOutcome {
    /// It was made. `before` and `after` are the texts right before and right after it; `saved` is the text in the
    /// file, if the buffer was saved, and `stamp` that file as Neovim saw it.
    /// `undo` is where that left the buffer in its undo history.
    Done {
        before: Snapshot,
        after: Snapshot,
        saved: Snapshot,
        stamp: Option<Stamp>,
        undo: Option<UndoState>,
    },
    /// It was not made, because the user has changed the same lines or `'modified'` has changed. The caller has to
    /// start over with the new text.
    Retry,
    /// It was made, but not saved.
    Failed { reason: String, before: Snapshot, after: Snapshot },
}

impl Document {
    pub(super) fn new(
        path: PathBuf,
        editor: Arc<dyn Editor>,
        disks: Arc<Disks>,
        revisions: Arc<Revisions>,
        (unseen, call_times): (Arc<Unseen>, Arc<CallTimes>),
    ) -> Self {
        Self {
            path,
            editor,
            disks,
            revisions,
            baseline: None,
            views: HashMap::new(),
            excerpt_facts: HashMap::new(),
            model_bases: HashMap::new(),
            last_sent: HashMap::new(),
            acknowledged: HashMap::new(),
            record: None,
            unreported: None,
            partial_read: None,
            was_missing: false,
            deleted_by: None,
            preloaded: None,
            uncertain_start: None,
            sent_late: None,
            coarse_turn: None,
            found_by_turns: FoundByTurns::new(),
            unseen,
            call_times,
            unopened_change: None,
            keeper: Weak::new(),
            cached: None,
        }
    }

    /// Forgets what a session knows.
    pub(super) fn forget(&mut self, session: &SessionKey) {
        self.views.remove(session);
        self.excerpt_facts.remove(session);
        self.model_bases.remove(session);
        self.last_sent.remove(session);
        self.acknowledged.remove(session);
        self.found_by_turns.remove(session);
        self.sent_late.take_if(|sent| sent.by.session == *session);
        if let Some(partial) = &mut self.partial_read {
            partial.forget(session);
        }
    }

    /// Whether any session knows the file.
    fn is_known(&self) -> bool {
        !self.views.is_empty() || !self.excerpt_facts.is_empty() || !self.acknowledged.is_empty()
    }

    /// Whether the document can be dropped: no session knows it, nothing is pending, there is no change to report, none to
    /// make undoable when the file is opened, and no decision to take back.
    pub(super) fn is_idle(&self) -> bool {
        self.is_settled() && self.unopened_change.is_none()
    }

    /// The same, whether there is a change to make undoable or not.
    pub(super) fn is_settled(&self) -> bool {
        !self.is_known()
            && self.keeper.strong_count() == 0
            && self.unreported.is_none()
            && self.record.as_ref().is_none_or(|record| !record.has_pending())
    }

    /// Forgets the texts a session knows and keeps only the facts of the file. The session's next write is accepted if
    /// the file still has these facts; otherwise it has to read the file again.
    pub(super) fn forget_texts(&mut self, session: &SessionKey) {
        let view = self.views.get(session);
        let base = view.and_then(|view| view.merge_base.as_ref()).map(Snapshot::revision);
        let is_file = |baseline: &&DiskText| base == Some(baseline.text.revision());
        let facts =
            self.baseline.as_ref().filter(is_file).map_or(DiskFacts::MISSING, |file| file.facts);
        let facts = self.excerpt_facts.get(session).copied().unwrap_or(facts);
        self.forget(session);
        self.excerpt_facts.insert(session.clone(), facts);
        // Without it, what the record has already would be recorded again. It shares the text with the record.
        if self.cached.is_none() && self.record.is_none() {
            self.baseline = None;
        }
    }

    /// Finds the buffer of this file, if one is loaded.
    pub(super) async fn find(&mut self) -> Result<Option<Found>, DocumentError> {
        let found = self.editor.find(&self.path, self.known_buffer()).await?;
        if found.is_none() {
            self.cached = None;
        }
        Ok(found)
    }

    /// Like [`Self::find`], and returns these lines as well if the buffer has unsaved changes that are not cached.
    pub(super) async fn find_with_lines(
        &mut self,
        lines: Range<usize>,
    ) -> Result<(Option<Found>, Option<Lines>), DocumentError> {
        let found = self.editor.find_with_lines(&self.path, self.known_buffer(), lines).await?;
        if found.is_none() {
            self.cached = None;
        }
        Ok(found.map_or((None, None), |(found, lines)| (Some(found), lines)))
    }

    fn known_buffer(&self) -> Option<(BufferId, i64)> {
        self.cached.as_ref().map(|cached| (cached.id, cached.tick))
    }

    /// Returns the buffer of this file with its text, if one is loaded.
    pub(super) async fn buffer_with_text(&mut self) -> Result<Option<LoadedBuffer>, DocumentError> {
        match self.find().await? {
            Some(found) => self.text_of(found).await.map(Some),
            None => Ok(None),
        }
    }

    /// Like [`Self::buffer_with_text`], and returns the text of the file on disk as well, if it exists.
    pub(super) async fn buffer_and_file(
        &mut self,
    ) -> Result<Option<(LoadedBuffer, Option<DiskText>)>, DocumentError> {
        let Some(found) = self.find().await? else { return Ok(None) };
        let file = self.file_of(&found.buffer).await?;
        let is_cached = self.cached.as_ref().is_some_and(|cached| cached.id == found.buffer.id);
        let candidates = file.iter().chain(&self.baseline);
        let same = match found.changes {
            Some(_) if is_cached => None,
            _ => candidates.into_iter().find(|file| is_text_of_buffer(file, &found.buffer)),
        };
        let loaded = match same.map(|file| self.with_shape(&file.text, found.buffer.shape)) {
            Some(text) => self.cache(found.buffer, text),
            None => self.text_of(found).await?,
        };
        let file = file.map(|file| match self.baseline {
            None => file.with_chosen_ending(&loaded.buffer, &loaded.text, &self.revisions),
            Some(_) => file,
        });
        let file =
            file.map(|file| file.with_found_ending(&loaded.buffer, &loaded.text, &self.revisions));
        // It may have been read with the line ends of the buffer.
        if let (Some(baseline), Some(file)) = (&mut self.baseline, &file)
            && baseline.facts == file.facts
            && baseline.text.shape() != file.text.shape()
        {
            *baseline = file.clone();
        }
        Ok(Some((loaded, file)))
    }

    /// Returns the text of the file on disk, without reading it if it has not been written since the baseline.
    async fn file_of(&mut self, buffer: &Buffer) -> Result<Option<DiskText>, DocumentError> {
        let facts = self.facts().await?;
        let current = self.baseline.as_ref().filter(|baseline| Some(baseline.facts) == facts);
        if let Some(baseline) = current.filter(|baseline| baseline.matches_options_of(buffer)) {
            return Ok(Some(baseline.clone()));
        }
        let was_current = current.is_some();
        let file = self.read_file(Some(buffer)).await?;
        if was_current {
            self.baseline.clone_from(&file);
        }
        Ok(file)
    }

    /// Returns the text of a buffer: the cached one with later changes applied, or fetched as a whole.
    pub(super) async fn text_of(&mut self, found: Found) -> Result<LoadedBuffer, DocumentError> {
        let Found { buffer, changes, by_writes } = found;
        let cached = self.cached.take().filter(|cached| cached.id == buffer.id);
        if let (Some(cached), Some(changes)) = (cached, changes) {
            self.record_writes(&cached.text, &changes, by_writes).await?;
            let text = self.replayed(cached.text, changes, &buffer).await?;
            if text.len() == buffer.lines || (text.is_empty() && buffer.empty) {
                return Ok(self.cache(buffer, text));
            }
        }
        let (buffer, text) = match self.editor.snapshot(buffer.id).await {
            Ok(snapshot) => snapshot,
            Err(EditorError::NotText) => {
                return Err(self.not_text("its buffer holds bytes that are not UTF-8".to_owned()));
            }
            Err(EditorError::KeepsChanging) => return Err(DocumentError::Busy(self.path.clone())),
            Err(error) => return Err(error.into()),
        };
        Ok(self.cache(buffer, self.revisions.snapshot(text)))
    }

    /// Caches the text of a buffer.
    pub(super) fn cache(&mut self, buffer: Buffer, text: Snapshot) -> LoadedBuffer {
        self.cached = Some(CachedText { id: buffer.id, tick: buffer.tick, text: text.clone() });
        LoadedBuffer { buffer, text }
    }

    /// Whether the buffer has unsaved changes or the text of the file. Compares the texts, because the stamp alone does
    /// not tell: somebody may have written the file after Neovim did and before the autocommand that recorded the
    /// stamp.
    pub(super) async fn is_modified_or_has_text_of(
        &mut self,
        found: Found,
        file: &DiskText,
    ) -> Result<bool, DocumentError> {
        if found.buffer.modified || is_text_of_buffer(file, &found.buffer) {
            return Ok(true);
        }
        Ok(self.text_of(found).await?.text.same_lines(&file.text))
    }

    /// Whether the file is as Neovim last read or wrote it, or has that text again. In the latter case updates the
    /// baseline and Neovim's timestamp.
    pub(super) async fn is_baseline(
        &mut self,
        loaded: &LoadedBuffer,
        disk: &DiskText,
    ) -> Result<bool, DocumentError> {
        if self.baseline.as_ref().is_some_and(|baseline| baseline.facts == disk.facts) {
            return Ok(true);
        }
        let is_stamped = loaded.buffer.stamp == Some(disk.facts.stamp());
        let is_baseline = if loaded.buffer.modified {
            is_stamped
        } else {
            loaded.text == disk.text && loaded.buffer.encoding == disk.encoding
        };
        if is_baseline {
            // Neovim also reloads a file whose mode has changed.
            let has_same_mode = |baseline: &DiskText| baseline.facts.mode == disk.facts.mode;
            if !is_stamped || !self.baseline.as_ref().is_none_or(has_same_mode) {
                self.update_timestamp(disk).await?;
            }
            // The user has saved since, so a text an agent sent before is obsolete.
            self.last_sent.clear();
            self.baseline = Some(disk.clone());
        }
        Ok(is_baseline)
    }

    /// Makes edits in the buffer. If the user changes other lines meanwhile, the edits are rebased onto that.
    pub(super) async fn apply_edits(
        &mut self,
        loaded: &LoadedBuffer,
        mut edits: Vec<Edit>,
        mut then: Then,
    ) -> Result<ChangeOutcome, DocumentError> {
        let id = loaded.buffer.id;
        let mut tick = loaded.buffer.tick;
        let mut meanwhile: Vec<Hunk> = Vec::new();
        for _ in 0..MAX_TRIES {
            let (found, failed, saved) = match self.change(id, tick, &edits, &then).await? {
                Outcome::Done { found, saved } => (found, None, saved),
                Outcome::Failed { reason, found } => (found, Some(reason), None),
                Outcome::Gone => return Ok(ChangeOutcome::Retry),
                Outcome::Busy => return Err(DocumentError::Held(self.path.clone())),
                Outcome::Stale(found) => {
                    let same_state = found.buffer.modified == loaded.buffer.modified;
                    let Some(changes) = found.changes.filter(|_| same_state) else {
                        return Ok(ChangeOutcome::Retry);
                    };
                    let Ok(rebased) = rebase(&edits, &changes) else {
                        return Ok(ChangeOutcome::Retry);
                    };
                    if let Then::FollowDisk { modified, unresolved, .. } = &mut then {
                        let Ok(rebased) = rebase(unresolved, &changes) else {
                            return Ok(ChangeOutcome::Retry);
                        };
                        (*modified, *unresolved) = (*modified || !changes.is_empty(), rebased);
                    }
                    (edits, tick) = (rebased, found.buffer.tick);
                    meanwhile.extend(changes);
                    continue;
                }
            };
            let before = self.replayed(loaded.text.clone(), meanwhile, &loaded.buffer).await?;
            self.cached = Some(CachedText { id, tick, text: before.clone() });
            let (stamp, changes) = (found.buffer.stamp, found.changes.clone().unwrap_or_default());
            let loaded = self.text_of(found).await?;
            let undo = Some(loaded.undo());
            let after = loaded.text;
            let saved = match saved.and_then(|count| changes.get(..count)) {
                Some(part) if part.len() < changes.len() => {
                    self.replayed(before.clone(), part.to_vec(), &loaded.buffer).await?
                }
                _ => after.clone(),
            };
            return Ok(match failed {
                None => ChangeOutcome::Done { before, after, saved, stamp, undo },
                Some(reason) => ChangeOutcome::Failed { reason, before, after },
            });
        }
        Ok(ChangeOutcome::Retry)
    }

    /// Asks the editor to make edits, and retries for a while if it cannot change text at the moment.
    async fn change(
        &self,
        id: BufferId,
        tick: i64,
        edits: &[Edit],
        then: &Then,
    ) -> Result<Outcome, DocumentError> {
        let until = Instant::now() + BUSY_TIMEOUT;
        let mut delay = MIN_RETRY_DELAY;
        loop {
            let outcome = self.editor.change(id, tick, edits, then).await?;
            if outcome != Outcome::Busy || Instant::now() + delay > until {
                return Ok(outcome);
            }
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(MAX_RETRY_DELAY);
        }
    }

    /// Returns the text after changes, in the present shape of the buffer.
    async fn replayed(
        &self,
        text: Snapshot,
        changes: Vec<Hunk>,
        buffer: &Buffer,
    ) -> Result<Snapshot, DocumentError> {
        let (shape, empty) = (buffer.shape, buffer.empty);
        if changes.is_empty() {
            return Ok(self.with_shape(&text, shape));
        }
        let text = run_blocking(move || replay(&text, &changes, empty).with_shape(shape)).await?;
        Ok(self.revisions.snapshot(text))
    }

    fn with_shape(&self, text: &Snapshot, shape: Shape) -> Snapshot {
        if text.shape() == shape {
            return text.clone();
        }
        self.revisions.snapshot(Text::clone(text).with_shape(shape))
    }

    /// Updates the timestamp Neovim has of the file (`:help timestamp`), whose text is already in the buffer.
    pub(super) async fn update_timestamp(&mut self, disk: &DiskText) -> Result<(), DocumentError> {
        for _ in 0..MAX_TRIES {
            let Some(found) = self.find().await? else { return Ok(()) };
            let Buffer { id, tick, modified, shape, encoding, .. } = found.buffer;
            let facts = disk.facts;
            let then = Then::FollowDisk {
                facts,
                shape,
                encoding,
                modified,
                unresolved: Vec::new(),
                by: None,
            };
            if !matches!(self.change(id, tick, &[], &then).await?, Outcome::Stale(_)) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Whether the buffer has the lines of `file`, as far as can be told without fetching them: it is unmodified, the file
/// has the stamp that Neovim last read or wrote, and both have the same number of lines and bytes.
fn is_text_of_buffer(file: &DiskText, buffer: &Buffer) -> bool {
    let text = &file.text;
    !buffer.modified
        && text.shape().ending == buffer.shape.ending
        && buffer.stamp == Some(file.facts.stamp())
        && text.len() == buffer.lines
        && text.body(0..text.len()).len() + 1 == buffer.bytes
}
