//! Puts paths back to what they were before changes, or brings changes in: changes buffers as one undo step each, then files.
//! What others have changed since stays. That is kept as a turn, so that it can be undone.

use super::changed_paths::ChangedPaths;
use super::undo_modes::modes;
use super::undo_way::Way;
use super::unkept::Unkept;
use crate::core::messages::checkpoint::{PlannedFile, TurnRef, UndoOutcome};
use crate::core::messages::review::{Certainty, ChangeAuthor, ChangeScope};
use crate::documents::{Documents, Replaced, Undone};
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
pub(super) const NOT_CERTAIN: &str = "it changed while no tool call ran, so you may have done it; \
                           :RatUndo! undoes it, too";
/// Why a path is left alone that others have deleted.
pub(super) const DELETED: &str = "deleted since";
/// Why a path is left alone that has nothing of the turn any more.
pub(super) const AS_BEFORE: &str = "already as before the turn";

/// Why a path is left alone that the user has undone by themselves.
pub(super) const ONLY_IN_BUFFER: &str = "undone in its buffer already, which is not saved";

/// Why a path is left alone that changed during the turn, but not by what is known of the agent: all of it was in conflict, say.
pub(super) const NOT_THE_AGENTS: &str = "nothing of what changed there is certainly the agent's";

/// Why a path is left alone that is not as the turn left it.
pub(super) const CHANGED: &str = "it has changed since";

/// Why a path is left alone in which nothing can be merged.
pub(super) const CONTESTED: &str = "the same lines have changed since";

/// Why a path is left alone whose content before the turn is not there.
pub(super) const NOT_KEPT: &str = "its content is not kept";

/// Why a path is left alone of which nobody can tell whether it is as the turn left it.
pub(super) const UNKNOWN: &str =
    "what the turn left there is not kept, as it is too large or ignored by git";

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
    pub(super) fn by(&self, path: &TreePath) -> Option<&Author> {
        self.brought_in.as_ref()?.get(path)
    }
}

/// A reversal that was not carried out: nothing was changed.
#[derive(Debug)]
pub(super) enum NotReversed {
    /// It would do something else by now than what was planned: this.
    Changed(Vec<PlannedFile>),
    Failed(String),
}

impl From<String> for NotReversed {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl Reversals {
    /// Carries a reversal out if that still is what was planned, and keeps it as a turn.
    pub(super) async fn reverse(
        &self,
        what: &Reversal,
        about: TurnAbout,
        is_planned: impl FnOnce(&[PlannedFile]) -> bool,
    ) -> Result<UndoOutcome, NotReversed> {
        let root = &what.turn.root;
        let start = self.checkpoints.begin(root.clone(), Instant::now() + BEGIN_LIMIT).await;
        let start = start.map_err(|error| error.to_string())?;
        let (ways, now) = self.ways(what).await;
        if !is_planned(&now) {
            return Err(NotReversed::Changed(now));
        }
        let mut outcome = UndoOutcome::default();
        let (mut in_buffers, mut files) = (Vec::new(), Vec::new());
        let mut rejecting = HashMap::new();
        for (way, change) in ways.into_iter().zip(&what.changes) {
            if matches!(way, Way::Reject { .. } | Way::Buffer { .. }) {
                in_buffers.push((way, change));
                continue;
            }
            match way {
                Way::DiskRejecting { conflicts } => {
                    rejecting.insert(change.path.clone(), conflicts == 0);
                    outcome.conflicts += conflicts;
                }
                Way::Merge(_) if what.brought_in.is_none() => {
                    rejecting.insert(change.path.clone(), true);
                }
                _ => {}
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
        // What is written to another name of a file would change one that goes.
        in_buffers.sort_by_key(|(_, change)| change.before.is_some());
        let of_buffers: Vec<&FileChange> = in_buffers.iter().map(|(_, change)| *change).collect();
        let planned = outcome.left.len();
        let corrections = self.take_in_buffers(in_buffers, what, &mut outcome).await;
        let is_changed = |change: &&FileChange| outcome.changed.contains(&change.path.under(root));
        let of_buffers: Vec<_> = of_buffers.into_iter().filter(is_changed).collect();
        files.extend(modes(&self.checkpoints, root, &of_buffers).await);
        let is_failed =
            |(_, why): &&(_, String)| ![AS_BEFORE, CONTESTED, NOT_KEPT].contains(&&**why);
        let failed = outcome.left.iter().skip(planned).filter(is_failed).count();
        let about = TurnAbout { failed, corrections, ..about };
        let paths: HashSet<TreePath> = what.changes.iter().map(|it| it.path.clone()).collect();
        let is_of_turn = Box::new(move |change: &mut FileChange| paths.contains(&change.path));
        let found: HashMap<TreePath, Option<State>> =
            files.iter().map(|it| (it.path.clone(), it.expected.clone())).collect();
        match self.checkpoints.undo(start, files, about, is_of_turn).await {
            Ok(undone) => {
                outcome.not_kept = undone.not_logged;
                let left = undone.restored.left.into_iter();
                outcome.left.extend(left.map(|it| (it.path.under(root), it.why.to_string())));
                for below in undone.restored.done {
                    let before = found.get(&below).and_then(Option::as_ref);
                    self.follow(what, (&below, before), rejecting.get(&below).copied()).await;
                    let path = below.under(root);
                    if !outcome.changed.contains(&path) {
                        outcome.changed.push(path);
                    }
                }
            }
            Err(error) if outcome.changed.is_empty() => return Err(error.to_string().into()),
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
    async fn tell_before(
        &self,
        what: &Reversal,
        (path, before): (&TreePath, Option<&State>),
        by: &Author,
    ) {
        let before = match before {
            None => None,
            Some(state) if state.kind == Kind::File => {
                match content(&self.checkpoints, &what.turn.root, state).await {
                    None => return,
                    bytes => bytes,
                }
            }
            Some(_) => return,
        };
        let path = path.under(&what.turn.root);
        if let Err(error) = self.documents.set_before(&path, before, by, false).await {
            tracing::debug!(path = %path.display(), %error, "what a file was is not known");
        }
    }

    /// Has the document and the rows of a review follow a file that was changed on disk, and was `before` until then. `rejected` is
    /// given if the turn was rejected by that: whether all of it.
    async fn follow(
        &self,
        what: &Reversal,
        (below, before): (&TreePath, Option<&State>),
        rejected: Option<bool>,
    ) {
        let path = below.under(&what.turn.root);
        let author = self.authors.lock().get(&what.turn).cloned();
        let by = what.by(below);
        let undone = author.clone().zip(rejected).map(|(by, is_whole)| Undone { by, is_whole });
        let change = what.changes.iter().find(|change| change.path == *below);
        if let Some(by) = by {
            self.tell_before(what, (below, before), by).await;
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
            Way::Disk | Way::DiskRejecting { .. } => {
                file(change.after.clone(), change.before.clone(), None)
            }
            Way::Merge(bytes) => {
                let now = self.state(&what.turn, &change.path).await?;
                // A mode that somebody has set since stays.
                let is_others =
                    |now: &State| change.after.as_ref().is_some_and(|it| it.mode != now.mode);
                let mode = now.as_ref().filter(|now| is_others(now)).map(|now| now.mode);
                let before = change.before.clone();
                let target = before.map(|it| State { mode: mode.unwrap_or(it.mode), ..it });
                file(now, target, Some(bytes))
            }
            Way::Reject { .. } => {
                self.separate(&what.turn, change).await?;
                let author = self.authors.lock().get(&what.turn).cloned();
                let Some(author) = author else { return Ok(None) };
                let scope = turn_of(author, change.shared && !what.force);
                let rejected = self.documents.reject(&path, scope).await;
                let rejected = rejected.map_err(|error| error.message_for_user())?;
                Ok(Some(Taken::Buffer(rejected.conflicts.len())))
            }
            Way::Buffer { .. } => {
                self.separate(&what.turn, change).await?;
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

    /// Gives a path a file of its own if the change has made it a name of a file that is elsewhere, too.
    async fn separate(&self, turn: &TurnRef, change: &FileChange) -> Result<(), String> {
        let before = change.found.as_ref().or(change.before.as_ref());
        let now = self.state(turn, &change.path).await?;
        if !now.is_some_and(|now| now.is_name_of_another(before)) {
            return Ok(());
        }
        let separated = self.documents.separate(&change.path.under(&turn.root)).await;
        separated.map_err(|error| error.message_for_user())
    }

    /// Returns the texts of a file after and before a change.
    pub(super) async fn replacement(
        &self,
        turn: &TurnRef,
        change: &FileChange,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let base = content(&self.checkpoints, &turn.root, change.after.as_ref()?).await?;
        let target = content(&self.checkpoints, &turn.root, change.before.as_ref()?).await?;
        Some((base, target))
    }
}

/// Everything that an agent did in a turn, or only what it certainly did.
pub(super) fn turn_of(by: Author, is_certain: bool) -> ChangeScope {
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
