//! Renders the session's data as lines with their formatting, and computes the [`patch::Patch`] for
//! what changed since the last frame. Knows nothing of Neovim.

pub mod line;
pub mod patch;

pub mod markdown;

mod line_pieces;
pub mod tail;

pub mod card;
pub mod chat;
pub mod code_block;
mod content;
pub mod diff;
pub mod elicitation;
pub mod export;
pub mod permission;
pub mod plan;
mod question;
pub mod review;
pub mod scene;
pub mod terminal;
pub mod title;
pub mod tool_card;
pub mod tools;
