//! One file, loaded or not: its text, what Neovim and each agent last knew of it, and changing its
//! buffer. Reading and writing for agents are in `read`, `write` and `adopt`.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::disks::Disks;
use super::editor::{Buffer, BufferId, Editor, EditorError, Found, Lines, Outcome, Stamp, Then};
use super::error::FileError;
use super::on_disk::OnDisk;
use super::read::Partial;
use super::unsaved::Aware;
use super::{DiskFacts, Origin, Via, Written};
use crate::edit::{Edit, Hunk, Record, Shape, Text, rebase, replay};
use crate::session::author::{Author, SessionKey};

/// How soon a change is tried again that Neovim did not let be made, and how much later each time.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// When it is given up.
const LONGEST_HOLD: Duration = Duration::from_secs(5);

/// So often a buffer is looked at again because it changed meanwhile.
pub(super) const MOST_TRIES: usize = 8;

/// One file, by its real path.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) path: PathBuf,
    pub(super) editor: Arc<dyn Editor>,
    pub(super) disks: Arc<Disks>,
    /// The text Neovim last read or wrote, as it stands on disk.
    pub(super) synced: Option<OnDisk>,
    /// What each session last read or wrote.
    pub(super) known: HashMap<SessionKey, Known>,
    /// As which the file stood when a session read lines of it that were not held as a whole: its text refers to that.
    pub(super) glimpsed: HashMap<SessionKey, DiskFacts>,
    /// What the models of sessions last read from the disk itself, or sent since, whose tools read through us without
    /// telling them.
    pub(super) models: HashMap<SessionKey, Arc<Text>>,
    /// What each session last sent and may still write to the disk itself.
    pub(super) sent: HashMap<SessionKey, Sent>,
    /// The sessions that wrote it, and what they know of it since.
    pub(super) written: HashMap<SessionKey, Aware>,
    /// What agents and others did to it since the first of them changed it.
    record: Option<Record<Origin>>,
    /// What came in from the disk before a write that was refused then: it is told with the next look at the disk.
    pub(super) untold: Option<Written>,
    /// Who has read lines whose whole text is being fetched, of which buffer and tick.
    pub(super) partial: Option<Partial>,
    /// There was no such file when an agent was about to change it.
    pub(super) was_missing: bool,
    /// What agents made of it since it was last in a buffer: the texts before and after.
    pub(super) unopened: Option<(Arc<Text>, Arc<Text>)>,
    live: Option<Live>,
}

/// The text of the buffer at a tick, kept so that the next one need not be fetched whole.
#[derive(Debug)]
struct Live {
    id: BufferId,
    tick: i64,
    text: Arc<Text>,
}

/// What a session knows of a file.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// As it read the text, or sent it: its next text refers to that.
    pub(super) text: Option<Arc<Text>>,
    /// As its last change left the file, with what a formatter made of it: what came later is not
    /// its own. As it read the file, if it changed nothing since.
    pub(super) left: Arc<Text>,
    /// Where that was on the disk and not in Neovim yet.
    pub(super) ahead: Option<Ahead>,
}

/// A text that a session has read on the disk before Neovim has followed it. Of a read we may be told late, too: the
/// file may be what the session has made of it right after.
#[derive(Debug, Clone)]
pub(super) struct Ahead {
    /// Of which file, the one Neovim last read or wrote.
    pub(super) of: DiskFacts,
    /// What the session knew before.
    pub(super) before: Option<Arc<Text>>,
}

/// A text that an agent has sent and goes on to write to the disk itself, as OpenCode does without waiting for us.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) text: Arc<Text>,
    /// In which turn.
    pub(super) turn: u64,
    /// From when until when the file may have been written so, by its own time.
    pub(super) within: Range<SystemTime>,
}

impl Known {
    pub(super) fn new(text: Arc<Text>) -> Self {
        Self { text: Some(Arc::clone(&text)), left: text, ahead: None }
    }

    /// What it knew of the file that Neovim last read or wrote, as far as that can be told.
    pub(super) fn before(&self, synced: Option<&OnDisk>) -> Option<Arc<Text>> {
        match &self.ahead {
            Some(ahead) if synced.is_some_and(|it| it.facts == ahead.of) => ahead.before.clone(),
            _ => Some(Arc::clone(&self.left)),
        }
    }
}

/// A loaded buffer with its text.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) buffer: Buffer,
    pub(super) text: Arc<Text>,
}

/// What came of a change of the buffer.
#[derive(Debug)]
pub(super) enum Made {
    /// Made: the text right before and right after it, that of them which was saved if any was, and
    /// what the file then was for Neovim.
    Done { before: Arc<Text>, after: Arc<Text>, saved: Arc<Text>, stamp: Option<Stamp> },
    /// Not made: the user has changed the same lines, or has begun or ended to have unsaved
    /// changes. Look again.
    Again,
    /// Made, but not saved.
    Failed { reason: String, before: Arc<Text>, after: Arc<Text> },
}

impl Document {
    pub(super) fn new(path: PathBuf, editor: Arc<dyn Editor>, disks: Arc<Disks>) -> Self {
        let (known, sent, written) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self {
            path,
            editor,
            disks,
            synced: None,
            known,
            glimpsed: HashMap::new(),
            models: HashMap::new(),
            sent,
            written,
            record: None,
            untold: None,
            partial: None,
            was_missing: false,
            unopened: None,
            live: None,
        }
    }

    /// Notes a change of an agent that is made.
    pub(super) async fn record_change(
        &mut self,
        by: &Author,
        via: Via,
        texts: (&Arc<Text>, &Arc<Text>),
        hunks: &[Hunk],
    ) -> Result<(), FileError> {
        let (before, after) = (Arc::clone(texts.0), Arc::clone(texts.1));
        let record = self.record.take().unwrap_or_else(|| Record::new(Arc::clone(&before)));
        let (origin, hunks) = (Origin { by: by.clone(), via }, hunks.to_owned());
        let recorded = beside(move || {
            let mut record = record;
            record.change(origin, &before, &after, hunks);
            record
        });
        self.record = Some(recorded.await?);
        Ok(())
    }

    /// What has become of the file since an agent first changed it.
    pub(super) async fn record(&mut self) -> Result<Option<Record<Origin>>, FileError> {
        if self.record.is_none() {
            return Ok(None);
        }
        let now = match self.open().await? {
            Some(open) => Some(open.text),
            None => self.on_disk(None).await?.map(|file| file.text),
        };
        if let (Some(record), Some(now)) = (&mut self.record, now) {
            record.catch_up(&now);
        }
        Ok(self.record.clone())
    }

    /// Forgets what a session knows; `true` if nothing is left to know.
    pub(super) fn forget(&mut self, session: &SessionKey) -> bool {
        self.known.remove(session);
        self.glimpsed.remove(session);
        self.models.remove(session);
        self.sent.remove(session);
        self.written.remove(session);
        if let Some(partial) = &mut self.partial {
            partial.forget(session);
        }
        if !self.is_known() {
            self.record = None;
        }
        self.is_idle()
    }

    fn is_known(&self) -> bool {
        !self.known.is_empty() || !self.glimpsed.is_empty() || !self.written.is_empty()
    }

    /// Whether no session has to do with it, and nothing is to be told or, once it is opened, to be undone.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_known() && self.unopened.is_none() && self.untold.is_none()
    }

    /// Keeps of what a session knows only which file it was: its next text is taken while that is the same, else it has to
    /// read the file again.
    pub(super) fn dim(&mut self, session: &SessionKey) {
        let known = self.known.get(session).and_then(|known| known.text.clone());
        let is_file =
            |synced: &&OnDisk| known.as_ref().is_some_and(|it| Arc::ptr_eq(it, &synced.text));
        let facts = self.synced.as_ref().filter(is_file).map_or(DiskFacts::GONE, |file| file.facts);
        let facts = self.glimpsed.get(session).copied().unwrap_or(facts);
        self.forget(session);
        self.glimpsed.insert(session.clone(), facts);
        if self.live.is_none() {
            self.synced = None;
        }
    }

    /// The buffer of this file, if one is loaded.
    pub(super) async fn find(&mut self) -> Result<Option<Found>, FileError> {
        let found = self.editor.find(&self.path, self.known_buffer()).await?;
        if found.is_none() {
            self.live = None;
        }
        Ok(found)
    }

    /// The same, with some of its lines where they are not saved and not known.
    pub(super) async fn glance(
        &mut self,
        lines: Range<usize>,
    ) -> Result<(Option<Found>, Option<Lines>), FileError> {
        let seen = self.editor.glance(&self.path, self.known_buffer(), lines).await?;
        if seen.is_none() {
            self.live = None;
        }
        Ok(seen.map_or((None, None), |(found, part)| (Some(found), part)))
    }

    fn known_buffer(&self) -> Option<(BufferId, i64)> {
        self.live.as_ref().map(|live| (live.id, live.tick))
    }

    /// The buffer of this file with its text, if one is loaded.
    pub(super) async fn open(&mut self) -> Result<Option<Open>, FileError> {
        match self.find().await? {
            Some(found) => self.text_of(found).await.map(Some),
            None => Ok(None),
        }
    }

    /// The buffer of this file with its text, if one is loaded, and the text of the file itself.
    pub(super) async fn open_with_disk(
        &mut self,
    ) -> Result<Option<(Open, Option<OnDisk>)>, FileError> {
        let Some(found) = self.find().await? else { return Ok(None) };
        let file = self.file_of(&found.buffer).await?;
        let followed = self.live.as_ref().is_some_and(|live| live.id == found.buffer.id);
        let texts = file.iter().chain(&self.synced);
        let same = match found.changes {
            Some(_) if followed => None,
            _ => texts.into_iter().find(|text| stands_for(text, &found.buffer)),
        };
        let open = match same.map(|same| with_shape(&same.text, found.buffer.shape)) {
            Some(text) => self.keep(found.buffer, text),
            None => self.text_of(found).await?,
        };
        let file = file.map(|file| match self.synced {
            None => file.with_chosen_ending(&open.buffer, &open.text),
            Some(_) => file,
        });
        Ok(Some((open, file)))
    }

    /// The file's text, from memory where nobody has written it since.
    async fn file_of(&mut self, buffer: &Buffer) -> Result<Option<OnDisk>, FileError> {
        let facts = self.facts().await?;
        let kept = self.synced.as_ref().filter(|synced| Some(synced.facts) == facts);
        if let Some(synced) = kept.filter(|synced| synced.is_read_as(buffer)) {
            return Ok(Some(synced.clone()));
        }
        let was_kept = kept.is_some();
        let file = self.on_disk(Some(buffer)).await?;
        if was_kept {
            self.synced.clone_from(&file);
        }
        Ok(file)
    }

    /// The text of the buffer found: the one kept, brought up to date, or fetched whole.
    pub(super) async fn text_of(&mut self, found: Found) -> Result<Open, FileError> {
        let Found { buffer, changes } = found;
        let kept = self.live.take().filter(|live| live.id == buffer.id);
        if let (Some(live), Some(changes)) = (kept, changes) {
            let text = replayed(live.text, changes, &buffer).await?;
            if text.len() == buffer.lines || (text.is_empty() && buffer.empty) {
                return Ok(self.keep(buffer, text));
            }
        }
        let (buffer, text) = match self.editor.snapshot(buffer.id).await {
            Ok(snapshot) => snapshot,
            Err(EditorError::NotText) => {
                return Err(self.not_text("its buffer holds bytes that are not UTF-8".to_owned()));
            }
            Err(EditorError::Restless) => return Err(FileError::Busy(self.path.clone())),
            Err(error) => return Err(error.into()),
        };
        Ok(self.keep(buffer, Arc::new(text)))
    }

    pub(super) fn keep(&mut self, buffer: Buffer, text: Arc<Text>) -> Open {
        self.live = Some(Live { id: buffer.id, tick: buffer.tick, text: Arc::clone(&text) });
        Open { buffer, text }
    }

    /// Whether a buffer without unsaved changes has the text of the file. The stamp alone may lie: somebody may have
    /// written between Neovim and the autocommand that looked at the file after it.
    pub(super) async fn holds(&mut self, found: Found, file: &OnDisk) -> Result<bool, FileError> {
        if found.buffer.modified || stands_for(file, &found.buffer) {
            return Ok(true);
        }
        Ok(self.text_of(found).await?.text.same_lines(&file.text))
    }

    /// Whether the file is as Neovim last read or wrote it, or holds that text again; then both are told so.
    pub(super) async fn is_synced(
        &mut self,
        open: &Open,
        disk: &OnDisk,
    ) -> Result<bool, FileError> {
        if self.synced.as_ref().is_some_and(|synced| synced.facts == disk.facts) {
            return Ok(true);
        }
        let is_stamped = open.buffer.stamp == Some(disk.facts.stamp());
        let synced = if open.buffer.modified {
            is_stamped
        } else {
            *open.text == *disk.text && open.buffer.encoding == disk.encoding
        };
        if synced {
            // Neovim would read it again for another mode, too.
            let is_mode = |synced: &OnDisk| synced.facts.mode == disk.facts.mode;
            if !is_stamped || !self.synced.as_ref().is_none_or(is_mode) {
                self.acknowledge(disk).await?;
            }
            // The user has saved since: what an agent sent before is history.
            self.sent.clear();
            self.synced = Some(disk.clone());
        }
        Ok(synced)
    }

    /// Makes edits in the buffer, carried over what the user changes meanwhile as long as that
    /// touches other lines.
    pub(super) async fn make(
        &mut self,
        open: &Open,
        mut edits: Vec<Edit>,
        mut then: Then,
    ) -> Result<Made, FileError> {
        let id = open.buffer.id;
        let mut tick = open.buffer.tick;
        let mut meanwhile: Vec<Hunk> = Vec::new();
        for _ in 0..MOST_TRIES {
            let (found, failed, saved) = match self.change(id, tick, &edits, &then).await? {
                Outcome::Done { found, saved } => (found, None, saved),
                Outcome::Failed { reason, found } => (found, Some(reason), None),
                Outcome::Gone => return Ok(Made::Again),
                Outcome::Busy => return Err(FileError::Held(self.path.clone())),
                Outcome::Stale(found) => {
                    let same_state = found.buffer.modified == open.buffer.modified;
                    let Some(changes) = found.changes.filter(|_| same_state) else {
                        return Ok(Made::Again);
                    };
                    let Ok(carried) = rebase(&edits, &changes) else { return Ok(Made::Again) };
                    if let Then::Adopt { modified, kept, .. } = &mut then {
                        let Ok(carried) = rebase(kept, &changes) else { return Ok(Made::Again) };
                        (*modified, *kept) = (*modified || !changes.is_empty(), carried);
                    }
                    (edits, tick) = (carried, found.buffer.tick);
                    meanwhile.extend(changes);
                    continue;
                }
            };
            let before = replayed(Arc::clone(&open.text), meanwhile, &open.buffer).await?;
            self.live = Some(Live { id, tick, text: Arc::clone(&before) });
            let (stamp, changes) = (found.buffer.stamp, found.changes.clone().unwrap_or_default());
            let open = self.text_of(found).await?;
            let after = open.text;
            let saved = match saved.and_then(|count| changes.get(..count)) {
                Some(part) if part.len() < changes.len() => {
                    replayed(Arc::clone(&before), part.to_vec(), &open.buffer).await?
                }
                _ => Arc::clone(&after),
            };
            return Ok(match failed {
                None => Made::Done { before, after, saved, stamp },
                Some(reason) => Made::Failed { reason, before, after },
            });
        }
        Ok(Made::Again)
    }

    /// Asks the editor for a change, again for a while where it lets nobody change text.
    async fn change(
        &self,
        id: BufferId,
        tick: i64,
        edits: &[Edit],
        then: &Then,
    ) -> Result<Outcome, FileError> {
        let until = Instant::now() + LONGEST_HOLD;
        let mut pause = FIRST_PAUSE;
        loop {
            let outcome = self.editor.change(id, tick, edits, then).await?;
            if outcome != Outcome::Busy || Instant::now() + pause > until {
                return Ok(outcome);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Lets Neovim take note of the file as it is now, its text being in the buffer.
    pub(super) async fn acknowledge(&mut self, disk: &OnDisk) -> Result<(), FileError> {
        for _ in 0..MOST_TRIES {
            let Some(found) = self.find().await? else { return Ok(()) };
            let Buffer { id, tick, modified, shape, encoding, .. } = found.buffer;
            let facts = disk.facts;
            let then = Then::Adopt { facts, shape, encoding, modified, kept: Vec::new() };
            if !matches!(self.change(id, tick, &[], &then).await?, Outcome::Stale(_)) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Whether the file holds, or held, the lines of the buffer, so that they need not be fetched: it is unmodified, the
/// file was as Neovim last read or wrote it, and there are as many lines and bytes.
fn stands_for(file: &OnDisk, buffer: &Buffer) -> bool {
    let text = &file.text;
    !buffer.modified
        && text.shape().ending == buffer.shape.ending
        && buffer.stamp == Some(file.facts.stamp())
        && text.len() == buffer.lines
        && text.body(0..text.len()).len() + 1 == buffer.bytes
}

/// The text after changes, in the shape the buffer now has.
async fn replayed(
    text: Arc<Text>,
    changes: Vec<Hunk>,
    buffer: &Buffer,
) -> Result<Arc<Text>, FileError> {
    let (shape, empty) = (buffer.shape, buffer.empty);
    if changes.is_empty() {
        return Ok(with_shape(&text, shape));
    }
    beside(move || Arc::new(replay(&text, &changes, empty).with_shape(shape))).await
}

fn with_shape(text: &Arc<Text>, shape: Shape) -> Arc<Text> {
    if text.shape() == shape {
        return Arc::clone(text);
    }
    Arc::new(Text::clone(text).with_shape(shape))
}

/// Runs what takes a while beside the loop.
pub(super) async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, FileError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| FileError::Editor(error.to_string()))
}
