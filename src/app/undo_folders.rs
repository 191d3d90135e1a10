//! Finds out which folders an undo cannot remove, since something else is in them. It changes nothing.

use crate::core::messages::checkpoint::{PlannedAction, PlannedFile};
use crate::host::checkpoints::Checkpoints;
use crate::host::checkpoints::entry::{FileChange, Kind};
use crate::host::checkpoints::restore::WhyLeft;
use crate::host::checkpoints::tree_path::TreePath;
use std::collections::HashSet;
use std::path::Path;

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
