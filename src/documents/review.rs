//! The user's decisions on what is pending in a document. Keeping changes no text; rejecting changes the buffer as one undo
//! step, or the file if it is not loaded.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::blocking::run_blocking;
use super::change::Origin;
use super::disk;
use super::disk_text::DiskText;
use super::document::{ChangeOutcome, Document, LoadedBuffer, MAX_TRIES};
use super::editor::Then;
use super::encoding::Encoding;
use super::error::DocumentError;
use super::facts::DiskFacts;
use super::way_back::WayBack;
use crate::core::messages::review::{
    ChangeAuthor, ChangeScope, ChangedFile, ChangedHunk, PendingFile, PendingLines, SelectedHunks,
    SelectedRows,
};
use crate::edit::{
    Choice, Hunk, PendingHunk, Record, Rejection, Shape, Snapshot, StepId, Text, Version, apply,
    diff, merge, refine,
};
use crate::session::author::SessionKey;

/// What became of a decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decided {
    /// How many hunks were kept or rejected. That a file is there, or what form it has, counts as one if it has no other.
    pub hunks: usize,
    /// Whether there is no other.
    pub is_form: bool,
    /// How many lines, if only some of a hunk were.
    pub lines: Option<usize>,
    /// Lines of the text before (0-based) that stay, because they were changed since.
    pub conflicts: Vec<Range<usize>>,
    /// The sessions whose changes it was about.
    pub sessions: Vec<SessionKey>,
    /// Whether the buffer is not saved, so that the file still has what was rejected.
    pub is_unsaved: bool,
    /// What it takes to take the decision back, if it had any effect.
    pub way_back: Option<WayBack>,
}

impl Document {
    /// Returns what is pending.
    pub(super) async fn pending(&mut self) -> Result<Vec<PendingHunk>, DocumentError> {
        Ok(self.present_record().await?.map(|record| record.pending()).unwrap_or_default())
    }

    /// Whether an agent has changed the file.
    pub(super) fn has_record(&self) -> bool {
        self.record.is_some()
    }

    /// Returns what is pending in the buffer; `None` without a buffer, or if no agent has changed the file.
    pub(super) async fn pending_lines(&mut self) -> Result<Option<PendingFile>, DocumentError> {
        if !self.has_record() {
            return Ok(None);
        }
        let Some(loaded) = self.buffer_with_text().await? else { return Ok(None) };
        self.update_record(loaded.version()).await?;
        let Some(record) = self.record.clone() else { return Ok(None) };
        let (path, tick) = (self.path.clone(), loaded.buffer.tick);
        let hunks = run_blocking(move || {
            let mut hunks = Vec::new();
            record.each_pending(|id, base, text| {
                let (start, count, removed) = (text.start, text.len(), base.len());
                hunks.push(PendingLines { id, start, count, removed });
            });
            hunks
        });
        Ok(Some(PendingFile { path, tick, hunks: hunks.await? }))
    }

    /// Returns what is pending with its texts and authors; `None` if nothing is.
    pub(super) async fn changes(&mut self) -> Result<Option<ChangedFile>, DocumentError> {
        let Some(record) = self.record_for_list().await? else { return Ok(None) };
        let path = self.path.clone();
        run_blocking(move || record.has_pending().then(|| changed_file(path, &record))).await
    }

    /// Returns the record up to the present text. A file that is not loaded and has the metadata of the last recorded text is
    /// not read again.
    async fn record_for_list(&mut self) -> Result<Option<Arc<Record<Origin>>>, DocumentError> {
        let Some(record) = self.record.clone() else { return Ok(None) };
        let baseline = self.baseline.as_ref();
        let known = baseline.filter(|it| record.is_at(&Version::of_file(it.text.clone())));
        if let Some(facts) = known.map(|baseline| baseline.facts)
            && self.find().await?.is_none()
            && self.facts().await? == Some(facts)
        {
            return Ok(Some(record));
        }
        drop(record);
        self.present_record().await
    }

    /// Keeps what is pending: it belongs to the base from now on.
    pub(super) async fn keep(&mut self, scope: &ChangeScope) -> Result<Decided, DocumentError> {
        if self.record.is_none() {
            return Ok(Decided::default());
        }
        let now = self.version().await?;
        self.update_record(now).await?;
        let (scope, keeper) = (scope.clone(), self.keeper());
        self.change_record(move |record| {
            let choice = choose_pending(record, &scope);
            let is_part = is_part(&scope) && !choice.is_empty();
            let lines = is_part.then(|| choice.lines());
            let sessions = sessions(record.authors(&choice));
            let way_back = WayBack::of_kept(record.keep(&choice), keeper);
            Decided { lines, sessions, way_back, ..Decided::default() }
        })
        .await
    }

    /// Keeps the pending hunks that a base with these lines would not have, and no longer those it would have again.
    pub(super) async fn keep_as_base(
        &mut self,
        base: Vec<String>,
    ) -> Result<Decided, DocumentError> {
        if self.record.is_none() {
            return Ok(Decided::default());
        }
        let now = self.version().await?;
        self.update_record(now).await?;
        self.change_record(move |record| {
            let base = Text::from_body(base.join("\n"), record.current().shape(), base.is_empty());
            let left = diff(&base, record.current());
            let (mut rows, mut added, mut removed) = (Vec::new(), 0, 0);
            for hunk in &left {
                // The hunks lead from the base to the text.
                let start = hunk.start + added - removed;
                rows.push(start..start + hunk.lines.len());
                (added, removed) = (added + hunk.lines.len(), removed + hunk.removed);
            }
            let meets = |hunk: &PendingHunk| {
                let touch = |rows: &Range<usize>| {
                    rows.start <= hunk.text.end && hunk.text.start <= rows.end
                };
                rows.iter().any(touch)
            };
            let gone = record.pending().into_iter().filter(|hunk| !meets(hunk));
            let choices = gone.map(|hunk| record.choose(Some(&hunk.text), |_| true));
            let choices: Vec<Choice> = choices.collect();
            for choice in &choices {
                record.keep(choice);
            }
            record.keep_no_longer(&rows);
            let sessions = sessions(choices.iter().flat_map(|choice| record.authors(choice)));
            Decided { sessions, ..Decided::default() }
        })
        .await
    }

    /// Has the record keep something, or keep it no longer. The hunks that `change` was about are counted here; a part of one
    /// counts as one.
    pub(super) async fn change_record(
        &mut self,
        change: impl FnOnce(&mut Record<Origin>) -> Decided + Send + 'static,
    ) -> Result<Decided, DocumentError> {
        let Some(mut record) = self.record.take() else { return Ok(Decided::default()) };
        let kept = run_blocking(move || {
            let (before, with_lines) = (record.count_pending(), record.count_hunks());
            let decided = change(Arc::make_mut(&mut record));
            let is_part = decided.lines.is_some();
            let hunks = before.abs_diff(record.count_pending()).max(usize::from(is_part));
            let is_form = !is_part && hunks > 0 && with_lines == record.count_hunks();
            (record, Decided { hunks, is_form, ..decided })
        });
        let (record, decided) = kept.await?;
        self.record = Some(record);
        Ok(decided)
    }

    /// Rejects what is pending. A buffer without unsaved changes is saved.
    pub(super) async fn reject(&mut self, scope: &ChangeScope) -> Result<Decided, DocumentError> {
        for _ in 0..MAX_TRIES {
            let Some(record) = self.record().await? else { return Ok(Decided::default()) };
            let (place, is_part) = (record.place(), is_part(scope));
            let scope = scope.clone();
            let planned = run_blocking(move || {
                let scope = narrowed(&record, scope);
                let (planned, choice) = choose(record, &scope);
                let rejection = planned.plan_rejection(&choice);
                let is_form = rejection.form.is_some() && planned.count_hunks() == 0;
                (rejection, is_form, sessions(planned.authors(&choice)))
            });
            let (rejection, is_form, sessions) = planned.await?;
            let hunks = rejection.hunks.len().max(usize::from(rejection.form.is_some()));
            let lines = (is_part && hunks > 0).then(|| rejection.lines());
            let conflicts = rejection.conflicts.clone();
            let rejected =
                Decided { hunks, is_form, lines, conflicts, sessions, ..Decided::default() };
            if rejection.changes_nothing() {
                if !rejection.is_empty() {
                    let now = self.version().await?;
                    self.record_rejection(rejection, now).await?;
                }
                return Ok(rejected);
            }
            let is_deletion = rejection.form.is_some_and(|form| !form.exists);
            let deleted = if is_deletion { self.read_file(None).await? } else { None };
            let is_done = match self.buffer_and_file().await? {
                Some((loaded, file)) => self.reject_loaded(rejection, loaded, file).await?,
                None => self.reject_unloaded(rejection).await?,
            };
            if is_done {
                let way_back = self.way_back_from_rejection(place, deleted);
                let is_unsaved = self.find().await?.is_some_and(|found| found.buffer.modified);
                return Ok(Decided { is_unsaved, way_back, ..rejected });
            }
        }
        Err(DocumentError::Busy(self.path.clone()))
    }

    /// Returns `false` if the text has changed since the rejection was planned.
    async fn reject_loaded(
        &mut self,
        rejection: Rejection,
        loaded: LoadedBuffer,
        file: Option<DiskText>,
    ) -> Result<bool, DocumentError> {
        if self.record.as_ref().is_none_or(|record| !record.is_at(&loaded.version())) {
            return Ok(false);
        }
        let is_deletion = rejection.form.is_some_and(|form| !form.exists);
        let shape = rejection.form.map_or(loaded.text.shape(), |form| form.shape);
        let changed =
            self.change_loaded(loaded, file, &rejection.hunks, shape, is_deletion).await?;
        let Some(after) = changed else { return Ok(false) };
        self.record_rejection(rejection, after).await?;
        Ok(true)
    }

    /// Changes a buffer as one undo step, and saves or deletes its file if the buffer was not modified. `None` if the text
    /// has changed meanwhile.
    pub(super) async fn change_loaded(
        &mut self,
        loaded: LoadedBuffer,
        file: Option<DiskText>,
        hunks: &[Hunk],
        shape: Shape,
        is_deletion: bool,
    ) -> Result<Option<Version>, DocumentError> {
        if let Some(reason) = loaded.buffer.locked.clone() {
            return Err(DocumentError::Refused { path: self.path.clone(), reason });
        }
        // A change on disk that is still to be followed must not be overwritten.
        let can_save = match &file {
            Some(file) => !loaded.buffer.modified && self.is_baseline(&loaded, file).await?,
            // A buffer that has outlived its file is modified.
            None => !loaded.buffer.modified && !is_deletion && self.make_folder().await?,
        };
        let is_deletion = can_save && is_deletion;
        let then = match (can_save, is_deletion) {
            (true, true) => Then::Unmodified,
            (true, false) => Then::Save { eol: shape.final_newline },
            _ => Then::Nothing,
        };
        let edits = refine(hunks, &loaded.text);
        match self.apply_edits(&loaded, edits, then).await? {
            ChangeOutcome::Done { after, saved, stamp, undo, .. } => {
                if is_deletion {
                    self.delete_file().await?;
                } else if can_save {
                    self.set_saved(saved, stamp, loaded.buffer.encoding).await?;
                }
                Ok(Some(Version::of_buffer(after, undo)))
            }
            ChangeOutcome::Retry => Ok(None),
            ChangeOutcome::Failed { reason, before, after } => {
                self.revert(&loaded, &before, &after).await?;
                Err(DocumentError::Refused { path: self.path.clone(), reason })
            }
        }
    }

    /// Like [`Self::reject_loaded`], for a file that is not loaded. What has changed in it since it was followed stays, and is
    /// followed later as if the rejection had come first.
    async fn reject_unloaded(&mut self, rejection: Rejection) -> Result<bool, DocumentError> {
        let file = self.read_file(None).await?;
        let followed = self.version().await?;
        self.update_record(followed.clone()).await?;
        let Some(record) = &self.record else { return Ok(false) };
        if !record.current().same_lines(&followed.text) {
            return Ok(false);
        }
        let is_deletion = rejection.form.is_some_and(|form| !form.exists);
        let shape = rejection.form.map_or(followed.text.shape(), |form| form.shape);
        let without = apply(&rejection.hunks, &followed.text).with_shape(shape);
        let is_followed = match &file {
            Some(file) => followed.exists && file.text.same_lines(&followed.text),
            None => !followed.exists,
        };
        if !is_followed {
            self.reject_beside_others((followed.text, without), is_deletion, file).await?;
        } else if is_deletion {
            self.delete_file().await?;
        } else {
            let encoding = file.map_or(Encoding::Utf8, |file| file.encoding);
            let after = self.revisions.snapshot(without);
            self.baseline = Some(self.replace_file(after.clone(), &encoding).await?);
            if followed.exists {
                self.record_unopened_change(&followed.text, &after);
            }
        }
        let now = match &self.baseline {
            Some(file) if !is_deletion => Version::of_file(file.text.clone()),
            _ => self.no_file(),
        };
        self.record_rejection(rejection, now).await?;
        Ok(true)
    }

    /// Rejects in a file that somebody, perhaps an agent, has changed since it was followed.
    async fn reject_beside_others(
        &mut self,
        (followed, without): (Snapshot, Text),
        is_deletion: bool,
        file: Option<DiskText>,
    ) -> Result<(), DocumentError> {
        let changed = || DocumentError::Refused {
            path: self.path.clone(),
            reason: "it has just changed on disk in the same place: decide on it again".to_owned(),
        };
        let Some(file) = file else { return Err(changed()) };
        let (base, live, target) = (followed.clone(), file.text.clone(), without.clone());
        let merged = run_blocking(move || -> Option<Text> {
            let merged = merge(&base, &live, &target).ok()?;
            Some(apply(&merged.hunks, &live).with_shape(live.shape()))
        });
        let merged = self.revisions.snapshot(merged.await?.ok_or_else(changed)?);
        if self.facts().await? != Some(file.facts) {
            return Err(changed());
        }
        self.replace_file(merged, &file.encoding).await?;
        let without = self.revisions.snapshot(without);
        self.was_missing = is_deletion;
        // These are nobody's facts, so that the rest is followed.
        let (facts, encoding) = (DiskFacts::MISSING, file.encoding);
        if is_deletion {
            self.baseline = None;
        } else {
            self.record_unopened_change(&followed, &without);
            self.baseline = Some(DiskText { text: without, facts, encoding });
        }
        Ok(())
    }

    /// Whether the text has the lines of a file with these bytes.
    pub(super) async fn has_lines_of(&mut self, bytes: Vec<u8>) -> Result<bool, DocumentError> {
        let now = self.present_version().await?;
        let file = self.decode_file(bytes, DiskFacts::MISSING, None).await?;
        Ok(now.text.same_lines(&file.text))
    }

    pub(super) async fn delete_file(&mut self) -> Result<(), DocumentError> {
        let deleted = self.call_disk(|path, _| disk::delete(path)).await?;
        deleted.map_err(|error| DocumentError::write_failed(self.path.clone(), &error))?;
        (self.baseline, self.was_missing) = (None, true);
        Ok(())
    }

    pub(super) async fn record_rejection(
        &mut self,
        rejection: Rejection,
        after: Version,
    ) -> Result<(), DocumentError> {
        let Some(mut record) = self.record.take() else { return Ok(()) };
        let updated = run_blocking(move || {
            Arc::make_mut(&mut record).reject(&rejection, &after);
            record
        });
        self.record = Some(updated.await?);
        Ok(())
    }
}

fn changed_file(path: PathBuf, record: &Record<Origin>) -> ChangedFile {
    let mut authors: Vec<ChangeAuthor> = Vec::new();
    let mut places: HashMap<StepId, usize> = HashMap::new();
    let mut place_of = |step: StepId| {
        if let Some(place) = places.get(&step) {
            return Some(*place);
        }
        let by = record.origin(step)?.author();
        let place = authors.iter().position(|author| *author == by).unwrap_or_else(|| {
            authors.push(by);
            authors.len() - 1
        });
        places.insert(step, place);
        Some(place)
    };
    let mut hunks = Vec::new();
    for hunk in record.pending() {
        let mut by: Vec<usize> = Vec::new();
        for place in hunk.steps.iter().filter_map(|step| place_of(*step)) {
            if !by.contains(&place) {
                by.push(place);
            }
        }
        let PendingHunk { id, base, text, .. } = hunk;
        hunks.push(ChangedHunk { id, base, text, by });
    }
    let (existed, exists) = record.existence();
    let (base, text) = (Arc::new(record.base()), record.current().clone().into_text());
    ChangedFile { path, existed, exists, base, text, hunks, authors }
}

/// The sessions that made changes.
fn sessions<'a>(origins: impl Iterator<Item = &'a Origin>) -> Vec<SessionKey> {
    let mut sessions: Vec<SessionKey> = Vec::new();
    for origin in origins {
        if !sessions.contains(&origin.by.session) {
            sessions.push(origin.by.session.clone());
        }
    }
    sessions
}

/// Chooses what is to be rejected. Returns the record with which that is planned, too.
pub(super) fn choose(
    record: Arc<Record<Origin>>,
    scope: &ChangeScope,
) -> (Arc<Record<Origin>>, Choice) {
    let choice = choose_pending(&record, scope);
    if choice.is_empty() || !scope.has_kept {
        return (record, choice);
    }
    let record = Arc::unwrap_or_clone(record);
    let record = record.as_if_pending(|origin| scope.includes(&origin.author()));
    let choice = choose_pending(&record, scope);
    (Arc::new(record), choice)
}

/// Narrows a decision on one hunk to the change in place that is the newest there: what was pending before it was not shown as part
/// of that.
fn narrowed(record: &Record<Origin>, scope: ChangeScope) -> ChangeScope {
    let is_one = match &scope.hunks {
        SelectedHunks::At(lines) | SelectedHunks::TheseOrAt(_, lines) => lines.len() <= 1,
        SelectedHunks::These(hunks) => hunks.len() == 1,
        SelectedHunks::All | SelectedHunks::Rows(..) => false,
    };
    if !is_one || scope.in_place.is_empty() {
        return scope;
    }
    let newest = match &scope.hunks {
        SelectedHunks::At(lines) => record.newest_at(lines),
        SelectedHunks::These(hunks) => record.newest_of(hunks),
        SelectedHunks::TheseOrAt(hunks, lines) => {
            record.newest_of(hunks).or_else(|| record.newest_at(lines))
        }
        SelectedHunks::All | SelectedHunks::Rows(..) => None,
    };
    let newest = newest.map(|origin| origin.by.session.clone());
    match newest.filter(|session| scope.in_place.contains(session)) {
        Some(session) => ChangeScope { session: Some(session), ..scope },
        None => scope,
    }
}

fn choose_pending(record: &Record<Origin>, scope: &ChangeScope) -> Choice {
    let is_chosen = |origin: &Origin| scope.includes(&origin.author());
    match &scope.hunks {
        SelectedHunks::All => record.choose(None, is_chosen),
        SelectedHunks::At(lines) => record.choose(Some(lines), is_chosen),
        SelectedHunks::TheseOrAt(hunks, lines) if record.newest_of(hunks).is_none() => {
            record.choose(Some(lines), is_chosen)
        }
        SelectedHunks::These(hunks) | SelectedHunks::TheseOrAt(hunks, _) => {
            record.choose_hunks(hunks, is_chosen)
        }
        SelectedHunks::Rows(hunk, SelectedRows { removed, added }) => {
            record.choose_rows(*hunk, removed, added, is_chosen)
        }
    }
}

/// Whether a decision is about some lines of a hunk.
fn is_part(scope: &ChangeScope) -> bool {
    matches!(scope.hunks, SelectedHunks::Rows(..))
}
