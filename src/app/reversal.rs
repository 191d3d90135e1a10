//! Puts paths back to what they were before changes, or brings changes in: decides for each path how, then changes buffers as
//! one undo step each, then files. What others have changed since stays. That is kept as a turn, so that it can be undone.

use super::changed_paths::{ChangedPaths, kind_name};
use super::undo_folders::keep_what_is_not_empty;
use super::undo_modes::modes;
use super::unkept::Unkept;
use crate::core::messages::checkpoint::{PlannedAction, PlannedFile, TurnRef, UndoOutcome};
use crate::core::messages::review::{Certainty, ChangeAuthor, ChangeScope};
use crate::documents::{Documents, Replaced, Without};
use crate::host::checkpoints::Checkpoints;
use crate::host::checkpoints::entry::{FileChange, Kind, State};
use crate::host::checkpoints::restore::Restore;
use crate::host::checkpoints::tree_path::TreePath;
use crate::host::checkpoints::turns::{Correction, Side, TurnAbout};
use crate::session::author::Author;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a reversal waits until the folder has been looked at.
const BEGIN_LIMIT: Duration = Duration::from_secs(60);

/// Why a path is left alone that changed while no tool call ran.
const NOT_CERTAIN: &str = "it changed while no tool call ran, so you may have done it; \
                           :RatUndo! undoes it, too";
/// Why a path is left alone that others have deleted.
pub(super) const DELETED: &str = "deleted since";
/// Why a path is left alone that has nothing of the turn any more.
pub(super) const AS_BEFORE: &str = "already as before the turn";

/// Why a path is left alone that the user has undone by themselves.
const ONLY_IN_BUFFER: &str = "undone in its buffer already, which is not saved";

/// Why a path is left alone that changed during the turn, but not by what is known of the agent: all of it was in conflict, say.
const NOT_THE_AGENTS: &str = "nothing of what changed there is certainly the agent's";

/// Why a path is left alone that is not as the turn left it.
pub(super) const CHANGED: &str = "it has changed since";

/// Why a path is left alone in which nothing can be merged.
pub(super) const CONTESTED: &str = "the same lines have changed since";

/// Why a path is left alone whose content before the turn is not there.
const NOT_KEPT: &str = "its content is not kept";

/// Why a path is left alone of which nobody can tell whether it is as the turn left it.
const UNKNOWN: &str = "what the turn left there is not kept, as it is too large or ignored by git";

/// Reverses changes.
#[derive(Debug)]
pub(super) struct Reversals {
    pub(super) checkpoints: Arc<Checkpoints>,
    pub(super) documents: Arc<Documents>,
    pub(super) changed: Arc<ChangedPaths>,
    /// The turns of this program.
    pub(super) authors: Arc<Mutex<HashMap<TurnRef, Author>>>,
    pub(super) unkept: Arc<Unkept>,
}

/// What is to be taken back, or brought in.
#[derive(Debug)]
pub(super) struct Reversal {
    /// The turn that the changes are those of. If it is none, only its root counts.
    pub(super) turn: TurnRef,
    /// What becomes again what it was before each.
    pub(super) changes: Vec<FileChange>,
    /// Whether this brings changes of agents in, such as a redo: who made them, by path, if that is known.
    pub(super) brought_in: Option<HashMap<TreePath, Author>>,
    /// Whether to take back what somebody else may have changed, too.
    pub(super) force: bool,
}

impl Reversal {
    /// Who made the change of this path that is brought in.
    fn by(&self, path: &TreePath) -> Option<&Author> {
        self.brought_in.as_ref()?.get(path)
    }
}

/// How a path gets back what it was.
#[derive(Debug)]
enum Way {
    /// The file on disk, byte for byte.
    Disk,
    /// The same, and what is pending of the turn is rejected by that.
    DiskRejecting,
    /// What is pending of the turn is rejected.
    Reject {
        /// How many places stay.
        conflicts: usize,
        /// Whether the file becomes exactly what it was.
        is_exact: bool,
    },
    /// The text of the buffer.
    Buffer,
    /// The file on disk, with what others have changed since.
    Merge,
    /// Not at all, for this reason.
    Leave(String),
}

impl Reversals {
    /// Plans what happens to each path.
    pub(super) async fn planned(&self, what: &Reversal) -> Vec<PlannedFile> {
        let mut files = Vec::new();
        for change in &what.changes {
            let path = change.path.under(&what.turn.root);
            let action = match self.way(what, change).await {
                Way::Leave(why) => PlannedAction::Leave(why),
                Way::Reject { conflicts, is_exact: false } => PlannedAction::Merge(conflicts),
                Way::Merge => PlannedAction::Merge(0),
                _ => match (&change.before, &change.after) {
                    (None, Some(_)) => PlannedAction::Delete,
                    (Some(_), None) => PlannedAction::Create,
                    (Some(before), Some(after)) if before.kind != after.kind => {
                        let (now, before) = (kind_name(after.kind), kind_name(before.kind));
                        PlannedAction::Replace { now, before }
                    }
                    (Some(before), Some(after)) if change.is_of_mode() => {
                        PlannedAction::Mode { from: after.mode, to: before.mode }
                    }
                    _ => PlannedAction::Restore,
                },
            };
            let is_folder = change.is_of_folder();
            files.push(PlannedFile { path, is_folder, action });
        }
        let (root, changes) = (&what.turn.root, &what.changes);
        keep_what_is_not_empty(&self.checkpoints, root, changes, &mut files).await;
        files
    }

    /// Decides how a path gets back what it was before a change.
    async fn way(&self, what: &Reversal, change: &FileChange) -> Way {
        let (turn, is_redo, force) = (&what.turn, what.brought_in.is_some(), what.force);
        let is_shared = change.shared && !force;
        let path = change.path.under(&turn.root);
        let is_text_file = |state: &Option<State>| {
            state.as_ref().is_none_or(|state| state.kind == Kind::File && state.content.is_some())
        };
        let is_text = is_text_file(&change.before) && is_text_file(&change.after);
        let loaded = self.documents.loaded_state(&path).await.ok().flatten();
        let author = self.authors.lock().get(turn).cloned().filter(|_| !is_redo);
        let without = match author.filter(|_| is_text) {
            Some(by) => self.documents.without(&path, turn_of(by, is_shared)).await.ok().flatten(),
            None => None,
        };
        if is_shared && without.is_none() {
            return Way::Leave(NOT_CERTAIN.to_owned());
        }
        let now = self.state(turn, &change.path).await;
        let is_as_before = now.as_ref().is_ok_and(|now| *now == change.before);
        if loaded != Some(true) && is_as_before && change.before != change.after {
            return Way::Leave(AS_BEFORE.to_owned());
        }
        if matches!(now, Ok(None)) && change.after.is_some() {
            return Way::Leave(DELETED.to_owned());
        }
        let is_as_left = now.as_ref().is_ok_and(|now| *now == change.after);
        // The user may have undone it in the buffer.
        let is_unsaved = loaded == Some(true) && !is_as_before;
        let as_before = if is_unsaved { ONLY_IN_BUFFER } else { AS_BEFORE };
        // A buffer that outlived its file has unsaved changes, which the file's return does not touch.
        if loaded.is_some() && is_as_left && change.after.is_none() {
            let is_kept = self.is_kept(turn, change).await;
            return if is_kept { Way::Disk } else { Way::Leave(NOT_KEPT.to_owned()) };
        }
        let is_contradicted = match &without {
            Some(without) if loaded.is_none() => !self.agrees(turn, change, without).await,
            _ => false,
        };
        // Where the record says otherwise than the checkpoint what the turn found, the checkpoint has seen it.
        if is_contradicted {
            if is_shared {
                return Way::Leave(NOT_CERTAIN.to_owned());
            }
            if is_as_left && self.is_kept(turn, change).await {
                return Way::DiskRejecting;
            }
        }
        if let Some(without) = without.filter(|_| !is_contradicted) {
            if without.hunks == 0 {
                let why = if without.conflicts > 0 { CONTESTED } else { as_before };
                return Way::Leave(why.to_owned());
            }
            let is_exact = self.is_exact(turn, change, &without).await;
            let is_on_disk = is_as_left && loaded.is_none() && !is_shared;
            return if is_on_disk && (is_exact || self.is_kept(turn, change).await) {
                Way::DiskRejecting
            } else {
                Way::Reject { conflicts: without.conflicts, is_exact }
            };
        }
        let same_content = |a: &State, b: &State| a.content == b.content;
        let has_content_change = !change
            .before
            .as_ref()
            .zip(change.after.as_ref())
            .is_some_and(|(before, after)| same_content(before, after));
        let both = change.before.is_some() && change.after.is_some();
        if is_text && loaded.is_some() && both && has_content_change {
            return match self.replacement(turn, change).await {
                Some(texts) => match self.documents.can_replace_text(&path, texts).await {
                    Ok(Replaced::Done) => Way::Buffer,
                    Ok(Replaced::AsBefore) => Way::Leave(as_before.to_owned()),
                    Ok(Replaced::Contested) => Way::Leave(CONTESTED.to_owned()),
                    Err(error) => Way::Leave(error.message_for_user()),
                },
                None => Way::Leave(NOT_KEPT.to_owned()),
            };
        }
        let is_unknown = |state: &State| state.kind == Kind::File && state.content.is_none();
        if change.after.as_ref().is_some_and(is_unknown) {
            return Way::Leave(UNKNOWN.to_owned());
        }
        if change.before.as_ref().is_some_and(is_unknown) {
            return Way::Leave(NOT_KEPT.to_owned());
        }
        match now {
            Err(why) => Way::Leave(why),
            Ok(_) if loaded == Some(true) => {
                Way::Leave("its buffer has unsaved changes: save or reload it first".to_owned())
            }
            // What an undo did not change is redone by doing nothing.
            Ok(now) if now == change.after && change.before == change.after && !is_redo => {
                Way::Leave(NOT_THE_AGENTS.to_owned())
            }
            Ok(now) if now == change.after && self.is_kept(turn, change).await => Way::Disk,
            Ok(now) if now == change.after => Way::Leave(NOT_KEPT.to_owned()),
            Ok(Some(now)) if is_text && both && now.kind == Kind::File => {
                match self.merged(turn, change).await {
                    Some(_) => Way::Merge,
                    None => Way::Leave(CONTESTED.to_owned()),
                }
            }
            Ok(_) => Way::Leave(CHANGED.to_owned()),
        }
    }

    /// Whether what a path was before a change is there.
    async fn is_kept(&self, turn: &TurnRef, change: &FileChange) -> bool {
        match &change.before {
            Some(before) if matches!(before.kind, Kind::File | Kind::Symlink) => {
                content(&self.checkpoints, &turn.root, before).await.is_some()
            }
            Some(before) => before.kind == Kind::Folder,
            None => true,
        }
    }

    /// Whether rejecting what is pending gives the file exactly what it was.
    async fn is_exact(&self, turn: &TurnRef, change: &FileChange, without: &Without) -> bool {
        if without.conflicts > 0 || without.exists != change.before.is_some() {
            return false;
        }
        let Some(before) = &change.before else { return true };
        let Some(bytes) = content(&self.checkpoints, &turn.root, before).await else {
            return false;
        };
        let path = change.path.under(&turn.root);
        self.documents.is_text_of(&path, &without.text, bytes).await.unwrap_or(false)
    }

    /// Whether rejecting what is pending of a turn takes nothing that the turn had found.
    async fn agrees(&self, turn: &TurnRef, change: &FileChange, without: &Without) -> bool {
        let Some(found) = change.found.as_ref().or(change.before.as_ref()) else { return true };
        let Some(found) = content(&self.checkpoints, &turn.root, found).await else { return true };
        let path = change.path.under(&turn.root);
        self.documents.agrees(&path, without, found).await.unwrap_or(false)
    }

    async fn state(&self, turn: &TurnRef, path: &TreePath) -> Result<Option<State>, String> {
        let states = self.checkpoints.states(turn.root.clone(), vec![path.clone()]).await;
        let states = states.map_err(|error| error.to_string())?;
        Ok(states.into_iter().next().flatten())
    }

    /// Returns the bytes of a file without a change, and with what others have changed since.
    async fn merged(&self, turn: &TurnRef, change: &FileChange) -> Option<Vec<u8>> {
        let (base, target) = self.replacement(turn, change).await?;
        let path = change.path.under(&turn.root);
        self.documents.merged_bytes(&path, base, target).await.ok().flatten()
    }

    /// Carries a reversal out, and keeps it as a turn.
    pub(super) async fn reverse(
        &self,
        what: &Reversal,
        about: TurnAbout,
    ) -> Result<UndoOutcome, String> {
        let root = &what.turn.root;
        let start = self.checkpoints.begin(root.clone(), Instant::now() + BEGIN_LIMIT).await;
        let start = start.map_err(|error| error.to_string())?;
        let mut outcome = UndoOutcome::default();
        let (mut in_buffers, mut files) = (Vec::new(), Vec::new());
        let mut rejecting = HashSet::new();
        for change in &what.changes {
            let way = self.way(what, change).await;
            if matches!(way, Way::Reject { .. } | Way::Buffer) {
                in_buffers.push((way, change));
                continue;
            }
            if matches!(way, Way::DiskRejecting) {
                rejecting.insert(change.path.clone());
            }
            match self.take(way, what, change, None).await {
                Ok(Some(Taken::File(restore))) => files.push(*restore),
                Ok(_) => {}
                Err(why) => outcome.left.push((change.path.under(root), why)),
            }
        }
        if !in_buffers.is_empty() && !files.is_empty() {
            let tried = self.checkpoints.room_for(root.clone(), files.clone()).await;
            tried.map_err(|error| error.to_string())?;
        }
        let of_buffers: Vec<&FileChange> = in_buffers.iter().map(|(_, change)| *change).collect();
        let planned = outcome.left.len();
        let corrections = self.take_in_buffers(in_buffers, what, &mut outcome).await;
        let is_changed = |change: &&FileChange| outcome.changed.contains(&change.path.under(root));
        let of_buffers: Vec<_> = of_buffers.into_iter().filter(is_changed).collect();
        files.extend(modes(&self.checkpoints, root, &of_buffers).await);
        let is_failed =
            |(_, why): &&(_, String)| ![AS_BEFORE, CONTESTED, NOT_KEPT].contains(&&**why);
        let failed = outcome.left.iter().skip(planned).filter(is_failed).count();
        let about = TurnAbout { corrections, failed, ..about };
        let paths: HashSet<TreePath> = what.changes.iter().map(|it| it.path.clone()).collect();
        let is_of_turn = Box::new(move |change: &mut FileChange| paths.contains(&change.path));
        match self.checkpoints.undo(start, files, about, is_of_turn).await {
            Ok(undone) => {
                outcome.not_kept = undone.not_logged;
                let left = undone.restored.left.into_iter();
                outcome.left.extend(left.map(|it| (it.path.under(root), it.why.to_string())));
                for below in undone.restored.done {
                    self.follow(what, &below, rejecting.contains(&below)).await;
                    let path = below.under(root);
                    if !outcome.changed.contains(&path) {
                        outcome.changed.push(path);
                    }
                }
            }
            Err(error) if outcome.changed.is_empty() => return Err(error.to_string()),
            Err(error) => outcome.left.push((root.clone(), error.to_string())),
        }
        // What is as it was is the least of news.
        outcome.left.sort_by_key(|(_, why)| why == AS_BEFORE);
        for path in &outcome.changed {
            if self.documents.loaded_state(path).await.ok().flatten() == Some(true) {
                outcome.unsaved.push(path.clone());
            }
        }
        Ok(outcome)
    }

    /// Tells the document of a file what it was before a change is brought in.
    async fn tell_before(&self, what: &Reversal, change: &FileChange, by: &Author) {
        let before = match &change.after {
            None => None,
            Some(state) if state.kind == Kind::File => {
                match content(&self.checkpoints, &what.turn.root, state).await {
                    None => return,
                    bytes => bytes,
                }
            }
            Some(_) => return,
        };
        let path = change.path.under(&what.turn.root);
        if let Err(error) = self.documents.set_before(&path, before, by, false).await {
            tracing::debug!(path = %path.display(), %error, "what a file was is not known");
        }
    }

    /// Has the document and the rows of a review follow a file that was changed on disk.
    async fn follow(&self, what: &Reversal, below: &TreePath, is_rejection: bool) {
        let path = below.under(&what.turn.root);
        let author = self.authors.lock().get(&what.turn).cloned();
        let by = what.by(below);
        let undone = author.as_ref().filter(|_| is_rejection);
        let change = what.changes.iter().find(|change| change.path == *below);
        if let (Some(by), Some(change)) = (by, change) {
            self.tell_before(what, change, by).await;
        }
        let followed = self.documents.was_restored(&path, by, undone).await;
        if let Some(change) = change {
            let is_text = followed.is_ok() && !self.documents.is_deleted_under_buffer(&path).await;
            self.rows_follow(&what.turn.root, change, by, author.as_ref(), is_text);
        }
        if let Err(error) = followed {
            tracing::debug!(path = %path.display(), %error, "a restored file was not followed");
        }
    }

    /// Changes buffers. Returns what of that is not on disk.
    async fn take_in_buffers(
        &self,
        ways: Vec<(Way, &FileChange)>,
        what: &Reversal,
        outcome: &mut UndoOutcome,
    ) -> Vec<Correction> {
        let mut corrections = Vec::new();
        for (way, change) in ways {
            let path = change.path.under(&what.turn.root);
            let before = self.documents.buffer_bytes(&path).await.ok().flatten();
            match self.take(way, what, change, what.by(&change.path)).await {
                Ok(Some(Taken::Buffer(conflicts))) => {
                    outcome.conflicts += conflicts;
                    self.conflicts_follow(&path, what, what.by(&change.path)).await;
                    let after = self.documents.buffer_bytes(&path).await.ok().flatten();
                    // Where only the buffer has changed, the disk does not tell what a redo is to bring back.
                    if let (Some((before, _)), Some((after, true))) = (before, after)
                        && before != after
                    {
                        let (before, after) = (Side::File(before), Side::File(after));
                        let path = change.path.clone();
                        corrections.push(Correction { path, before, after });
                    }
                    outcome.changed.push(path);
                }
                Ok(_) => {}
                Err(why) => outcome.left.push((path, why)),
            }
        }
        corrections
    }

    /// Has the conflicts of a buffer with a turn end with it, or come back.
    async fn conflicts_follow(&self, path: &Path, what: &Reversal, redone_by: Option<&Author>) {
        let undone = self.authors.lock().get(&what.turn).cloned().filter(|_| redone_by.is_none());
        let Some(turn) = redone_by.or(undone.as_ref()) else { return };
        let followed = self.documents.conflicts_are_undone(path, turn, redone_by.is_none()).await;
        if let Err(error) = followed {
            tracing::debug!(path = %path.display(), %error, "conflicts were not told of an undo");
        }
    }

    /// Has the rows of a review follow that a file has got back what it was before a change.
    fn rows_follow(
        &self,
        root: &Path,
        change: &FileChange,
        redone_by: Option<&Author>,
        undone: Option<&Author>,
        is_text: bool,
    ) {
        if let Some(by) = redone_by {
            let (before, after) = (change.after.clone(), change.before.clone());
            let redone = FileChange { before, after, found: None, ..change.clone() };
            let by = ChangeAuthor { by: by.clone(), is_certain: true };
            self.changed.changed(root, &redone, is_text, &by);
        }
        self.changed.restored(&change.path.under(root), change.before.clone(), undone);
    }

    /// Changes a buffer, or returns what is to be done on disk. `None` if there is nothing to do.
    async fn take(
        &self,
        way: Way,
        what: &Reversal,
        change: &FileChange,
        by: Option<&Author>,
    ) -> Result<Option<Taken>, String> {
        let path = change.path.under(&what.turn.root);
        let file = |expected: Option<State>, target: Option<State>, bytes| {
            let path = change.path.clone();
            Ok(Some(Taken::File(Box::new(Restore { path, expected, target, bytes }))))
        };
        match way {
            Way::Leave(why) => Err(why),
            Way::Disk | Way::DiskRejecting => {
                file(change.after.clone(), change.before.clone(), None)
            }
            Way::Merge => {
                let bytes = self.merged(&what.turn, change).await;
                let bytes = bytes.ok_or(CONTESTED)?;
                let now = self.state(&what.turn, &change.path).await?;
                file(now, change.before.clone(), Some(bytes))
            }
            Way::Reject { .. } => {
                let author = self.authors.lock().get(&what.turn).cloned();
                let Some(author) = author else { return Ok(None) };
                let scope = turn_of(author, change.shared && !what.force);
                let rejected = self.documents.reject(&path, scope).await;
                let rejected = rejected.map_err(|error| error.message_for_user())?;
                Ok(Some(Taken::Buffer(rejected.conflicts.len())))
            }
            Way::Buffer => {
                let texts = self.replacement(&what.turn, change).await;
                let texts = texts.ok_or(NOT_KEPT)?;
                let replaced = self.documents.replace_text(&path, texts, by).await;
                match replaced.map_err(|error| error.message_for_user())? {
                    Replaced::Done => Ok(Some(Taken::Buffer(0))),
                    Replaced::AsBefore => Err(AS_BEFORE.to_owned()),
                    Replaced::Contested => Err(CONTESTED.to_owned()),
                }
            }
        }
    }

    /// Returns the texts of a file after and before a change.
    async fn replacement(&self, turn: &TurnRef, change: &FileChange) -> Option<(Vec<u8>, Vec<u8>)> {
        let base = content(&self.checkpoints, &turn.root, change.after.as_ref()?).await?;
        let target = content(&self.checkpoints, &turn.root, change.before.as_ref()?).await?;
        Some((base, target))
    }
}

/// Everything that an agent did in a turn, or only what it certainly did.
fn turn_of(by: Author, is_certain: bool) -> ChangeScope {
    let (session, turn) = (Some(by.session), Some(by.turn));
    let certainty = if is_certain { Certainty::Certain } else { Certainty::Any };
    ChangeScope { session, turn, certainty, has_kept: true, ..ChangeScope::default() }
}

/// What has been done, or is to be done, to a path.
enum Taken {
    /// The buffer was changed; how many places stay.
    Buffer(usize),
    /// The file is to be changed.
    File(Box<Restore>),
}

/// Returns the content of a file or link; `None` if it is not kept.
pub(super) async fn content(
    checkpoints: &Checkpoints,
    root: &Path,
    state: &State,
) -> Option<Vec<u8>> {
    checkpoints.content(root.to_owned(), state.content?).await.ok()
}
