//! Which turns have been undone.

use crate::host::checkpoints::ids::TurnId;
use crate::host::checkpoints::turns::TurnSummary;
use std::collections::HashSet;

/// The turns that have been undone and not redone. `summaries` are the newest first.
pub(super) fn undone(summaries: &[TurnSummary]) -> HashSet<TurnId> {
    let mut undone = HashSet::new();
    for turn in summaries {
        if !undone.contains(&turn.id) {
            undone.extend(turn.undoes);
        }
    }
    undone
}
