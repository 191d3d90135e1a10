//! The edge to the operating system: which paths agents may access (`paths`), which other names
//! a file has (`other_names`), saved sessions (`store`), what
//! turns change in folders (`checkpoints`), commands that run for agents (`terminals`), files the user exports
//! (`export`) or looks for (`project_files`), git worktrees that sessions work in (`worktree`), git itself (`git`). It
//! carries out decisions of `core` and knows nothing of Neovim or of agents' messages.

pub mod checkpoints;
pub mod export;
pub mod git;
mod git_index;
mod ignored;
pub mod other_names;
pub mod paths;
pub mod project_files;
pub mod store;
pub mod terminals;
pub mod worktree;
