//! Messages about git worktrees that sessions work in.

use crate::core::messages::worktree::NewWorktree;
use crate::nvim::text::{FilePath, Label};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// A worktree that was requested.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(in crate::nvim) struct Worktree {
    /// The number of the request.
    request: u64,
    /// The folder in it that stands for the one it was created for; missing if it was not created.
    cwd: Option<FilePath>,
    /// The commit it begins with, and the first line of its message.
    commit: Option<Label>,
    /// How many of the user's files have changes that are not committed, and so are not in it.
    uncommitted: usize,
    /// Why it was not created.
    problem: Option<Label>,
}

impl Worktree {
    pub(super) fn new(request: u64, created: Result<NewWorktree, String>) -> Self {
        match created {
            Ok(NewWorktree { cwd, commit, uncommitted }) => Self {
                request,
                cwd: Some(FilePath::new(&cwd)),
                commit: Some(Label::new(commit)),
                uncommitted,
                problem: None,
            },
            Err(why) => {
                let problem = Some(Label::new(why));
                Self { request, cwd: None, commit: None, uncommitted: 0, problem }
            }
        }
    }
}
