//! Finds out which folders an undo cannot remove, since something else is in them, and what cannot come back, since
//! something else stays where its folder was. It changes nothing.

use super::undo_way::Way;
use crate::core::messages::checkpoint::{PlannedAction, PlannedFile};
use crate::host::checkpoints::Checkpoints;
use crate::host::checkpoints::entry::{FileChange, Kind};
use crate::host::checkpoints::restore::WhyLeft;
use crate::host::checkpoints::tree_path::TreePath;
use std::collections::HashSet;
use std::iter::successors;
use std::path::Path;

/// Told of a path that is left alone since its folder is no folder any more.
const NO_FOLDER: &str = "something else stays where its folder was";

/// Leaves what was in a folder in whose place something else stays. The ways are those of the changes.
pub(super) fn leave_what_has_no_folder(changes: &[FileChange], ways: &mut [Way]) {
    let stays = |(change, way): &(&FileChange, &mut Way)| {
        let is_folder = change.after.as_ref().is_none_or(|after| after.kind == Kind::Folder);
        matches!(way, Way::Leave(_)) && !is_folder
    };
    let stay = changes.iter().zip(&mut *ways).filter(stays);
    let stay: HashSet<TreePath> = stay.map(|(change, _)| change.path.clone()).collect();
    if stay.is_empty() {
        return;
    }
    for (change, way) in changes.iter().zip(ways).filter(|(change, _)| change.before.is_some()) {
        let above = |path: &TreePath| path.split().map(|(folder, _)| folder);
        if successors(above(&change.path), above).any(|folder| stay.contains(&folder)) {
            *way = Way::Leave(NO_FOLDER.to_owned());
        }
    }
}

/// Corrects a plan, whose files are those of the changes, where it would remove a folder that will not be empty.
pub(super) async fn keep_what_is_not_empty(
    checkpoints: &Checkpoints,
    root: &Path,
    changes: &[FileChange],
    files: &mut [PlannedFile],
) {
    let mut planned: Vec<_> = changes.iter().zip(files).collect();
    // What is in a folder comes before it.
    planned.sort_by(|(one, _), (other, _)| other.path.cmp(&one.path));
    let mut removed: HashSet<TreePath> = HashSet::new();
    for (change, file) in planned {
        let is_removed =
            matches!(file.action, PlannedAction::Delete | PlannedAction::Replace { .. });
        if !is_removed {
            continue;
        }
        if change.after.as_ref().is_some_and(|after| after.kind == Kind::Folder) {
            let names = checkpoints.names_in(root.to_owned(), change.path.clone()).await;
            if names.is_ok_and(|names| names.iter().any(|name| !removed.contains(name))) {
                file.action = PlannedAction::Leave(WhyLeft::NotEmpty.to_string());
                continue;
            }
        }
        if file.action == PlannedAction::Delete {
            removed.insert(change.path.clone());
        }
    }
}
