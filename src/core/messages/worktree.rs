//! Git worktrees that sessions work in, apart from the user's own files.

use crate::core::messages::checkpoint::{PlannedFile, UndoOutcome};
use crate::session::author::{Author, ChatId};
use std::path::PathBuf;
use std::sync::Arc;

/// A worktree that a session works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Its top; absolute.
    pub top: PathBuf,
    /// Git's folder for it; absolute. An agent could make the `.git` of the worktree lead elsewhere.
    pub git_dir: PathBuf,
    /// The folder of the user's that the session would have worked in; absolute.
    pub project: PathBuf,
}

/// A worktree that was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorktree {
    /// The folder in it that stands for the one it was created for.
    pub cwd: PathBuf,
    /// The commit it begins with, abbreviated, and the first line of its message.
    pub commit: String,
    /// How many of the user's files have changes that are not committed, and so are not in it.
    pub uncommitted: usize,
}

/// What to merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRequest {
    /// The session and its last turn.
    pub by: Author,
    /// The agent's name in the configuration.
    pub agent: String,
    /// The worktree.
    pub worktree: Arc<Worktree>,
    /// The folder in it that stands for the project's.
    pub cwd: PathBuf,
    /// Whether to merge everything since the worktree was created, and not only what has not been merged yet.
    pub all: bool,
}

impl MergeRequest {
    /// What the worktree is called.
    pub fn name(&self) -> String {
        let top = &self.worktree.top;
        top.file_name().unwrap_or(top.as_os_str()).to_string_lossy().into_owned()
    }
}

/// What merging would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergePlan {
    /// What to merge.
    pub request: MergeRequest,
    /// The real path of the project's folder.
    pub root: PathBuf,
    /// What happens to each path there.
    pub files: Vec<PlannedFile>,
    /// How many files have changed outside of the folder that stands for the project's.
    pub outside: usize,
    /// Whether the user had agreed to another plan, which files that have changed meanwhile have made this.
    pub is_again: bool,
}

/// What has become of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeOutcome {
    /// What it has done in the project.
    pub project: UndoOutcome,
    /// The files of the worktree that are decided on by that.
    pub accepted: Vec<PathBuf>,
}

/// Something to do with worktrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeCommand {
    /// Create one of the repository that a folder is in. `Event::WorktreeCreated` with this number follows.
    Create {
        /// The number.
        request: u64,
        /// The folder.
        cwd: PathBuf,
        /// Where worktrees are.
        below: PathBuf,
        /// The agent it is for.
        agent: String,
    },
    /// Find out what merging would do. `Event::MergePlanned` follows.
    Plan(MergeRequest),
    /// Merge. `Event::Merged` follows.
    Merge(Box<MergePlan>),
    /// Count the files that have changed in it, below this folder, and are not the same in the project. `Event::WorktreeChecked`
    /// follows.
    Check(ChatId, Arc<Worktree>, PathBuf),
    /// Remove it. `Event::WorktreeRemoved` follows.
    Remove(Arc<Worktree>),
}
