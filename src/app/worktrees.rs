//! Runs the effects on worktrees.

use super::checkpoints::Turns;
use super::events::Events;
use super::reversal::NotReversed;
use crate::core::messages::event::Event;
use crate::core::messages::worktree::{MergePlan, WorktreeCommand};
use crate::host::worktree::{self, changes};

/// Starts what a command asks for. Merges are kept among the turns.
pub(super) fn run(turns: &Turns, events: &Events, command: WorktreeCommand) {
    let turns = turns.clone();
    events.spawn(async move {
        match command {
            WorktreeCommand::Create { request, cwd, below, agent } => {
                let created = worktree::create(&cwd, &below, &agent).await;
                Event::WorktreeCreated(request, created)
            }
            WorktreeCommand::Plan(request) => {
                let chat = request.by.session.chat;
                Event::MergePlanned(chat, turns.reversals().plan_merge(request).await)
            }
            WorktreeCommand::Merge(plan) => {
                let chat = plan.request.by.session.chat;
                match turns.reversals().merge(&plan).await {
                    Err(NotReversed::Changed(files)) => {
                        Event::MergePlanned(chat, Ok(MergePlan { files, is_again: true, ..*plan }))
                    }
                    Err(NotReversed::Failed(why)) => Event::Merged(plan, Err(why)),
                    Ok(outcome) => Event::Merged(plan, Ok(outcome)),
                }
            }
            WorktreeCommand::Check(chat, worktree, cwd) => {
                Event::WorktreeChecked(chat, changes::count_missing(&worktree, &cwd).await)
            }
            WorktreeCommand::Remove(worktree) => {
                let removed = worktree::remove(&worktree).await;
                Event::WorktreeRemoved(worktree, removed)
            }
        }
    });
}
