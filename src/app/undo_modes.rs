//! Gives files whose buffers were changed the permissions that they are to have, since a buffer knows none.

use crate::host::checkpoints::Checkpoints;
use crate::host::checkpoints::entry::{FileChange, Kind, State};
use crate::host::checkpoints::restore::Restore;
use std::path::Path;

/// Returns what is to be done to the files, of which the texts are again those before the changes.
pub(super) async fn modes(
    checkpoints: &Checkpoints,
    root: &Path,
    changes: &[&FileChange],
) -> Vec<Restore> {
    let mut files = Vec::new();
    for change in changes {
        let (Some(before), Some(after)) = (&change.before, &change.after) else { continue };
        if before.mode == after.mode {
            continue;
        }
        let states = checkpoints.states(root.to_owned(), vec![change.path.clone()]).await;
        let now = states.ok().and_then(|states| states.into_iter().next().flatten());
        let Some(now) = now.filter(|now| now.kind == Kind::File && now.mode == after.mode) else {
            continue;
        };
        let target = Some(State { mode: before.mode, ..now.clone() });
        let path = change.path.clone();
        files.push(Restore { path, expected: Some(now), target, bytes: None });
    }
    files
}
