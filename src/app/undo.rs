//! Takes back what a turn has changed, or brings it back: plans it, then changes buffers as one undo step each, then files.
//! What others have changed since stays. An undo is kept as a turn, so that it can be undone.

use super::changed_paths::ChangedPaths;
use super::undo_folders::keep_what_is_not_empty;
use super::unkept::Unkept;
use crate::core::messages::checkpoint::{
    PlannedAction, PlannedFile, TurnRef, UndoOutcome, UndoPlan, UndoTarget,
};
use crate::core::messages::review::{Certainty, ChangeAuthor, ChangeScope};
use crate::documents::{Documents, Replaced, Without};
use crate::host::checkpoints::Checkpoints;
use crate::host::checkpoints::entry::{FileChange, Kind, State};
use crate::host::checkpoints::ids::TurnId;
use crate::host::checkpoints::restore::Restore;
use crate::host::checkpoints::tree_path::TreePath;
use crate::host::checkpoints::turns::{Correction, Side, Turn, TurnAbout, TurnSummary};
use crate::session::author::Author;
use crate::session::ids::ToolCallId;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long an undo waits until the folder has been looked at.
const BEGIN_LIMIT: Duration = Duration::from_secs(60);

/// Why a path is left alone that changed while no tool call ran.
const NOT_CERTAIN: &str = "it changed while no tool call ran, so you may have done it; \
                           :RatUndo! undoes it, too";
/// Why a path is left alone that others have deleted.
const DELETED: &str = "deleted since";
/// Why a path is left alone that has nothing of the turn any more.
const AS_BEFORE: &str = "already as before the turn";

/// Why a path is left alone that changed during the turn, but not by what is known of the agent: all of it was in conflict, say.
const NOT_THE_AGENTS: &str = "nothing of what changed there is certainly the agent's";

/// Why a path is left alone in which nothing can be merged.
const CONTESTED: &str = "the same lines have changed since";

/// Why a path is left alone whose content before the turn is not there.
const NOT_KEPT: &str = "its content is not kept";

/// What undoing needs.
#[derive(Debug)]
pub(super) struct Undo {
    pub(super) checkpoints: Arc<Checkpoints>,
    pub(super) documents: Arc<Documents>,
    pub(super) changed: Arc<ChangedPaths>,
    /// The turns of this program.
    pub(super) authors: Arc<Mutex<HashMap<TurnRef, Author>>>,
    pub(super) unkept: Arc<Unkept>,
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

impl Undo {
    /// Plans to undo or redo a turn in one of these folders; otherwise says why that is not possible.
    pub(super) async fn plan(
        &self,
        roots: &[PathBuf],
        target: UndoTarget,
        force: bool,
    ) -> Result<UndoPlan, String> {
        let (reference, redoes) = self.find(roots, target).await?;
        let turn = self.turn(&reference).await?;
        let mut files = Vec::new();
        for change in &turn.changes {
            let way = self.way(&reference, change, redoes.is_some(), force).await;
            let path = change.path.under(&reference.root);
            let action = match way {
                Way::Leave(why) => PlannedAction::Leave(why),
                Way::Reject { conflicts, is_exact: false } => PlannedAction::Merge(conflicts),
                Way::Merge => PlannedAction::Merge(0),
                _ => match (&change.before, &change.after) {
                    (None, Some(_)) => PlannedAction::Delete,
                    (Some(_), None) => PlannedAction::Create,
                    (Some(before), Some(after)) if before.kind != after.kind => {
                        let (now, before) = (word(after.kind), word(before.kind));
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
        let (root, changes) = (&reference.root, &turn.changes);
        keep_what_is_not_empty(&self.checkpoints, root, changes, &mut files).await;
        let TurnSummary { session, prompt, time, coverage, .. } = turn.summary;
        Ok(UndoPlan {
            turn: reference,
            redoes,
            force,
            session: session.as_str().into(),
            prompt,
            time,
            files,
            not_covered: coverage.not_kept + coverage.unreadable,
            is_late: coverage.is_late,
        })
    }

    async fn turn(&self, turn: &TurnRef) -> Result<Turn, String> {
        let id = turn.id.parse::<TurnId>().map_err(|error| error.to_string())?;
        let found = self.checkpoints.turn(turn.root.clone(), id).await;
        found.map_err(|error| error.to_string())
    }

    /// Decides how a path gets back what it was before a change.
    async fn way(&self, turn: &TurnRef, change: &FileChange, is_redo: bool, force: bool) -> Way {
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
        // A buffer that outlived its file has unsaved changes, which the file's return does not touch.
        if loaded.is_some() && is_as_left && change.after.is_none() {
            let is_kept = self.is_kept(turn, change).await;
            return if is_kept { Way::Disk } else { Way::Leave(NOT_KEPT.to_owned()) };
        }
        if let Some(without) = without {
            if without.hunks == 0 {
                let why = if without.conflicts > 0 { CONTESTED } else { AS_BEFORE };
                return Way::Leave(why.to_owned());
            }
            let is_exact = self.is_exact(turn, change, &without).await;
            return if is_exact && is_as_left && loaded.is_none() && !is_shared {
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
                    Ok(Replaced::AsBefore) => Way::Leave(AS_BEFORE.to_owned()),
                    Ok(Replaced::Contested) => Way::Leave(CONTESTED.to_owned()),
                    Err(error) => Way::Leave(error.message_for_user()),
                },
                None => Way::Leave(NOT_KEPT.to_owned()),
            };
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
            Ok(_) => Way::Leave("it has changed since".to_owned()),
        }
    }

    /// Whether what a path was before a change is there.
    async fn is_kept(&self, turn: &TurnRef, change: &FileChange) -> bool {
        match &change.before {
            Some(before) if matches!(before.kind, Kind::File | Kind::Symlink) => {
                content(&self.checkpoints, &turn.root, before).await.is_some()
            }
            _ => true,
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

    /// Carries out a plan.
    pub(super) async fn carry_out(&self, plan: &UndoPlan) -> Result<UndoOutcome, String> {
        let turn = self.turn(&plan.turn).await?;
        let root = &plan.turn.root;
        let start = self.checkpoints.begin(root.clone(), Instant::now() + BEGIN_LIMIT).await;
        let start = start.map_err(|error| error.to_string())?;
        let by = self.redone_authors(plan).await;
        let mut outcome = UndoOutcome::default();
        let author = self.authors.lock().get(&plan.turn).cloned();
        let (mut in_buffers, mut files) = (Vec::new(), Vec::new());
        let mut rejecting = HashSet::new();
        for change in &turn.changes {
            let way = self.way(&plan.turn, change, plan.redoes.is_some(), plan.force).await;
            if matches!(way, Way::Reject { .. } | Way::Buffer) {
                in_buffers.push((way, change));
                continue;
            }
            if matches!(way, Way::DiskRejecting) {
                rejecting.insert(change.path.clone());
            }
            match self.take(way, plan, change, None).await {
                Ok(Some(Taken::File(restore))) => files.push(*restore),
                Ok(_) => {}
                Err(why) => outcome.left.push((change.path.under(root), why)),
            }
        }
        if !in_buffers.is_empty() && !files.is_empty() {
            let tried = self.checkpoints.room_for(root.clone(), files.clone()).await;
            tried.map_err(|error| error.to_string())?;
        }
        let corrections = self.take_in_buffers(in_buffers, plan, &by, &mut outcome).await;
        let TurnSummary { id, agent, session, prompt, .. } = turn.summary.clone();
        let about = TurnAbout { agent, session, prompt, undoes: Some(id), corrections };
        let paths: HashSet<TreePath> = turn.changes.iter().map(|it| it.path.clone()).collect();
        let is_of_turn = Box::new(move |change: &mut FileChange| paths.contains(&change.path));
        match self.checkpoints.undo(start, files, about, is_of_turn).await {
            Ok(undone) => {
                outcome.not_kept = undone.not_logged;
                let left = undone.restored.left.into_iter();
                outcome.left.extend(left.map(|it| (it.path.under(root), it.why.to_string())));
                for below in undone.restored.done {
                    let path = below.under(root);
                    let undone = author.as_ref().filter(|_| rejecting.contains(&below));
                    let followed = self.documents.was_restored(&path, by.get(&below), undone).await;
                    if let Some(change) = turn.changes.iter().find(|change| change.path == below) {
                        let is_text = followed.is_ok()
                            && !self.documents.is_deleted_under_buffer(&path).await;
                        let redone_by = by.get(&below);
                        self.rows_follow(root, change, redone_by, author.as_ref(), is_text);
                    }
                    if let Err(error) = followed {
                        tracing::debug!(path = %path.display(), %error, "a restored file was not followed");
                    }
                    outcome.changed.push(path);
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

    /// Changes buffers. Returns what of that is not on disk.
    async fn take_in_buffers(
        &self,
        ways: Vec<(Way, &FileChange)>,
        plan: &UndoPlan,
        by: &HashMap<TreePath, Author>,
        outcome: &mut UndoOutcome,
    ) -> Vec<Correction> {
        let mut corrections = Vec::new();
        for (way, change) in ways {
            let path = change.path.under(&plan.turn.root);
            let before = self.documents.buffer_bytes(&path).await.ok().flatten();
            match self.take(way, plan, change, by.get(&change.path)).await {
                Ok(Some(Taken::Buffer(conflicts))) => {
                    outcome.conflicts += conflicts;
                    self.conflicts_follow(&path, plan, by.get(&change.path)).await;
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
    async fn conflicts_follow(&self, path: &Path, plan: &UndoPlan, redone_by: Option<&Author>) {
        let undone = self.authors.lock().get(&plan.turn).cloned().filter(|_| redone_by.is_none());
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
            let redone = FileChange { before, after, ..change.clone() };
            let by = ChangeAuthor { by: by.clone(), is_certain: true };
            self.changed.changed(root, &redone, is_text, &by);
        }
        self.changed.restored(&change.path.under(root), change.before.clone(), undone);
    }

    /// Returns who had made the changes that a redo brings back, if that was in this program.
    async fn redone_authors(&self, plan: &UndoPlan) -> HashMap<TreePath, Author> {
        let Some(redone) = &plan.redoes else { return HashMap::new() };
        let Some(by) = self.authors.lock().get(redone).cloned() else { return HashMap::new() };
        let changes = self.turn(redone).await.map(|turn| turn.changes).unwrap_or_default();
        let authors = changes.into_iter().map(|change| {
            let tool_call = change.by.as_deref().map(ToolCallId::from);
            (change.path, Author { tool_call, ..by.clone() })
        });
        authors.collect()
    }

    /// Changes a buffer, or returns what is to be done on disk. `None` if there is nothing to do.
    async fn take(
        &self,
        way: Way,
        plan: &UndoPlan,
        change: &FileChange,
        by: Option<&Author>,
    ) -> Result<Option<Taken>, String> {
        let path = change.path.under(&plan.turn.root);
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
                let bytes = self.merged(&plan.turn, change).await;
                let bytes = bytes.ok_or(CONTESTED)?;
                let now = self.state(&plan.turn, &change.path).await?;
                file(now, change.before.clone(), Some(bytes))
            }
            Way::Reject { .. } => {
                let author = self.authors.lock().get(&plan.turn).cloned();
                let Some(author) = author else { return Ok(None) };
                let scope = turn_of(author, change.shared && !plan.force);
                let rejected = self.documents.reject(&path, scope).await;
                let rejected = rejected.map_err(|error| error.message_for_user())?;
                Ok(Some(Taken::Buffer(rejected.conflicts.len())))
            }
            Way::Buffer => {
                let texts = self.replacement(&plan.turn, change).await;
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

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Symlink => "symbolic link",
        Kind::Folder => "folder",
        Kind::Other => "special file",
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
