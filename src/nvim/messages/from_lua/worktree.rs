//! Messages about git worktrees that sessions work in.

use super::Chat;
use crate::core::messages::user::{UserAction, WorktreeAction};
use crate::core::messages::worktree;
use crate::session::author::ChatId;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// Creates a worktree of the repository that a folder is in.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct CreateWorktree {
    /// The number of the request, which comes back with the worktree.
    request: u64,
    /// The absolute path of the folder.
    cwd: String,
    /// The absolute path of the folder that worktrees are in.
    below: String,
    /// The name of the agent it is for.
    agent: String,
}

/// Merges the worktree of a chat into the user's folder.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Merge {
    /// The chat.
    chat: Option<Chat>,
    /// Whether to merge everything since the worktree was created, and not only what has not been merged yet.
    #[serde(default)]
    all: bool,
}

/// A worktree of ours.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::nvim) struct Worktree {
    /// The absolute path of its top.
    top: String,
    /// The absolute path of git's folder for it.
    git_dir: String,
    /// The absolute path of the user's folder that it was created for.
    project: String,
}

impl From<CreateWorktree> for UserAction {
    fn from(CreateWorktree { request, cwd, below, agent }: CreateWorktree) -> Self {
        let (cwd, below) = (cwd.into(), below.into());
        Self::Worktree(WorktreeAction::Create { request, cwd, below, agent })
    }
}

impl From<Merge> for UserAction {
    fn from(Merge { chat, all }: Merge) -> Self {
        Self::Worktree(WorktreeAction::Merge(chat.map(ChatId), all))
    }
}

impl From<Worktree> for worktree::Worktree {
    fn from(Worktree { top, git_dir, project }: Worktree) -> Self {
        Self { top: top.into(), git_dir: git_dir.into(), project: project.into() }
    }
}
