//! Finds the turn that an undo or redo is about. It changes nothing.

use super::reversal::Reversals;
use crate::core::messages::checkpoint::{TurnRef, UndoTarget};
use crate::host::checkpoints::ids::TurnId;
use crate::host::checkpoints::turns::TurnSummary;
use std::path::PathBuf;

/// Why there is nothing to undo although turns are kept.
const ALL_UNDONE: &str =
    "Nothing to undo: all turns in this folder are undone. :RatRedo brings the last one back.";

impl Reversals {
    /// Returns the turn whose changes are to be taken back, and the one that a redo brings back.
    pub(super) async fn find(
        &self,
        roots: &[PathBuf],
        target: UndoTarget,
    ) -> Result<(TurnRef, Option<TurnRef>), String> {
        if let UndoTarget::Turn(turn) = target {
            return Ok((turn, None));
        }
        let is_redo = target == UndoTarget::LastUndone;
        if let Some(why) = self.unkept.why(roots).filter(|_| !is_redo) {
            return Err(format!(
                "the last turn is not kept and cannot be undone: {why}. :RatTurns lists others."
            ));
        }
        let mut last: Option<(PathBuf, TurnSummary)> = None;
        for root in roots {
            let summaries = self.checkpoints.turns(root.clone()).await;
            let undone = super::undone::undone(&summaries);
            let is_ordinary =
                |id: TurnId| summaries.iter().any(|turn| turn.id == id && turn.undoes.is_none());
            let is_wanted = |turn: &&TurnSummary| match turn.undoes {
                None => !is_redo && !undone.contains(&turn.id),
                // What redoes an undo is one itself.
                Some(of) => is_redo && !undone.contains(&turn.id) && is_ordinary(of),
            };
            let newest = summaries.iter().find(is_wanted);
            if newest.is_some_and(|turn| last.as_ref().is_none_or(|(_, it)| it.time < turn.time)) {
                last = newest.map(|turn| (root.clone(), turn.clone()));
            }
        }
        let Some((root, turn)) = last else { return Err(self.nothing(roots, is_redo).await) };
        let reference = |id: TurnId| TurnRef { root: root.clone(), id: id.to_string() };
        Ok((reference(turn.id), turn.undoes.map(reference)))
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
