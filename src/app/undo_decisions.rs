//! Decides for each path how it gets back what it was before a change, or why it is left alone. Changes nothing.

use super::changed_paths::kind_name;
use super::reversal::{
    AS_BEFORE, CHANGED, CONTESTED, DELETED, NOT_CERTAIN, NOT_KEPT, NOT_THE_AGENTS, ONLY_IN_BUFFER,
    Reversal, Reversals, UNKNOWN, content, turn_of,
};
use super::undo_folders::{keep_what_is_not_empty, leave_what_has_no_folder};
use super::undo_way::{Way, digest};
use crate::core::messages::checkpoint::{PlannedAction, PlannedFile, TurnRef};
use crate::documents::{Replaced, Without};
use crate::host::checkpoints::entry::{FileChange, Kind, State};
use crate::host::checkpoints::tree_path::TreePath;
use std::path::Path;

impl Reversals {
    /// Plans what happens to each path.
    pub(super) async fn planned(&self, what: &Reversal) -> Vec<PlannedFile> {
        self.ways(what).await.1
    }

    /// Decides how each path gets back what it was, and describes it.
    pub(super) async fn ways(&self, what: &Reversal) -> (Vec<Way>, Vec<PlannedFile>) {
        let (root, changes) = (&what.turn.root, &what.changes);
        let mut ways = Vec::new();
        for change in changes {
            if what.by(&change.path).is_some() {
                self.settle(&change.path.under(root)).await;
            }
            ways.push(self.way(what, change).await);
        }
        leave_what_has_no_folder(changes, &mut ways);
        let planned = changes.iter().zip(&ways).map(|(change, way)| {
            let path = change.path.under(root);
            let becomes = way.digest(change.before.as_ref());
            let action = match way {
                Way::Leave(why) => PlannedAction::Leave(why.clone()),
                Way::Reject { conflicts, is_exact: false, .. }
                | Way::DiskRejecting { conflicts: conflicts @ 1.. } => {
                    PlannedAction::Merge(*conflicts)
                }
                Way::Merge(_) => PlannedAction::Merge(0),
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
            PlannedFile { path, is_folder, action, becomes }
        });
        let mut files: Vec<PlannedFile> = planned.collect();
        keep_what_is_not_empty(&self.checkpoints, root, changes, &mut files).await;
        (ways, files)
    }

    /// What others have made of a file must not count as part of the change that is brought in.
    async fn settle(&self, path: &Path) {
        if let Err(error) = self.documents.follow_as_nobodys(path).await {
            tracing::debug!(path = %path.display(), %error, "what others have changed is not followed");
        }
    }

    /// Decides how a path gets back what it was before a change.
    pub(super) async fn way(&self, what: &Reversal, change: &FileChange) -> Way {
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
        let (now, [is_as_before, is_as_left]) = self.compared(turn, change).await;
        if loaded != Some(true) && is_as_before && change.before != change.after {
            return Way::Leave(AS_BEFORE.to_owned());
        }
        if matches!(now, Ok(None)) && change.after.is_some() {
            return Way::Leave(DELETED.to_owned());
        }
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
                return Way::DiskRejecting { conflicts: 0 };
            }
        }
        if let Some(without) = without.filter(|_| !is_contradicted) {
            let is_on_disk = is_as_left && loaded.is_none() && !is_shared;
            return self.way_of_record(turn, change, &without, (is_on_disk, as_before)).await;
        }
        let both = change.before.as_ref().zip(change.after.as_ref());
        let has_new_content = both.is_some_and(|(before, after)| before.content != after.content);
        if is_text && loaded.is_some() && has_new_content {
            return match self.replacement(turn, change).await {
                Some(texts) => match self.documents.can_replace_text(&path, texts).await {
                    Ok(Replaced::Done) => {
                        let bytes = self.documents.buffer_bytes(&path).await.ok().flatten();
                        Way::Buffer { digest: digest(&bytes) }
                    }
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
        if now.is_ok() && loaded == Some(true) {
            return Way::Leave(
                "its buffer has unsaved changes: save or reload it first".to_owned(),
            );
        }
        match now {
            Ok(_) if is_as_left => self.way_as_left(what, change).await,
            Ok(now) => self.way_on_disk(turn, change, now, is_text && both.is_some()).await,
            Err(why) => Way::Leave(why),
        }
    }

    /// Returns what a path is now, and whether that is what it was before a change or after it.
    async fn compared(
        &self,
        turn: &TurnRef,
        change: &FileChange,
    ) -> (Result<Option<State>, String>, [bool; 2]) {
        let states = [change.before.clone(), change.after.clone()];
        match self.checkpoints.compare(turn.root.clone(), change.path.clone(), states).await {
            Ok((now, is_now)) => (Ok(now), is_now),
            Err(error) => (Err(error.to_string()), [false; 2]),
        }
    }

    /// Decides on a file of which it is recorded who has changed what.
    async fn way_of_record(
        &self,
        turn: &TurnRef,
        change: &FileChange,
        without: &Without,
        (is_on_disk, as_before): (bool, &str),
    ) -> Way {
        // Whatever has become of the turn's lines meanwhile: the file is again as it left it.
        let is_changed = change.before != change.after;
        if is_on_disk && is_changed && self.is_kept(turn, change).await {
            return Way::DiskRejecting { conflicts: without.conflicts };
        }
        if without.hunks == 0 {
            let why = if without.conflicts > 0 { CONTESTED } else { as_before };
            return Way::Leave(why.to_owned());
        }
        let is_exact = self.is_exact(turn, change, without).await;
        if is_on_disk && is_exact {
            return Way::DiskRejecting { conflicts: 0 };
        }
        let lines: Vec<&str> = without.text.lines().collect();
        let digest = digest(&(lines, without.exists));
        Way::Reject { conflicts: without.conflicts, is_exact, digest }
    }

    /// Decides on a path that nobody has open and that is as the turn left it.
    async fn way_as_left(&self, what: &Reversal, change: &FileChange) -> Way {
        let is_redo = what.brought_in.is_some();
        // What an undo did not change is redone by doing nothing.
        if change.before == change.after && !is_redo {
            Way::Leave(NOT_THE_AGENTS.to_owned())
        } else if self.is_kept(&what.turn, change).await {
            Way::Disk
        } else {
            Way::Leave(NOT_KEPT.to_owned())
        }
    }

    /// Decides on a path that nobody has open and that has changed since, by what is there now.
    async fn way_on_disk(
        &self,
        turn: &TurnRef,
        change: &FileChange,
        now: Option<State>,
        is_text: bool,
    ) -> Way {
        if !(is_text && now.is_some_and(|now| now.kind == Kind::File)) {
            return Way::Leave(CHANGED.to_owned());
        }
        match self.merged(turn, change).await {
            Some(bytes) => Way::Merge(bytes),
            None => Way::Leave(CONTESTED.to_owned()),
        }
    }

    /// Whether what a path was before a change is there.
    pub(super) async fn is_kept(&self, turn: &TurnRef, change: &FileChange) -> bool {
        match &change.before {
            Some(before) if matches!(before.kind, Kind::File | Kind::Symlink) => {
                content(&self.checkpoints, &turn.root, before).await.is_some()
            }
            Some(before) => before.kind == Kind::Folder,
            None => true,
        }
    }

    /// Whether rejecting what is pending gives the file exactly what it was.
    pub(super) async fn is_exact(
        &self,
        turn: &TurnRef,
        change: &FileChange,
        without: &Without,
    ) -> bool {
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
    pub(super) async fn agrees(
        &self,
        turn: &TurnRef,
        change: &FileChange,
        without: &Without,
    ) -> bool {
        let Some(found) = change.found.as_ref().or(change.before.as_ref()) else { return true };
        let Some(found) = content(&self.checkpoints, &turn.root, found).await else { return true };
        let path = change.path.under(&turn.root);
        self.documents.agrees(&path, without, found).await.unwrap_or(false)
    }

    pub(super) async fn state(
        &self,
        turn: &TurnRef,
        path: &TreePath,
    ) -> Result<Option<State>, String> {
        let states = self.checkpoints.states(turn.root.clone(), vec![path.clone()]).await;
        let states = states.map_err(|error| error.to_string())?;
        Ok(states.into_iter().next().flatten())
    }

    /// Returns the bytes of a file without a change, and with what others have changed since.
    pub(super) async fn merged(&self, turn: &TurnRef, change: &FileChange) -> Option<Vec<u8>> {
        let (base, target) = self.replacement(turn, change).await?;
        let path = change.path.under(&turn.root);
        self.documents.merged_bytes(&path, base, target).await.ok().flatten()
    }
}
