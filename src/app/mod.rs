//! Runs the effects that `State` decides on and sends their results back as events. It reaches the editor only through
//! the `documents::editor::Editor` trait and must not depend on Neovim.

mod backlog;
mod changed_paths;
mod checkpoints;
mod events;
mod file_outcome;
mod file_scope;
mod files;
mod in_order;
mod judge;
mod merge;
mod prompt_context;
mod renames;
mod reversal;
mod review;
mod review_history;
mod review_page;
mod review_states;
pub mod runner;
mod tools;
mod traces;
mod undo;
mod undo_decisions;
mod undo_folders;
mod undo_modes;
mod undo_target;
mod undo_way;
mod undone;
mod unkept;
pub mod workbench;
mod worktrees;
