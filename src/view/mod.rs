//! What is drawn: models in, lines with their looks out, as patches of what is new. Nothing here knows Neovim.

pub mod line;
pub mod patch;

pub mod markdown;
pub mod tail;

pub mod ask;
pub mod card;
pub mod chat;
mod content;
pub mod diff;
pub mod elicitation;
pub mod plan;
pub mod scene;
pub mod terminal;
pub mod tools;
