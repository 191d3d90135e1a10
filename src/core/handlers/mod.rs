//! The handlers of events, by subject. Each file implements a part of [`State`](super::state::State).

mod activity;
mod agents;
mod content;
mod elicitations;
mod file_changes;
mod files;
mod forks;
mod listening;
mod login;
mod meta;
mod options;
mod pages;
mod permission;
mod persistence;
mod prompt_context;
mod proposed_writes;
mod reconnect;
mod review;
mod review_list;
mod rules;
mod session_list;
mod sessions;
mod terminals;
mod trace;
mod turn;
mod undo;
