//! Finds the turn that an undo or redo is about. It changes nothing.

use super::reversal::Reversals;
use crate::core::messages::checkpoint::{TurnRef, UndoTarget};
use crate::host::checkpoints::ids::TurnId;
use crate::host::checkpoints::turns::TurnSummary;
use std::collections::HashSet;
use std::path::PathBuf;

/// Why there is nothing to undo although turns are kept.
const ALL_UNDONE: &str =
    "Nothing to undo: all turns in this folder are undone. :RatRedo brings the last one back.";

/// The turn that an undo or redo is about.
#[derive(Debug)]
pub(super) struct Target {
    /// The turn whose changes are to be taken back.
    pub(super) turn: TurnRef,
    /// The one that a redo brings back.
    pub(super) redoes: Option<TurnRef>,
    /// Whether it has been undone, but for what could not be changed then.
    pub(super) is_retried: bool,
}

/// Whether some of a turn could not be changed when it was undone last. `summaries` are the newest first.
fn has_failed(summaries: &[TurnSummary], undone: &HashSet<TurnId>, turn: TurnId) -> bool {
    let mut undos = summaries.iter().filter(|undo| undo.undoes == Some(turn));
    undos.find(|undo| !undone.contains(&undo.id)).is_some_and(|undo| undo.failed > 0)
}

impl Reversals {
    /// Returns the turn whose changes are to be taken back. Those in `skipped` do not count.
    pub(super) async fn find(
        &self,
        roots: &[PathBuf],
        target: &UndoTarget,
        skipped: &[TurnRef],
    ) -> Result<Target, String> {
        if let UndoTarget::Turn(turn) = target {
            return Ok(Target { turn: turn.clone(), redoes: None, is_retried: false });
        }
        let is_redo = *target == UndoTarget::LastUndone;
        if let Some(why) = self.unkept.why(roots).filter(|_| !is_redo) {
            return Err(format!(
                "the last turn is not kept and cannot be undone: {why}. :RatTurns lists others."
            ));
        }
        let mut is_again = false;
        let mut last: Option<(PathBuf, TurnSummary)> = None;
        for root in roots {
            let summaries = self.checkpoints.turns(root.clone()).await;
            let undone = super::undone::undone(&summaries);
            let is_ordinary =
                |id: TurnId| summaries.iter().any(|turn| turn.id == id && turn.undoes.is_none());
            let is_skipped = |turn: &TurnSummary| {
                skipped.iter().any(|it| it.root == *root && it.id == turn.id.to_string())
            };
            let is_wanted = |turn: &&TurnSummary| match turn.undoes {
                None if is_redo || is_skipped(turn) => false,
                None => !undone.contains(&turn.id) || has_failed(&summaries, &undone, turn.id),
                // What redoes an undo is one itself.
                Some(of) => is_redo && !undone.contains(&turn.id) && is_ordinary(of),
            };
            let newest = summaries.iter().find(is_wanted);
            if newest.is_some_and(|turn| last.as_ref().is_none_or(|(_, it)| it.time < turn.time)) {
                let is_retried = newest.is_some_and(|turn| !is_redo && undone.contains(&turn.id));
                last = newest.map(|turn| (root.clone(), turn.clone()));
                is_again = is_retried;
            }
        }
        let Some((root, turn)) = last else { return Err(self.nothing(roots, is_redo).await) };
        let reference = |id: TurnId| TurnRef { root: root.clone(), id: id.to_string() };
        let (redoes, is_retried) = (turn.undoes.map(reference), is_again);
        Ok(Target { turn: reference(turn.id), redoes, is_retried })
    }

    /// Says why there is nothing to undo or redo.
    async fn nothing(&self, roots: &[PathBuf], is_redo: bool) -> String {
        if is_redo {
            return "Nothing to redo".to_owned();
        }
        for root in roots {
            if let Err(error) = self.checkpoints.recovered(root.clone()).await {
                return format!("Nothing to undo: {error}");
            }
        }
        for root in roots {
            let summaries = self.checkpoints.turns(root.clone()).await;
            if !super::undone::undone(&summaries).is_empty() {
                return ALL_UNDONE.to_owned();
            }
        }
        "Nothing to undo: no turn has changed files in this folder".to_owned()
    }
}
