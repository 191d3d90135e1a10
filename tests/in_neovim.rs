//! The tests that talk to Neovim (`$NVIM_BIN`, else `nvim`), but for those that have to be alone. One binary: each more would
//! be linked by itself.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panic")]
#![allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better than a reference to it"
)]

mod support;

/// Of the protocol's tests those that need an editor.
mod acp {
    mod editor;
    #[allow(dead_code, reason = "the tests without Neovim use all of it")]
    mod forge;
    #[allow(dead_code, reason = "the tests without Neovim use all of it")]
    mod schema;
}
mod ascii;
mod changed;
mod chat;
mod chat_prompts;
mod chats_page;
mod closed;
mod confined;
mod content;
mod crash;
mod crash_binary;
mod demo;
mod dialect_v0;
mod dialect_v2;
mod dialects;
mod documents;
mod drawing;
mod editor_tools;
mod elicitation;
mod elsewhere;
mod export;
mod file_provider;
mod full_disk;
mod harness;
mod help_examples;
mod hostile;
mod hung;
mod in_place;
mod kept_rules;
mod keys;
mod kills;
mod late;
mod leaving;
mod listeners;
mod login;
mod lua;
mod meta;
mod named_keys;
mod names;
mod openoxide;
mod options;
mod other_project;
mod permission;
mod permission_chooser;
mod permission_pickers;
mod permission_rules;
mod permission_unasked;
mod pictures;
mod planted;
mod plugins;
mod printed;
mod project_rules;
mod provider;
mod queue;
mod queued;
mod quirks;
mod random_keys;
mod review;
mod review_before;
mod review_closing;
mod review_comments;
mod review_compare;
mod review_formatter;
mod review_layout;
mod review_moves;
mod review_page;
mod review_states;
mod review_taken_back;
mod same_session;
mod screens;
mod search;
mod sessions;
mod slash;
mod start;
mod start_outside;
mod tall;
mod terminals;
mod tool_cards;
mod traffic;
mod transports;
mod turn;
mod turn_cancel;
mod undo;
mod undo_conflicts;
mod undo_deleted;
mod undo_elsewhere;
mod undo_later;
mod undo_left;
mod undo_meanwhile;
mod undo_others;
mod unsaved;
mod whose;
mod worktrees;
