//! Takes back what a turn has changed, or brings it back.

use super::reversal::{NotReversed, Reversal, Reversals};
use super::undo_target::Target;
use crate::core::messages::checkpoint::{
    PlannedAction, PlannedFile, TurnRef, UndoOutcome, UndoPlan, UndoTarget,
};
use crate::host::checkpoints::ids::TurnId;
use crate::host::checkpoints::tree_path::TreePath;
use crate::host::checkpoints::turns::{Turn, TurnAbout, TurnSummary};
use crate::session::author::Author;
use crate::session::ids::ToolCallId;
use std::collections::HashMap;
use std::path::PathBuf;

impl Reversals {
    /// Plans to undo or redo a turn in one of these folders; otherwise says why that is not possible.
    pub(super) async fn plan(
        &self,
        roots: &[PathBuf],
        target: UndoTarget,
        force: bool,
    ) -> Result<UndoPlan, String> {
        let mut skipped = Vec::new();
        let (reference, redoes, summary, files) = loop {
            let found = self.find(roots, &target, &skipped).await?;
            let Target { turn: reference, redoes, is_retried } = found;
            let Turn { summary, changes } = self.turn(&reference).await?;
            let brought_in = redoes.is_some().then(HashMap::new);
            let what = Reversal { turn: reference.clone(), changes, brought_in, force };
            let files = self.planned(&what).await;
            let is_left = |file: &PlannedFile| matches!(file.action, PlannedAction::Leave(_));
            if !is_retried || !files.iter().all(is_left) {
                break (reference, redoes, summary, files);
            }
            // The user has seen to what had failed.
            skipped.push(reference);
        };
        let TurnSummary { session, prompt, time, coverage, .. } = summary;
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
            is_again: false,
        })
    }

    async fn turn(&self, turn: &TurnRef) -> Result<Turn, String> {
        let id = turn.id.parse::<TurnId>().map_err(|error| error.to_string())?;
        let found = self.checkpoints.turn(turn.root.clone(), id).await;
        found.map_err(|error| error.to_string())
    }

    /// Carries out a plan, if it is still what would be done.
    pub(super) async fn carry_out(&self, plan: &UndoPlan) -> Result<UndoOutcome, NotReversed> {
        let Turn { summary, changes } = self.turn(&plan.turn).await?;
        let brought_in = match &plan.redoes {
            Some(redone) => Some(self.authors_of(redone).await),
            None => None,
        };
        let (turn, force) = (plan.turn.clone(), plan.force);
        let what = Reversal { turn, changes, brought_in, force };
        let TurnSummary { id, agent, session, prompt, .. } = summary;
        let corrections = Vec::new();
        let about = TurnAbout { agent, session, prompt, undoes: Some(id), failed: 0, corrections };
        self.reverse(&what, about, |now| now == plan.files).await
    }

    /// Returns who made the changes of a turn that is redone, if that was in this program.
    async fn authors_of(&self, redone: &TurnRef) -> HashMap<TreePath, Author> {
        let Some(by) = self.authors.lock().get(redone).cloned() else { return HashMap::new() };
        let changes = self.turn(redone).await.map(|turn| turn.changes).unwrap_or_default();
        let authors = changes.into_iter().map(|change| {
            let tool_call = change.by.as_deref().map(ToolCallId::from);
            (change.path, Author { tool_call, ..by.clone() })
        });
        authors.collect()
    }
}
